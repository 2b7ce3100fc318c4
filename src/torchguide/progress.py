"""Show on a terminal how far something long has come, and nothing anywhere else."""

from __future__ import annotations

import os
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

__all__ = ["show_progress"]

PATIENCE = 2.0  # seconds; what is done before is not worth a line


@contextmanager
def show_progress(
    what: str, total: int, stream: TextIO | None = None
) -> Iterator[Callable[[int], None]]:
    """Give a function that rewrites a line with how many are done; delete the line at the end.

    Args:
        what: What is counted.
        total: How many there are.
        stream: Where to write if it is a terminal; standard error if not given.
    """
    out = sys.stderr if stream is None else stream
    on = out is not None and out.isatty() and os.environ.get("TERM") != "dumb"
    start, wide = time.monotonic(), 0

    def show(done: int) -> None:
        nonlocal wide
        if on and time.monotonic() - start >= PATIENCE:
            line = f"{done}/{total} {what}"
            out.write(f"\r{line:{wide}}")
            out.flush()
            wide = len(line)

    try:
        yield show
    finally:
        if wide:
            out.write(f"\r{' ' * wide}\r")
            out.flush()
