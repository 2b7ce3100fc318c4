"""Translate the comments of code blocks.

Each comment is one message of the page's catalog, adjacent lines of a comment together.
gettext would take a whole block as one message, and lose its translation with any edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

from catalogs import is_source, page_catalog
from comment_text import LINE_LANGUAGES, PYTHON, find_comments, translate_comments
from complete_translations import warn_untranslated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["setup"]


class CommentedCode(nodes.literal_block, addnodes.translatable):
    """A code block whose messages are its comments; only in the doctrees of templates."""

    def preserve_original_messages(self) -> None:
        """Do nothing: the templates show the source language."""

    def apply_translated_message(self, _original: str, _translated: str) -> None:
        """Do nothing: `TranslateCode` translates."""

    def extract_original_messages(self) -> Sequence[str]:
        """Return the comments."""
        return [comment.text for comment in find_comments(self.astext(), _language(self))]


def _language(node: nodes.literal_block) -> str:
    """Name the language of a block as the comments know it; "" if they don't."""
    if "cell_input" in (node.parent or {}).get("classes", ()):
        return "python"
    language = str(node.get("language", "")).lower()
    if language in PYTHON:
        return "python"
    return language if language in LINE_LANGUAGES else ""


def _blocks(document: nodes.document) -> list[nodes.literal_block]:
    return [node for node in document.findall(nodes.literal_block) if _language(node)]


class ExtractComments(SphinxTransform):
    """Make the comments messages of the templates."""

    default_priority = 5  # before sphinx.transforms.i18n.PreserveTranslatableMessages (10)

    def apply(self, **_kwargs: Any) -> None:
        """Change the class of the blocks, which keeps every reference to them."""
        for node in _blocks(self.document):
            node.__class__ = CommentedCode


class TranslateCode(SphinxTransform):
    """Translate the comments of a page's code blocks."""

    default_priority = 25  # beside sphinx.transforms.i18n.Locale (20)

    def apply(self, **_kwargs: Any) -> None:
        """Replace the text of each block."""
        catalog = page_catalog(self.env, self.env.docname)
        for node in _blocks(self.document):
            code, language = node.astext(), _language(node)
            for comment in find_comments(code, language):
                if comment.text not in catalog:
                    warn_untranslated(f"# {comment.text}", node)
            place = f"{node.source or self.document['source']}:{node.line}"
            node.children = []
            node.append(
                nodes.Text(translate_comments(code, catalog, place=place, language=language))
            )
            node.rawsource = node.astext()  # highlighting needs both to be equal


def choose_transform(app: Sphinx) -> None:
    """Extract in the builder of templates, translate in a translated build."""
    if app.builder.name == "gettext":
        app.add_transform(ExtractComments)
    elif not is_source(app.config):
        app.add_transform(TranslateCode)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Choose the transform when the builder is known."""
    app.setup_extension("complete_translations")
    app.connect("builder-inited", choose_transform)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
