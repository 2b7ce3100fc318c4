"""`torchguide explain`: read a log and say what its error means and what to do."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from torchguide.errors import Match, UnusableLogError, explain, load, read_log
from torchguide.style import Style

if TYPE_CHECKING:
    import argparse

__all__ = ["add_arguments", "run"]

_COLOURS = {"certain": "red", "likely": "yellow", "possible": "cyan"}
_OTHERS = 2  # further answers that are shown in short


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="the log; - or nothing reads standard input"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(options: argparse.Namespace) -> int:
    """Explain and print; 0 where something matched, 1 where nothing did, 2 for unusable input."""
    language: str = options.lang
    words = {key: text[language] for key, text in load().interface.items()}
    try:
        lines = _lines(options.file, words["prompt"])
    except UnusableLogError as error:
        sys.stderr.write(f"torchguide explain: {words[f'error.{error}']}\n")
        return 2
    except OSError as error:
        why = error.strerror or str(error)
        message = words["error.file"].replace("{path}", options.file).replace("{why}", why)
        sys.stderr.write(f"torchguide explain: {message}\n")
        return 2
    matches = explain(lines, language)
    if options.json:
        answer = {"matches": [match._asdict() for match in matches], "language": language}
        sys.stdout.write(json.dumps(answer, ensure_ascii=False, indent=2) + "\n")
    elif matches:
        sys.stdout.write(_human(matches, words, Style(sys.stdout)))
    else:
        sys.stdout.write(words["nothing"] + "\n")
    return 0 if matches else 1


def _lines(name: str | None, prompt: str) -> list[tuple[int, str]]:
    if name is not None and name != "-":
        with Path(name).open("rb") as stream:
            return read_log(stream)
    if name is None and sys.stdin.isatty():
        key = "Ctrl-Z, Enter" if sys.platform == "win32" else "Ctrl-D"
        sys.stderr.write(prompt.replace("{key}", key) + "\n")
    return read_log(sys.stdin.buffer)


def _human(matches: list[Match], words: dict[str, str], style: Style) -> str:
    best = matches[0]
    where = words["where"].replace("{id}", best.id).replace("{line}", str(best.line))
    label = f"[{words[f'confidence.{best.confidence}']}]"
    title = style.paint(f"{label} {best.title}", _COLOURS[best.confidence], bold=True)
    lines = [f"{title}  ({where})", "", style.paint(words["cause"], bold=True)]
    lines += [textwrap.indent(best.cause, "  "), "", style.paint(words["fix"], bold=True)]
    lines += [textwrap.indent(best.fix, "  ")]
    if best.page:
        lines += ["", f"{words['page']} {best.page}"]
    others = matches[1 : 1 + _OTHERS]
    if others:
        lines += ["", style.paint(words["others"], bold=True)]
        for other in others:
            where = words["where"].replace("{id}", other.id).replace("{line}", str(other.line))
            lines.append(f"  - {other.title}  ({where})")
    return "\n".join(lines) + "\n"
