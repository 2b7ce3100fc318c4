"""Translate the comments of Python code blocks; the program stays the same.

Each comment is one message of the page's catalog, adjacent lines of a comment together.
gettext would take a whole block as one message, and lose its translation with any edit.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from docutils import nodes
from docutils.utils import column_width
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

from catalogs import is_source, page_catalog
from complete_translations import warn_untranslated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["Comment", "find_comments", "translate_comments"]

LANGUAGES = {"python", "python3", "ipython", "ipython3", "py"}
# Comments that programs read: cell marks, linters, type checkers, shebang, encoding.
DIRECTIVE = re.compile(
    r"\s*(%%|!|-\*-|sphinx_gallery_|noqa\b|type:|pragma:|fmt:|ruff:|mypy:|isort:|(en)?coding[:=])"
)
LIST_ITEM = re.compile(r"(?:[-*•]|\d+[.)])\s")
# A word is a Latin one, or a single wide character; marks that may not begin a line cling to
# it, and marks that may not end one.
WORD = re.compile(r"\s+|[（「『《“‘]*(?:[!-\u2e7f]+|.)[，。、；：！？）」』》”’…—]*")


@dataclass(frozen=True)
class Comment:
    """A comment in some code: rows `first` to `last` from 1, `column` of the # from 0."""

    first: int
    last: int
    column: int
    text: str


def _same_program(one: str, other: str) -> bool:
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


def find_comments(code: str) -> list[Comment]:
    """Return the comments for people; none where the code is not plain Python (magics)."""
    try:
        ast.parse(code)
        tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    except (SyntaxError, ValueError, tokenize.TokenError):
        return []
    found: list[Comment] = []
    joins = False  # whether the next row may continue the last comment
    for token in tokens:
        if token.type != tokenize.COMMENT:
            continue
        (row, column), text = token.start, " ".join(token.string.lstrip("#").split())
        whole_line = not token.line[:column].strip()
        if DIRECTIVE.match(token.string[1:]) or not text:
            joins = False
        elif (
            joins
            and whole_line
            and not LIST_ITEM.match(text)
            and (found[-1].last, found[-1].column) == (row - 1, column)
        ):
            found[-1] = Comment(found[-1].first, row, column, f"{found[-1].text} {text}")
        else:
            found.append(Comment(row, row, column, text))
            joins = whole_line
    return found


def _spread(text: str, count: int) -> list[str]:
    """Cut the text into exactly `count` lines, so that no row of the code moves."""
    words = WORD.findall(text)
    width = -(-column_width(text) // count)
    while True:
        lines = [""]
        for word in words:
            if lines[-1].strip() and column_width(lines[-1] + word.rstrip()) > width:
                lines.append("")
            lines[-1] += word
        if len(lines) <= count:
            return [line.strip() for line in lines] + [""] * (count - len(lines))
        width += 2


def translate_comments(code: str, catalog: Mapping[str, str], *, place: str = "code") -> str:
    """Return the code with translated comments: the same lines and the same syntax tree.

    `place` (page and line) begins the message of the ExtensionError that is raised where a
    translation would change the program or the way that tools read it.
    """
    lines = code.split("\n")
    for comment in find_comments(code):
        text = " ".join(catalog.get(comment.text, "").split())
        if not text:
            continue
        if DIRECTIVE.match(text) or not text.isprintable():
            raise ExtensionError(
                f"{place}: the translation of the comment {comment.text!r} would change the "
                f"program or its cells: {text!r}; begin with a word, use printable characters"
            )
        rows = range(comment.first - 1, comment.last)
        for row, part in zip(rows, _spread(text, len(rows)), strict=True):
            lines[row] = f"{lines[row][: comment.column]}# {part}".rstrip()
    translated = "\n".join(lines)
    if translated != code and not _same_program(translated, code):
        raise ExtensionError(f"{place}: translating comments changed the program:\n{translated}")
    return translated


class CommentedCode(nodes.literal_block, addnodes.translatable):
    """A code block whose messages are its comments; only in the doctrees of templates."""

    def preserve_original_messages(self) -> None:
        """Do nothing: the templates show the source language."""

    def apply_translated_message(self, _original: str, _translated: str) -> None:
        """Do nothing: `TranslateCode` translates."""

    def extract_original_messages(self) -> Sequence[str]:
        """Return the comments."""
        return [comment.text for comment in find_comments(self.astext())]


def _python_blocks(document: nodes.document) -> list[nodes.literal_block]:
    def is_python(node: nodes.literal_block) -> bool:
        cell = "cell_input" in (node.parent or {}).get("classes", ())
        return cell or str(node.get("language", "")).lower() in LANGUAGES

    return [node for node in document.findall(nodes.literal_block) if is_python(node)]


class ExtractComments(SphinxTransform):
    """Make the comments messages of the templates."""

    default_priority = 5  # before sphinx.transforms.i18n.PreserveTranslatableMessages (10)

    def apply(self, **_kwargs: Any) -> None:
        """Change the class of the blocks, which keeps every reference to them."""
        for node in _python_blocks(self.document):
            node.__class__ = CommentedCode


class TranslateCode(SphinxTransform):
    """Translate the comments of a page's code blocks."""

    default_priority = 25  # beside sphinx.transforms.i18n.Locale (20)

    def apply(self, **_kwargs: Any) -> None:
        """Replace the text of each block."""
        catalog = page_catalog(self.env, self.env.docname)
        for node in _python_blocks(self.document):
            code = node.astext()
            for comment in find_comments(code):
                if comment.text not in catalog:
                    warn_untranslated(f"# {comment.text}", node)
            place = f"{node.source or self.document['source']}:{node.line}"
            node.children = []
            node.append(nodes.Text(translate_comments(code, catalog, place=place)))
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
