"""A search index that knows how much a page is about a word, not only that it has it.

Sphinx's own scores a page by its best single word, so that nearly all pages that have the words
tie and the alphabet decides. Here each page's words are counted, by where they stand: in its
title and its keywords, in a heading, in the text. `search_ranking.js` ranks by BM25 with these
counts (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009).

The words that readers type for a page come from `typed_words.py`; they count like its title.
"""

from __future__ import annotations

import io
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import search
from sphinx.search import IndexBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["RankedIndex", "pieces"]

TITLE, HEADING, TEXT = 20, 4, 1  # what a word counts by where it stands
MOST = 255  # more says nothing new, and would make the file longer

Postings = dict[str, list[int]]  # term -> page, weight, page, weight, ...


def pieces(doctree: nodes.document) -> Iterator[tuple[str, int]]:
    """Yield the texts that a page shows, each with what a word in it counts."""
    titles = 0
    waiting: list[nodes.Node] = [doctree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, nodes.Text):
            yield node.astext(), TEXT
        elif isinstance(node, nodes.title):
            yield node.astext(), HEADING if titles else TITLE
            titles += 1
        elif isinstance(node, nodes.Element) and not is_left_out(node):
            waiting += reversed(node.children)


def is_left_out(node: nodes.Element) -> bool:
    """Say whether an element's text is none that a reader sees, or asks to be left out."""
    return (
        isinstance(node, (nodes.comment, nodes.raw, nodes.meta)) or "no-search" in node["classes"]
    )


class RankedIndex(IndexBuilder):
    """Sphinx's index with weights in the place of its lists of pages."""

    def __init__(
        self, env: BuildEnvironment, lang: str, options: dict[str, str], scoring: str
    ) -> None:
        """Start with no page."""
        super().__init__(env, lang, options, scoring)
        self._weights: dict[str, Counter[str]] = {}
        self._lengths: dict[str, int] = {}
        self._typed = getattr(env, "guide_typed_words", [])

    def term(self, word: str) -> str | None:
        """Return the term that stands for a word; None for stop words and numbers."""
        for term in (self.lang.stem(word.lower()).lower(), word):
            if self.lang.word_filter(term):
                return term
        return None

    def feed(
        self, docname: str, filename: str | os.PathLike[str], title: str, doctree: nodes.document
    ) -> None:
        """Take a page in."""
        self._titles[docname] = title
        self._filenames[docname] = os.fspath(filename)
        self._all_titles[docname] = [
            (each.astext(), each.parent["ids"][0] if number and each.parent["ids"] else None)
            for number, each in enumerate(doctree.findall(nodes.title))
        ]
        weights: Counter[str] = Counter()
        length = 0
        for text, weight in pieces(doctree):
            terms = [term for word in self.lang.split(text) if (term := self.term(word))]
            length += len(terms) if weight == TEXT else 0
            for term in terms:
                weights[term] += weight
        self._weights[docname] = weights
        self._lengths[docname] = length

    def prune(self, docnames: Iterable[str]) -> None:
        """Keep only these pages."""
        kept = set(docnames)
        super().prune(kept)
        self._weights = {name: each for name, each in self._weights.items() if name in kept}
        self._lengths = {name: each for name, each in self._lengths.items() if name in kept}

    def keywords(self, docnames: Iterable[str]) -> dict[str, list[int]]:
        """Return the pages by the terms of what readers type for them."""
        numbers = {name: number for number, name in enumerate(docnames)}
        pages: dict[str, set[int]] = {}
        for name, text in self._typed:
            if name in numbers:
                terms = filter(None, map(self.term, self.lang.split(text)))
                for term in terms:
                    pages.setdefault(term, set()).add(numbers[name])
        return {term: sorted(found) for term, found in pages.items()}

    def freeze(self) -> dict[str, Any]:
        """Return what the file holds."""
        frozen = super().freeze()
        postings: Postings = {}
        for number, name in enumerate(frozen["docnames"]):
            for term, weight in self._weights.get(name, Counter()).items():
                postings.setdefault(term, []).extend((number, min(weight, MOST)))
        frozen["weights"] = postings
        frozen["keywords"] = self.keywords(frozen["docnames"])
        frozen["lengths"] = [self._lengths.get(name, 0) for name in frozen["docnames"]]
        return frozen

    def load(self, stream: Any, format: Any) -> None:  # noqa: A002  (the name that Sphinx calls)
        """Take in what was written before, for the pages that are not written anew.

        Raises:
            ValueError: The file is no index, or another version's; Sphinx then starts anew.
        """
        text = stream.read()
        frozen = self.formats.get(format, format).loads(text)
        if "weights" not in frozen:
            raise ValueError("old format")
        super().load(io.StringIO(text), format)
        names = frozen["docnames"]
        self._lengths = dict(zip(names, frozen["lengths"], strict=True))
        self._weights = {name: Counter() for name in names}
        for term, flat in frozen["weights"].items():
            for number, weight in zip(flat[::2], flat[1::2], strict=True):
                self._weights[names[number]][term] = weight


def setup(_app: Sphinx) -> ExtensionMetadata:
    """Put this index in the place of Sphinx's, and its ranking on the search page."""
    vars(search)["IndexBuilder"] = RankedIndex  # the builder imports it by name when it begins
    return {"parallel_read_safe": True, "parallel_write_safe": True}
