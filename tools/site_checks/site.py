"""Read a built site: its folders, its pages as trees with line numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from justhtml import Element, JustHTML, Text

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator
    from pathlib import Path

__all__ = [
    "LANGUAGES",
    "Failure",
    "Page",
    "Site",
    "attribute",
    "elements",
    "line_in",
    "line_of",
    "text_of",
]

LANGUAGES = {"en": "en", "zh-cn": "zh-CN"}  # folder -> the tag in <html lang>


@dataclass(frozen=True, order=True)
class Failure:
    """Something wrong, with its place."""

    path: Path
    line: int
    what: str

    def __str__(self) -> str:
        """Return `file:line: what`, as editors understand it."""
        return f"{self.path}:{self.line}: {self.what}"


def elements(node: Element) -> Iterator[Element]:
    """Walk over an element and all elements within, in the page's order."""
    stack = [node]
    while stack:
        at = stack.pop()
        yield at
        stack.extend(each for each in reversed(at.children) if isinstance(each, Element))


def text_of(node: Element, *, without: frozenset[str] = frozenset()) -> str:
    """Return an element's text with single spaces, without that of some kinds of elements."""
    parts: list[str] = []
    stack: list[object] = [node]
    while stack:
        at = stack.pop()
        if isinstance(at, Text):
            parts.append(str(at.data))
        elif isinstance(at, Element) and at.name not in without:
            stack.extend(reversed(at.children))
    return " ".join("".join(parts).split())


def attribute(node: Element, name: str) -> str:
    """Return an attribute's value; an absent one and one without a value are empty."""
    return node.attrs.get(name) or ""


def line_of(node: Element) -> int:
    """Return the line of an element's start tag; 1 where the parser added the element."""
    return node.origin_line or 1


@dataclass
class Page:
    """One HTML page."""

    path: Path
    name: str  # relative to the site: en/tensors/views.html
    text: str
    root: Element
    errors: list[tuple[int, str]]

    @property
    def language(self) -> str | None:
        """The folder of its language; None for the page above them."""
        folder, _slash, rest = self.name.partition("/")
        return folder if rest and folder in LANGUAGES else None

    @property
    def docname(self) -> str:
        """Its name within its language, without `.html`."""
        return self.name.removeprefix(f"{self.language}/").removesuffix(".html")

    @cached_property
    def all(self) -> list[Element]:
        """All its elements, in order."""
        return list(elements(self.root))

    @cached_property
    def ids(self) -> dict[str, Element]:
        """Its elements with an id, the first of each id."""
        found: dict[str, Element] = {}
        for each in self.all:
            if name := each.attrs.get("id"):
                found.setdefault(name, each)
        return found

    @cached_property
    def main(self) -> Element | None:
        """The article: what an author wrote."""
        return next((each for each in self.all if each.attrs.get("role") == "main"), None)

    @cached_property
    def executed(self) -> bool:
        """Whether it shows code that was run: a page with cells, or a script of the gallery."""
        script = self.docname.startswith("gallery/") and not self.docname.endswith("index")
        return script or any("cell_input" in attribute(each, "class").split() for each in self.all)

    def fail(self, where: Element | int, what: str) -> Failure:
        """Make a failure at an element or a line."""
        return Failure(self.path, where if isinstance(where, int) else line_of(where), what)


def read_page(path: Path, site: Path) -> Page:
    """Parse a page as a browser does, with what the HTML standard calls parse errors."""
    text = path.read_text("utf-8")
    parsed = JustHTML(text, sanitize=False, collect_errors=True, track_node_locations=True)
    root = next(each for each in parsed.root.children or () if isinstance(each, Element))
    errors = [(error.line or 1, error.message) for error in parsed.errors]
    return Page(path, path.relative_to(site).as_posix(), text, root, errors)


@dataclass
class Site:
    """A built site."""

    folder: Path
    pages: dict[str, Page] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path) -> Site:
        """Read all pages of a site.

        Raises:
            FileNotFoundError: The folder is no built site; the message says how to build one.
        """
        if not (folder / "index.html").is_file():
            raise FileNotFoundError(
                f"{folder} has no index.html; build the site first: nox -s docs"
            )
        paths = sorted(folder.rglob("*.html"))
        pages = [read_page(path, folder) for path in paths if "_static" not in path.parts]
        return cls(folder, {page.name: page for page in pages})

    def of(self, language: str) -> dict[str, Page]:
        """Return the pages of a language by their names within it."""
        return {page.docname: page for page in self.pages.values() if page.language == language}

    def files(self, *suffixes: str) -> list[Path]:
        """Return files by the ends of their names."""
        return sorted(path for path in self.folder.rglob("*") if path.name.endswith(suffixes))


def line_in(text: str, match: re.Match[str]) -> int:
    """Return the line, from 1, where a match begins."""
    return text.count("\n", 0, match.start()) + 1
