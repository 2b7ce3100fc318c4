"""Rules of Chinese typography for translations; each says what is wrong and shows the place."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from message_markup import RST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from message_markup import Markup

__all__ = ["has_chinese", "has_words", "style_problems"]

HAN = "\u3400-\u4dbf\u4e00-\u9fff"
CLOSING = "，。、；：！？）》」”’"
FULL_WIDTH = f"{CLOSING[:-2]}（《「"  # curly quotes serve both languages

RULES = {
    "a space is missing between Chinese and Latin, digits, code or a formula (X)": (
        rf"[{HAN}][A-Za-z0-9]|[A-Za-z0-9][{HAN}]"
    ),
    "half-width punctuation beside Chinese": (
        rf"[{HAN}{CLOSING}](?:[,;:!?]|\.(?![A-Za-z]))|[,;!?] ?[{HAN}]|: [{HAN}]|[{HAN}]\(|\)[{HAN}]"
    ),
    "a space beside full-width punctuation": rf"[{FULL_WIDTH}] +\S| +[{FULL_WIDTH}]",
}
PATTERNS = {fault: re.compile(pattern) for fault, pattern in RULES.items()}
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w*\}")  # in the strings of templates
CODE = re.compile(r"(`+)(.+?)\1", flags=re.DOTALL)
BOLD = re.compile(r"\*\*(?=\S)([^*]+)(?<=\S)\*\*")


def has_chinese(text: str) -> bool:
    """Tell whether a text has a Han character."""
    return bool(re.search(f"[{HAN}]", text))


def has_words(text: str, markup: Markup | None) -> bool:
    """Tell whether a text has Latin words outside code, formulas and placeholders."""
    return bool(re.search(r"[A-Za-z]{2}", _plain(text, markup).replace("X", "")))


def style_problems(text: str, markup: Markup | None) -> Iterator[str]:
    """Say what is wrong with a Chinese text; `markup` is None where it has none."""
    plain = _plain(text, markup)
    for fault, pattern in PATTERNS.items():
        for match in pattern.finditer(plain):
            yield f"{fault}: {_around(plain, match)}"
    if markup is RST:
        yield from _markup_not_recognised(text)
    elif markup:
        yield from _bold_not_recognised(text)


def _plain(text: str, markup: Markup | None) -> str:
    """Return the text as a reader sees it, code and placeholders as X."""
    # on pages, `{ref}` is the name of a role and no placeholder
    text = markup.plain(text).replace("**", "") if markup else PLACEHOLDER.sub("X", text)
    return text.replace("\\ ", "") if markup is RST else text


def _around(text: str, match: re.Match[str]) -> str:
    return f"…{text[max(match.start() - 8, 0) : match.end() + 8]}…"


def _is_punctuation(character: str) -> bool:
    return character in "$+<=>^`|~" or unicodedata.category(character).startswith("P")


def _is_word(character: str) -> bool:
    return bool(character.strip()) and not _is_punctuation(character)


def _bold_not_recognised(text: str) -> Iterator[str]:
    """Find ** that CommonMark does not take for bold: beside a mark inside, a word outside.

    https://spec.commonmark.org/0.31.2/#left-flanking-delimiter-run
    """
    shown = CODE.sub(lambda match: match[1] + "x" * len(match[2]) + match[1], text)
    for match in BOLD.finditer(shown):
        before, after = shown[: match.start()][-1:], shown[match.end() :][:1]
        opens = not (_is_punctuation(match[1][0]) and _is_word(before))
        closes = not (_is_punctuation(match[1][-1]) and _is_word(after))
        if not (opens and closes):
            place = _around(text, match)
            yield f"this does not become bold, move the punctuation out of the **: {place}"


def _markup_not_recognised(text: str) -> Iterator[str]:
    """Find inline markup that reStructuredText does not see, because it touches a word.

    https://docutils.sourceforge.io/docs/ref/rst/restructuredtext.html#inline-markup-recognition-rules
    """
    for match in [*RST.pattern.finditer(text), *BOLD.finditer(text)]:
        if _is_word(text[: match.start()][-1:]) or _is_word(text[match.end() :][:1]):
            yield f"a space or `\\ ` is missing beside the markup: {_around(text, match)}"
