from __future__ import annotations

import re

import pytest

CONF = 'extensions = ["myst_parser", "translated_anchors"]\nsource_suffix = {".md": "markdown"}\n'
OTHER = "# Other\n\n(first)=\n## One\n\nWords.\n\n(second)=\n## Two\n\nWords.\n"
SENTENCE = "Read [one](other.md#first), [two](other.md#second) or [all](other.md)."
CHINESE = {
    "the same order": "先看[甲](other.md#first)，再看[乙](other.md#second)，或者[全看](other.md)。",
    "another order": "[全看](other.md)，或者先看[乙](other.md#second)，再看[甲](other.md#first)。",
}


@pytest.mark.parametrize("order", CHINESE)
def test_each_link_of_a_translation_leads_to_its_own_anchor(tmp_path, make_site, po, order):
    files = {
        "index.md": f"# Home\n\n```{{toctree}}\nother\n```\n\n{SENTENCE}\n",
        "other.md": OTHER,
        "locales/zh_CN/LC_MESSAGES/index.po": po({SENTENCE: CHINESE[order]}),
    }
    app = make_site(tmp_path, files, CONF, language="zh_CN")
    page = (app.outdir / "index.html").read_text("utf-8")
    for text, anchor in {"甲": "#first", "乙": "#second", "全看": ""}.items():
        assert re.search(rf'href="other\.html{anchor}"><span[^>]*>{text}</span>', page), text
    assert "is inconsistent" not in app.warning.getvalue()
