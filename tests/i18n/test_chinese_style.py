from __future__ import annotations

import pytest

from chinese_style import has_chinese, has_words, style_problems
from message_markup import MARKDOWN, RST


@pytest.mark.parametrize(
    "text",
    [
        "形状为 (2, 3) 的张量，共 6 个元素。",
        "脚本（.py）和 `x`、`y`。",
        "**注意**。然后",
        "**重点**中文**重点**",
        "占 50%，约 3.5 倍：“好”",
        "用 `a` 和 [`b`](c.md)，见[这里](d.md)。",
        "**`view`** 不复制",
        "$x$ 的导数",
    ],
)
def test_good_chinese(text):
    assert list(style_problems(text, MARKDOWN)) == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("用GPU", "space is missing"),
        ("第1步", "space is missing"),
        ("用`x`", "space is missing"),
        ("$x$的导数", "space is missing"),
        ("在 **GPU**上", "space is missing"),
        ("对,错", "half-width"),
        ("对.", "half-width"),
        ("`x`, 然后", "half-width"),
        ("键: 值", "half-width"),
        ("内存(显存)", "half-width"),
        ("他说，“好”.", "half-width"),
        ("对， 错", "beside full-width"),
        ("`x` ，错", "beside full-width"),
        ("**注意。**然后", "not become bold"),
        ("用**`view`**复制", "not become bold"),
        ("他**“说”**了", "not become bold"),
    ],
)
def test_faults_are_found(text, fault):
    assert any(fault in line for line in style_problems(text, MARKDOWN)), text


@pytest.mark.parametrize("text", [r"这是\ **重点**\ 。", "见 :ref:`这里 <a>`。", "用 ``x``，再用"])
def test_good_restructuredtext(text):
    assert list(style_problems(text, RST)) == []


@pytest.mark.parametrize("text", ["这是**重点**。", "见:ref:`这里 <a>`。", "见`这里 <a>`_\\ 。"])
def test_markup_that_restructuredtext_does_not_see(text):
    assert any("beside the markup" in line for line in style_problems(text, RST))


def test_bold_is_judged_as_the_parser_of_the_pages_does():
    from markdown_it import MarkdownIt

    render = MarkdownIt().renderInline
    for text in (
        "**注意。**然后",
        "**注意**。然后",
        "用**`x`**复制",
        "用 **`x`** 复制",
        "说**“好”**了",
    ):
        bold = "<strong>" in render(text)
        assert bold is not any("bold" in line for line in style_problems(text, MARKDOWN)), text


def test_words_and_characters():
    assert has_words("PyTorch", MARKDOWN)
    assert not has_words("`torch.ones` and"[:12], MARKDOWN)
    assert not has_words("%(number)s {x} 3.5", None)
    assert has_chinese("X 轴")
    assert not has_chinese("，。")
