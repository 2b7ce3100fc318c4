"""Keep the anchors of headings on translated MyST pages.

Sphinx parses each translated message as a page of its own, and MyST-Parser then stores that
page's (empty) table of heading slugs for the real one, so that `[x](page.md#heading)` finds
nothing: https://github.com/executablebooks/MyST-Parser/issues/844.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["restore_slugs"]


def restore_slugs(app: Sphinx, doctree: nodes.document) -> None:
    """Put the page's own table back, with the titles as they are shown now."""
    slugs: dict[str, tuple[int, str, str]] = getattr(doctree, "myst_slugs", {})
    titles = {
        section_id: title.astext()
        for section in doctree.findall(nodes.section)
        if (title := section.next_node(nodes.title))
        for section_id in section["ids"]
    }
    if slugs:
        app.env.metadata[app.env.docname]["myst_slugs"] = {
            slug: (line, section_id, titles.get(section_id, text))
            for slug, (line, section_id, text) in slugs.items()
        }


def setup(app: Sphinx) -> ExtensionMetadata:
    """Repair each page when it has been read."""
    app.connect("doctree-read", restore_slugs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
