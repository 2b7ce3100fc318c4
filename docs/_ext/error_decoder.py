"""The directives `error-decoder`, a box that explains a pasted error, and `error-messages`.

The box needs JavaScript and stays hidden without it: `_static/error_engine.js` does in the browser
what `torchguide explain` does, with the data that is written here beside the page, so that no
request is made and the page works from a file, too. The table of all messages needs nothing.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

from error_catalogue import browser_data, catalogue_script, wordings
from error_entries import page_language
from torchguide.errors import load
from torchguide.errors.catalogue import FOLDER

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata
    from sphinx.writers.html5 import HTML5Translator

    from torchguide.errors import Entry

__all__ = ["EXAMPLES", "ErrorDecoder", "ErrorMessages", "error_decoder", "error_message"]

EXAMPLES = ("matmul-shape", "cuda-oom")  # entries whose first test fills the box


class error_decoder(nodes.General, nodes.Element):  # noqa: N801  # nodes are named like tags
    """The box; its child says what to do without it."""


class error_message(nodes.literal):  # noqa: N801  # the same
    """A message in the table, which HTML writes without a tag for each word."""

    tagname = "literal"


class ErrorDecoder(SphinxDirective):
    """Put the box into a page; it takes no options."""

    def run(self) -> list[nodes.Node]:
        """Make the node, which is made again when the catalogue changes."""
        self.env.note_dependency(__file__)
        for file in FOLDER.glob("*.json"):
            self.env.note_dependency(str(file))
        said = _("The box works on the web page, with JavaScript. Without it, search the table of "
                 "all messages on this page.")  # fmt: skip
        without = nodes.paragraph("", "", nodes.Text(said), classes=["decoder-without"])
        without["translatable"] = False
        return [error_decoder("", without)]


class ErrorMessages(SphinxDirective):
    """Put the table of all messages into a page; it takes no options."""

    def run(self) -> list[nodes.Node]:
        """Make a row for each entry, made again when the catalogue changes."""
        for file in FOLDER.glob("*.json"):
            self.env.note_dependency(str(file))
        language = page_language(self.config)
        group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in (1, 2)), cols=2)
        head = [_cell(nodes.Text(_("What it means"))), _cell(nodes.Text(_("Messages")))]
        group += nodes.thead("", _line(head))
        group += nodes.tbody("", *(_line(_row(entry, language)) for entry in load().entries))
        # a search for a message shall find its chapter, not this list of all
        return [nodes.table("", group, classes=["error-messages", "no-search"])]


def _line(cells: list[list[nodes.Node]]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", *cell) for cell in cells))


def _cell(*content: nodes.Node) -> list[nodes.Node]:
    paragraph = nodes.paragraph("", "", *content)
    paragraph["translatable"] = False  # the words are in the page's language already
    paragraph["support_smartquotes"] = False  # titles name code
    return [paragraph]


def _general(title: str) -> str:
    """Write a title for the kind, where no message gives the numbers."""
    return re.sub(r"\{[a-z][a-z0-9_]*\}", "…", title)


def _row(entry: Entry, language: str) -> list[list[nodes.Node]]:
    title: nodes.Node = nodes.Text(_general(entry.data["title"][language]))
    if entry.page:  # the anchor is a label of that page: a wrong one fails the build
        title = pending_xref(
            "", nodes.inline("", "", title), refdomain="std", reftype="ref", refexplicit=True,
            refwarn=True, reftarget=entry.data["anchor"],
        )  # fmt: skip
    messages: list[nodes.Node] = []
    for text in wordings(entry):
        messages += [nodes.Text(" ")] if messages else []
        messages.append(error_message(text, text))
    return [_cell(title), _cell(*messages)]


def page_words() -> dict[str, str]:
    """Give the words of the box in the page's language, beside those of the catalogue."""
    return {
        "one": _("One answer: {title}"),
        "several": _("{count} answers, the best first: {title}"),
        "copy": _("Copy the code"),
        "copied": _("Copied"),
        "shown": _("The text is long: the box shows only its beginning and its end."),
        "cut": _("Lines 1 to {to} and {from} to {last} were read; torchguide explain reads logs of any length."),
        "slow": _("The search took too long and was stopped. Paste the last hundred lines only."),
        "broken": _("The search does not work in this browser. Use the table of all messages on "
                    "this page."),
    }  # fmt: skip


def form(language: str) -> str:
    """Write the box and the places for its answers."""
    buttons = "".join(
        f'<button type="button" data-example="{html.escape(entry.data["test"][0])}">'
        f"{html.escape(_general(entry.data['title'][language]))}</button>\n"
        for entry in map(load().entry, EXAMPLES)
    )
    said = {
        "label": _("The error message, or the whole log"),
        "note": _("The text stays in this page: nothing is sent, and nothing is stored."),
        "try": _("Try an example:"),
        "clear": _("Clear the box"),
    }
    words = {key: html.escape(text) for key, text in said.items()}
    return f"""
<form class="decoder-form" autocomplete="off" hidden>
<label for="decoder-text">{words["label"]}</label>
<textarea id="decoder-text" class="decoder-text" rows="9" aria-describedby="decoder-note"
 autocomplete="off" autocapitalize="off" spellcheck="false"></textarea>
<p id="decoder-note" class="decoder-note">{words["note"]}</p>
<p class="decoder-examples">{words["try"]}
{buttons}<button type="button" class="decoder-clear">{words["clear"]}</button></p>
<p class="decoder-status" role="status" aria-live="polite"></p>
<p class="decoder-cut"></p>
<ol class="decoder-answers"></ol>
</form>
"""


def add_data(
    app: Sphinx, page: str, _template: str, _context: object, doctree: nodes.document | None
) -> None:
    """Write the catalogue as a script, and load it on the page that has the box."""
    if doctree is None or not any(doctree.findall(error_decoder)):
        return

    def link(target: str) -> str:
        name, _mark, anchor = target.partition("#")
        known = name in app.env.found_docs
        return f"{app.builder.get_relative_uri(page, name)}#{anchor}" if known else ""

    data = browser_data(load(), page_language(app.config), link, page_words())
    folder = app.outdir / "_static"
    folder.mkdir(exist_ok=True)
    (folder / "error_catalogue.js").write_text(catalogue_script(data), "utf-8")
    app.add_css_file("error_decoder.css")
    for name in ("error_catalogue.js", "error_engine.js", "error_decoder.js"):
        app.add_js_file(name, loading_method="defer")


def visit(self: HTML5Translator, _node: error_decoder) -> None:
    """Write the form before what stands for it."""
    self.body.append(f'<div class="error-decoder">{form(page_language(self.config))}')


def depart(self: HTML5Translator, _node: error_decoder) -> None:
    """Close the box."""
    self.body.append("</div>\n")


def visit_message(self: HTML5Translator, node: error_message) -> None:
    """Write the message in one piece."""
    self.body.append(f"<code>{html.escape(node.astext())}</code>")
    raise nodes.SkipNode


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directives."""
    app.add_directive("error-decoder", ErrorDecoder)
    app.add_directive("error-messages", ErrorMessages)
    app.add_node(error_decoder, html=(visit, depart))
    app.add_node(error_message, html=(visit_message, None))
    app.connect("html-page-context", add_data)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
