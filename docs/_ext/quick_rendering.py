"""Do once for a whole build what its libraries do again for each message, word and cell.

MyST-Parser parses each translated message as a document of its own: docutils builds an option
parser of seventy options for it, and markdown-it a parser with all its rules.  Sphinx stems the
words of each page anew.  nbformat checks each cell that is made, besides whole notebooks.  All of
it depends on nothing but the arguments, and was a third of the Chinese build.
"""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Any

from docutils.frontend import get_default_settings
from docutils.utils import DependencyList
from myst_parser.mdit_to_docutils import base
from myst_parser.parsers import sphinx_ as messages
from myst_parser.parsers.mdit import create_md_parser
from nbformat.v4 import nbbase
from sphinx.search.en import SearchEnglish

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["MarkdownParsers", "cached_stem", "copied_settings", "setup"]


@functools.cache
def _settings(components: tuple[Any, ...]) -> Any:
    return get_default_settings(*components)


def copied_settings(*components: Any) -> Any:
    """Return settings like docutils.frontend.get_default_settings, free to be changed."""
    settings = copy.copy(_settings(components))
    for name, value in vars(settings).items():
        if isinstance(value, (list, dict, DependencyList)):  # what a parser may add to
            setattr(settings, name, copy.copy(value))
    settings.record_dependencies.list = []
    return settings


class MarkdownParsers:
    """Makes a parser for each configuration and renderer, and gives it out again when it is free."""

    def __init__(self) -> None:
        """Start with none."""
        # the configuration is kept beside its parser: a number is only unique while it lives
        self.made: dict[tuple[int, Any], tuple[Any, MarkdownIt, Any]] = {}

    def __call__(self, config: Any, renderer: Any) -> MarkdownIt:
        """Return a parser like myst_parser's create_md_parser, with a new renderer."""
        key = (id(config), renderer)
        if key not in self.made:
            parser = create_md_parser(config, renderer)
            self.made[key] = (config, parser, dict(parser.options))
        _config, parser, options = self.made[key]
        again = copy.copy(parser)  # shares the rules, which nothing changes
        again.options = type(parser.options)(options)
        again.renderer = renderer(again)
        return again


_stem = SearchEnglish.stem


@functools.lru_cache(maxsize=100_000)
def _stemmed(word: str, stemmer: SearchEnglish) -> str:
    return _stem(stemmer, word)


def cached_stem(self: SearchEnglish, word: str) -> str:
    """Stem a word like Sphinx's English search."""
    return _stemmed(word, self)


def _unchecked(_node: Any, _ref: str | None = None, **_kwargs: Any) -> None:
    """Accept a cell; nbformat checks it again as a part of its notebook."""


def setup(_app: Sphinx) -> ExtensionMetadata:
    """Put the quick functions in the place of the libraries' own."""
    vars(base)["get_default_settings"] = copied_settings
    vars(messages)["create_md_parser"] = MarkdownParsers()
    vars(nbbase)["validate"] = _unchecked
    SearchEnglish.stem = cached_stem  # type: ignore[method-assign]  # the same, remembered
    return {"parallel_read_safe": True, "parallel_write_safe": True}
