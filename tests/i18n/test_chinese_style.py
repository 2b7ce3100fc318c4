"""The typography of Chinese sentences with markup in them."""

from __future__ import annotations

from chinese_style import style_problems
from message_markup import MARKDOWN


def test_a_role_in_a_sentence_is_read_as_its_words() -> None:
    assert not list(style_problems("放进{ref}`搜索 <search>`里查", MARKDOWN))
    assert list(style_problems("放进{ref}`search <search>`里查", MARKDOWN))
