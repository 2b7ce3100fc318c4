"""How an entry of the error catalogue looks on a page: a recorded message, and the answer to it."""

from __future__ import annotations

import ast
import html
import re
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.locale import _

from torchguide.errors import load
from torchguide.errors.templates import readable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchguide.errors import Entry, Match

__all__ = ["SOURCE", "answer_box", "recording"]

SOURCE = "source"  # a message that nobody reported yet, as the catalogue's own test has it
LINES = 12  # of a recorded message, at most


def recording(message: str, match: Match, recorded: str) -> Iterator[nodes.Node]:
    """Show a message that was not raised here, and say so."""
    said = (
        _("The message as the program that prints it words it, with values put in. Not run here:")
        if recorded == SOURCE
        else _("Recorded on a reader's machine, shortened. Not run here:")
    )
    lines = message.splitlines()
    first = max(0, min(match.line - 3, len(lines) - LINES))
    text = "\n".join(lines[first : first + LINES])
    yield nodes.paragraph("", "", nodes.Text(said), classes=["recorded"])
    yield nodes.literal_block(text, text, language="none")


def answer_box(match: Match, entry: Entry, language: str) -> nodes.Element:
    """Write the answer of `torchguide explain` as a box, with the wordings that it knows."""
    words = load().interface
    box = nodes.admonition("", nodes.title("", match.title), classes=["error-entry"])
    fix, _gap, code = match.fix.partition("\n\n    ")
    box += _label(words["cause"][language])
    box += _text(match.cause)
    box += _label(words["fix"][language])
    box += _text(fix)
    if code:
        code = "\n".join(line.removeprefix("    ") for line in code.splitlines())
        box += nodes.literal_block(code, code, language=_lexer(code))
    box += nodes.raw("", _wordings(entry), format="html")
    return box


def _label(text: str) -> nodes.Node:
    return nodes.paragraph("", "", nodes.strong("", text))


def _text(text: str) -> Iterator[nodes.Node]:
    """Write lines as a paragraph, and those that are numbered as a list."""
    plain = [line for line in text.split("\n") if not re.match(r"\d+\. ", line)]
    numbered = [line for line in text.split("\n") if re.match(r"\d+\. ", line)]
    if plain:
        yield nodes.paragraph("", "", nodes.Text("\n".join(plain)))
    if numbered:
        items = (nodes.list_item("", nodes.paragraph("", re.sub(r"^\d+\. ", "", line)))
                 for line in numbered)  # fmt: skip
        yield nodes.enumerated_list("", *items, enumtype="arabic", prefix="", suffix=".")


def _lexer(code: str) -> str:
    try:
        ast.parse(code)
    except SyntaxError:
        return "bash"
    return "python"


def _versions(torch: str) -> str:
    """Write `1.8-`, `-1.7`, `1.7-1.13` or `any` with signs that need no translation."""
    first, _dash, last = torch.partition("-")
    if torch == "any":
        return ""
    if first and last:
        return f"torch {first}" if first == last else f"torch {first}–{last}"
    return f"torch ≥ {first}" if first else f"torch ≤ {last}"


def _wordings(entry: Entry) -> str:
    """List the messages that are known, folded, in HTML."""
    rows = []
    for pattern in entry.patterns:
        versions = f' <span lang="en">{_versions(pattern.torch)}</span>'
        rows.append(f"<li><code>{html.escape(readable(pattern.match))}</code>{versions}</li>")
    said = _("Known wordings: {count}").format(count=len(rows))
    return f"<details><summary>{said}</summary><ul>{''.join(rows)}</ul></details>"
