"""Check the content of the catalogue, file by file and entry by entry."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from torchguide.errors.catalogue import CONFIDENCES, LEVELS, load
from torchguide.errors.explain import explain
from torchguide.errors.facts import CONDITIONS, OPERATIONS
from torchguide.errors.templates import TemplateError, fields, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchguide.errors.catalogue import Catalogue, Entry

__all__ = ["check"]

LANGUAGES = ("en", "zh")
_SETTINGS = {"rank", "confidence", "level", "consequence", "with", "without", "requires"}
_PATTERN = {"match", "torch", *_SETTINGS}
_TEXTS = ("title", "cause", "fix")
_ENTRY = {"anchor", "patterns", "derive", "cases", "causes", "code", "test", *_TEXTS, *_SETTINGS}
_CASE = {"when", "confidence", "code", *_TEXTS}
_TORCH = re.compile(r"any|\d+\.\d+-(\d+\.\d+)?|-\d+\.\d+")
_PLACEHOLDER = re.compile(r"\{([a-z][a-z0-9_]*)\}")


def check(catalogue: Catalogue | None = None) -> list[str]:
    """List what is wrong, each with its file and entry."""
    catalogue = load() if catalogue is None else catalogue
    problems: list[str] = []
    seen: set[str] = set()
    for entry in catalogue.entries:
        place = f"{entry.family}.json: {entry.id}"
        # an entry that is wrong in itself explains nothing
        found = list(_entry(entry, catalogue)) or list(_tests(entry, catalogue))
        problems += [f"{place}: {problem}" for problem in found]
        if entry.id in seen:
            problems.append(f"{place}: this id stands twice")
        seen.add(entry.id)
    for key, text in catalogue.interface.items():
        problems += [f"interface.json: {key}: {p}" for p in _bilingual(text)]
    return problems


def _entry(entry: Entry, catalogue: Catalogue) -> Iterator[str]:
    data = entry.data
    yield from _unknown(data, _ENTRY)
    if not re.fullmatch(r"[a-z][a-z0-9-]*", str(data["anchor"])):
        yield f"the anchor {data['anchor']!r} is no name such as matmul-shape"
    if not data["patterns"]:
        yield "no pattern; an entry without one never answers"
    captured: set[str] = set()
    for number, pattern in enumerate(data["patterns"], start=1):
        for problem in _pattern(pattern):
            yield f"pattern {number}: {problem}"
        try:
            captured |= set(fields(pattern["match"]))
        except TemplateError:
            continue
    known = captured | set(data.get("derive", {}))
    yield from _rules(data, known, catalogue)
    for name in _TEXTS:
        if name not in data:
            yield f"no {name}"
            continue
        yield from (f"{name}: {problem}" for problem in _text(data[name], known))
    for number, cause in enumerate(data.get("causes", ()), start=1):
        yield from (f"cause {number}: {problem}" for problem in _text(cause, known))
    if not data.get("test"):
        yield "no test; give a message that it must explain"


def _unknown(data: dict[str, Any], allowed: set[str]) -> Iterator[str]:
    for name in sorted(set(data) - allowed):
        yield f"unknown key {name!r}; expected one of {', '.join(sorted(allowed))}"


def _pattern(pattern: dict[str, Any]) -> Iterator[str]:
    yield from _unknown(pattern, _PATTERN)
    for name in ("match", "with", "without"):
        try:
            fields(pattern.get(name, ""))
        except TemplateError as error:
            yield f"{name}: {error}"
    if not words(pattern["match"]):
        yield "it has no word of three characters or more to look for"
    if not _TORCH.fullmatch(pattern["torch"]):
        yield f"torch is {pattern['torch']!r}; expected 1.8-2.3, 2.4-, -1.7 or any"
    if pattern.get("confidence", CONFIDENCES[0]) not in CONFIDENCES:
        yield f"confidence is {pattern['confidence']!r}; expected one of {', '.join(CONFIDENCES)}"
    if pattern.get("level", LEVELS[0]) not in LEVELS:
        yield f"level is {pattern['level']!r}; expected one of {', '.join(LEVELS)}"
    if not 0 <= pattern.get("rank", 0) <= 100:
        yield f"rank is {pattern['rank']}; expected 0 to 100"


def _rules(data: dict[str, Any], known: set[str], catalogue: Catalogue) -> Iterator[str]:
    for name, rule in data.get("derive", {}).items():
        yield from (f"derive {name}: {p}" for p in _derivation(rule, known, catalogue))
    conditions = [*data.get("requires", ())]
    for number, case in enumerate(data.get("cases", ()), start=1):
        yield from (f"case {number}: {problem}" for problem in _unknown(case, _CASE))
        conditions += case.get("when", ())
        for name in _TEXTS:
            if name in case:
                yield from (f"case {number}: {p}" for p in _text(case[name], known))
    for condition in conditions:
        yield from _condition(condition, known)


def _derivation(rule: list[Any], known: set[str], catalogue: Catalogue) -> Iterator[str]:
    operation, *operands = rule
    if operation not in OPERATIONS:
        yield f"{operation!r} is none of {', '.join(OPERATIONS)}"
    if operation == "lookup" and operands[0] not in catalogue.tables:
        yield f"there is no table {operands[0]!r}"
    for fact in operands[1:] if operation == "lookup" else operands:
        if isinstance(fact, str) and fact not in known:
            yield f"no pattern gives the fact {fact!r}"


def _condition(condition: list[Any], known: set[str]) -> Iterator[str]:
    name, comparison, other = condition
    if comparison not in CONDITIONS:
        yield f"{comparison!r} compares nothing; expected one of {', '.join(CONDITIONS)}"
    for fact in (name, other["fact"] if isinstance(other, dict) else name):
        if fact not in known:
            yield f"a condition names the fact {fact!r}, which no pattern gives"


def _bilingual(text: dict[str, str]) -> Iterator[str]:
    for language in LANGUAGES:
        if not text.get(language, "").strip():
            yield f"the text in {language!r} is missing"
    if set(_PLACEHOLDER.findall(text.get("en", ""))) != set(
        _PLACEHOLDER.findall(text.get("zh", ""))
    ):
        yield "the two languages name different facts"


def _text(text: dict[str, str], known: set[str]) -> Iterator[str]:
    yield from _unknown(text, set(LANGUAGES))
    yield from _bilingual(text)
    for fact in _PLACEHOLDER.findall(text.get("en", "") + text.get("zh", "")):
        if fact not in known:
            yield f"it names the fact {fact!r}, which no pattern gives"


def _tests(entry: Entry, catalogue: Catalogue) -> Iterator[str]:
    for test in entry.data["test"]:
        found = [match.id for match in explain(test, "en", catalogue)]
        if found[:1] != [entry.id]:
            yield f"its test {test[:60]!r} is explained by {found[0] if found else 'nothing'}"
