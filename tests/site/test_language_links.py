from __future__ import annotations

from pathlib import Path

import pytest
from justhtml import JustHTML
from sphinx.errors import ConfigError
from sphinx.testing.util import SphinxTestApp

from language_links import language_links, write_root_page

DOCS = Path(__file__).parents[2] / "docs"
SITE = "https://guide.example/torch/"


@pytest.fixture
def build(tmp_path):
    apps = []

    def run(language, *, site_url=SITE, extra=""):
        source = tmp_path / language
        (source / "deep" / "er").mkdir(parents=True)
        (source / "index.rst").write_text("Home\n====\n\n.. toctree::\n\n   deep/er/page\n")
        (source / "deep" / "er" / "page.rst").write_text("Page\n====\n")
        (source / "conf.py").write_text(
            "extensions = ['language_links']\n"
            f"language = {language!r}\nguide_site_url = {site_url!r}\n"
            f"templates_path = [{str(DOCS / '_templates')!r}]\n"
            f"locale_dirs = [{str(DOCS / 'locales')!r}]\n"
            "html_theme = 'furo'\n"
            "html_sidebars = {'**': ['sidebar/languages.html', 'sidebar/search.html']}\n" + extra
        )
        apps.append(SphinxTestApp("html", srcdir=source))
        apps[-1].build()
        return apps[-1].outdir

    yield run
    for app in apps:
        app.cleanup()


def read(path):
    return JustHTML(path.read_text("utf-8"), sanitize=False)


def attributes(page, selector, *names):
    return [tuple(each.attrs.get(name) for name in names) for each in page.query(selector)]


def test_links_go_up_to_the_other_folder():
    links = language_links("a/b.html", "en", {"en": ("en", "E"), "zh_CN": ("zh-cn", "Z")}, SITE)
    assert [each["href"] for each in links] == ["../../en/a/b.html", "../../zh-cn/a/b.html"]
    assert [each["current"] for each in links] == [True, False]
    assert links[1]["tag"] == "zh-CN"
    assert links[1]["abs"] == f"{SITE}zh-cn/a/b.html"


def test_each_page_names_itself_in_each_language(build):
    page = read(build("zh_CN") / "deep" / "er" / "page.html")
    assert attributes(page, "link[rel=alternate]", "hreflang", "href") == [
        ("en", f"{SITE}en/deep/er/page.html"),
        ("zh-CN", f"{SITE}zh-cn/deep/er/page.html"),
        ("x-default", f"{SITE}en/deep/er/page.html"),
    ]


def test_the_default_of_the_home_page_is_the_page_that_chooses(build):
    page = read(build("en") / "index.html")
    assert ("x-default", SITE) in attributes(page, "link[rel=alternate]", "hreflang", "href")


def test_pages_that_are_no_documents_have_a_switch_but_no_alternates(build):
    page = read(build("en") / "search.html")
    assert attributes(page, "link[rel=alternate]", "hreflang") == []
    assert ("../zh-cn/search.html",) in attributes(page, ".languages a", "href")


def test_the_switch_stands_in_the_sidebar_and_above_the_page(build):
    page = read(build("zh_CN") / "deep" / "er" / "page.html")
    expected = [
        ("../../../en/deep/er/page.html", "en", None),
        ("../../../zh-cn/deep/er/page.html", "zh-CN", "true"),
    ]
    for place in (".sidebar-sticky", ".page-tools"):
        found = attributes(page, f"{place} .languages a", "href", "hreflang", "aria-current")
        assert found == expected


def test_the_search_page_has_a_switch_too_and_no_article_has(build):
    folder = build("en")
    assert len(read(folder / "search.html").query(".page-tools .languages a")) == 2
    assert read(folder / "index.html").query("article .languages") == []


def test_furo_speaks_chinese(build):
    text = (build("zh_CN") / "deep" / "er" / "page.html").read_text("utf-8")
    for words in ("跳到正文", "本页目录", 'aria-label="打开或关闭站点导航"', "<title>菜单</title>"):
        assert words in text
    for words in ("Skip to content", "Toggle", "<title>Menu", "On this page", "Made with"):
        assert words not in text


def test_the_skip_link_is_the_first_that_tab_reaches(build):
    page = read(build("zh_CN") / "index.html")
    reached = page.query("a, input, button")
    assert [reached[0].attrs["class"], reached[0].to_text()] == [
        "skip-to-content muted-link",
        "跳到正文",
    ]
    assert len(page.query(".skip-to-content")) == 1


FILES = '[{"kind": "py", "href": "x.py"}, {"kind": "zip", "href": "x.zip"}]'
MADE = '{"python": "3.11", "torch": "2.13.0+cpu", "device": "CPU", "date": "2026-11-30"}'
CONTEXT = f"html_context = {{'downloads': {FILES}, 'provenance': {MADE}}}\n"


@pytest.mark.parametrize(
    ("language", "download", "origin"),
    [
        ("en", "Python script", "Python 3.11 and PyTorch 2.13.0+cpu on CPU, 2026-11-30."),
        ("zh_CN", "Python 脚本", "Python 3.11、PyTorch 2.13.0+cpu 在 CPU 上运行得到"),
    ],
)
def test_downloads_and_provenance_are_in_the_pages_language(build, language, download, origin):
    page = read(build(language, extra=CONTEXT) / "index.html")
    links = page.query(".downloads a")
    assert [each.attrs["href"] for each in links] == ["x.py", "x.zip"]
    assert links[0].to_text() == download
    assert origin in page.query_one(".provenance").to_text()


def test_a_page_without_outputs_has_no_provenance(build):
    page = read(build("en") / "index.html")
    assert page.query(".provenance") == []
    assert page.query(".downloads") == []


def test_an_address_without_a_slash_is_refused(build):
    with pytest.raises(ConfigError, match="guide_site_url"):
        build("en", site_url="https://guide.example")


def test_an_unknown_language_is_refused(build):
    with pytest.raises(ConfigError, match="guide_languages has only en, zh_CN"):
        build("fr")


def test_the_root_page_links_without_javascript(tmp_path):
    path = write_root_page(tmp_path / "site")
    assert path == tmp_path / "site" / "index.html"
    page = JustHTML(path.read_text("utf-8"), sanitize=False, collect_errors=True)
    assert page.errors == []
    assert attributes(page, "nav a", "href", "hreflang") == [
        ("en/index.html", "en"),
        ("zh-cn/index.html", "zh-CN"),
    ]


def test_the_root_page_has_no_absolute_address(tmp_path):
    text = write_root_page(tmp_path).read_text("utf-8")
    assert "://" not in text
    assert 'href="/' not in text
