"""The command line: `torchguide doctor`, `explain`, `install` and `record`.

Exit status: 0 where nothing is wrong, 1 where a problem was found or nothing fits, 2 where the
input cannot be used.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import sys
from typing import TYPE_CHECKING

from torchguide.texts import LANGUAGES, system_language

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

# name -> module with add_arguments(parser) and run(arguments) -> exit status, and a help line
COMMANDS: dict[str, tuple[str, str]] = {
    "doctor": ("torchguide.cli_doctor", "say what is wrong with a PyTorch environment, and why"),
    "explain": ("torchguide.cli_explain", "say what an error means, and what to do about it"),
    "install": ("torchguide.cli_install", "give the exact command that installs torch here"),
    "record": ("torchguide.cli_record", "measure on this machine's device and keep the result"),
}


def _parser(wanted: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="torchguide",
        description="Find out what is wrong with a PyTorch program, and how fast it can be.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and end")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, (module, help_line) in COMMANDS.items():
        sub = commands.add_parser(name, help=help_line, description=help_line)
        if name == wanted:  # only the command that runs is imported
            importlib.import_module(module).add_arguments(sub)
            sub.add_argument("--lang", choices=LANGUAGES, help="language; default: the system's")
    return parser


def _use_utf8() -> None:
    """Never fail on a console that cannot show a character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            piped = not stream.isatty()
            with contextlib.suppress(ValueError, OSError):
                stream.reconfigure(encoding="utf-8" if piped else None, errors="replace")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _use_utf8()
    wanted = next((word for word in arguments if not word.startswith("-")), None)
    parser = _parser(wanted)
    options = parser.parse_args(arguments)
    if options.version:
        version = importlib.import_module("importlib.metadata").version("torchguide")
        sys.stdout.write(f"torchguide {version}\n")
        return 0
    if options.command is None:
        parser.print_help()
        return 2
    options.lang = options.lang or system_language()
    try:
        status: int = importlib.import_module(COMMANDS[options.command][0]).run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # the reader of the pipe has gone; let nothing be written at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status


if __name__ == "__main__":
    sys.exit(main())
