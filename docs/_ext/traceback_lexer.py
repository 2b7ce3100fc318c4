"""Highlight any traceback: the messages of PyTorch hold backticks, which Pygments' lexer refuses.

Sphinx warns of each such block, and a warning fails the build; the text is right all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ipython_pygments_lexers import IPythonTracebackLexer
from pygments.token import Error, Text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["TracebackLexer", "setup"]


class TracebackLexer(IPythonTracebackLexer):  # type: ignore[misc]  # IPython's has no types
    """IPython's lexer, with what it does not know as plain text."""

    name = "Traceback of a cell"
    aliases = ("ipythontb",)

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Give the tokens."""
        for index, token, value in super().get_tokens_unprocessed(text):
            yield index, Text if token is Error else token, value


def setup(app: Sphinx) -> ExtensionMetadata:
    """Take the place of the lexer that MyST-NB names."""
    app.add_lexer("ipythontb", TracebackLexer)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
