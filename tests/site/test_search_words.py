from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_words import ChineseWords

CONF = 'extensions = ["search_words", "search_index"]\nhtml_search_language = "zh"\n'
PAGES = {
    "index.rst": "首页\n====\n\n.. toctree::\n\n   memory\n   gradient\n",
    "memory.rst": "显存\n====\n\n显存溢出怎么办：CUDA out of memory。显存的碎片。\n",
    "gradient.rst": "梯度\n====\n\n自动求导与梯度清零，PyTorch 2.13 张量\n",
}


def search_index(app):
    text = (app.outdir / "searchindex.js").read_text("utf-8")
    return json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))


def query_terms(query):
    """What the page's splitQuery makes of a query."""
    runs = re.findall(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+", query)
    pairs = [
        [run[i : i + 2] for i in range(len(run) - 1)]
        if "\u3400" <= run[0] <= "\u9fff" and run[1:]
        else [run]
        for run in runs
    ]
    return [term for group in pairs for term in group]


@pytest.mark.parametrize(
    ("query", "page"),
    [
        ("显存", "memory"),
        ("显存溢出", "memory"),
        ("碎片", "memory"),
        ("梯度清零", "gradient"),
        ("自动求导", "gradient"),
        ("CUDA显存", "memory"),
    ],
)
def test_each_part_of_a_query_is_a_term_of_the_page(tmp_path, make_site, query, page):
    index = search_index(make_site(tmp_path, PAGES, CONF, language="zh_CN"))
    number = index["docnames"].index(page)
    search = ChineseWords({})
    for term in query_terms(query):
        assert number in index["weights"].get(search.stem(term), [])[::2], term


def test_words_that_are_not_neighbours_are_no_term(tmp_path, make_site):
    index = search_index(make_site(tmp_path, PAGES, CONF, language="zh_CN"))
    assert "存碎" not in index["weights"]
    assert "存溢" in index["weights"]


def test_the_pages_get_the_splitter_and_the_english_stemmer(tmp_path, make_site):
    app = make_site(tmp_path, PAGES, CONF, language="zh_CN")
    script = (app.outdir / "_static" / "language_data.js").read_text("utf-8")
    assert "var splitQuery = " in script
    assert "ChineseStemmer" not in script
    assert "Stemmer" in script


def test_latin_words_are_searched_as_in_english():
    assert ChineseWords({}).split("PyTorch 2.13, naïve 张量3D") == [
        "PyTorch",
        "2",
        "13",
        "naïve",
        "张量",
        "3D",
    ]
    assert ChineseWords({}).split("is_available 核") == ["is_available", "is", "available", "核"]
    assert ChineseWords({}).stem("Tensors") == "tensor"


@given(st.text(st.characters() | st.sampled_from("显存溢出")))
def test_every_pair_of_neighbouring_characters_is_a_term(text):
    terms = ChineseWords({}).split(text)
    assert set(query_terms(text)) <= set(terms)
