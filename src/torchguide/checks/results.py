"""What the checks return: findings as plain data, in English or Chinese."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torchguide.texts import Texts, system_language

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["CheckError", "Finding", "Findings", "finding", "shorten"]

SEVERITIES = ("error", "warning")

_texts = functools.cache(functools.partial(Texts, findings="checks.csv"))


class CheckError(RuntimeError):
    """Checks found something; `findings` holds it."""

    def __init__(self, findings: Findings) -> None:
        """Say all findings in the message."""
        super().__init__(f"\n{findings}")
        self.findings = findings


@dataclass(frozen=True)
class Finding:
    """One mistake: what it is, where it was seen, what mends it, and the page that explains it.

    Attributes:
        id: The kind of mistake, such as ``"loss-broadcast"``.
        severity: ``"error"`` for what is wrong for certain, ``"warning"`` for what may be wanted.
        message: What was found, in the system's language.
        where: The parameter, layer or function, by its name in the code.
        fix: What to do.
        page: The page and section of the guide that treat it.
        step: The optimizer step during which it was first seen, from 1; only `watch` knows it.
        values: What the texts are filled with.
    """

    id: str
    severity: str
    message: str
    where: str
    fix: str
    page: str
    step: int | None = None
    values: dict[str, str] = field(default_factory=dict)

    def in_language(self, language: str) -> Finding:
        """Say the same finding in ``"en"`` or ``"zh"``."""
        texts = _texts(language)
        values = {
            name: texts.say(f"checks.kind.{value}") if name == "kind" and value.islower() else value
            for name, value in self.values.items()
        }
        message = texts.title(self.id, **values)
        return replace(self, message=message, fix=texts.advice(self.id, **values))

    def text(self, language: str | None = None) -> str:
        """Say what was found, where, the fix and the page, a line each."""
        language = language or system_language()
        said, texts = self.in_language(language), _texts(language)
        place = [texts.say("checks.step", step=self.step)] if self.step else []
        place += [self.where] if self.where else []
        lines = [
            texts.label(f"ui.severity.{self.severity}", said.message),
            *(
                [texts.label("checks.where", texts.say("checks.comma").join(place))]
                if place
                else []
            ),
            texts.label("ui.fix", said.fix),
            texts.label("ui.page", self.page),
        ]
        return "\n  ".join(lines)

    def __str__(self) -> str:
        """Say the finding in the system's language."""
        return self.text()


class Findings(tuple[Finding, ...]):
    """The findings of a check: empty, and therefore false, when nothing is wrong."""

    __slots__ = ()

    def __add__(self, other: Iterable[Finding]) -> Findings:  # type: ignore[override]  # a tuple of findings stays Findings
        """Put the findings of two checks together."""
        return Findings((*self, *other))

    def text(self, language: str | None = None) -> str:
        """Say all findings, or that there are none."""
        language = language or system_language()
        said = [finding.text(language) for finding in self]
        return "\n".join(said) or _texts(language).say("checks.none")

    def __str__(self) -> str:
        """Say all findings in the system's language."""
        return self.text()

    def raise_on_findings(self, least: str = "warning") -> None:
        """Raise if something was found that is at least as severe as `least`.

        Raises:
            CheckError: With these findings.
            ValueError: If `least` is no severity.
        """
        if least not in SEVERITIES:
            raise ValueError(f"least is {least!r}; expected one of {SEVERITIES}")
        severe = Findings(f for f in self if least == "warning" or f.severity == "error")
        if severe:
            raise CheckError(severe)


def finding(kind: str, where: str = "", /, **values: object) -> Finding:
    """Make a finding of data/checks.csv in the system's language."""
    texts = _texts("en")
    page, severity = texts.page(kind), texts.severity(kind)
    filled = {name: str(value) for name, value in values.items()}
    bare = Finding(kind, severity, "", where, "", page, values=filled)
    return bare.in_language(system_language())


def shorten(names: Iterable[str], most: int = 4) -> str:
    """Join names, the last of many as a number."""
    listed = list(names)
    rest = len(listed) - most
    return ", ".join(listed[:most]) + (f", … (+{rest})" if rest > 0 else "")
