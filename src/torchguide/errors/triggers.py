"""Tell which lines of a long log a pattern of the catalogue can match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchguide.errors.templates import words

if TYPE_CHECKING:
    from torchguide.errors.catalogue import Catalogue

__all__ = ["COMMON", "MARKERS", "Triggers"]

# Texts that many messages share, chosen so that few of them cover most patterns. A pattern that
# has none of them is found by its longest word: this list decides only how fast a log is read.
COMMON = (
    *("orch", "rror", "not", "ected", "tion", "annot", "ensor", "iled", "nvalid", "uppo"),
    *("size", "able", "dule", "sion", "device", "ould", "an't", "ents", "ound", "read", "file"),
    *("lass", "cont", "Data", "utput", "state", "code", "NCCL", "emory", "cuda", "CUDA", "_STATUS"),
)
# What stands near every failure that matters, where a log is too varied for all triggers.
MARKERS = (
    *("rror", "xception", "Traceback", "ailed", "CUDA", "NCCL", "annot", "Unsupported"),
    *("Killed", "fault", "ssert", "not found", "Could not"),
)
_MOST = 500  # lines of one chunk that are kept for one trigger


class Triggers:
    """The triggers of a catalogue; a line without any of them matches no pattern."""

    def __init__(self, catalogue: Catalogue) -> None:
        """Choose the triggers."""
        chosen: set[str] = set()
        for entry in catalogue.entries:
            for pattern in entry.patterns:
                known = words(pattern.match)
                common = (text for text in COMMON if any(text in word for word in known))
                chosen.add(next(common, known[0]))
        self._all = [text.encode() for text in sorted(chosen)]
        self._markers = [text.encode() for text in MARKERS]

    def lines(self, text: bytes, *, thorough: bool) -> list[int]:
        """Give the lines that have a trigger, from 0; one of the markers if not `thorough`."""
        offsets: set[int] = set()
        for trigger in self._all if thorough else self._markers:
            offset = text.find(trigger)
            for _ in range(_MOST):
                if offset < 0:
                    break
                offsets.add(offset)
                end = text.find(b"\n", offset)
                offset = text.find(trigger, end) if end >= 0 else -1
        lines: list[int] = []
        line = counted = 0
        for offset in sorted(offsets):
            line += text.count(b"\n", counted, offset)
            counted = offset
            if not lines or lines[-1] != line:
                lines.append(line)
        return lines
