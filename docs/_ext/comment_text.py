"""Find and translate the comments of some code; what it does stays the same.

In Python every comment is found, in other languages those that fill a line: what else a `#` means
in a shell or a Dockerfile, only these programs know.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING

from docutils.utils import column_width
from sphinx.errors import ExtensionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["LINE_LANGUAGES", "PYTHON", "Comment", "find_comments", "translate_comments"]

PYTHON = frozenset(["python", "python3", "ipython", "ipython3", "py"])
LINE_LANGUAGES = frozenset(["bash", "docker", "dockerfile", "ini", "sh", "shell", "toml", "yaml"])
# Comments that programs read: cell marks, linters, type checkers, shebang, encoding.
DIRECTIVE = re.compile(
    r"\s*(%%|!|-\*-|sphinx_gallery_|noqa\b|type:|pragma:|fmt:|ruff:|mypy:|isort:|(en)?coding[:=]"
    r"|hadolint\b|shellcheck\b|syntax=|escape=)"
)
LIST_ITEM = re.compile(r"(?:[-*•]|\d+[.)])\s")
# A word is a Latin one, or a single wide character; marks that may not begin a line cling to
# it, and marks that may not end one.
WORD = re.compile(r"\s+|[（「『《“‘]*(?:[!-\u2e7f]+|.)[，。、；：！？）」』》”’…—]*")


@dataclass(frozen=True)
class Comment:
    """A comment in some code: rows `first` to `last` from 1, `column` of the # from 0."""

    first: int
    last: int
    column: int
    text: str


def _same_program(one: str, other: str) -> bool:
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


def _tokens(code: str, language: str) -> Iterator[tuple[int, int, str, bool]]:
    """Give row, column and text of each comment, and whether it fills its line."""
    if language in LINE_LANGUAGES:
        for row, line in enumerate(code.split("\n"), start=1):
            if line.lstrip().startswith("#"):
                yield row, line.index("#"), line.strip(), True
        return
    try:
        ast.parse(code)
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (SyntaxError, ValueError, tokenize.TokenError):
        return
    for token in tokens:
        if token.type == tokenize.COMMENT:
            yield *token.start, token.string, not token.line[: token.start[1]].strip()


def find_comments(code: str, language: str = "python") -> list[Comment]:
    """Return the comments for people; none where the code is not plain Python (magics)."""
    found: list[Comment] = []
    joins = False  # whether the next row may continue the last comment
    for row, column, comment, whole_line in _tokens(code, language):
        text = " ".join(comment.lstrip("#").split())
        if DIRECTIVE.match(comment[1:]) or not text:
            joins = False
        elif (
            joins
            and whole_line
            and not LIST_ITEM.match(text)
            and (found[-1].last, found[-1].column) == (row - 1, column)
        ):
            found[-1] = Comment(found[-1].first, row, column, f"{found[-1].text} {text}")
        else:
            found.append(Comment(row, row, column, text))
            joins = whole_line
    return found


def _spread(text: str, count: int) -> list[str]:
    """Cut the text into exactly `count` lines, so that no row of the code moves."""
    words = WORD.findall(text)
    width = -(-column_width(text) // count)
    while True:
        lines = [""]
        for word in words:
            if lines[-1].strip() and column_width(lines[-1] + word.rstrip()) > width:
                lines.append("")
            lines[-1] += word
        if len(lines) <= count:
            return [line.strip() for line in lines] + [""] * (count - len(lines))
        width += 2


def translate_comments(
    code: str, catalog: Mapping[str, str], *, place: str = "code", language: str = "python"
) -> str:
    """Return the code with translated comments: the same lines and, in Python, the same tree.

    `place` (page and line) begins the message of the ExtensionError that is raised where a
    translation would change the program or the way that tools read it.
    """
    lines = code.split("\n")
    for comment in find_comments(code, language):
        text = " ".join(catalog.get(comment.text, "").split())
        if not text:
            continue
        if DIRECTIVE.match(text) or not text.isprintable():
            raise ExtensionError(
                f"{place}: the translation of the comment {comment.text!r} would change the "
                f"program or its cells: {text!r}; begin with a word, use printable characters"
            )
        rows = range(comment.first - 1, comment.last)
        for row, part in zip(rows, _spread(text, len(rows)), strict=True):
            lines[row] = f"{lines[row][: comment.column]}# {part}".rstrip()
    translated = "\n".join(lines)
    if translated != code and language in PYTHON and not _same_program(translated, code):
        raise ExtensionError(f"{place}: translating comments changed the program:\n{translated}")
    return translated
