"""What a reader does: choose a language, search, use the keyboard, download."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

PAGE = "tensors/views.html"


def first_anchor(page):
    return page.evaluate("document.querySelector('article section section[id]').id")


# -- Language ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("locale", "folder"), [("en-US", "en"), ("zh-CN", "zh-cn"), ("zh-TW", "zh-cn"), ("fr-FR", "en")]
)
def test_the_root_page_follows_the_browsers_language(new_context, address, locale, folder):
    page = new_context(locale=locale).new_page()
    page.goto(f"{address}/")
    page.wait_for_url(f"{address}/{folder}/index.html")


@pytest.mark.parametrize(
    ("width", "place"), [("page", ".sidebar-sticky"), ("phone", ".page-tools")]
)
@pytest.mark.parametrize(
    ("here", "there", "tag"), [("en", "zh-cn", "zh-CN"), ("zh-cn", "en", "en")]
)
def test_the_switch_keeps_page_anchor_and_query(  # noqa: PLR0917  (each is one choice of the reader)
    request, address, width, place, here, there, tag
):
    page = request.getfixturevalue(width)
    page.goto(f"{address}/{here}/{PAGE}")
    anchor = first_anchor(page)
    page.goto(f"{address}/{here}/{PAGE}?from=mail#{anchor}")
    page.locator(f"{place} .languages a[hreflang={tag}]").click()
    page.wait_for_url(f"{address}/{there}/{PAGE}?from=mail#{anchor}")
    assert page.evaluate("document.documentElement.lang") == tag
    assert page.locator(f"[id='{anchor}']").count() == 1


def test_the_choice_is_remembered(new_context, address):
    page = new_context(locale="en-US").new_page()
    page.goto(f"{address}/en/{PAGE}")
    page.locator(".sidebar-sticky .languages a[hreflang=zh-CN]").click()
    page.wait_for_url(f"{address}/zh-cn/{PAGE}")
    page.goto(f"{address}/")
    page.wait_for_url(f"{address}/zh-cn/index.html")


def test_only_one_switch_is_shown(page, phone, address):
    for where in (page, phone):
        where.goto(f"{address}/en/{PAGE}")
        shown = [each for each in where.locator(".languages").all() if each.is_visible()]
        assert len(shown) == 1


@pytest.mark.parametrize(("name", "folder"), [("English", "en"), ("简体中文", "zh-cn")])
def test_the_root_page_works_without_javascript(new_context, address, name, folder):
    page = new_context(java_script_enabled=False).new_page()
    page.goto(f"{address}/")
    page.get_by_role("link", name=name).click()
    page.wait_for_url(f"{address}/{folder}/index.html")


def test_the_site_works_from_files(new_context, site):
    page = new_context(locale="zh-CN").new_page()
    page.goto((site / "index.html").as_uri())
    page.wait_for_url((site / "zh-cn" / "index.html").as_uri())
    page.goto(f"{(site / 'zh-cn' / 'search.html').as_uri()}?q=视图")
    page.locator("#search-results ul.search a").first.wait_for()


# -- Search ------------------------------------------------------------------------------------

TYPED = [
    ("zh-cn", "显存溢出", "troubleshooting/memory"),
    ("zh-cn", "自动求导", "autograd/first-gradient"),
    ("zh-cn", "view size is not compatible", "troubleshooting/shape"),
    ("en", "CUDA out of memory", "troubleshooting/memory"),
    ("en", "is_available", "setup/verify"),
]
RANKED = """query => Search._performSearch(...Search._parseQuery(query)).reverse().map(result => result[0])"""


@pytest.mark.parametrize(("folder", "query", "wanted"), TYPED)
def test_a_search_finds_the_right_page(page, address, folder, query, wanted):
    page.goto(f"{address}/{folder}/index.html")
    page.locator(".sidebar-search").fill(query)
    page.locator(".sidebar-search").press("Enter")
    page.locator("#search-results ul.search > li").nth(2).wait_for()
    found = [
        re.sub(r".*/(?:en|zh-cn)/|\.html.*", "", each.evaluate("a => a.href"))
        for each in page.locator("#search-results ul.search > li > a").all()
    ]
    assert wanted in found[:3]


@pytest.mark.parametrize("folder", ["en", "zh-cn"])
def test_most_searches_have_the_right_page_first(page, address, site, folder):
    with (Path(__file__).parent / "searches.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["folder"] == folder]
    page.goto(f"{address}/{folder}/search.html")
    page.wait_for_function("Search.hasIndex()")
    ranks = {}
    for row in rows:
        wanted = row["pages"].split()
        gone = [name for name in wanted if not (site / folder / f"{name}.html").is_file()]
        assert gone == [], f"searches.csv, {row['query']}: no such page"
        found = page.evaluate(RANKED, row["query"])
        ranks[row["query"]] = min(
            (found.index(name) for name in wanted if name in found), default=len(found) + 3
        )
    first = [query for query, rank in ranks.items() if rank == 0]
    among_three = [query for query, rank in ranks.items() if rank < 3]
    print(
        f"{folder}: {len(rows)} searches, right page first {len(first) / len(rows):.1%}, "
        f"among three {len(among_three) / len(rows):.1%}"
    )
    assert len(rows) >= 60
    assert len(first) >= 0.9 * len(rows), sorted(set(ranks) - set(first))
    assert len(among_three) >= 0.98 * len(rows), sorted(set(ranks) - set(among_three))


def test_a_result_leads_to_the_section_that_treats_it(page, address):
    page.goto(f"{address}/en/search.html?q=Trying to backward through the graph a second time")
    link = page.locator("#search-results ul.search > li > a").first
    link.wait_for()
    link.click()
    assert page.url.partition("#")[2], "the first result leads to the top of its page"


@pytest.mark.parametrize(("folder", "query"), [("zh-cn", "青蛙王子"), ("en", "marmalade")])
def test_a_search_for_what_is_not_there_says_so(page, address, folder, query):
    page.goto(f"{address}/{folder}/search.html?q={query}")
    summary = page.locator("#search-results .search-summary")
    page.wait_for_function(
        "/did not match|没有匹配|没有找到|未匹配/.test(document.querySelector('#search-results').innerText)"
    )
    assert summary.is_visible()
    assert page.locator("#search-results ul.search a").count() == 0


# -- Keyboard ----------------------------------------------------------------------------------

FOCUSED = """() => {
  const e = document.activeElement;
  const style = getComputedStyle(e);
  return [e.className || e.localName, e.closest(".languages") !== null, style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];
}"""


def tab_through(page, times):
    seen = []
    for _ in range(times):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(FOCUSED))
    return seen


def test_the_first_tab_skips_to_the_text(page, address):
    page.goto(f"{address}/en/{PAGE}")
    page.keyboard.press("Tab")
    assert "skip-to-content" in page.evaluate("document.activeElement.className")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{address}/en/{PAGE}#furo-main-content")


def test_search_switch_and_theme_are_reached_by_tab_and_seen(page, address):
    page.goto(f"{address}/zh-cn/{PAGE}")
    seen = tab_through(page, 40)
    names = [name for name, _in_switch, _outlined in seen]
    assert "sidebar-search" in names
    assert any(in_switch for _name, in_switch, _outlined in seen)
    assert "theme-toggle" in names
    # after the last element the focus is on the page itself
    assert [name for name, _, outlined in seen if not outlined and name != "body"] == []


def test_the_menu_of_a_phone_opens_by_keyboard(phone, address):
    phone.goto(f"{address}/en/{PAGE}")
    assert not phone.locator(".sidebar-search").is_visible()
    phone.keyboard.press("Tab")  # skips to the text
    phone.keyboard.press("Tab")
    assert phone.evaluate("document.activeElement.id") == "__navigation"
    phone.keyboard.press("Space")
    phone.locator(".sidebar-search").wait_for(state="visible")
    phone.locator(".sidebar-search").focus()
    phone.keyboard.type("stride")
    phone.keyboard.press("Enter")
    phone.locator("#search-results ul.search a").first.wait_for()


# -- Reading and taking away -------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["en", "zh-cn"])
def test_a_page_can_be_read_without_javascript(new_context, address, folder):
    page = new_context(java_script_enabled=False).new_page()
    page.goto(f"{address}/{folder}/autograd/first-gradient.html")
    for what in ("h1", ".cell_input pre", ".cell_output pre", "math", ".sidebar-tree a"):
        assert page.locator(what).first.is_visible(), what
    other = "zh-CN" if folder == "en" else "en"
    page.locator(f".sidebar-sticky .languages a[hreflang={other}]").click()
    assert page.url.endswith("/autograd/first-gradient.html")


def test_formulas_are_drawn_with_the_sites_font(page, address):
    page.goto(f"{address}/en/autograd/first-gradient.html")
    page.wait_for_function("document.fonts.status === 'loaded'")
    assert page.evaluate(
        "[...document.fonts].some(f => f.family.includes('Guide Math') && f.status === 'loaded')"
    )
    fraction = page.locator("math mfrac").first.bounding_box()
    letter = page.locator("math mi").first.bounding_box()
    assert fraction["height"] > 1.5 * letter["height"]


@pytest.mark.parametrize("folder", ["en", "zh-cn"])
def test_a_notebook_downloads(page, address, folder, tmp_path):
    page.goto(f"{address}/{folder}/{PAGE}")
    with page.expect_download() as waiting:
        page.locator(".downloads a[href$='.ipynb']").click()
    assert waiting.value.suggested_filename == "views.ipynb"
    waiting.value.save_as(tmp_path / "views.ipynb")
    notebook = json.loads((tmp_path / "views.ipynb").read_text("utf-8"))
    assert notebook["nbformat"] == 4
    assert any(cell["cell_type"] == "code" for cell in notebook["cells"])
