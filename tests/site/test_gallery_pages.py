from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

CONF = """
extensions = ["sphinx_gallery.gen_gallery", "code_comments", "gallery_pages"]
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"\\.py$",
    "nested_sections": True,
    "backreferences_dir": None,
    "download_all_examples": False,
    "min_reported_time": float("inf"),
    "write_computation_times": False,
}
"""
SCRIPT = '''\
"""
Draw a ``line``
===============

A line & a "curve", see :doc:`the list <index>`.
"""

# %%
# The curve
# ---------
#
# It bends.

import matplotlib.pyplot as plt

# one line
plt.plot([1, 2, 1])
plt.title('A "bent" line')
plt.show()
'''
FILES = {
    "index.rst": "Home\n====\n\n.. toctree::\n\n   gallery/index\n",
    "../examples/GALLERY_HEADER.rst": "Examples\n========\n\nAll of them.\n",
    "../examples/tensors/GALLERY_HEADER.rst": "Tensors\n=======\n\nOn tensors.\n",
    "../examples/tensors/draw_line.py": SCRIPT,
}
PO = "locales/zh_CN/LC_MESSAGES/{}.po"
LISTS = {
    "Examples": "示例",
    "All of them.": "全部示例。",
    "Tensors": "张量",
    "On tensors.": "关于张量。",
}
EXAMPLE = {
    "Draw a ``line``": "画一条 ``line``",
    'A line & a "curve", see :doc:`the list <index>`.': '一条线 & 一条 "曲线"，见 :doc:`列表 <index>`。',
    "The curve": "曲线",
    "It bends.": "它是弯的。",
    "one line": "一条线",
    'A "bent" line': '一条 "弯" 线',
}


@pytest.fixture
def files(po):
    return FILES | {
        PO.format("index"): po({"Home": "首页"}),
        PO.format("gallery/index"): po(LISTS),
        PO.format("gallery/tensors/index"): po(LISTS),
        PO.format("gallery/tensors/draw_line"): po(EXAMPLE),
    }


def page(app, name):
    return BeautifulSoup((app.outdir / f"{name}.html").read_text("utf-8"), "html.parser")


def test_templates_have_the_readers_texts_and_none_of_sphinx_gallery(tmp_path, make_site):
    app = make_site(tmp_path, FILES, CONF, builder="gettext")
    example = (app.outdir / "gallery/tensors/draw_line.pot").read_text("utf-8")
    messages = [line for line in example.splitlines() if line.startswith("msgid ")]
    assert messages[1:] == ['msgid "{}"'.format(message.replace('"', '\\"')) for message in EXAMPLE]
    both = (app.outdir / "gallery/index.pot").read_text("utf-8").count("\nmsgid ")
    one = (app.outdir / "gallery/tensors/index.pot").read_text("utf-8").count("\nmsgid ")
    assert (both, one) == (1 + 4, 1 + 2)  # the header, and no link of a thumbnail


def test_pages_in_the_source_language(tmp_path, make_site):
    app = make_site(tmp_path, FILES, CONF)
    assert app.warning.getvalue() == ""
    example = page(app, "gallery/tensors/draw_line")
    assert (
        example.select(".sphx-glr-footer, .sphx-glr-download-link-note, .sphx-glr-signature") == []
    )
    assert example.select_one("img.sphx-glr-single-img")["alt"] == 'A "bent" line'
    assert not list((app.outdir / "_downloads").rglob("*.*"))
    index = page(app, "gallery/index")
    assert index.select("#sg-tag-list") == []
    assert index.select_one("[tooltip]")["tooltip"] == 'A line & a "curve", see the list.'


def test_pages_in_chinese(tmp_path, make_site, files, po):
    app = make_site(tmp_path, files, CONF, language="zh_CN")
    assert app.warning.getvalue() == ""
    example = page(app, "gallery/tensors/draw_line")
    assert example.h1.get_text().startswith("画一条 line")
    assert "# 一条线\nplt.plot" in example.pre.get_text()
    assert example.select_one("img.sphx-glr-single-img")["alt"] == '一条 "弯" 线'
    for name in ("gallery/index", "gallery/tensors/index"):
        thumbnail = page(app, name).select_one(".sphx-glr-thumbcontainer")
        assert thumbnail["tooltip"] == '一条线 & 一条 "曲线"，见 列表。'
        assert thumbnail.select_one(".sphx-glr-thumbnail-title").get_text() == "画一条 line"

    changed = po(EXAMPLE | {"Draw a ``line``": "画出 ``line``"})
    files |= {PO.format("gallery/tensors/draw_line"): changed}
    app = make_site(tmp_path, files, CONF, language="zh_CN")
    title = page(app, "gallery/index").select_one(".sphx-glr-thumbnail-title").get_text()
    assert title == "画出 line", "the list is read again when the example's catalog changes"


def test_untranslated_texts_are_warnings_that_name_the_page(tmp_path, make_site, files, po):
    texts = {"The curve": "曲线", "It bends.": "它是弯的。"}
    files |= {PO.format("gallery/tensors/draw_line"): po(texts)}
    app = make_site(tmp_path, files, CONF, language="zh_CN")
    warnings = app.warning.getvalue().splitlines()
    for name, text in [
        ("gallery/tensors/index.rst", "Draw a line"),
        ("gallery/index.rst", "see the list"),
        ("gallery/tensors/draw_line.rst", "bent"),
        ("gallery/tensors/draw_line.rst", "# one line"),
    ]:
        assert any(name in line and text in line for line in warnings), (name, text)
