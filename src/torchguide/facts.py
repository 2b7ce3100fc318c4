"""Read the tables of facts in `data/`, each row with its source and status.

The tables are the one copy of what torchguide knows about wheels, drivers and GPUs: the doctor,
the installer, the pages and the selector all read them from here.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "CondaBuild",
    "Deprecation",
    "DockerImage",
    "Fact",
    "FactsError",
    "Gpu",
    "GpuArchitecture",
    "MinimumDriver",
    "Mirror",
    "Pair",
    "Release",
    "Toolkit",
    "Wheel",
    "table",
]

STATUSES = ("verified", "partly", "unverified")
PLATFORMS = ("linux_x86_64", "linux_aarch64", "windows")


class FactsError(ValueError):
    """A table of facts is not as the package expects; the message names file and line."""


class Fact:
    """One row: where it comes from, whether that was checked, and what of it was not.

    Rows are plain read-only objects: making a dataclass of each table takes longer than reading
    them all.
    """

    FILE: ClassVar[str]
    KEY: ClassVar[tuple[str, ...]]
    PATTERNS: ClassVar[dict[str, str]] = {}

    source: str
    status: str
    status_note: str

    def __init__(self, **cells: str) -> None:
        """Hold a cell for each column."""
        self.__dict__.update(cells)

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse: a fact is changed in its table."""
        raise AttributeError(
            f"{type(self).__name__}.{name} is read-only: facts stand in {self.FILE}"
        )

    def __repr__(self) -> str:
        """Show the row's key."""
        key = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.KEY)
        return f"{type(self).__name__}({key})"

    @classmethod
    def columns(cls) -> list[str]:
        """List the columns of the table."""
        own = [name for name in cls.__annotations__ if name.islower()]
        return own if cls is Fact else [*own, *Fact.columns()]

    @property
    def verified(self) -> bool:
        """Tell whether the whole row was checked against its source."""
        return self.status == "verified"


_VERSION = r"\d+(\.\d+)+"
_MAYBE_VERSION = rf"({_VERSION})?"
_MINOR = r"\d+\.\d+"
_CODES = r"(\d+(;\d+)*)?"
_VARIANT = r"cu\d+|cpu"


class Release(Fact):
    """One release of torch: its date, Python range and what a plain `pip install torch` gives."""

    FILE = "torch_releases.csv"
    KEY = ("torch",)
    PATTERNS: ClassVar[dict[str, str]] = {
        "torch": r"\d+\.\d+\.\d+",
        "released": r"\d{4}-\d{2}-\d{2}",
        "python_min": _MINOR,
        "python_max_linux": _MINOR,
        "python_max_other": _MINOR,
        "pypi_linux_x86_64": _VARIANT,
        "pypi_linux_aarch64": _VARIANT,
        "glibc": _MINOR,
        "macos_arm64": r"\d+",
        "macos_intel": "yes|no",
        "cudnn": _VERSION,
        "nccl": _MAYBE_VERSION,
        "rocm": r"(rocm[\d.]+(;rocm[\d.]+)*)?",
    }

    torch: str
    released: str
    python_min: str
    python_max_linux: str
    python_max_other: str
    pypi_linux_x86_64: str
    pypi_linux_aarch64: str
    glibc: str
    macos_arm64: str
    macos_intel: str
    cudnn: str
    nccl: str
    rocm: str
    notes: str


class Pair(Fact):
    """The torchvision and torchaudio that belong to a torch."""

    FILE = "torch_pairs.csv"
    KEY = ("torch",)
    PATTERNS: ClassVar[dict[str, str]] = {
        "torch": r"\d+\.\d+\.\d+",
        "torchvision": _VERSION,
        "torchaudio": _MAYBE_VERSION,
    }

    torch: str
    torchvision: str
    torchaudio: str


class Wheel(Fact):
    """The CUDA wheels of one minor, variant and platform: which GPUs they carry code for."""

    FILE = "torch_wheels.csv"
    KEY = ("minor", "variant", "platform")
    PATTERNS: ClassVar[dict[str, str]] = {
        "minor": _MINOR,
        "variant": r"cu\d+",
        "platform": "|".join(PLATFORMS),
        "first": _VERSION,
        "last": _VERSION,
        "python_min": _MINOR,
        "python_max": _MINOR,
        "architectures": _CODES,
        "ptx": _CODES,
    }

    minor: str
    variant: str
    platform: str
    first: str
    last: str
    python_min: str
    python_max: str
    architectures: str
    ptx: str

    @property
    def cuda(self) -> str:
        """Give the CUDA version of the variant: "cu126" is "12.6"."""
        digits = self.variant[2:]
        return f"{digits[:-1]}.{digits[-1]}"


class Toolkit(Fact):
    """One CUDA toolkit and the driver that came with it."""

    FILE = "cuda_toolkits.csv"
    KEY = ("cuda", "update")
    PATTERNS: ClassVar[dict[str, str]] = {
        "cuda": _MINOR,
        "linux": _MAYBE_VERSION,
        "windows": _MAYBE_VERSION,
        "branch": r"\d+",
    }

    cuda: str
    update: str
    linux: str
    windows: str
    branch: str
    wheels: str
    notes: str


class MinimumDriver(Fact):
    """The oldest driver that runs programs of a CUDA version, or of a whole major version."""

    FILE = "cuda_minimum_drivers.csv"
    KEY = ("cuda",)
    PATTERNS: ClassVar[dict[str, str]] = {
        "cuda": r"\d+(\.\d+)?",
        "linux": r"\d+(\.\d+)*",
        "windows": r"\d+(\.\d+)*",
        "rule": "toolkit|minor-version",
    }

    cuda: str
    linux: str
    windows: str
    rule: str


