"""The inline half of a doctree as Markdown that plain Jupyter and Colab show."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from docutils import nodes

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Place", "code_span", "escape", "image", "inline", "inline_node", "link"]

_DROPPED = {"target", "index", "system_message", "substitution_definition", "comment", "meta"}
_AS_TEXT = {
    "inline", "generated", "abbreviation", "acronym", "problematic", "pending_xref",
    "number_reference", "manpage", "math_role",
}  # fmt: skip


@dataclass(frozen=True)
class Place:
    """Where a page is published, and how to name what it shows.

    `image` turns an image's path into its address, `caption_number` gives "Fig. 1" or "",
    `unknown` is told of each node that has no form in Markdown.
    """

    url: str
    image: Callable[[str], str]
    caption_number: Callable[[nodes.Element], str]
    unknown: Callable[[nodes.Node], None]


def escape(text: str) -> str:
    """Keep prose from being read as Markdown, HTML or math."""
    text = re.sub(r"([\\`*$])|(?<![^\W_])_|_(?![^\W_])|~(?=~)|<(?=[A-Za-z/!?])", r"\\\g<0>", text)
    text = text.replace("](", "]\\(")
    return re.sub(r"(?m)^(\s*)(?=[-+>]\s|#{1,6}\s)", r"\1\\", re.sub(
        r"(?m)^(\s*\d+)([.)])(?=\s)", r"\1\\\2", text))  # fmt: skip


def code_span(text: str) -> str:
    """Write code within a line, whatever backticks it holds."""
    text = " ".join(text.splitlines())
    ticks = "`" * (max(map(len, re.findall(r"`+", text)), default=0) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}"


def link(text: str, url: str) -> str:
    """Write a link; an address with spaces or parentheses stands in angle brackets."""
    return f"[{text}](<{url}>)" if re.search(r"[\s()]", url) else f"[{text}]({url})"


def inline(node: nodes.Node, place: Place) -> str:
    """Write the children of a text element."""
    return "".join(inline_node(child, place) for child in node.children)


def inline_node(node: nodes.Node, place: Place) -> str:
    """Write one inline node."""
    if isinstance(node, nodes.Text):
        return escape(node.astext())
    if not isinstance(node, nodes.Element) or node.tagname in _DROPPED:
        return ""
    if node.tagname in _WRITERS:
        return _WRITERS[node.tagname](node, place)
    if node.tagname not in _AS_TEXT:
        place.unknown(node)
        return escape(node.astext())
    return inline(node, place)


def _code(node: nodes.Element, _place: Place) -> str:
    return code_span(node.astext())


def _math(node: nodes.Element, _place: Place) -> str:
    return f"${' '.join(node.astext().split())}$"


def _raw(node: nodes.Element, place: Place) -> str:
    if node.get("format") != "html":
        place.unknown(node)
        return ""
    return node.astext()


def image(node: nodes.Element, place: Place) -> str:
    """Write an image with its alternative text."""
    uri = str(node["uri"])
    text = re.sub(r"([\[\]])", r"\\\1", " ".join(str(node.get("alt", "")).split()))
    return "!" + link(text, uri if ":" in uri else place.image(uri))


def _reference(node: nodes.Element, place: Place) -> str:
    text = inline(node, place)
    if "refuri" in node:
        return link(text, urljoin(place.url, str(node["refuri"])))
    if "refid" in node:
        return link(text, f"{place.url}#{node['refid']}")
    return text


def _marked(mark: str, tag: str) -> Callable[[nodes.Element, Place], str]:
    """Write a mark around the text, or HTML where CommonMark would show the mark itself.

    Its flanking rule fails between a letter outside and punctuation inside, as in `中**“文”**字`.
    """

    def write(node: nodes.Element, place: Place) -> str:
        text = inline(node, place)
        before, after = _neighbour(node, -1)[-1:], _neighbour(node, 1)[:1]
        if (
            not mark
            or (_is_letter(before) and not _is_letter(text[:1]))
            or (_is_letter(after) and not _is_letter(text[-1:]))
        ):
            return f"<{tag}>{text}</{tag}>"
        return f"{mark}{text}{mark}"

    return write


def _neighbour(node: nodes.Element, step: int) -> str:
    siblings = node.parent.children
    index = siblings.index(node) + step
    return siblings[index].astext() if 0 <= index < len(siblings) else ""


def _is_letter(character: str) -> bool:
    """Tell whether it is neither missing, a space nor punctuation."""
    return bool(character.strip()) and unicodedata.category(character)[0] not in "PS"


_WRITERS: dict[str, Callable[[nodes.Element, Place], str]] = {
    "download_reference": _code,
    "emphasis": _marked("*", "em"),
    "footnote_reference": _marked("", "sup"),
    "image": image,
    "literal": _code,
    "literal_emphasis": _code,
    "literal_strong": _code,
    "math": _math,
    "raw": _raw,
    "reference": _reference,
    "strong": _marked("**", "strong"),
    "subscript": _marked("", "sub"),
    "superscript": _marked("", "sup"),
    "title_reference": _marked("*", "cite"),
}
