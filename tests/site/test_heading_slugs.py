from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

PO = "locales/zh_CN/LC_MESSAGES/{}.po"
FILES = {
    "index.md": "# Home\n\n[to part](page.md#part-one) and [](page.md#part-one)\n\n"
    "```{toctree}\npage\n```\n",
    "page.md": "# Page\n\nText.\n\n## Part one\n\nMore, see [above](#page).\n\n"
    ":::{admonition} Careful\nIt is short.\n:::\n",
}


@pytest.fixture
def files(po):
    home = {
        "Home": "首页",
        "[to part](page.md#part-one) and [](page.md#part-one)": "[去](page.md#part-one)，[](page.md#part-one)",
    }
    page = {
        "Page": "页面",
        "Text.": "文字。",
        "Part one": "第一部分",
        "More, see [above](#page).": "更多见[上面](#page)。",
        "Careful": "小心",  # a title, which MyST-Parser takes for the only heading
        "It is short.": "很短。",
    }
    return FILES | {PO.format("index"): po(home), PO.format("page"): po(page)}


def conf(*extensions):
    names = ["myst_parser", *extensions]
    return f"""
extensions = {names}
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
"""


def test_the_fault_that_this_repairs_is_still_there(tmp_path, make_site, files):
    app = make_site(tmp_path, files, conf(), language="zh_CN")
    assert "part-one" in app.warning.getvalue()


def test_links_to_headings_work_on_translated_pages(tmp_path, make_site, files):
    app = make_site(tmp_path, files, conf("heading_slugs"), language="zh_CN")
    assert app.warning.getvalue() == ""
    soup = BeautifulSoup((app.outdir / "index.html").read_text("utf-8"), "html.parser")
    links = soup.find_all("a", href="page.html#part-one")
    assert [link.get_text() for link in links][:2] == ["去", "第一部分"]


def test_the_source_pages_are_as_without_it(tmp_path, make_site, files):
    without = make_site(tmp_path / "a", files, conf())
    with_it = make_site(tmp_path / "b", files, conf("heading_slugs"))
    assert with_it.warning.getvalue() == without.warning.getvalue() == ""
    assert (with_it.outdir / "index.html").read_text() == (
        without.outdir / "index.html"
    ).read_text()
