"""Turn the FutureWarning and DeprecationWarning that torch raises into errors.

Kernels and gallery workers execute this file, so it needs the standard library only.  What
counts is who warns, not whom the warning is attributed to: torch gives its warnings the line
of its caller, and warnings from its C++ code carry the line of whatever Python called it.
"""

from __future__ import annotations

import inspect
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

__all__ = ["FromTorch", "install"]

OURS = frozenset({"__main__", "torch", "torchguide"})  # the page itself stands for C++ below it
HELPERS = frozenset({"warnings", "_py_warnings", "typing_extensions"})  # they warn for others


class FromTorch:
    """Stand in a warning filter where the pattern for the module stands.

    ``warnings`` asks a filter's pattern with ``match(module)``, called from the frame that
    warns; nothing else tells who that is.
    """

    def __init__(self) -> None:
        """Remember how warnings are shown while nobody records them."""
        self.shown = getattr(warnings, "_showwarnmsg_impl", None)

    def match(self, _module: str) -> bool:
        """Say whether torch, or C++ code called by the page, warns and nobody is recording."""
        if getattr(warnings, "_showwarnmsg_impl", None) is not self.shown:
            return False  # inside `catch_warnings(record=True)`: the cell teaches the warning
        frame = inspect.currentframe()
        return frame is not None and _origin(frame.f_back) in OURS


def _origin(frame: FrameType | None) -> str:
    """Return the top-level package that warns, seen from the innermost frame outwards."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module not in HELPERS:
            return module.partition(".")[0]
        decorated = frame.f_locals.get("arg")  # the wrapper that `@deprecated` makes
        if decorated is not None:
            return str(getattr(decorated, "__module__", "")).partition(".")[0]
        frame = frame.f_back
    return ""


def install() -> None:
    """Put the two filters before all others; a cell's own filters go before these."""
    if any(isinstance(each[3], FromTorch) for each in warnings.filters):
        return
    pattern = FromTorch()
    for category in (FutureWarning, DeprecationWarning):
        # filterwarnings() takes only strings
        warnings.filters.insert(0, ("error", None, category, pattern, 0))  # type: ignore[attr-defined]  # a list with `match` objects at run time


if __name__ == "__main__":  # executed by path in a kernel, with a namespace of its own
    install()
