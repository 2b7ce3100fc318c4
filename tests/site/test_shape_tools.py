from __future__ import annotations

import json

import pytest
from bs4 import BeautifulSoup

from shape_tools import tool_texts

CONF = 'extensions = ["catalogs", "shape_tools"]\nhtml_static_path = []\n'
PAGES = {
    "index.rst": "Home\n====\n\n.. toctree::\n\n   other\n\n.. broadcast-calculator::\n\n.. stride-explorer::\n",
    "other.rst": "Other\n=====\n",
}


@pytest.fixture(params=["en", "zh_CN"])
def pages(request, tmp_path, make_site):
    app = make_site(tmp_path, PAGES, CONF, request.param)
    assert "shape_tool" not in app.warning.getvalue()
    return [
        BeautifulSoup((app.outdir / f"{name}.html").read_text("utf-8"), "html.parser")
        for name in ("index", "other")
    ]


def test_a_form_is_hidden_until_its_script_runs_and_says_so_without(pages):
    forms = pages[0].select("form.shape-tool")
    assert [form["data-tool"] for form in forms] == ["broadcast", "strides"]
    assert all(form.has_attr("hidden") for form in forms)
    assert len(pages[0].select("noscript")) == 2


def test_every_field_has_a_label_and_a_hint(pages):
    fields = pages[0].select("form.shape-tool input")
    assert len(fields) == 3
    for field in fields:
        assert pages[0].select_one(f"label[for={field['id']}]").get_text()
        assert pages[0].select_one(f"#{field['aria-describedby']}").get_text()


def test_the_script_finds_every_text_it_asks_for(pages):
    for form in pages[0].select("form.shape-tool"):
        texts = json.loads(form["data-texts"])
        assert {"broadcast.fits", "view.possible", "view.block", "shared"} <= texts.keys()
        assert all(texts.values())


def test_only_pages_with_a_form_load_the_script(pages):
    loads = [bool(page.select("script[src*=shape_tools]")) for page in pages]
    assert loads == [True, False]


def test_the_texts_of_the_package_are_in_the_pages_language():
    assert tool_texts("en")["view.possible"].startswith("view is possible")
    assert tool_texts("zh_CN")["view.possible"].startswith("view 可行")
