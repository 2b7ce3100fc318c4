"""No process of a build that was killed may write beside the next one (Linux).

A lock of the first process alone is not enough: it ends with that process, while those that it
forked go on.  Each of them asks to be killed with its parent, and holds a lock of its own that
whatever it forks inherits.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import TYPE_CHECKING

if sys.platform == "linux":
    import fcntl

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["end_with", "wait_for_the_last_build"]

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def end_with(parent: int, lock: Path) -> None:
    """Tie this forked process to the one that forked it, and hold the lock until its own end."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)  # the parent ended in between
        # never closed: the lock stands until the last process that inherits it has ended
        fcntl.flock(os.open(lock, os.O_CREAT | os.O_RDWR), fcntl.LOCK_SH)


def wait_for_the_last_build(lock: Path) -> None:
    """Wait until no process of a killed build is left."""
    if sys.platform == "linux":
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.close(descriptor)
