"""A resolved doctree as Markdown that plain Jupyter and Colab show: no directive, no role.

What Sphinx has already done is kept: translations, titles of links, numbers of equations and
figures. It is the same for MyST pages and for the text of gallery scripts. What has no form
in Markdown is reported to `Place.unknown`, never left as it was.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.locale import admonitionlabels

from markdown_inline import Place, escape, image, inline, inline_node
from markdown_tables import table

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Place", "blocks"]

_DROPPED = {
    "colspec", "comment", "decoration", "highlightlang", "imgsgnode", "index", "meta", "pending",
    "shape_tool", "substitution_definition", "system_message", "tabular_col_spec", "target", "title", "toctree",
}  # fmt: skip
_TRANSPARENT = {
    "centered", "compound", "container", "definition", "description", "error_decoder", "glossary",
    "hlist", "hlistcol", "legend", "only", "section", "sidebar", "topic", "versionmodified",
    "wheel_selector",
}  # fmt: skip
_LEXERS = {"ipython3": "python", "python3": "python", "py": "python", "Python": "python",
           "default": "python", "none": "", "text": "", "myst-ansi": ""}  # fmt: skip


def blocks(node: nodes.Node, place: Place) -> list[str]:
    """Write a node as blocks, to be joined by blank lines."""
    if isinstance(node, nodes.Text) or not isinstance(node, nodes.Element):
        return [escape(node.astext())] if node.astext().strip() else []
    name = node.tagname
    if name in _DROPPED or is_furniture(node):
        return []
    if name in _WRITERS:
        return _WRITERS[name](node, place)
    if name in admonitionlabels or name == "admonition":
        return _admonition(node, place)
    if name not in _TRANSPARENT:
        place.unknown(node)
        return [escape(node.astext())]
    titles = [child for child in node.children if isinstance(child, nodes.title)]
    return [f"**{inline(title, place)}**" for title in titles] + children(node, place)


def is_furniture(node: nodes.Element) -> bool:
    """Tell what sphinx-gallery puts around a script: outputs, links, footers."""
    classes: list[str] = node.get("classes", [])
    if isinstance(node, nodes.raw):
        return re.match(r'<div class="output_subarea|\s*(<br ?/>\s*)+$', node.astext()) is not None
    return not isinstance(node, nodes.section) and any(c.startswith("sphx-glr-") for c in classes)


def children(node: nodes.Node, place: Place) -> list[str]:
    """Write the children as blocks."""
    return [block for child in node.children for block in blocks(child, place)]


def _text(node: nodes.Element, place: Place) -> list[str]:
    text = inline(node, place).strip()
    return [text] if text else []


def _rubric(node: nodes.Element, place: Place) -> list[str]:
    return [f"**{inline(node, place)}**"]


def _code(node: nodes.Element, _place: Place) -> list[str]:
    text = node.astext().rstrip("\n")
    lexer = str(node.get("language") or node.get("lang") or "python")
    fence = "`" * max(3, max(map(len, re.findall(r"`+", text)), default=0) + 1)
    return [f"{fence}{_LEXERS.get(lexer, lexer)}\n{text}\n{fence}"]


def _math(node: nodes.Element, _place: Place) -> list[str]:
    tex = node.astext().strip()
    if node.get("nowrap") or node.get("no-wrap") or "amsmath" in node.get("classes", []):
        return [tex]
    rows = re.sub(r"(?s)\\begin\{(\w+\*?)\}.*?\\end\{\1\}", "", tex)
    if r"\\" in rows:  # bare rows: the environment that Sphinx gives them
        tex = f"\\begin{{aligned}}\n{tex}\n\\end{{aligned}}"
    number = f" \\tag{{{node['number']}}}" if node.get("label") and node.get("number") else ""
    return [f"$$\n{tex}{number}\n$$"]


def quote(parts: list[str]) -> str:
    """Put blocks into a block quote."""
    return re.sub(r"(?m)^(?=(.?))", lambda m: "> " if m[1] else ">", "\n\n".join(parts))


def _block_quote(node: nodes.Element, place: Place) -> list[str]:
    return [quote(parts)] if (parts := children(node, place)) else []


def _attribution(node: nodes.Element, place: Place) -> list[str]:
    return [f"— {inline(node, place)}"]


def _admonition(node: nodes.Element, place: Place) -> list[str]:
    title = next((child for child in node.children if isinstance(child, nodes.title)), None)
    heading = inline(title, place) if title else str(admonitionlabels.get(node.tagname, ""))
    body = children(node, place)
    if "dropdown" in node.get("classes", []):  # stays closed until the reader opens it
        return [f"<details><summary>{heading}</summary>", *body, "</details>"]
    return [quote([f"**{heading}**", *body])]


def _list(marker: Callable[[int], str]) -> Callable[[nodes.Element, Place], list[str]]:
    def write(node: nodes.Element, place: Place) -> list[str]:
        first = int(node.get("start", 1))
        items = [children(item, place) for item in node.children]
        loose = any(len([part for part in item if not is_list(part)]) > 1 for item in items)
        gap = "\n\n" if loose else "\n"
        rows = [indent(gap.join(i), marker(n)) for n, i in enumerate(items, first)]
        return [gap.join(rows)]

    return write


def is_list(block: str) -> bool:
    """Tell whether a block is itself a list, which may follow its item's line directly."""
    return re.match(r"(?:-|\d+\.) ", block) is not None


