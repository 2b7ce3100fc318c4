"""Read a log of any size in bounded memory: keep the lines that can matter, with their numbers.

A log up to `WHOLE` bytes is kept whole. A longer one repeats itself: lines that are equal but for
their digits are looked at once. Of the others, those that have a trigger are kept with the lines
around them; so are the last of each that is repeated, the beginning and the end of the log.
"""

from __future__ import annotations

import codecs
import itertools
from typing import TYPE_CHECKING, BinaryIO

from torchguide.errors.catalogue import load
from torchguide.errors.triggers import Triggers

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WHOLE", "UnusableLogError", "read_log"]

WHOLE = 1 << 20
_CHUNK = 1 << 20
_LONGEST = 1 << 14  # a line is cut here
_BEFORE, _AFTER = 4, 16  # lines kept around a find
_FORMS = 100_000  # forms of lines that are remembered
_EARLY, _LATE = 10_000, 1_000  # lines kept from the beginning, and finds of what comes later
_BEGINNING, _END = 50, 200  # lines kept in any case
_VARIED = 0.3  # share of new lines from which only the markers are looked for
_VARYING = b"0123456789abcdef"  # digits, also of hashes and addresses


class UnusableLogError(ValueError):
    """The input holds no text; the argument is the key of the reason: `empty` or `binary`."""


def read_log(stream: BinaryIO) -> list[tuple[int, str]]:
    """Read the lines that can matter, numbered from 1.

    Raises:
        UnusableLogError: there is nothing to read, or it is no text.
    """
    head = stream.read(WHOLE + 1)  # at the end of input it is shorter; a terminal ends only once
    encoding = _encoding(head)
    if not head.strip():
        raise UnusableLogError("empty")
    if len(head) <= WHOLE:
        lines = head.decode(encoding, errors="replace").split("\n")
        return [(number, line.rstrip("\r")) for number, line in enumerate(lines, start=1)]
    excerpt = _Excerpt()
    for chunk in _chunks(head, stream, encoding):
        excerpt.add(chunk)
    return excerpt.lines()


