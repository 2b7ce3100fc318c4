from __future__ import annotations

import json

import pytest
from docutils import nodes
from docutils.core import publish_doctree

from search_index import HEADING, TEXT, TITLE, pieces
from typed_words import read_typed_words

CONF = 'extensions = ["search_words", "search_index", "typed_words"]\n'
GLOSSARY = (
    "term,forms,chinese,chinese_forms,everyday,not_chinese,definition,chinese_definition,page"
)
FILES = {
    "index.rst": "Home\n====\n\n.. toctree::\n\n   memory\n   gradient\n",
    "memory.rst": "Memory\n======\n\nFragments\n---------\n\nMany fragments of storage.\n",
    "gradient.rst": "Gradient\n========\n\nThe gradient of a storage.\n",
    "reference/search_words.csv": "page,english,chinese\nmemory,OOM|out of memory,显存溢出\n",
    "reference/glossary.csv": f"{GLOSSARY}\nstride,,步长,,,步幅,how far,多远,memory\n",
}


def index_of(app):
    text = (app.outdir / "searchindex.js").read_text("utf-8")
    return json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))


def weight(index, term, page):
    flat = index["weights"].get(term, [])
    return dict(zip(flat[::2], flat[1::2], strict=True)).get(index["docnames"].index(page), 0)


def test_a_word_counts_by_where_it_stands(tmp_path, make_site):
    index = index_of(make_site(tmp_path, FILES, CONF))
    assert weight(index, "memori", "memory") == TITLE
    assert weight(index, "fragment", "memory") == HEADING + TEXT
    assert weight(index, "storag", "memory") == weight(index, "storag", "gradient") == TEXT
    assert weight(index, "gradient", "gradient") == TITLE + TEXT
    assert weight(index, "gradient", "memory") == 0
    assert "of" not in index["weights"]  # a stop word


def test_comments_and_what_asks_to_be_left_out_do_not_count():
    tree = publish_doctree("Shown\n\n.. a comment\n\n.. class:: no-search\n\nLeft out\n")
    tree += nodes.raw("", "<p>raw</p>", format="html")
    assert [text for text, _weight in pieces(tree)] == ["Shown"]


def test_words_that_readers_type_lead_to_the_page(tmp_path, make_site):
    index = index_of(make_site(tmp_path, FILES, CONF))
    assert index["keywords"]["oom"] == [index["docnames"].index("memory")]
    assert "显存" not in index["keywords"]


def test_the_chinese_site_knows_words_of_both_languages_and_those_the_glossary_avoids(
    tmp_path, make_site
):
    conf = CONF + 'html_search_language = "zh"\n'
    index = index_of(make_site(tmp_path, FILES, conf, language="zh_CN"))
    memory = index["docnames"].index("memory")
    assert all(index["keywords"][term] == [memory] for term in ("oom", "显存", "溢出", "步幅"))


def test_a_page_written_alone_leaves_the_others_in_the_index(tmp_path, make_site):
    before = index_of(make_site(tmp_path, FILES, CONF))
    files = FILES | {"gradient.rst": "Gradient\n========\n\nOf fragments.\n"}
    after = index_of(make_site(tmp_path, files, CONF))
    fresh = index_of(make_site(tmp_path / "fresh", files, CONF))
    assert before != after == fresh


def test_new_words_are_found_after_the_next_build(tmp_path, make_site):
    make_site(tmp_path, FILES, CONF)
    table = FILES["reference/search_words.csv"] + "gradient,slope,斜率\n"
    index = index_of(make_site(tmp_path, FILES | {"reference/search_words.csv": table}, CONF))
    assert index["keywords"]["slope"] == [index["docnames"].index("gradient")]


def test_an_index_of_another_kind_is_made_anew(tmp_path, make_site):
    app = make_site(tmp_path, FILES, CONF)
    path = app.outdir / "searchindex.js"
    path.write_text('Search.setIndex({"envversion": 0})', "utf-8")
    files = FILES | {name: FILES[name] + "\nMore.\n" for name in FILES if name.endswith(".rst")}
    assert weight(index_of(make_site(tmp_path, files, CONF)), "memori", "memory") == TITLE


def test_words_for_a_page_that_is_not_there_are_a_warning(tmp_path, make_site):
    table = FILES["reference/search_words.csv"] + "nowhere,lost,丢了\n"
    app = make_site(tmp_path, FILES | {"reference/search_words.csv": table}, CONF)
    assert "search_words.csv: there is no page nowhere" in app.warning.getvalue()


@pytest.mark.parametrize("row", ["memory,,词", ",words,词", "memory,words,"])
def test_an_empty_field_is_an_error_with_its_line(tmp_path, row):
    (tmp_path / "search_words.csv").write_text(f"page,english,chinese\n{row}\n", "utf-8")
    with pytest.raises(Exception, match=r"search_words\.csv:2: expected page, english, chinese"):
        read_typed_words(tmp_path, "en")