def indent(text: str, marker: str) -> str:
    """Put a marker before the first line and align the others with it."""
    return marker + re.sub(r"\n(?=.)", "\n" + " " * len(marker), text)


def _definitions(node: nodes.Element, place: Place) -> list[str]:
    rows = []
    for item in node.children:
        terms = [c for c in item.children if isinstance(c, nodes.term)]
        names = "\\\n".join(f"**{inline(term, place)}**" for term in terms)
        body = [b for c in item.children if c not in terms for b in blocks(c, place)]
        rows.append(indent(f"{names}\\\n" + "\n\n".join(body), "- "))
    return ["\n".join(rows)]


def _lines(node: nodes.Element, place: Place) -> list[str]:
    rows = [inline(line, place) for line in node.findall(nodes.line)]
    return ["\\\n".join(rows)]


def _footnote(node: nodes.Element, place: Place) -> list[str]:
    label, *rest = node.children
    text = "\n\n".join(block for child in rest for block in blocks(child, place))
    return [f"<sup>{label.astext()}</sup> {text}"]


def caption(node: nodes.Element, place: Place) -> list[str]:
    """Write a caption after its number, as `numref` names it."""
    number = place.caption_number(node.parent)
    return [f"*{' '.join(filter(None, [number, inline(node, place)]))}*"]


def _raw(node: nodes.Element, place: Place) -> list[str]:
    if node.get("format") != "html":
        place.unknown(node)
        return []
    return [node.astext().strip()]


_WRITERS: dict[str, Callable[[nodes.Element, Place], list[str]]] = {
    "attribution": _attribution,
    "block_quote": _block_quote,
    "bullet_list": _list(lambda _number: "- "),
    "caption": caption,
    "citation": _footnote,
    "code_links_block": _code,  # sphinx-gallery's form of a code block
    "definition_list": _definitions,
    "doctest_block": _code,
    "enumerated_list": _list(lambda number: f"{number}. "),
    "figure": children,
    "footnote": _footnote,
    "image": lambda node, place: [image(node, place)],
    "line_block": _lines,
    "literal_block": _code,
    "math_block": _math,
    "paragraph": _text,
    "raw": _raw,
    "reference": lambda node, place: [inline_node(node, place)],
    "rubric": _rubric,
    "table": lambda node, place: table(node, place, children, caption),
    "transition": lambda _node, _place: ["---"],
}
