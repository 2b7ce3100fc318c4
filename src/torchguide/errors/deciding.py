"""Find the exception that decides: the last one that is not a wrapper of another."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchguide.errors.log_text import Log

__all__ = ["WRAPPERS", "deciding_exception"]

# `RuntimeError: …` at the beginning of a line, or after a word such as 报错：
_EXCEPTION = re.compile(
    r"(?:^|[\s:|>(\u3000-\u9fff])"
    r"(?P<name>(?:[A-Za-z_]\w*\.){0,8}[A-Z]\w{0,80}(?:Error|Exception|Interrupt|Timeout)\w{0,80})"
    r"(?P<rest>:(?= |$).*|$)",
    re.ASCII,
)
# `torch._dynamo.exc.Unsupported: …`: a class with its module
_DOTTED = re.compile(
    r"(?P<name>(?:[a-z_]\w*\.){1,8}[A-Z]\w*(?<!Warning))(?P<rest>:(?= |$).*)", re.ASCII
)
# they only pass on what another process or thread has raised
WRAPPERS = (
    "ChildFailedError",
    "CalledProcessError",
    "ProcessRaisedException",
    "ProcessExitedException",
    "SubprocessError",
    "RayTaskError",
    "KeyboardInterrupt",
    "EOFError",
    "BrokenPipeError",
    "ConnectionResetError",
    "ConnectionRefusedError",
)
_RELAYED = re.compile(
    r":? (?:Caught \w+ in |Error running command|Command .{0,200} returned non-zero"
    r"|Error\(s\) in loading (?!state_dict))"
)
_IGNORED = re.compile(r"Exception ignored in|exit_code|^traceback :")


def deciding_exception(log: Log) -> tuple[int, str] | None:
    """Give the offset in the flow and the name of the deciding exception, if the log has one."""
    ignored_until = -1
    found: list[tuple[int, str]] = []
    for index, start in enumerate(log.starts):
        piece = log.piece(index)
        if _IGNORED.search(piece):
            ignored_until = index + 12  # the traceback of an exception that Python ignored
        match = _DOTTED.match(piece) or _EXCEPTION.search(piece)
        if not match:
            continue
        name = match["name"].rpartition(".")[2]
        if index <= ignored_until:
            ignored_until = -1
            continue
        if name.startswith(WRAPPERS) or _RELAYED.match(match["rest"]):
            continue
        found.append((start + match.start("name"), match["name"]))
    return found[-1] if found else None
