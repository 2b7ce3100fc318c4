"""Show at the foot of each executed page and example what produced its outputs.

Adds `provenance` to the templates' context: python, torch, device and date, as they were when
the code ran; None where nothing was executed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gallery_records import read_provenance

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["setup"]


def add_provenance(
    app: Sphinx, pagename: str, _template: str, context: dict[str, Any], _doctree: object
) -> None:
    """Look the page up among executed pages, then among gallery scripts."""
    pages: dict[str, Any] = app.env.__dict__.get("guide_page_provenance", {})
    context["provenance"] = pages.get(pagename) or read_provenance(app.srcdir, pagename)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the handler."""
    app.setup_extension("page_execution")
    app.connect("html-page-context", add_provenance)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
