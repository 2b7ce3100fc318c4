"""Colour on terminals that show it, and only there."""

from __future__ import annotations

import os
import sys
from typing import TextIO

__all__ = ["Style"]

_CODES = {"red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def _wants_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):  # https://no-color.org
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    if not stream.isatty() or os.environ.get("TERM") == "dumb":
        return False
    # consoles before Windows 10 show the codes as text; these variables tell the newer ones
    return sys.platform != "win32" or bool({"WT_SESSION", "ANSICON", "TERM"} & set(os.environ))


class Style:
    """Paint text for one stream."""

    def __init__(self, stream: TextIO) -> None:
        """Decide once whether the stream shows colour."""
        self._on = _wants_colour(stream)

    def paint(self, text: str, colour: str | None = None, *, bold: bool = False) -> str:
        """Give the text in a colour or bold, or as it is."""
        codes = [*(["1"] if bold else []), *([_CODES[colour]] if colour else [])]
        return f"\x1b[{';'.join(codes)}m{text}\x1b[0m" if self._on and codes else text
