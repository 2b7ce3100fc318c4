"""Write the catalogue of errors for the browser: what answers a paste, in one language.

A pattern is a list, in the order of `_pattern`; what stands at its end and is usual is left out.
`_static/error_engine.js` reads it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from torchguide.errors.catalogue import CONFIDENCES, LEVELS
from torchguide.errors.deciding import WRAPPERS
from torchguide.errors.templates import fields, javascript_pattern, readable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torchguide.errors import Catalogue, Entry
    from torchguide.errors.catalogue import Pattern

__all__ = ["browser_data", "catalogue_script", "wordings"]

_TEXTS = ("title", "cause", "fix")
_KINDS = {"int": "i", "num": "n", "size": "s"}  # all others are texts: t
_USUAL = ("", 0, 0, "", "", 0, False)  # what a pattern ends with if nothing is said


def browser_data(
    catalogue: Catalogue, language: str, link: Callable[[str], str], words: Mapping[str, str]
) -> dict[str, Any]:
    """Give all that the browser needs.

    `link` gives a link to the page and anchor of an entry, or nothing; `words` are the page's
    own, beside those around the answers of `torchguide explain`.
    """
    requires: list[Any] = [[]]
    entries = [_entry(entry, language, link, requires) for entry in catalogue.entries]
    return {
        "entries": entries,
        "requires": requires,
        "wrappers": WRAPPERS,
        "tables": {
            name: {key: row[language] for key, row in table.items()}
            for name, table in catalogue.tables.items()
        },
        "words": {key: text[language] for key, text in catalogue.interface.items()} | dict(words),
    }


def _entry(
    entry: Entry, language: str, link: Callable[[str], str], requires: list[Any]
) -> dict[str, Any]:
    data = entry.data
    packed: dict[str, Any] = {"id": entry.id, "page": link(entry.page) if entry.page else ""}
    packed |= {name: data[name][language] for name in _TEXTS}
    packed |= {name: data[name] for name in ("code", "derive") if name in data}
    if "causes" in data:
        packed["causes"] = [text[language] for text in data["causes"]]
    if "cases" in data:
        packed["cases"] = [_case(case, language) for case in data["cases"]]
    packed["patterns"] = [_pattern(pattern, requires) for pattern in entry.patterns]
    return packed


def _case(case: dict[str, Any], language: str) -> dict[str, Any]:
    packed = {key: value[language] if key in _TEXTS else value for key, value in case.items()}
    if "confidence" in case:
        packed["confidence"] = CONFIDENCES.index(case["confidence"])
    return packed


def _pattern(pattern: Pattern, requires: list[Any]) -> list[Any]:
    if pattern.requires not in requires:
        requires.append(pattern.requires)
    packed = [
        javascript_pattern(pattern.match),
        " ".join(pattern.words),
        pattern.rank,
        "".join(_KINDS.get(kind, "t") for kind in fields(pattern.match).values()),
        CONFIDENCES.index(pattern.confidence),
        LEVELS.index(pattern.level),
        javascript_pattern(pattern.within),
        javascript_pattern(pattern.without),
        requires.index(pattern.requires),
        pattern.consequence,
    ]
    for usual in reversed(_USUAL):
        if packed[-1] != usual:
            break
        packed.pop()
    return packed


def catalogue_script(data: dict[str, Any]) -> str:
    """Write the data as a script that sets a variable, which a page opened as a file can load."""
    packed = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"globalThis.guideErrors = {packed};\n"


def wordings(entry: Entry) -> list[str]:
    """Give the messages of an entry, readable; one that is part of another is left out."""
    known = list(dict.fromkeys(readable(pattern.match) for pattern in entry.patterns))
    return [text for text in known if not any(text in other for other in known if other != text)]
