"""Read a log of any size in bounded memory: keep the lines that can matter, with their numbers.

A log up to `WHOLE` bytes is kept whole. Of a longer one, every line is searched for triggers,
short texts of which each pattern of the catalogue has at least one; the lines around the first
and the last finds of each trigger are kept, and the beginning and the end of the log.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING, BinaryIO

from torchguide.errors.catalogue import load
from torchguide.errors.triggers import Triggers

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["WHOLE", "UnusableLogError", "read_log"]

WHOLE = 1 << 20
_CHUNK = 1 << 20
_LONGEST = 1 << 16  # a line without end is cut here
_BEFORE, _AFTER = 4, 16  # lines kept around a find
_END = 1 << 16  # bytes kept of the end


class UnusableLogError(ValueError):
    """The input holds no text; the argument is the key of the reason: `empty` or `binary`."""


def read_log(stream: BinaryIO) -> list[tuple[int, str]]:
    """Read the lines that can matter, numbered from 1.

    Raises:
        UnusableLogError: there is nothing to read, or it is no text.
    """
    head = _fill(stream, WHOLE + 1)
    encoding = _encoding(head)
    if not head.strip():
        raise UnusableLogError("empty")
    if len(head) <= WHOLE:
        lines = _decode(head, encoding).split("\n")
        return [(number, line.rstrip("\r")) for number, line in enumerate(lines, start=1)]
    return _Excerpt().read(_chunks(head, stream, encoding))


def _fill(stream: BinaryIO, size: int) -> bytes:
    parts: list[bytes] = []
    while size > 0 and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _encoding(head: bytes) -> str:
    """Tell the encoding by the first bytes.

    PowerShell writes UTF-16, old Chinese consoles GBK.
    """
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    sample = head[:4096]
    zeros = sample.count(0)
    if zeros:
        if sample[1::2].count(0) > 0.9 * len(sample[1::2]):
            return "utf-16-le"
        if sample[::2].count(0) > 0.9 * len(sample[::2]):
            return "utf-16-be"
        if zeros > len(sample) / 50:
            raise UnusableLogError("binary")
    try:
        codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError:
        try:
            codecs.getincrementaldecoder("gb18030")().decode(head)
        except UnicodeDecodeError:
            return "utf-8"
        return "gb18030"
    return "utf-8-sig"


def _decode(data: bytes, encoding: str) -> str:
    return data.decode(encoding, errors="replace")


def _chunks(head: bytes, stream: BinaryIO, encoding: str) -> Iterator[bytes]:
    """Give the log in UTF-8, in chunks."""
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    plain = encoding.startswith("utf-8")  # broken bytes are replaced where lines are kept
    chunk = head
    while chunk:
        yield chunk if plain else decoder.decode(chunk).encode()
        chunk = stream.read(_CHUNK)


class _Excerpt:
    """The lines kept so far."""

    def __init__(self) -> None:
        self._kept: dict[int, str] = {}
        self._late: dict[int, str] = {}
        self._triggers = Triggers(load())
        self._number = 1  # of the first line of the chunk

    def read(self, chunks: Iterator[bytes]) -> list[tuple[int, str]]:
        rest = context = b""
        first = True
        for part in chunks:
            data = rest + part
            cut = data.rfind(b"\n") + 1
            if not cut and len(data) < _LONGEST:
                rest = data
                continue
            cut = cut or len(data)
            chunk, rest = data[:cut], data[cut:]
            self._scan(context, chunk)
            if first:
                self._keep(self._kept, self._number, chunk[: _END // 4])
                first = False
            # the lines before the next chunk's first find
            self._number += chunk.count(b"\n")
            context = chunk[-_END:]
            context = context[context.find(b"\n") + 1 :]
        self._scan(context, rest)
        end = context + rest
        self._keep(self._kept, self._number - context.count(b"\n"), end)
        return sorted({**self._late, **self._kept}.items())

    def _scan(self, context: bytes, chunk: bytes) -> None:
        """Keep the lines around the finds; `context` is the end of the chunk before."""
        data = context + chunk
        number = self._number - context.count(b"\n")
        early, late = self._triggers.find(data, len(context))
        end = 0
        for kept, offsets in ((self._kept, early), (self._late, late)):
            counted, line = 0, number
            end = -1
            for offset in offsets:
                if offset < end:
                    continue
                start = offset
                for _ in range(_BEFORE + 1):
                    start = max(data.rfind(b"\n", max(start - _LONGEST, 0), max(start, 0)), -1)
                    if start < 0:
                        break
                start = max(start + 1, offset - _LONGEST)
                end = offset
                for _ in range(_AFTER + 1):
                    end = data.find(b"\n", end + 1, offset + _LONGEST)
                    if end < 0:
                        break
                end = min(len(data), offset + _LONGEST) if end < 0 else end
                line += data.count(b"\n", counted, start)
                counted = start
                self._keep(kept, line, data[start:end])
        while len(self._late) > 20_000:  # the oldest of the late ones go
            for old in list(self._late)[:10_000]:
                del self._late[old]

    @staticmethod
    def _keep(kept: dict[int, str], number: int, data: bytes) -> None:
        for line in data.decode("utf-8", errors="replace").split("\n"):
            kept[number] = line.rstrip("\r")[:_LONGEST]
            number += 1