class Gpu(Fact):
    """One NVIDIA GPU and its compute capability."""

    FILE = "gpus.csv"
    KEY = ("gpu",)
    PATTERNS: ClassVar[dict[str, str]] = {
        "capability": _MINOR,
        "kind": "datacenter|workstation|geforce|jetson",
    }

    gpu: str
    architecture: str
    capability: str
    kind: str


class GpuArchitecture(Fact):
    """The drivers that serve a GPU architecture."""

    FILE = "gpu_architectures.csv"
    KEY = ("architecture",)
    PATTERNS: ClassVar[dict[str, str]] = {
        "capability_min": _MINOR,
        "capability_max": _MINOR,
        "driver_branch_min": r"\d*",
        "driver_branch_max": r"\d*",
    }

    architecture: str
    capability_min: str
    capability_max: str
    driver_branch_min: str
    driver_branch_max: str


class Deprecation(Fact):
    """Something that old tutorials use, and what stands in its place."""

    FILE = "deprecations.csv"
    KEY = ("topic", "old")

    topic: str
    old: str
    deprecated_in: str
    removed_in: str
    replacement: str
    behaviour: str


class Mirror(Fact):
    """A mirror of PyPI or of the wheel index."""

    FILE = "mirrors.csv"
    KEY = ("mirror", "carries")
    PATTERNS: ClassVar[dict[str, str]] = {
        "mirror": r"[a-z]+",
        "carries": "pypi|wheels",
        "url": r"https://\S+",
        "use": "index-url|find-links",
    }

    mirror: str
    carries: str
    url: str
    use: str


class DockerImage(Fact):
    """A tag of the official Docker image."""

    FILE = "docker_images.csv"
    KEY = ("tag",)
    PATTERNS: ClassVar[dict[str, str]] = {
        "torch": _VERSION,
        "cuda": _MINOR,
        "tag": r"[\w.-]+",
        "python": r"(\d+\.\d+)?",
    }

    torch: str
    cuda: str
    tag: str
    python: str


class CondaBuild(Fact):
    """A CUDA build on conda-forge."""

    FILE = "conda_builds.csv"
    KEY = ("torch", "platform", "cuda")
    PATTERNS: ClassVar[dict[str, str]] = {
        "torch": _VERSION,
        "platform": "|".join(PLATFORMS),
        "cuda": _MINOR,
        "glibc": r"(\d+\.\d+)?",
        "architectures": _CODES,
        "ptx": _CODES,
    }

    torch: str
    platform: str
    cuda: str
    glibc: str
    architectures: str
    ptx: str


TABLES: tuple[type[Fact], ...] = (
    Release,
    Pair,
    Wheel,
    Toolkit,
    MinimumDriver,
    Gpu,
    GpuArchitecture,
    Deprecation,
    Mirror,
    DockerImage,
    CondaBuild,
)

_F = TypeVar("_F", bound=Fact)


def read_text(name: str) -> str:
    """Read a file of the package's data."""
    return (Path(__file__).parent / "data" / name).read_text(encoding="utf-8")


def _check_cells(kind: type[Fact], row: dict[str, str], place: str) -> None:
    for name, pattern in kind.PATTERNS.items():
        if not re.fullmatch(pattern, row[name]):
            raise FactsError(f"{place}: {name} is {row[name]!r}; expected the form {pattern}")
    if not row["source"]:
        raise FactsError(f"{place}: no source; say where the fact comes from")
    if row["status"] not in STATUSES:
        raise FactsError(f"{place}: status is {row['status']!r}; expected one of {STATUSES}")
    if row["status"] != "verified" and not row["status_note"]:
        raise FactsError(f"{place}: {row['status']}, but status_note does not say what is not")


def _header(kind: type[Fact], reader: Iterator[list[str]]) -> list[str]:
    names = kind.columns()
    header = next(reader, None)
    if header is None:
        raise FactsError(f"{kind.FILE}:1: the table is empty; expected columns {names}")
    missing, unknown = sorted(set(names) - set(header)), sorted(set(header) - set(names))
    if missing or unknown:
        raise FactsError(f"{kind.FILE}:1: columns {header}: missing {missing}, unknown {unknown}")
    return header


def parse(kind: type[_F], text: str, *, check: bool = True) -> tuple[_F, ...]:
    """Read one table; `check` looks at the form of every cell, too.

    Raises:
        FactsError: a column is missing or unknown, a row has too few or too many cells, a cell
            has another form than its column, or two rows have the same key. The message names
            file and line.
    """
    reader = csv.reader(io.StringIO(text, newline=""))
    header = _header(kind, reader)
    rows: list[_F] = []
    seen: dict[tuple[str, ...], int] = {}
    for cells in reader:
        place = f"{kind.FILE}:{reader.line_num}"
        if len(cells) != len(header):
            raise FactsError(f"{place}: {len(cells)} cells; expected {len(header)}")
        row = dict(zip(header, cells, strict=True))
        if check:
            _check_cells(kind, row, place)
        key = tuple(row[name] for name in kind.KEY)
        if key in seen:
            raise FactsError(f"{place}: {'/'.join(key)} stands already in line {seen[key]}")
        seen[key] = reader.line_num
        rows.append(kind(**row))
    return tuple(rows)


_READ: dict[type[Any], tuple[Any, ...]] = {}


def table(kind: type[_F]) -> tuple[_F, ...]:
    """Give a table's rows, read once; their form was checked before (`facts_check`)."""
    if kind not in _READ:
        _READ[kind] = parse(kind, read_text(kind.FILE), check=False)
    return _READ[kind]
