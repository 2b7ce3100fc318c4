"""Let each link of a translated sentence keep its own anchor.

Sphinx gives the links of a translation the attributes of the original's, and finds them by the
page that they lead to.  MyST-Parser keeps the anchor in an attribute of its own, so that of two
links to one page both would lead to the anchor of the last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sphinx.transforms import i18n

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

ANCHOR = "reftargetid"


def setup(_app: Sphinx) -> ExtensionMetadata:
    """Keep Sphinx from copying the anchor; a translation that changes one is refused elsewhere."""
    transforms: Any = i18n
    kept = transforms.EXCLUDED_PENDING_XREF_ATTRIBUTES
    transforms.EXCLUDED_PENDING_XREF_ATTRIBUTES = tuple({*kept, ANCHOR})
    return {"parallel_read_safe": True, "parallel_write_safe": True}
