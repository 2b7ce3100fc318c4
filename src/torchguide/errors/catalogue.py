"""Read the catalogue of errors: one JSON file per family in data/errors."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

from torchguide.errors.templates import python_pattern, words

__all__ = [
    "CONFIDENCES",
    "LEVELS",
    "Catalogue",
    "CatalogueError",
    "Entry",
    "Pattern",
    "compiled",
    "load",
]

FOLDER = Path(__file__).parents[1] / "data" / "errors"
INTERFACE = "interface.json"  # the words around the answers; all other files are families
CONFIDENCES = ("certain", "likely", "possible")
# what ends a program; what it prints and survives; what only counts where nothing else is found
LEVELS = ("error", "warning", "fallback")


class CatalogueError(ValueError):
    """A file of the catalogue is wrong; the message names the file and the entry."""


class Pattern(NamedTuple):
    """One wording of a message."""

    match: str
    """The template; see `torchguide.errors.templates`."""
    torch: str
    """The versions that print it: `1.8-2.3`, `2.4-`, `-1.7`, or `any`."""
    rank: int
    """From 0, general, to 100, specific: which of several matches is the answer."""
    confidence: str
    level: str
    consequence: bool
    """Whether an error printed earlier is likely the cause."""
    within: str
    """A template that must match somewhere in the log, too (`with` in the data)."""
    without: str
    """A template that must not match anywhere in the log."""
    requires: list[list[Any]]
    """Conditions on the facts without which the pattern does not count."""
    words: tuple[str, ...]
    """Words without which it cannot match."""

    @property
    def regex(self) -> re.Pattern[str]:
        """Compile the template, once."""
        return compiled(self.match)


class Entry(NamedTuple):
    """One kind of error."""

    id: str
    family: str
    page: str
    """The page and the anchor that treat it; empty while the page is not written."""
    patterns: tuple[Pattern, ...]
    data: dict[str, Any]
    """The entry as it stands in the file: texts, derived facts, cases, causes, examples."""


class Catalogue(NamedTuple):
    """All entries, the tables they look up, and the words around the answers."""

    entries: tuple[Entry, ...]
    tables: dict[str, dict[str, dict[str, str]]]
    interface: dict[str, dict[str, str]]

    def entry(self, name: str) -> Entry:
        """Give an entry by its id."""
        return next(entry for entry in self.entries if entry.id == name)


@functools.cache
def compiled(template: str) -> re.Pattern[str]:
    """Compile a template, once."""
    return re.compile(python_pattern(template), re.ASCII)


_DEFAULTS: dict[str, Any] = {
    "rank": 50,
    "confidence": "certain",
    "level": "error",
    "consequence": False,
    "with": "",
    "without": "",
    "requires": [],
}


def _pattern(given: dict[str, Any], settings: dict[str, Any]) -> Pattern:
    given = {**settings, **given}
    return Pattern(
        given["match"],
        given["torch"],
        given["rank"],
        given["confidence"],
        given["level"],
        given["consequence"],
        given["with"],
        given["without"],
        given["requires"],
        tuple(words(given["match"])[:2]),
    )


def _entry(name: str, data: dict[str, Any], family: dict[str, Any]) -> Entry:
    # what an entry sets holds for all its patterns that do not say otherwise
    settings = {key: data.get(key, default) for key, default in _DEFAULTS.items()}
    patterns = tuple(_pattern(given, settings) for given in data["patterns"])
    page = f"{family['page']}#{data['anchor']}" if family["published"] else ""
    return Entry(name, family["family"], page, patterns, data)


@functools.lru_cache(maxsize=4)
def load(folder: Path = FOLDER) -> Catalogue:
    """Read the catalogue.

    Raises:
        CatalogueError: a file is no JSON or lacks what every entry has. The full check of an
            entry's content is `torchguide.errors.check.check`.
    """
    entries: list[Entry] = []
    tables: dict[str, dict[str, dict[str, str]]] = {}
    interface: dict[str, dict[str, str]] = {}
    for path in sorted(folder.glob("*.json")):
        place = path.name
        try:
            data = json.loads(path.read_bytes())
            if path.name == INTERFACE:
                interface = data
                continue
            tables.update(data.get("tables", {}))
            for name, entry in data["entries"].items():
                place = f"{path.name}: {name}"
                entries.append(_entry(name, entry, data))
        except json.JSONDecodeError as error:
            raise CatalogueError(f"{place}:{error.lineno}: no JSON: {error.msg}") from error
        except KeyError as error:
            raise CatalogueError(f"{place}: {error.args[0]} is missing") from error
        except (AttributeError, TypeError) as error:
            raise CatalogueError(f"{place}: another form than expected: {error}") from error
    return Catalogue(tuple(entries), tables, interface)
