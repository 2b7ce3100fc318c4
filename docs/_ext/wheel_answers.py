"""Compute the installer's answer to every combination that the page's selector offers.

The answers are a decision diagram: fields are asked in one order, what a field offers depends on
the choices before it, and equal parts are kept once. The page only walks along it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchguide import install
from torchguide.cli_install import choices_of
from wheel_offers import FIELDS, command_line, options_of

if TYPE_CHECKING:
    from torchguide.install import Answer, Reason

__all__ = ["Diagram", "ask", "diagram"]


def ask(chosen: tuple[str, ...]) -> tuple[tuple[Reason, ...], Answer | None]:
    """Ask the installer: what stands in the way, and the answer or the nearest possible one."""
    given: dict[str, Any] = dict.fromkeys(("driver", "python", "torch", "glibc", "macos", "gpu"))
    given |= {"accelerator": "auto", "mirror": "none"} | command_line(chosen)
    given["gpu"] = [given["gpu"]] if given["gpu"] else None
    try:
        return (), install.recommend(choices_of(argparse.Namespace(**given)))
    except install.ImpossibleError as error:
        return error.reasons, error.nearest


@dataclass
class Diagram:
    """The diagram in plain lists, for JSON; equal things are kept once and named by index.

    `nodes` holds alternately an option's index and that of the node of the next field, or of the
    answer after the last field; the root is the last node.
    """

    options: list[list[str]] = field(default_factory=lambda: [[] for _ in FIELDS])
    nodes: list[list[int]] = field(default_factory=list)
    # command (or -1), why it is this one, why the combination is impossible (or an empty set)
    answers: list[tuple[int, int, int]] = field(default_factory=list)
    commands: list[tuple[str, str, bool]] = field(default_factory=list)  # with check, verified
    sets: list[list[int]] = field(default_factory=list)  # of reasons
    reasons: list[tuple[str, dict[str, str], str]] = field(default_factory=list)


class _Builder:
    """Walk through what is offered, and keep equal things once."""

    def __init__(self) -> None:
        self.made = Diagram()
        self.places: dict[tuple[int, str], int] = {}

    def keep(self, rows: list[Any], value: Any) -> int:
        place = self.places.setdefault((id(rows), repr(value)), len(rows))
        if place == len(rows):
            rows.append(value)
        return place

    def reasons(self, reasons: tuple[Reason, ...]) -> int:
        rows = [(reason.key, reason.values, reason.source) for reason in reasons]
        return self.keep(self.made.sets, [self.keep(self.made.reasons, row) for row in rows])

    def visit(self, chosen: tuple[str, ...]) -> int:
        made = self.made
        if len(chosen) < len(FIELDS):
            node: list[int] = []
            for value in options_of(chosen):
                option = self.keep(made.options[len(chosen)], value)
                node += [option, self.visit((*chosen, value))]
            return self.keep(made.nodes, node)
        why_not, answer = ask(chosen)
        command = -1
        if answer:
            told = (answer.command, answer.check, answer.verified)
            command = self.keep(made.commands, told)
        why = self.reasons(answer.reasons if answer else ())
        return self.keep(made.answers, (command, why, self.reasons(why_not)))


def diagram(cache: Path) -> Diagram:
    """Build the diagram, or take it from a file in `cache` that the same package made."""
    package = Path(install.__file__).parent
    sources = [Path(__file__), *sorted(package.glob("*.py")), *sorted(package.glob("data/*.csv"))]
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
    kept = cache / f"wheel-answers-{digest[:20]}.json"
    if kept.exists():
        return Diagram(**json.loads(kept.read_text("utf-8")))
    builder = _Builder()
    builder.visit(())
    cache.mkdir(parents=True, exist_ok=True)
    for old in cache.glob("wheel-answers-*"):
        old.unlink()
    whole = kept.with_suffix(".new")  # so that nobody reads half a file
    whole.write_text(json.dumps(asdict(builder.made)), "utf-8")
    whole.replace(kept)
    return builder.made
