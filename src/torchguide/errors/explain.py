"""Match a log against the catalogue and rank what matched."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

from torchguide.errors import deciding
from torchguide.errors.catalogue import CONFIDENCES, compiled, load
from torchguide.errors.facts import Facts
from torchguide.errors.log_text import read_lines
from torchguide.errors.templates import fields

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from torchguide.errors.catalogue import Catalogue, Entry, Pattern
    from torchguide.errors.log_text import Log

__all__ = ["Match", "explain"]

_MOST = 2000  # occurrences of one pattern that are looked at
_REACH = 2500  # a message may go on this far after the exception's name


class Match(NamedTuple):
    """An entry that explains the log."""

    id: str
    confidence: str
    line: int
    """The number of the line where the message begins, from 1."""
    title: str
    cause: str
    fix: str
    """What to do; a code block follows after an empty line, indented by four spaces."""
    page: str
    """The page and anchor that treat it; empty while the page is not written."""
    facts: dict[str, Any]


class _Hit(NamedTuple):
    entry: Entry
    pattern: Pattern
    found: re.Match[str]

    @property
    def start(self) -> int:
        return self.found.start()


def explain(
    log: str | Sequence[tuple[int, str]], language: str = "en", catalogue: Catalogue | None = None
) -> list[Match]:
    """Explain a text, or numbered lines, the best answer first; nothing where nothing fits.

    Lines cut in the middle of a word are joined where the plain reading finds nothing.
    """
    catalogue = load() if catalogue is None else catalogue
    lines = list(enumerate(log.split("\n"), start=1)) if isinstance(log, str) else log
    for joint in (" ", ""):
        read = read_lines(lines, joint)
        ranked = _rank(list(_hits(read, catalogue)), read)
        if ranked:
            return [_answer(hit, sure, read, language, catalogue) for hit, sure in ranked]
    return []


def _hits(log: Log, catalogue: Catalogue) -> Iterator[_Hit]:
    for entry in catalogue.entries:
        for pattern in entry.patterns:
            if not _counts(pattern, log.flow):
                continue
            found = [
                match
                for match in itertools.islice(pattern.regex.finditer(log.flow), _MOST)
                if not pattern.requires or _required(pattern, entry, match, catalogue)
            ]
            for match in found[:1] + found[1:][-1:]:  # the first and the last
                yield _Hit(entry, pattern, match)


def _counts(pattern: Pattern, text: str) -> bool:
    return (
        all(word in text for word in pattern.words)
        and not (pattern.within and not compiled(pattern.within).search(text))
        and not (pattern.without and compiled(pattern.without).search(text))
    )


def _required(pattern: Pattern, entry: Entry, match: re.Match[str], catalogue: Catalogue) -> bool:
    facts = _facts(pattern, entry, match, catalogue, "en")
    return all(facts.holds(condition) for condition in pattern.requires)


def _facts(
    pattern: Pattern, entry: Entry, match: re.Match[str], catalogue: Catalogue, language: str
) -> Facts:
    facts = Facts(match.groupdict(), fields(pattern.match))
    facts.derive(entry.data.get("derive", {}), catalogue.tables, language)
    return facts


def _rank(hits: list[_Hit], log: Log) -> list[tuple[_Hit, bool]]:
    """Order the hits, one for each entry; the flag tells whether the hit decides the log."""
    exception = deciding.deciding_exception(log)
    errors = [hit for hit in hits if hit.pattern.level == "error"]
    start = exception[0] if exception else 0
    deciding_hits = [hit for hit in errors if hit.found.end() >= start]
    if deciding_hits and all(hit.pattern.consequence for hit in deciding_hits):
        deciding_hits = errors  # the first error of a cascade is the cause, the last one is not
    fallbacks = [
        hit
        for hit in hits
        if hit.pattern.level == "fallback"
        and (exception is None or start - 1 <= hit.start <= start + _REACH)
    ]
    groups: list[tuple[list[_Hit], bool]] = [(deciding_hits, True)]
    if deciding_hits or exception is None:
        groups += [(errors, False), ([h for h in hits if h.pattern.level == "warning"], False)]
        groups += [] if deciding_hits else [(fallbacks, True)]
    else:  # the program ended with something else; what stands before it may be its cause
        groups += [(fallbacks, True), (errors, False)]
    ranked: dict[str, tuple[_Hit, bool]] = {}
    for group, decides in groups:
        for hit in sorted(group, key=_order):
            ranked.setdefault(hit.entry.id, (hit, decides or exception is None))
    return list(ranked.values())


def _order(hit: _Hit) -> tuple[int, int]:
    # of equals the last decides, but of a cascade the first
    return -hit.pattern.rank, hit.start if hit.pattern.consequence else -hit.start


def _answer(hit: _Hit, sure: bool, log: Log, language: str, catalogue: Catalogue) -> Match:
    data = hit.entry.data
    facts = _facts(hit.pattern, hit.entry, hit.found, catalogue, language)
    cases: list[dict[str, Any]] = data.get("cases", [])
    case = next((case for case in cases if _fits(case, facts, language)), {})

    def text(name: str) -> str:
        texts = case.get(name) or data[name]
        return facts.fill(texts[language]) or texts[language]

    cause = text("cause")
    if "causes" in data and "cause" not in case:
        cause += "\n" + "\n".join(
            f"{number}. {each[language]}" for number, each in enumerate(data["causes"], start=1)
        )
    confidence = case.get("confidence", hit.pattern.confidence)
    if not sure and confidence == "certain":
        confidence = CONFIDENCES[CONFIDENCES.index(confidence) + 1]
    fix = text("fix")
    code = case.get("code", data.get("code", ()) if "fix" not in case else ())
    if code:
        filled = (facts.fill(line) or line for line in code)
        fix += "\n\n" + "\n".join(f"    {line}" for line in filled)
    return Match(
        id=hit.entry.id,
        confidence=confidence,
        line=log.line(hit.start),
        title=text("title"),
        cause=cause,
        fix=fix,
        page=hit.entry.page,
        facts=facts.shown(),
    )


def _fits(case: dict[str, Any], facts: Facts, language: str) -> bool:
    if not all(facts.holds(condition) for condition in case.get("when", ())):
        return False
    texts = [case[name][language] for name in ("title", "cause", "fix") if name in case]
    return all(facts.fill(text) is not None for text in texts)
