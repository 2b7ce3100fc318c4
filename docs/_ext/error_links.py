"""Check that a course page links each error that it shows to its entry in the troubleshooting.

A traceback that the catalogue of errors does not know is a fault, too: a learner who pastes it into
`torchguide explain` gets no answer.  A cell whose message is the page's own has the tag
`own-message`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging

from torchguide.errors import explain, load
from torchguide.errors.catalogue import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["check_links"]

logger = logging.getLogger(__name__)
_WORDS = 4  # a printed line of fewer is no message


def check_links(app: Sphinx, doctree: nodes.document) -> None:
    """Warn of each message in the page's outputs whose section does not lead to its entry."""
    if not app.env.docname.startswith(tuple(app.config.guide_error_links)):
        return
    for file in FOLDER.glob("*.json"):
        app.env.note_dependency(str(file))
    for block in doctree.findall(nodes.literal_block):
        if "output" in block["classes"] and not _own(block):
            for fault in _faults(block):
                logger.warning(fault, location=block, type="guide", subtype="error-link")


def _faults(block: nodes.literal_block) -> Iterator[str]:
    text = block.astext()
    known = [match.id for match in explain(text)[:1]]
    if "traceback" not in block["classes"]:
        lines = [line for line in text.splitlines() if len(line.split()) >= _WORDS]
        known += [match.id for line in lines for match in explain(line)[:1]]
    elif not known:
        yield (
            f"torchguide explain knows no such message: {text.strip()[-200:]}\nAdd an entry to "
            "src/torchguide/data/errors, or tag the cell own-message if the message is its own"
        )
    links = _links(block)
    for name in dict.fromkeys(known):
        page, _hash, anchor = load().entry(name).page.partition("#")
        # a section of the chapter that treats the very case is as good as its entry's
        if not any(link == page and to not in _anchors() - {anchor} for link, to in links):
            yield f"the message is explained in {page}.md#{anchor}, and this section has no link to it"


def _anchors() -> set[str]:
    return {entry.data["anchor"] for entry in load().entries}


def _links(block: nodes.Node) -> list[tuple[str, str]]:
    """Give page and anchor of each link in the block's section."""
    section = _parent(block, lambda node: isinstance(node, nodes.section))
    links = section.findall(addnodes.pending_xref)
    return [(link["reftarget"], link["reftargetid"]) for link in links if link.get("reftargetid")]


def _own(block: nodes.Node) -> bool:
    cell = _parent(block, lambda node: "cell" in node.get("classes", ()))
    return "tag_own-message" in cell.get("classes", ())


def _parent(node: nodes.Node, wanted: Callable[[nodes.Element], bool]) -> nodes.Element:
    """Give the nearest parent of a kind, or the document."""
    while node.parent is not None and not wanted(node.parent):
        node = node.parent
    return node.parent or cast("nodes.Element", node)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the check, and which pages it is for: the beginnings of their names."""
    app.add_config_value("guide_error_links", [], "", (list,))
    app.connect("doctree-read", check_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
