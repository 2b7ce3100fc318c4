"""The directive `error-entry`: what the catalogue says of the message that its section shows.

The text comes from `torchguide.errors`, in the page's language, with the facts of the message that
the cells of the section really raised: a message that torch words in a new way fails the build.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from error_box import SOURCE, answer_box, recording
from torchguide.errors import explain, load
from torchguide.errors.catalogue import FOLDER

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.util.typing import ExtensionMetadata

    from torchguide.errors import Entry, Match

__all__ = ["ErrorEntry", "fill_entries", "page_language"]


logger = logging.getLogger(__name__)


class error_entry(nodes.General, nodes.Element):  # noqa: N801  # nodes are named like tags
    """Stands for an entry until the outputs of its section are known."""


class ErrorEntry(SphinxDirective):
    """Name an entry: `error-entry: matmul-shape`, with `:recorded: R009` if it cannot be run."""

    required_arguments = 1
    option_spec = {"recorded": directives.unchanged_required}  # noqa: RUF012  # docutils' way

    def run(self) -> list[nodes.Node]:
        """Leave a place; the section's outputs stand below it, too."""
        node = error_entry(name=self.arguments[0], recorded=self.options.get("recorded", ""))
        self.set_source_info(node)
        for file in FOLDER.glob("*.json"):
            self.env.note_dependency(str(file))
        return [node]


def fill_entries(app: Sphinx, doctree: nodes.document) -> None:
    """Explain the message of each section in the place where its entry was named.

    Translation is over by then: the catalogue is bilingual in itself.
    """
    for node in list(doctree.findall(error_entry)):
        try:
            filled = _filled(app, node)
        except ValueError as error:
            logger.warning(
                "error-entry %s: %s", node["name"], error, location=node, type="guide",
                subtype="error-entry",
            )  # fmt: skip
            filled = []
        node.replace_self(filled)


def _filled(app: Sphinx, node: error_entry) -> list[nodes.Node]:
    name, language = node["name"], page_language(app.config)
    entry = next((entry for entry in load().entries if entry.id == name), None)
    if entry is None:
        raise ValueError("no such entry in src/torchguide/data/errors")
    section = _section(node)
    if entry.data["anchor"] not in section["ids"]:
        raise ValueError(f"write ({entry.data['anchor']})= above the heading of its section")
    if node["recorded"]:
        message = _recorded(app, node["recorded"], entry)
        match = _first(message, name, language)
        return [*recording(message, match, node["recorded"]), answer_box(match, entry, language)]
    if app.builder.name == "gettext":
        return []  # nothing of it is translated by catalogs
    return [answer_box(_raised(section, name, language), entry, language)]


def _recorded(app: Sphinx, recorded: str, entry: Entry) -> str:
    if recorded == SOURCE:
        return str(entry.data["test"][0])
    path = Path(app.srcdir, app.config.guide_error_reports).resolve()
    app.env.note_dependency(str(path))
    for line in path.read_text("utf-8").splitlines():
        report = json.loads(line)
        if report["id"] == recorded:
            if report["kind"] != entry.id:
                raise ValueError(f"{recorded} in {path.name} is of {report['kind']}")
            return str(report["text"])
    raise ValueError(f"no report {recorded} in {path.name}")


def page_language(config: Config) -> str:
    """Give the language of the build as torchguide's data names it."""
    return "zh" if config.language.startswith("zh") else "en"


def _section(node: nodes.Node) -> nodes.Element:
    while node.parent is not None and not isinstance(node, nodes.section):
        node = node.parent
    if not isinstance(node, nodes.section):
        raise ValueError("it stands in no section")  # noqa: TRY004  # the page is wrong
    return node


def _first(text: str, name: str, language: str) -> Match:
    matches = explain(text, language)
    if not matches:
        raise ValueError(f"torchguide explain knows no such message: {_end(text)}")
    if matches[0].id != name:
        raise ValueError(f"torchguide explain takes this for {matches[0].id}: {_end(text)}")
    return matches[0]


def _end(text: str) -> str:
    return text.strip()[-300:]


def _raised(section: nodes.Element, name: str, language: str) -> Match:
    """Explain what the section's cells raised, and at least one output."""
    outputs = [
        block
        for block in section.findall(nodes.literal_block)
        if "output" in block["classes"] and _section(block) is section
    ]
    raised = [block for block in outputs if "traceback" in block["classes"]]
    found = [_first(block.astext(), name, language) for block in raised]
    if not found:
        printed = (explain(block.astext(), language) for block in outputs)
        found = [matches[0] for matches in printed if matches and matches[0].id == name]
    if not found:
        raise ValueError("no cell of its section raises or prints it; else name a :recorded:")
    return found[0]


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directive and the file of recorded messages."""
    app.add_config_value("guide_error_reports", "../tests/package/data/errors.jsonl", "", (str,))
    app.add_directive("error-entry", ErrorEntry)
    app.add_node(error_entry)
    app.connect("doctree-read", fill_entries)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
