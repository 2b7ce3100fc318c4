"""The directives `broadcast-calculator` and `stride-explorer`: shapes to try in the browser.

`_static/shape_tools.js` computes by the rules of `torchguide.tensors` and speaks with its words.
Without JavaScript the form stays hidden, and the page around it says what to call in Python.
"""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

from torchguide.texts import messages

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata
    from sphinx.writers.html5 import HTML5Translator

__all__ = ["BroadcastCalculator", "StrideExplorer", "shape_tool", "tool_texts"]

SHAPES = ("3, 1; 4", "8, 3, 32; 4, 1", "64, 1; 64", "2, 1, 5; 7, 1")
EXPRESSIONS = (
    "arange(12).view(3, 4).T",
    "arange(24).view(2, 3, 4)[:, 1:, ::2]",
    "arange(3).view(3, 1).expand(3, 4)",
    "arange(6).view(2, 3).T.reshape(6)",
)


class shape_tool(nodes.General, nodes.Element):  # noqa: N801  # nodes are named like tags
    """A form; its words are written with the page."""


class BroadcastCalculator(SphinxDirective):
    """Shapes → how they are aligned, and the shape of the result."""

    def run(self) -> list[nodes.Node]:
        """Leave the place of the form."""
        return [shape_tool(tool="broadcast")]


class StrideExplorer(SphinxDirective):
    """An expression → shape, strides, offset and cells, and whether another shape is a view."""

    def run(self) -> list[nodes.Node]:
        """Leave the place of the form."""
        return [shape_tool(tool="strides")]


def tool_texts(language: str) -> dict[str, str]:
    """Give the texts that the script fills, in the language of the build."""
    language = "zh" if language.startswith("zh") else "en"
    said = messages(language, ("broadcast.", "view."))
    return {
        **said,
        "shared": _("All steps share one storage."),
        "copied": _("A step copied: this is a new storage."),
        "error.syntax": _("Cannot read on at “{found}”."),
        "error.begin": _("Begin with arange(12), zeros(3, 4) or ones(3, 4)."),
        "error.method": _("{found} is not known here; these are: {known}."),
        "error.arguments": _("{name} takes another number of arguments."),
        "error.axis": _("There is no axis {axis}: the tensor has {count}."),
        "error.order": _("Name each of the {count} axes once."),
        "error.two": _("T and t() swap the two axes of a matrix; mT swaps the last two of many."),
        "error.index": _("Too many indices for {count} axes."),
        "error.bounds": _("Index {index} is out of range for the size {size}."),
        "error.step": _("A step must be above 0."),
        "error.expand": _("{from} cannot be expanded to {to}: only a size of 1 grows."),
        "error.negative": _("A size cannot be negative."),
        "error.large": _("At most {most} cells are shown."),
        "error.shape": _("“{found}” is no shape; write 3, 4."),
    }


def _input(name: str, label: str, value: str, hint: str) -> str:
    return f"""<p><label for="{name}">{html.escape(label)}</label>
<input id="{name}" value="{html.escape(value)}" aria-describedby="{name}-hint" autocomplete="off"
 autocapitalize="off" spellcheck="false">
<small id="{name}-hint">{html.escape(hint)}</small></p>"""


def _form(tool: str, language: str) -> str:
    if tool == "broadcast":
        name, examples = _("Broadcasting calculator"), SHAPES
        fields = _input("broadcast-shapes", _("Shapes"), SHAPES[0], _("Separate shapes by ;"))
    else:
        name, examples = _("Stride explorer"), EXPRESSIONS
        fields = _input(
            "stride-expression", _("Expression"), EXPRESSIONS[0],
            _("Begin with arange, zeros or ones; then methods and slices."),
        ) + _input("stride-view", _("As view of"), "", _("Optional: another shape, such as 2, -1"))  # fmt: skip
    buttons = "".join(
        f'<button type="button" data-example="{html.escape(each)}"><code>{html.escape(each)}</code>'
        "</button>"
        for each in examples
    )
    texts = html.escape(json.dumps(tool_texts(language), ensure_ascii=False))
    return f"""<form class="shape-tool" data-tool="{tool}" data-texts="{texts}"
 aria-label="{html.escape(name)}" hidden>
<p class="shape-name">{html.escape(name)}</p>
{fields}
<p class="shape-examples">{html.escape(_("Examples"))} {buttons}</p>
<div class="shape-answer" role="status" aria-live="polite"></div>
</form>
<noscript><p>{html.escape(_("This calculator needs JavaScript."))}</p></noscript>
"""


def visit(self: HTML5Translator, node: shape_tool) -> None:
    """Write the form."""
    self.body.append(_form(node["tool"], self.config.language))
    raise nodes.SkipNode


def add_script(
    app: Sphinx, _page: str, _template: str, _context: object, doctree: nodes.document | None
) -> None:
    """Load the script on the pages that have a form."""
    if doctree is not None and any(doctree.findall(shape_tool)):
        app.add_css_file("shape_tools.css")
        app.add_js_file("shape_tools.js", loading_method="defer")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directives."""
    app.add_directive("broadcast-calculator", BroadcastCalculator)
    app.add_directive("stride-explorer", StrideExplorer)
    app.add_node(shape_tool, html=(visit, None))
    app.connect("html-page-context", add_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
