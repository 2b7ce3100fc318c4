from __future__ import annotations

import pytest

from message_markup import MARKDOWN, RST, differences


@pytest.mark.parametrize(
    ("message", "translation"),
    [
        ("Use `x` and `y`.", "用 `y` 和 `x`。"),
        ("See [the page](a.md#b).", "见[这一页](a.md#b)。"),
        ("See [`t()`](a.md).", "见 [`t()`](a.md)。"),
        ("{ref}`End <end>` and {ref}`end`", "{ref}`end` 与 {ref}`结尾 <end>`"),
        ("A {term}`tensor`", "{term}`张量 <tensor>`"),
        ("{abbr}`OOM (out of memory)`", "{abbr}`OOM（内存不足）`"),
        ("For $a^2$ it is $b$.", "$b$ 对应 $a^2$。"),
        ("It costs $5 or $6.", "要花 5 到 6 美元。"),
        ("![A line](a.png)", "![一条线](a.png)"),
        ("Note[^one].", "注[^one]。"),
        ("Press <kbd>A</kbd>", "按 <kbd>A</kbd>"),
        ("``a `b` c`` ends", "``a `b` c`` 结束"),
    ],
)
def test_equal_markup_in_markdown(message, translation):
    assert differences(message, translation, MARKDOWN) == []


@pytest.mark.parametrize(
    ("message", "translation", "fault"),
    [
        ("Use `x`.", "用 x。", "lacks `x`"),
        ("Use `x`.", "用 `x` `x`。", "only the translation has `x`"),
        ("See [a](a.md).", "见 [a](b.md)。", "link to b.md"),
        ("See [`t()`](a.md).", "见 [函数](a.md)。", "lacks `t()`"),
        ("{ref}`end`", "{doc}`end`", "role doc: end"),
        ("{term}`tensor`", "{term}`张量`", "role term: 张量"),
        ("$a$", "$b$", "lacks $a$"),
        ("Note[^one].", "注[^two]。", "[^two]"),
        ("<https://a.org/>", "a.org", "lacks <https://a.org/>"),
    ],
)
def test_different_markup_in_markdown(message, translation, fault):
    assert any(fault in line for line in differences(message, translation, MARKDOWN))


@pytest.mark.parametrize(
    ("message", "translation"),
    [
        ("Use ``x``.", r"用 ``x``\ 。"),
        ("See `the page <https://a.org>`_.", r"见\ `这一页 <https://a.org>`_\ 。"),
        (":ref:`End <end>`", ":ref:`结尾 <end>`"),
        (":math:`a < b`", ":math:`a < b`"),
        ("One [#note]_", "一 [#note]_"),
    ],
)
def test_equal_markup_in_restructuredtext(message, translation):
    assert differences(message, translation, RST) == []


@pytest.mark.parametrize(
    ("message", "translation", "fault"),
    [
        ("Use ``x``.", "用 x。", "lacks ``x``"),
        ("See `a <https://a.org>`_.", "见 `a <https://b.org>`_。", "link to https://b.org"),
        (":ref:`end`", ":doc:`end`", "role doc: end"),
        (":math:`a`", ":math:`b`", "role math: b"),
    ],
)
def test_different_markup_in_restructuredtext(message, translation, fault):
    assert any(fault in line for line in differences(message, translation, RST))


def test_plain_text_is_what_a_reader_sees():
    text = "用 `x` 看[这一页](a.md)，{ref}`结尾 <end>`，{ref}`end`，{abbr}`OOM（内存）`，$a$"
    assert MARKDOWN.plain(text) == "用 X 看这一页，结尾，X，OOM（内存），X"
