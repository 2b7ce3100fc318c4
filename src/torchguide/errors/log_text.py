"""Clean a log: undo colours, boxes, prefixes and wrapping, and keep the numbers of its lines."""

from __future__ import annotations

import bisect
import re
from typing import TYPE_CHECKING, NamedTuple

from torchguide.errors.templates import plain_quotes

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Log", "clean", "read_lines"]

_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor moves
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles and links
    r"|\x1b[@-_]"
    r"|(?:\ufffd|␛)?\[\d{1,2}(?:;\d{1,3}){0,4}m"  # what is left of them after copying
)
# what programs and containers put before each line
_PREFIX = re.compile(
    r"(?:[\s>]*(?:"
    r"#\d+ \d+\.\d+ "  # docker build
    r"|[\w./-]+ *\| (?=.)"  # docker compose
    r"|\[(?:rank|default)\d+\]:"  # torchrun
    r"|\[\d+\]: *|\d+: (?=\S)"  # mpirun, srun
    r"|\([\w ]*pid=[^)]*\)"  # Ray
    r"|\[?\d{4}[-/]\d\d[-/]\d\d[T ,]\d\d:\d\d:\d\d[\d.,+Z]*\]?"  # a time
    r"|\[?\d\d:\d\d:\d\d[\d.,]*\]?"
    r"|\[?(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)\]?[:|]?(?=\s)"
    r"|\[?[EWIF]\d{4} \d\d:\d\d:\d\d\S*(?: \d+)? \S+\.(?:py|cpp|cc|h):\d+\](?: \[[\d/]+\])*"  # glog
    r"|[-|:](?=\s)"
    r"))+"
)
_BOX = re.compile(r"[\u2500-\u257f❱]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b\ufeff]")
_SPACES = re.compile(r"\s+")
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_ONE_LINE = re.compile(r"(?:\\{1,2}r)?\\{1,2}n")  # in JSON of JSON the backslash is doubled


class Log(NamedTuple):
    """A cleaned log in one line, for messages that are wrapped."""

    flow: str
    """All lines joined by single spaces."""
    starts: list[int]
    """Where each line begins in `flow`."""
    numbers: list[int]
    """The number of each line in the original, from 1."""

    def line(self, offset: int) -> int:
        """Give the number of the line that holds an offset of the flow."""
        return self.numbers[max(bisect.bisect_right(self.starts, offset) - 1, 0)]

    def piece(self, index: int) -> str:
        """Give a cleaned line."""
        end = self.starts[index + 1] if index + 1 < len(self.starts) else len(self.flow)
        return self.flow[self.starts[index] : end].rstrip()


def clean(line: str) -> str:
    """Clean one line."""
    line = _ANSI.sub("", line) if "\x1b" in line or "[" in line else line
    if not line.isascii():
        line = _BOX.sub(" ", line.translate(_FULL_WIDTH))
    line = _CONTROL.sub(" ", line)
    found = _PREFIX.match(line)
    return plain_quotes(_SPACES.sub(" ", line[found.end() :] if found else line).strip())


def read_lines(lines: Iterable[tuple[int, str]], joint: str = " ") -> Log:
    """Join numbered lines to a log; `joint` is "" for lines cut at a fixed width."""
    parts: list[str] = []
    starts: list[int] = []
    numbers: list[int] = []
    offset = 0
    for number, line in lines:
        pieces = re.split(r"\r", line)
        if line.count("\\n") > 2:  # a traceback written as one string, as JSON and repr do
            pieces = _ONE_LINE.split(line)
        for piece in pieces:
            text = clean(piece.replace("\\'", "'").replace('\\"', '"').replace("\\\\", "\\"))
            if text:
                parts.append(text)
                starts.append(offset)
                numbers.append(number)
                offset += len(text) + len(joint)
    if not parts:
        return Log("", [0], [1])
    return Log(joint.join(parts), starts, numbers)
