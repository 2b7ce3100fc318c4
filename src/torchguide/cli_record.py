"""`torchguide record`: take named measurements on a device and keep them as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from torchguide.texts import Texts

if TYPE_CHECKING:
    import argparse

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="measurements to take; default: all")
    add("--device", help="where to measure; default: the accelerator, else the CPU")
    add("--out", type=Path, default=Path(), metavar="DIR", help="where to write; default: here")
    add("--list", action="store_true", help="list the measurements and end")
    add("--json", action="store_true", help="print the records and write no file")


def run(options: argparse.Namespace) -> int:
    """Take the measurements; 1 if one failed, 2 if what was asked for cannot be done."""
    texts = Texts(options.lang)
    try:
        from torchguide.devices import best_device, check_device  # noqa: PLC0415 -- imports torch
        from torchguide.measurements import MEASUREMENTS  # noqa: PLC0415 -- as above
    except (ImportError, OSError) as error:
        return _complain(texts, "record.failed", name="import torch", error=error)
    if options.list:
        for name, (_, line) in MEASUREMENTS.items():
            sys.stdout.write(f"{name:14} {line}\n")
        return 0
    unknown = ", ".join(name for name in options.names if name not in MEASUREMENTS)
    if unknown:
        return _complain(texts, "record.unknown", name=unknown, names=", ".join(MEASUREMENTS))
    try:
        device = str(check_device(options.device or best_device()))
    except ValueError as error:
        return _complain(texts, "record.device", error=error)
    return _take(list(dict.fromkeys(options.names or MEASUREMENTS)), device, options, texts)


def _complain(texts: Texts, key: str, **values: object) -> int:
    sys.stderr.write(f"torchguide record: {texts.say(key, **values)}\n")
    return 2


def _take(names: list[str], device: str, options: argparse.Namespace, texts: Texts) -> int:
    from torchguide.records import take_record, write_record  # noqa: PLC0415 -- imports torch

    records, failed = [], False
    for name in names:
        try:
            record = take_record(name, device)
        except (RuntimeError, MemoryError) as error:  # out of memory among them
            _complain(texts, "record.failed", name=name, error=error)
            failed = True
            continue
        records.append(asdict(record))
        if not options.json:
            try:
                path = write_record(record, options.out)
            except OSError as error:
                return _complain(texts, "record.out", path=options.out, error=error)
            sys.stdout.write(texts.say("record.written", path=path) + "\n")
    if options.json:
        sys.stdout.write(json.dumps(records, ensure_ascii=False, indent=1) + "\n")
    return int(failed)
