"""Tables of a doctree as Markdown tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from markdown_inline import Place

    Writer = Callable[[nodes.Node, Place], list[str]]

__all__ = ["table"]

_FORMULA = re.compile(r"((?<!\\)\$(?:\\.|[^$\\])*\$)")


def table(
    node: nodes.Element,
    place: Place,
    children: Writer,
    caption: Callable[[nodes.Element, Place], list[str]],
) -> list[str]:
    """Write caption and rows; a table without a head gets an empty one, as Markdown needs it."""
    titles = [child for child in node.children if isinstance(child, nodes.title)]
    above = [part for title in titles for part in caption(title, place)]
    head = [
        _row(row, place, children) for part in node.findall(nodes.thead) for row in part.children
    ]
    body = [
        _row(row, place, children) for part in node.findall(nodes.tbody) for row in part.children
    ]
    width = max(map(len, head + body), default=0)
    rows = [*(head or [[""] * width]), ["---"] * width, *body]
    return [*above, "\n".join(f"| {' | '.join(row)} |" for row in rows)]


def _row(row: nodes.Node, place: Place, children: Writer) -> list[str]:
    cells = []
    for entry in row.children:
        parts = children(entry, place)
        spans = isinstance(entry, nodes.Element) and {"morerows", "morecols"} & set(
            entry.attributes
        )
        if spans or any(part.startswith(("```", "$$", "|", ">")) for part in parts):
            place.unknown(entry)  # a Markdown cell holds one line
        cells.append(_one_line("<br>".join(parts)))
    return cells


def _one_line(text: str) -> str:
    """Join a cell's lines; a bar would end the cell, in a formula too."""
    text = re.sub(r"\n\n|\n(?=- |\d+\. )", "<br>", text).replace("\n", " ")
    pieces = enumerate(_FORMULA.split(text))
    return "".join(p.replace("|", r"\vert " if n % 2 else r"\|") for n, p in pieces)
