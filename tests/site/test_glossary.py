from __future__ import annotations

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from sphinx.errors import ExtensionError

from glossary import read_terms

ROOT = Path(__file__).resolve().parents[2]
HEAD = "term,forms,chinese,chinese_forms,everyday,not_chinese,definition,chinese_definition,page\n"
ROWS = (
    "stride,strides,步长,,,步幅,How far.,隔多远。,page\n"
    "storage,,存储,,,,The row.,一整条。,other\n"
    "storage offset,,存储偏移,,,,Where.,从哪里。,other\n"
)
PAGES = {
    "index.rst": "Home\n====\n\n.. toctree::\n\n   page\n   other\n   reference/glossary\n",
    "page.rst": """Storage
=======

``storage`` and **storage** and `storage <https://example.org>`__ first; then a
storage offset, a Storage, another storage, restorage and strides.

.. code-block:: text

   storage
""",
    "other.rst": "Other\n=====\n\nStrides of a stride.\n",
    "reference/glossary.rst": "Glossary\n========\n\n.. glossary-terms::\n",
    "reference/glossary.csv": HEAD + ROWS,
}
CONF = 'extensions = ["catalogs", "glossary"]\n'


def links(app, page):
    soup = BeautifulSoup((app.outdir / f"{page}.html").read_text("utf-8"), "html.parser")
    return [(link.get_text(), link["href"]) for link in soup.select("a.term")]


def test_the_first_use_in_the_text_becomes_a_link_and_nothing_else(tmp_path, make_site):
    app = make_site(tmp_path, PAGES, CONF)
    glossary = "reference/glossary.html"
    assert links(app, "page") == [
        ("storage offset", f"{glossary}#term-storage-offset"),
        ("Storage", f"{glossary}#term-storage"),
    ]
    assert links(app, "other") == [("Strides", f"{glossary}#term-stride")]
    assert links(app, glossary.removesuffix(".html")) == []


def test_every_entry_has_its_anchor_both_words_and_the_page_that_teaches_it(tmp_path, make_site):
    app = make_site(tmp_path, PAGES, CONF)
    html = (app.outdir / "reference" / "glossary.html").read_text("utf-8")
    soup = BeautifulSoup(html, "html.parser")
    entry = soup.select_one("#term-stride")
    assert entry.get_text().strip("¶") == "stride (步长)"
    assert entry.find_next("a", href="../page.html") is not None
    assert not app.warning.getvalue()


def test_a_chinese_page_links_chinese_words_to_the_same_anchors(tmp_path, make_site, po):
    files = PAGES | {
        "locales/zh_CN/LC_MESSAGES/other.po": po(
            {"Other": "其他", "Strides of a stride.": "步长的存储偏移。"}
        )
    }
    app = make_site(tmp_path, files, CONF, language="zh_CN")
    assert links(app, "other") == [("步长", "reference/glossary.html#term-stride")]
    html = (app.outdir / "reference" / "glossary.html").read_text("utf-8")
    assert "步长（stride）" in html


def test_a_changed_table_writes_the_pages_anew(tmp_path, make_site):
    make_site(tmp_path, PAGES, CONF)
    changed = HEAD + ROWS.replace("strides", "stridden")
    app = make_site(tmp_path, PAGES | {"reference/glossary.csv": changed}, CONF)
    assert links(app, "other") == [("stride", "reference/glossary.html#term-stride")]


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ("stride,,步长,,,,How far.,,page\n", r"glossary\.csv:2: no chinese_definition"),
        (ROWS + "strides,,x,,,,y,z,page\n", r"glossary\.csv:5: strides stands twice"),
    ],
)
def test_a_faulty_table_is_an_error_with_its_line(tmp_path, rows, fault):
    path = tmp_path / "glossary.csv"
    path.write_text(HEAD + rows, "utf-8")
    with pytest.raises(ExtensionError, match=fault):
        read_terms(path)


def test_every_term_of_this_guide_is_taught_by_a_page():
    for term in read_terms(ROOT / "docs" / "reference" / "glossary.csv"):
        assert (ROOT / "docs" / f"{term.page}.md").is_file(), term


def test_a_word_that_often_means_something_else_is_linked_in_its_other_forms_only(
    tmp_path, make_site
):
    row = "kernel,GPU kernels,核函数,,both,,A program.,一个程序。,page\n"
    text = "Other\n=====\n\nThe Linux kernel and two GPU kernels.\n"
    files = PAGES | {"other.rst": text, "reference/glossary.csv": HEAD + ROWS + row}
    app = make_site(tmp_path, files, CONF)
    assert [word for word, _ in links(app, "other")] == ["GPU kernels"]
