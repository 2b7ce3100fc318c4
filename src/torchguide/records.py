"""Measurements that were taken on a machine and kept, with all that says where they come from.

A record is a JSON file: the measurement's name, the device, driver, torch, CUDA, date, command and
the raw samples. Records that come with the package lie in ``data/records``; a page draws one of
them, names its origin, and measures on the spot where there is none.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import statistics
import tempfile
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from torchguide.texts import Texts, system_language

__all__ = [
    "FOLDER",
    "Record",
    "RecordError",
    "find_record",
    "read_record",
    "take_record",
    "write_record",
]

FOLDER = Path(__file__).parent / "data" / "records"
FORMAT = 1  # raised when the meaning of a field changes


class RecordError(ValueError):
    """A file is not a record; the message names it and what was expected."""


@dataclass(frozen=True)
class Record:
    """A measurement with its origin.

    Attributes:
        measurement: One of `torchguide.measurements.MEASUREMENTS`.
        device: The device as torch names it, ``"cuda:0"``.
        hardware: What that is, as `torchguide.devices.describe_device` says it.
        driver: Version of the driver; empty where there is none.
        torch: Version of torch.
        cuda: Version of CUDA that torch was built with; empty for another build.
        python: Version of Python.
        system: Name of the operating system.
        date: Day of the measurement in UTC, ``"2026-12-01"``.
        command: What takes the measurement again.
        samples: Seconds per call, the raw samples of each case.
    """

    measurement: str
    device: str
    hardware: str
    driver: str
    torch: str
    cuda: str
    python: str
    system: str
    date: str
    command: str
    samples: dict[str, list[float]]

    @property
    def medians(self) -> dict[str, float]:
        """The median seconds of each case."""
        return {name: statistics.median(each) for name, each in self.samples.items()}

    @property
    def from_accelerator(self) -> bool:
        """Whether it was measured on anything but a CPU."""
        return not self.device.startswith("cpu")

    def provenance(self, language: str | None = None) -> str:
        """Say in one line where the numbers come from."""
        values = {each.name: getattr(self, each.name) or "-" for each in fields(self)}
        values["device"] = self.hardware
        return Texts(language or system_language()).say("record.provenance", **values)


def take_record(measurement: str, device: str) -> Record:
    """Take a measurement on a device of this machine, now.

    Raises:
        ValueError: If there is no such measurement, or no such device here.
    """
    import platform  # noqa: PLC0415 -- reading records needs neither it nor torch

    import torch  # noqa: PLC0415 -- as above

    from torchguide.devices import check_device, describe_device  # noqa: PLC0415 -- as above
    from torchguide.measurements import MEASUREMENTS  # noqa: PLC0415 -- as above

    if measurement not in MEASUREMENTS:
        raise ValueError(
            f"unknown measurement {measurement!r}; there are: {', '.join(MEASUREMENTS)}"
        )
    checked = str(check_device(device))
    samples = MEASUREMENTS[measurement][0](checked)
    return Record(
        measurement=measurement,
        device=checked,
        hardware=describe_device(checked),
        driver="" if checked.startswith("cpu") else _driver(),
        torch=str(torch.__version__),
        cuda=torch.version.cuda or "",
        python=platform.python_version(),
        system=platform.system(),
        date=dt.datetime.now(tz=dt.timezone.utc).date().isoformat(),
        command=f"torchguide record {measurement} --device {checked}",
        samples=samples,
    )


def _driver() -> str:
    from torchguide.collect import collect  # noqa: PLC0415 -- starts nvidia-smi

    return collect(load_torch=False).driver or ""


def write_record(record: Record, folder: Path) -> Path:
    """Write a record into a folder, whole or not at all, and return the file's path.

    The file is named after the measurement and the hardware; one of the same name is replaced.

    Raises:
        OSError: If the folder cannot be written, or the file there is a symbolic link.
    """
    hardware = re.sub(r"[^a-z0-9]+", "-", record.hardware.lower()).strip("-")
    path = folder / f"{record.measurement}-{hardware}.json"
    if path.is_symlink():
        raise OSError(f"{path} is a symbolic link, which is not followed")
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"format": FORMAT, **asdict(record)}, indent=1, ensure_ascii=False) + "\n"
    descriptor, part = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        Path(part).chmod(0o644)
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
    return path


def read_record(path: Path) -> Record:
    """Read a record.

    Raises:
        RecordError: If the file is no record, or one of another format.
        OSError: If it cannot be read.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise RecordError(f"{path}: not JSON: {error}") from error
    return _checked(data, path)


def _checked(data: Any, path: Path) -> Record:
    if not isinstance(data, dict) or data.pop("format", None) != FORMAT:
        raise RecordError(f"{path}: not a record of format {FORMAT}; take it anew")
    names = {each.name for each in fields(Record)}
    if set(data) != names:
        wrong = ", ".join(sorted(names ^ set(data)))
        raise RecordError(f"{path}: missing or unknown: {wrong}")
    samples = data.pop("samples")
    for name, value in data.items():
        if not isinstance(value, str):
            raise RecordError(f"{path}: {name} is {value!r}; expected a text")
    good = isinstance(samples, dict) and samples and all(map(_are_times, samples.values()))
    if not good:
        raise RecordError(f"{path}: samples: expected lists of seconds, none empty")
    return Record(**data, samples={str(k): [float(x) for x in v] for k, v in samples.items()})


def _are_times(value: Any) -> bool:
    numbers = isinstance(value, list) and value
    return bool(numbers) and all(type(x) in (int, float) and 0 < x < float("inf") for x in value)


def find_record(measurement: str, folder: Path = FOLDER) -> Record | None:
    """Return the newest record of a measurement on an accelerator; None if there is none.

    Raises:
        RecordError: If a file in the folder is no record.
    """
    paths = sorted(folder.glob(f"{measurement}-*.json")) if folder.is_dir() else []
    found = [record for path in paths if (record := read_record(path)).measurement == measurement]
    return max(
        (each for each in found if each.from_accelerator), key=lambda x: x.date, default=None
    )
