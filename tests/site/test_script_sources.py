"""Gallery scripts in another language."""

from __future__ import annotations

import ast

import pytest
from sphinx.errors import ExtensionError

from script_sources import translate_script

SOURCE = '''"""
Fit a line
==========

You see a line
and its points.

* one item
"""

from __future__ import annotations

# first step
x = "# no comment"  # the data

# %%
# Second part
# -----------
# A longer sentence over
# two lines.
#
# .. note:: short note
#
# .. list-table::
#
#    * - left
#      - right

print(x)
'''
ZH = {
    "Fit a line": "拟合一条直线",
    "You see a line and its points.": "你会看到一条直线 :math:`\\hat y`\\ 和它的点。",
    "one item": "一项",
    "first step": "第一步",
    "the data": "数据",
    "Second part": "第二部分的标题",
    "A longer sentence over two lines.": "一个更长的句子，\\ **占**\\ 两行。",
    "short note": "短注",
    "left": "左",
    "right": "右",
}


def body(script):
    return [ast.dump(node) for node in ast.parse(script).body[1:]]


def test_prose_and_comments_are_translated():
    script = translate_script(SOURCE, ZH, "x.py")
    assert script.missed == []
    assert all(text in script.text for text in ZH.values())
    assert not any(text in script.text for text in ("line", "first step", "sentence", "note\n"))


def test_the_program_is_the_same():
    assert body(translate_script(SOURCE, ZH, "x.py").text) == body(SOURCE)


def test_a_heading_gets_an_underline_that_is_wide_enough():
    lines = translate_script(SOURCE, ZH, "x.py").text.split("\n")
    assert lines[lines.index("拟合一条直线") + 1] == "=" * 12
    assert lines[lines.index("# 第二部分的标题") + 1] == "# " + "-" * 14


def test_a_docstring_with_backslashes_becomes_raw():
    text = translate_script(SOURCE, ZH, "x.py").text
    assert text.startswith('r"""')
    assert ":math:`\\hat y`\\ 和" in ast.get_docstring(ast.parse(text))


def test_without_a_catalog_nothing_changes():
    assert translate_script(SOURCE, {}, "x.py").text == SOURCE


def test_a_short_message_is_not_taken_out_of_a_longer_line():
    text = translate_script(SOURCE, {"lines.": "行。", "points": "点"}, "x.py").text
    assert "# two lines." in text
    assert "and its points." in text


def test_a_message_that_cannot_be_applied_is_told_with_its_line():
    simple_table = SOURCE.replace("# .. note:: short note", "# ===== =====\n# left cell right cell")
    script = translate_script(simple_table, ZH | {"right cell": "右格"}, "x.py")
    assert script.missed == [(23, "right cell")]


def test_a_translated_comment_that_tools_would_read_fails_with_its_place():
    with pytest.raises(ExtensionError, match=r"x\.py:11: "):
        translate_script(SOURCE, ZH | {"the data": "noqa: F401"}, "x.py")


def test_a_translation_that_changes_the_program_fails_with_its_place(monkeypatch):
    def wrong(code, _catalog, *, place):
        return code.replace("print(x)", "print(x, x)")

    monkeypatch.setattr("script_sources.translate_comments", wrong)
    with pytest.raises(ExtensionError, match=r"x\.py:29: .* changes this statement"):
        translate_script(SOURCE, ZH, "x.py")


def test_a_translation_that_starts_a_cell_in_prose_keeps_the_program():
    text = translate_script(SOURCE, ZH | {"short note": "短注\nprint(1)"}, "x.py").text
    assert body(text) == body(SOURCE)


def test_a_translation_that_closes_the_docstring_fails():
    with pytest.raises(ExtensionError, match=r"x\.py:1: .*docstring"):
        translate_script(SOURCE, ZH | {"Fit a line": 'a"""\nimport os\n"""'}, "x.py")


def test_a_script_without_a_docstring_fails_with_its_name():
    with pytest.raises(ExtensionError, match=r"x\.py:1: .*docstring"):
        translate_script("x = 1\n", ZH, "x.py")
