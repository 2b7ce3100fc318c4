"""Find the places in a long log where a pattern of the catalogue can match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchguide.errors.templates import words

if TYPE_CHECKING:
    from torchguide.errors.catalogue import Catalogue

__all__ = ["COMMON", "Triggers"]

# Texts that many messages share. Whatever pattern has none of them is found by its longest word,
# so that this list decides only how fast a log is read.
COMMON = (
    "rror",
    "CUDA",
    "annot",
    "xpected",
    "torch",
    "ailed",
    "not ",
    "devic",
    "tensor",
    "grad",
    "version",
    "memory",
)
_EARLY = 150  # finds of one trigger that are kept from the beginning of a log
_LATE = 3  # and of each chunk after that
_BUSY = 400  # finds after which a trigger says nothing any more


class Triggers:
    """The triggers of a catalogue, and how often each was found."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Choose the triggers."""
        self._patterns: dict[bytes, set[bytes]] = {}
        for entry in catalogue.entries:
            for pattern in entry.patterns:
                known = words(pattern.match)
                own = known[0]
                common = [text for text in COMMON if any(text in word for word in known)]
                trigger = common[-1] if common else own
                self._patterns.setdefault(trigger.encode(), set()).add(own.encode())
        self._counts = dict.fromkeys(self._patterns, 0)

    def find(self, data: bytes, begin: int) -> tuple[list[int], list[int]]:
        """Give the offsets of the finds from `begin` on: the first ones of the log, and later ones.

        A trigger that stands everywhere is replaced by the words of its patterns.
        """
        early: list[int] = []
        late: list[int] = []
        for trigger in list(self._counts):
            offset = data.find(trigger, begin)
            if offset < 0:
                continue
            while offset >= 0 and self._counts[trigger] < _EARLY:
                self._counts[trigger] += 1
                early.append(offset)
                offset = data.find(trigger, offset + 1)
            if offset < 0:
                continue
            offset = len(data)
            for _ in range(_LATE):
                offset = data.rfind(trigger, begin, offset)
                if offset < 0:
                    break
                self._counts[trigger] += 1
                late.append(offset)
            if self._counts[trigger] > _BUSY and trigger in self._patterns:
                for word in self._patterns.pop(trigger):
                    self._counts.setdefault(word, 0)
        return sorted(early), sorted(late)
