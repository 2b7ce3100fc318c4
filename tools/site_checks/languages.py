"""Both languages have the same pages with the same anchors, and Chinese pages are in Chinese."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from justhtml import Element, Text

from site_checks.site import LANGUAGES, Failure, attribute, elements, line_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from site_checks.site import Page, Site

__all__ = ["AllowedEnglish", "english_left", "same_anchors", "same_pages"]

HAN = re.compile(r"[\u3400-\u9fff]")
WORD = re.compile(r"[A-Za-z]{3,}")
SENTENCE = re.compile(r"(?:[A-Za-z][A-Za-z'’-]*[,;]? ){5,}[A-Za-z'’-]+")  # six words in a row
TRACEBACK = re.compile(r'<div class="[^"]*\btraceback\b[^"]*">.*?</pre>', re.DOTALL)
ATTRIBUTES = ("alt", "title", "aria-label", "placeholder", "label", "data-tooltip")
BLOCKS_WORDS = """
    button caption dd details div dl dt figcaption form h1 h2 h3 h4 h5 h6 label legend li
    nav ol option p section summary table tbody td th thead title tr ul
"""
BLOCKS = frozenset(BLOCKS_WORDS.split())
NO_PROSE = frozenset(["code", "pre", "kbd", "samp", "math", "script", "style"])


def same_pages(site: Site) -> Iterator[Failure]:
    """Each page exists in each language, and nothing else lies beside the languages' folders."""
    folders = {folder: site.of(folder) for folder in LANGUAGES}
    for pages in folders.values():
        for other, others in folders.items():
            for docname in sorted(pages.keys() - others.keys()):
                yield Failure(pages[docname].path, 1, f"no page {other}/{docname}.html")
    for path in sorted(site.folder.iterdir()):
        if path.is_dir() and path.name not in LANGUAGES:
            yield Failure(
                path, 1, f"a folder beside {' and '.join(LANGUAGES)}; nothing links to it"
            )


def _anchors(page: Page) -> list[tuple[str, Element]]:
    inside = elements(page.main) if page.main else ()
    return [(name, each) for each in inside if (name := attribute(each, "id"))]


def same_anchors(site: Site) -> Iterator[Failure]:
    """A link to a place in a page leads to the same place in the other language."""
    source, *others = (site.of(folder) for folder in LANGUAGES)
    for pages in others:
        for docname in sorted(source.keys() & pages.keys()):
            ours, theirs = _anchors(source[docname]), _anchors(pages[docname])
            for mine, other in zip_longest(ours, theirs):
                if mine is None or other is None or mine[0] != other[0]:
                    page, place = (
                        (pages[docname], other) if other else (source[docname], mine or ("", None))
                    )
                    yield page.fail(
                        place[1] if place[1] is not None else 1,
                        f"the anchor is {other and other[0]!r} here, {mine and mine[0]!r} in English",
                    )
                    break  # all that follow are shifted


@dataclass
class AllowedEnglish:
    """English that a Chinese page may show: patterns that match a whole text, with reasons."""

    path: Path
    patterns: list[tuple[int, re.Pattern[str]]]
    used: set[int]

    @classmethod
    def read(cls, path: Path) -> AllowedEnglish:
        """Read a table with the columns pattern and reason.

        Raises:
            ValueError: A row has no reason, or its pattern is no regular expression.
        """
        patterns = []
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            for row in rows:
                if not (row.get("pattern") and row.get("reason")):
                    raise ValueError(f"{path}:{rows.line_num}: wanted a pattern and a reason")
                try:
                    patterns.append((rows.line_num, re.compile(row["pattern"])))
                except re.error as error:
                    raise ValueError(f"{path}:{rows.line_num}: {error}") from error
        return cls(path, patterns, set())

    def allows(self, text: str) -> bool:
        """Say whether a whole text may stay English, and remember the row that says so."""
        for line, pattern in self.patterns:
            if pattern.fullmatch(text):
                self.used.add(line)
                return True
        return False

    def unused(self) -> Iterator[Failure]:
        """Name the rows that no page needs any more."""
        for line, pattern in self.patterns:
            if line not in self.used:
                yield Failure(self.path, line, f"no page shows {pattern.pattern!r}; remove the row")


def _texts(element: Element, line: int) -> Iterator[tuple[int, str]]:
    """Yield the texts of blocks, each without those of the blocks within."""
    parts: list[str] = []
    stack: list[object] = list(reversed(element.children))
    inner: list[Element] = []
    while stack:
        at = stack.pop()
        if isinstance(at, Text):
            parts.append(str(at.data))
        elif isinstance(at, Element) and at.name not in NO_PROSE and not _other_language(at):
            if at.name in BLOCKS:
                inner.append(at)
                parts.append(" ")
            else:
                stack.extend(reversed(at.children))
    if text := " ".join("".join(parts).split()):
        yield line, text
    for each in inner:
        yield from _texts(each, line_of(each))


def _other_language(element: Element) -> bool:
    return not (element.attrs.get("lang") or "zh").startswith("zh")


def _attribute_texts(page: Page) -> Iterator[tuple[int, str]]:
    for each in page.all:
        for name in ATTRIBUTES:
            if text := each.attrs.get(name):
                yield line_of(each), " ".join(text.split())
        if each.name == "meta" and each.attrs.get("name") == "description":
            yield line_of(each), attribute(each, "content")


def _comments(page: Page) -> Iterator[tuple[int, str]]:
    """Yield comments of two words and more; one word is mostly a name.

    A traceback quotes the comments of the libraries in it.
    """
    text = TRACEBACK.sub(lambda block: "\n" * block[0].count("\n"), page.text)
    for match in re.finditer(r'<span class="c1">(#[^<]*)</span>', text):
        if len(WORD.findall(match[1])) > 1:
            yield text.count("\n", 0, match.start()) + 1, match[1]


def english_left(page: Page, allowed: AllowedEnglish) -> Iterator[Failure]:
    """No text, attribute or comment of a Chinese page is English, but for the allowed."""
    for line, text in [*_texts(page.root, 1), *_attribute_texts(page), *_comments(page)]:
        if not WORD.search(text):
            continue
        if not HAN.search(text):
            if not allowed.allows(text):
                yield page.fail(line, f"English: {text[:100]!r}")
        elif (found := SENTENCE.search(text)) and not allowed.allows(found[0]):
            yield page.fail(line, f"English within Chinese: {found[0][:100]!r}")