def _encoding(head: bytes) -> str:
    """Tell the encoding by the first bytes.

    PowerShell writes UTF-16, old Chinese consoles GBK.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    sample = head[:4096]
    even, odd = sample[::2], sample[1::2]
    if sample.count(0) > len(sample) / 50:
        # in UTF-16, what ASCII knows has a zero as its other byte
        if odd.count(0) > len(odd) / 3 and even.count(0) < len(even) / 50:
            return "utf-16-le"
        if even.count(0) > len(even) / 3 and odd.count(0) < len(odd) / 50:
            return "utf-16-be"
        raise UnusableLogError("binary")
    for encoding in ("utf-8-sig", "gb18030"):
        try:
            codecs.getincrementaldecoder(encoding)().decode(head)
        except UnicodeDecodeError:
            continue
        return encoding
    return "utf-8"


def _chunks(head: bytes, stream: BinaryIO, encoding: str) -> Iterator[bytes]:
    """Give the log in UTF-8, cut between lines."""
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    plain = encoding.startswith("utf-8")  # broken bytes are replaced where lines are kept
    rest, part = b"", head
    while part:
        data = rest + (part if plain else decoder.decode(part).encode())
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) > _CHUNK:
            cut = len(data)  # a line without end
        if cut:
            yield data[:cut]
        rest, part = data[cut:], stream.read(_CHUNK)
    if rest:
        yield rest


def _pieces(chunk: bytes, first: int) -> tuple[list[int], bytes]:
    """Number the lines of a chunk; progress bars hold several, parted by returns."""
    chunk = chunk.replace(b"\r\n", b"\n").removesuffix(b"\n")
    if b"\r" not in chunk:
        return list(range(first, first + chunk.count(b"\n") + 1)), chunk
    numbers = [
        number
        for number, line in enumerate(chunk.split(b"\n"), start=first)
        for _ in range(line.count(b"\r") + 1)
    ]
    return numbers, chunk.replace(b"\r", b"\n")


class _Excerpt:
    """The lines kept so far, each under its place in the log.

    The form of a line is the line without what varies; it tells whether the line is a new one.
    """

    def __init__(self) -> None:
        self._triggers = Triggers(load())
        self._seen: set[bytes] = set()  # forms of lines
        self._matter: set[bytes] = set()  # those that have a trigger
        self._kept: dict[int, tuple[int, bytes]] = {}
        self._last: dict[bytes, dict[int, tuple[int, bytes]]] = {}  # around the last of each form
        self._lines: list[bytes] = []  # of the chunk and of the end of the one before
        self._numbers: list[int] = []
        self._place = 0  # of the first of them
        self._owed = _BEGINNING  # lines to be kept at the beginning of the next chunk
        self._number = 1
        self._varied = False  # whether forms say nothing, as all lines differ

    def add(self, chunk: bytes) -> None:
        """Keep what matters of the next chunk."""
        numbers, text = _pieces(chunk, self._number)
        lines = text.split(b"\n")
        forms = [] if self._varied else text.translate(None, _VARYING).split(b"\n")
        self._number += chunk.count(b"\n")
        old = min(len(self._lines), _END)
        self._place += len(self._lines) - old
        self._lines = self._lines[-old:] + lines if old else lines
        self._numbers = self._numbers[-old:] + numbers if old else numbers
        last = dict(zip(forms, itertools.count(old), strict=False))
        again = last.keys() & self._matter
        keep = self._range(old, old + self._owed)
        self._owed = 0
        if self._varied:
            finds = self._triggers.lines(text, thorough=False)
        else:
            finds = self._finds(lines, forms, last.keys() - self._seen)
        for index in finds:
            keep.update(self._around(index + old))
        if len(self._kept) < _EARLY:
            self._kept.update(keep)
            keep = {}
        self._last.update((b"%d" % place, {place: line}) for place, line in keep.items())
        for form in again:
            self._last.pop(form, None)  # so that the oldest stand first
            self._last[form] = self._around(last[form])
        while len(self._last) > _LATE:
            del self._last[next(iter(self._last))]

    def _finds(self, lines: list[bytes], forms: list[bytes], new: set[bytes]) -> list[int]:
        """Give the first lines of new forms that have a trigger, and remember the forms."""
        if not new:
            return []
        first = dict(zip(reversed(forms), range(len(forms) - 1, -1, -1), strict=True))
        indexes = sorted(first[form] for form in new)
        thorough = len(indexes) < _VARIED * len(lines)
        self._varied = not thorough and len(self._seen) >= _FORMS
        text = b"\n".join([lines[index] for index in indexes])
        found = self._triggers.lines(text, thorough=thorough)
        finds = [indexes[number] for number in found]
        if len(self._seen) < _FORMS:
            self._seen |= {form for form in new if len(form) < _LONGEST}
            self._matter |= {forms[index] for index in finds} & self._seen
        return finds

    def _range(self, start: int, end: int) -> dict[int, tuple[int, bytes]]:
        return {
            self._place + index: (self._numbers[index], self._lines[index][:_LONGEST])
            for index in range(max(start, 0), min(end, len(self._lines)))
        }

    def _around(self, index: int) -> dict[int, tuple[int, bytes]]:
        self._owed = max(self._owed, index + _AFTER + 1 - len(self._lines))
        return self._range(index - _BEFORE, index + _AFTER + 1)

    def lines(self) -> list[tuple[int, str]]:
        """Give all that was kept, in order."""
        kept = {**self._kept, **self._range(len(self._lines) - _END, len(self._lines))}
        for lines in self._last.values():
            kept.update(lines)
        return [
            (number, line.decode("utf-8", errors="replace"))
            for _, (number, line) in sorted(kept.items())
        ]
