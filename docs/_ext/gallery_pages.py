"""Make sphinx-gallery's pages fit a site in two languages.

Its own notes and download links go: the site has a download line of its own, and each would be
another message on every page. Thumbnails are raw HTML and figures a node of their own, which
gettext does not see; both are translated here from the catalog of the example that they show.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx_gallery.directives import imgsgnode
from sphinx_gallery.gen_rst import extract_intro_and_title

from catalogs import catalog_folders, is_source, page_catalog
from complete_translations import warn_untranslated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["DropLinks", "TranslateThumbnails"]

# the classes of what sphinx-gallery adds around an example and under a gallery
OWN_LINKS = {"sphx-glr-download-link-note", "sphx-glr-footer", "sphx-glr-signature"}
TAG_LIST = "id='sg-tag-list'"  # empty without tags, and its id would stand on a page twice
TOOLTIP = re.compile(r'(?<=class="sphx-glr-thumbcontainer" tooltip=")[^"]*')
TITLE = re.compile(r'(?<=class="sphx-glr-thumbnail-title">).*?(?=</div>)', flags=re.DOTALL)


class DropLinks(SphinxTransform):
    """Take away the notes and links of sphinx-gallery; keep thumbnails out of the messages."""

    default_priority = 8  # before sphinx.transforms.i18n.PreserveTranslatableMessages (10)

    def apply(self, **_kwargs: Any) -> None:
        """Change the tree as sphinx-gallery's templates made it."""
        for only in list(self.document.findall(addnodes.only)):
            elements = only.findall(nodes.Element)
            if any(OWN_LINKS & set(element.get("classes", ())) for element in elements):
                only.parent.remove(only)
        for raw in list(self.document.findall(nodes.raw)):
            if TAG_LIST in raw.astext():
                raw.parent.remove(raw)
        for _tooltip, link, _title in _thumbnails(self.document):
            for paragraph in link.findall(nodes.paragraph):
                paragraph["translatable"] = False  # a link that shows the example's title


def _thumbnails(document: nodes.document) -> Iterator[tuple[nodes.raw, nodes.Element, nodes.raw]]:
    """Yield the three nodes of each thumbnail: raw tooltip, link, raw title."""
    for raw in list(document.findall(nodes.raw)):
        if TOOLTIP.search(raw.astext()):
            position = raw.parent.index(raw)
            _, link, title = raw.parent.children[position : position + 3]
            if isinstance(link, nodes.Element) and isinstance(title, nodes.raw):
                yield raw, link, title


def _as_shown(text: str) -> str:
    """Return a paragraph of an example as sphinx-gallery shows it on a thumbnail."""
    intro: str = extract_intro_and_title("", f"title\n\n{text}")[0]
    return intro


class TranslateThumbnails(SphinxTransform):
    """Translate titles and tooltips on the pages that list examples."""

    default_priority = 22  # beside sphinx.transforms.i18n.Locale (20)

    def apply(self, **_kwargs: Any) -> None:
        """Look each text up in the catalog of the example that the thumbnail links to."""
        for tooltip, link, title in _thumbnails(self.document):
            target = next(iter(link.findall(addnodes.pending_xref)))["reftarget"].lstrip("/")
            for folder in catalog_folders(self.config, Path(self.env.srcdir)):
                if (path := folder / f"{target}.po").exists():
                    self.env.note_dependency(str(path))  # read this page again with the catalog
            catalog = page_catalog(self.env, target)
            shown = {_as_shown(one): _as_shown(other) for one, other in catalog.items()}
            _replace(tooltip, TOOLTIP, {html.escape(a): html.escape(b) for a, b in shown.items()})
            _replace(title, TITLE, shown)


def _replace(node: nodes.raw, pattern: re.Pattern[str], shown: dict[str, str]) -> None:
    def translated(match: re.Match[str]) -> str:
        if match[0] not in shown:
            warn_untranslated(match[0], node)
        return shown.get(match[0], match[0])

    text = pattern.sub(translated, node.astext())
    node.children, node.rawsource = [], text
    node.append(nodes.Text(text))


class CaptionedFigure(imgsgnode, addnodes.translatable):  # type: ignore[misc]  # untyped base
    """A figure whose message is its alternative text; only in the doctrees of templates."""

    def preserve_original_messages(self) -> None:
        """Do nothing: the templates show the source language."""

    def apply_translated_message(self, _original: str, _translated: str) -> None:
        """Do nothing: `FigureTexts` translates."""

    def extract_original_messages(self) -> Sequence[str]:
        """Return the text."""
        return [self["alt"]] if self["alt"] else []


class ExtractFigureTexts(SphinxTransform):
    """Make alternative texts messages of the templates."""

    default_priority = 8

    def apply(self, **_kwargs: Any) -> None:
        """Change the class of the figures."""
        for figure in list(self.document.findall(imgsgnode)):
            figure.__class__ = CaptionedFigure


class FigureTexts(SphinxTransform):
    """Translate alternative texts, and write them so that a quote does not end the attribute."""

    default_priority = 25

    def apply(self, **_kwargs: Any) -> None:
        """Replace the text of each figure."""
        catalog = page_catalog(self.env, self.env.docname)
        for figure in self.document.findall(imgsgnode):
            text = figure["alt"]
            if text and text not in catalog and not is_source(self.config):
                warn_untranslated(text, figure)
            text = catalog.get(text, text)
            # sphinx-gallery writes the <img> itself where there is a srcset, and does not escape
            figure["alt"] = html.escape(text) if figure["srcset"] else text


def choose_transforms(app: Sphinx) -> None:
    """Extract in the builder of templates, translate in the other ones."""
    app.add_transform(DropLinks)
    if app.builder.name == "gettext":
        app.add_transform(ExtractFigureTexts)
        return
    app.add_transform(FigureTexts)
    if not is_source(app.config):
        app.add_transform(TranslateThumbnails)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Choose the transforms when the builder is known."""
    app.setup_extension("complete_translations")
    app.connect("builder-inited", choose_transforms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
