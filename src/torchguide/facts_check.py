"""Check the tables of facts against each other.

`python -m torchguide.facts_check` prints what is wrong and returns 1, or counts what is right.
"""

from __future__ import annotations

import itertools
import sys
from typing import TYPE_CHECKING

from torchguide.facts import (
    TABLES,
    FactsError,
    Gpu,
    GpuArchitecture,
    MinimumDriver,
    Pair,
    Release,
    Toolkit,
    Wheel,
    parse,
    read_text,
    table,
)
from torchguide.versions import minor, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["main", "problems"]


def _unreadable() -> Iterator[str]:
    for kind in TABLES:
        try:
            parse(kind, read_text(kind.FILE))
        except FactsError as error:
            yield str(error)


def _disorder() -> Iterator[str]:
    columns = (
        (Release.FILE, [row.torch for row in table(Release)]),
        (Pair.FILE, [row.torch for row in table(Pair)]),
        (Toolkit.FILE, [row.cuda for row in table(Toolkit)]),
        (Gpu.FILE, [row.capability for row in table(Gpu)]),
    )
    for name, versions in columns:
        for before, after in itertools.pairwise(versions):
            if numbers(before) > numbers(after):
                yield f"{name}: {after} stands behind {before}; versions go upwards"


def _wheels() -> Iterator[str]:
    pairs = {pair.torch for pair in table(Pair)}
    drivers = {row.cuda for row in table(MinimumDriver)}
    for wheel in table(Wheel):
        name = f"{Wheel.FILE}: torch {wheel.minor} {wheel.variant} {wheel.platform}"
        if not {wheel.cuda, wheel.cuda.split(".")[0]} & drivers:
            yield f"{name}: no row of {MinimumDriver.FILE} gives its driver"
        if not wheel.architectures and wheel.verified:
            yield f"{name}: verified, but without architectures"
        if not {wheel.first, wheel.last} <= pairs:
            yield f"{name}: {wheel.first} or {wheel.last} has no row in {Pair.FILE}"


def _releases() -> Iterator[str]:
    pairs = {pair.torch for pair in table(Pair)}
    offered = {(wheel.minor, wheel.variant) for wheel in table(Wheel)}
    for release in table(Release):
        if release.torch not in pairs:
            yield f"{Release.FILE}: no torchvision for torch {release.torch} in {Pair.FILE}"
        if (minor(release.torch), release.pypi_linux_x86_64) not in offered:
            yield f"{Release.FILE}: the PyPI wheel of {release.torch} has no row in {Wheel.FILE}"


def _gpus() -> Iterator[str]:
    ranges = {row.architecture: row for row in table(GpuArchitecture)}
    for gpu in table(Gpu):
        row = ranges.get(gpu.architecture)
        if row is None:
            yield f"{Gpu.FILE}: {gpu.gpu}: {gpu.architecture} is not in {GpuArchitecture.FILE}"
        elif not (
            numbers(row.capability_min) <= numbers(gpu.capability) <= numbers(row.capability_max)
        ):
            yield f"{Gpu.FILE}: {gpu.gpu}: {gpu.architecture} has no {gpu.capability}"


def problems() -> list[str]:
    """List what is wrong; an empty list means that the tables agree."""
    return list(_unreadable()) or [*_disorder(), *_wheels(), *_releases(), *_gpus()]


def main() -> int:
    """Print each problem and return 1, or say how much was checked."""
    found = problems()
    for problem in found:
        sys.stderr.write(f"{problem}\n")
    if not found:
        rows = sum(len(table(kind)) for kind in TABLES)
        sys.stdout.write(f"{rows} facts in {len(TABLES)} tables agree\n")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
