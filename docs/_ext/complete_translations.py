"""Warn of all that would stay English on a translated page, so that `-W` refuses the build.

Also keeps formulas out of the messages: a translated one becomes "::" on MyST pages.
"""

from __future__ import annotations

import gettext
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.nodes import extract_messages

from catalogs import Entry, catalog_folders, is_source, page_catalog, read_entries
from message_markup import MARKDOWN, RST, differences

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["UI_DOMAIN", "entry_problems", "warn_untranslated"]

UI_DOMAIN = "sphinx"  # the strings of the templates; every other catalog belongs to a page
logger = logging.getLogger(__name__)


def entry_problems(entry: Entry, domain: str, source_folder: Path) -> Iterator[str]:
    """Say what is unfinished in one message, or not the same on both sides."""
    if entry.fuzzy:
        yield f"fuzzy, check the translation and remove the flag: {entry.msgid!r}"
    if not entry.msgstr.strip():
        yield f"untranslated: {entry.msgid!r}"
    elif domain != UI_DOMAIN:
        markup = MARKDOWN if (source_folder / f"{domain}.md").exists() else RST
        yield from differences(entry.msgid, entry.msgstr, markup)


def check_catalogs(app: Sphinx) -> None:
    """Read every catalog before anything is executed; warn of each unfinished message."""
    if is_source(app.config):
        return
    if app.config.gettext_compact is not False:
        raise ExtensionError("conf.py: set gettext_compact = False; each page has its own catalog")
    source_folder = Path(app.srcdir)
    for folder in catalog_folders(app.config, source_folder):
        for path in sorted(folder.rglob("*.po")):
            domain = path.relative_to(folder).with_suffix("").as_posix()
            entries = read_entries(path)
            drop_stale(path.with_suffix(".mo"), entries)
            for entry in entries:
                for problem in entry_problems(entry, domain, source_folder):
                    place = f"{path}:{entry.line}"
                    logger.warning(problem, location=place, type="guide", subtype="catalog")


def drop_stale(compiled: Path, entries: Sequence[Entry]) -> None:
    """Delete a compiled catalog that says something else; Sphinx then compiles it again.

    Sphinx compares only times, and one compiled while its source was being saved looks new.
    """
    if not compiled.exists():
        return
    try:
        with compiled.open("rb") as file:
            catalog = gettext.GNUTranslations(file)
        same = all(
            catalog.gettext(e.msgid) == (e.msgstr or e.msgid) for e in entries if not e.fuzzy
        )
    except (OSError, UnicodeDecodeError, struct.error):  # cut short, or no catalog at all
        same = False
    if not same:
        compiled.unlink()


def warn_untranslated(message: str, location: nodes.Node) -> None:
    """Warn that a page shows a message which its catalog does not have."""
    logger.warning(
        "not in the page's catalog, run tools/i18n.py update and translate it: %r",
        message,
        location=location,
        type="guide",
        subtype="untranslated",
    )


class RequireTranslations(SphinxTransform):
    """Compare all messages that Sphinx is about to translate with the page's catalog."""

    default_priority = 15  # before sphinx.transforms.i18n.Locale, which has 20

    def apply(self, **_kwargs: Any) -> None:
        """Mark the formulas, then look up the rest."""
        for formula in self.document.findall(nodes.math_block):
            formula["translatable"] = False
        if is_source(self.config):
            return
        catalog = page_catalog(self.env, self.env.docname)
        for node, message in extract_messages(self.document):
            if message not in catalog and not _is_metadata(node):
                warn_untranslated(message, node)


def _is_metadata(node: nodes.Element) -> bool:
    """Tell whether a node belongs to the front matter, which no reader sees."""
    top: nodes.Element | None = node
    while top is not None and not isinstance(top.parent, nodes.document):
        top = top.parent
    return isinstance(top, (nodes.docinfo, nodes.field_list))


def setup(app: Sphinx) -> ExtensionMetadata:
    """Connect both checks."""
    app.setup_extension("catalogs")
    app.add_transform(RequireTranslations)
    app.connect("builder-inited", check_catalogs, priority=100)  # sphinx-gallery executes at 500
    return {"parallel_read_safe": True, "parallel_write_safe": True}
