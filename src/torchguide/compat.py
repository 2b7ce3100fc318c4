"""Decide which wheels run where: pure functions on the tables of facts.

Four numbers decide: the driver, the CUDA version of the wheel, the GPU's compute capability, and
Python with the system it runs on. The CUDA toolkit on disk does not matter for a wheel.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from torchguide.facts import (
    Gpu,
    GpuArchitecture,
    MinimumDriver,
    Pair,
    Release,
    Toolkit,
    Wheel,
    table,
)
from torchguide.versions import base, minor, numbers

__all__ = [
    "Machine",
    "Obstacle",
    "code_runs",
    "driver_branch",
    "driver_runs",
    "driver_serves",
    "find_gpu",
    "minimum_driver",
    "pair_of",
    "pypi_variant",
    "release_of",
    "wheel_obstacles",
    "wheel_of",
]

# Tegra chips run only code made for them (torch/cuda/__init__.py, DEVICE_REQUIREMENT)
_INTEGRATED = {(5, 3), (6, 2), (7, 2), (8, 7), (10, 1), (11, 0)}
_SAME_CHIP = {(10, 1): (11, 0), (11, 0): (10, 1)}  # Thor, renumbered in CUDA 13


@dataclass(frozen=True)
class Machine:
    """What decides which wheel fits; None where it is not known.

    `platform` is one of linux_x86_64, linux_aarch64, windows, macos_arm64, macos_x86_64. Under
    WSL 2 the platform is Linux, but the driver's number is that of the Windows driver.
    """

    platform: str
    python: str | None = None
    driver: str | None = None
    capabilities: tuple[str, ...] = ()
    glibc: str | None = None
    macos: str | None = None
    wsl: bool = False

    @property
    def driver_system(self) -> str:
        """Name the column that the driver's number must be compared with."""
        return "windows" if self.wsl or self.platform == "windows" else "linux"


@dataclass(frozen=True)
class Obstacle:
    """Why a wheel does not run: the kind, what it needs, and what is there."""

    kind: str  # "python", "glibc", "macos", "driver", "architecture"
    needs: str
    has: str


def _words(name: str) -> tuple[str, ...]:
    name = re.sub(r"\((?:r|tm)\)|nvidia|geforce|tesla|corporation", " ", name.lower())
    return tuple(re.findall(r"\d+|[a-z]+", name))


@functools.lru_cache(maxsize=1)
def _gpu_index() -> dict[tuple[str, ...], Gpu]:
    return {_words(gpu.gpu): gpu for gpu in table(Gpu)}


@functools.lru_cache(maxsize=256)
def find_gpu(name: str) -> Gpu | None:
    """Find a GPU by the name that a driver, torch or a person gives it.

    "NVIDIA GeForce RTX 3060 Laptop GPU" and "rtx3060" are the GeForce RTX 3060. A name cut off in
    the middle of its number is not guessed.
    """
    lowered = name.lower()
    if any(maker in lowered for maker in ("amd", "radeon", "instinct", "intel", "apple", "gfx")):
        return None
    cut = re.search(r"\d\.{2,}$", name.strip())
    words = _words(name)[: -1 if cut else None]
    index = _gpu_index()
    for length in range(len(words), 0, -1):
        for start in range(len(words) - length + 1):
            found = index.get(words[start : start + length])
            if found:
                return found
    return None


def _code(code: str) -> tuple[int, int]:
    digits = re.sub(r"\D", "", code)
    return int(digits[:-1] or 0), int(digits[-1:] or 0)


@functools.lru_cache(maxsize=4096)
def code_runs(
    capability: str, codes: tuple[str, ...], ptx: tuple[str, ...] = (), cuda: str = ""
) -> bool | None:
    """Tell whether a GPU runs code built for `codes` ("86", "sm_86"), or None if unknown.

    Code for sm_XY runs on GPUs of the same major number with a minor of at least Y. The driver
    compiles PTX for newer GPUs, which carries a build forward only if it is PTX of the newest
    architecture built for: kernels made for newer ones than the PTX have none. Tegra chips run
    only code made for them.
    """
    gpu = numbers(capability)[:2]
    if len(gpu) < 2 or not codes:
        return None
    device = (gpu[0], gpu[1])
    exact = [_code(code) for code in codes]
    if device in exact or _SAME_CHIP.get(device, device) in exact:
        return True
    if any(max(exact) <= _code(code) <= device for code in ptx):
        return True
    portable = [_code(code) for code in codes if not code.endswith(("a", "f"))]
    same_major = any(
        major == device[0] and step <= device[1]
        for major, step in portable
        if (major, step) not in _INTEGRATED
    )
    if device == (8, 7):
        # from CUDA 13.2 server code runs on Orin; before, some builds ran and others did not
        return same_major if numbers(cuda) >= (13, 2) else None
    return same_major and device not in _INTEGRATED


@functools.lru_cache(maxsize=512)
def minimum_driver(cuda: str, system: str) -> str | None:
    """Give the oldest driver for programs built with a CUDA version, or None if unknown.

    From CUDA 11 on, each driver runs every minor version of its major one.
    """
    version = minor(cuda)
    rows = {row.cuda: row for row in table(MinimumDriver)}
    row = rows.get(version) or rows.get(version.split(".")[0])
    if row is None:
        return None
    toolkits = [toolkit for toolkit in table(Toolkit) if toolkit.cuda == version]
    if system == "windows":
        drivers = [row.windows, *(toolkit.windows for toolkit in toolkits)]
    else:
        drivers = [row.linux, *(toolkit.linux for toolkit in toolkits)]
    # its own first toolkit may have come with an older driver than the family asks for (11.0)
    return min(filter(None, drivers), key=numbers)


def driver_runs(driver: str, cuda: str, system: str) -> bool | None:
    """Tell whether a driver runs programs built with a CUDA version, or None if unknown."""
    least = minimum_driver(cuda, system)
    return None if least is None or not numbers(driver) else numbers(driver) >= numbers(least)


@functools.lru_cache(maxsize=512)
def driver_branch(driver: str) -> int:
    """Give the branch of a driver: Windows drivers 580 to 582 all belong to branch 580."""
    head = numbers(driver)[:1]
    if not head:
        return 0
    branches = sorted({int(row.branch) for row in table(Toolkit)})
    return max((branch for branch in branches if branch <= head[0]), default=head[0])


def driver_serves(driver: str, capability: str) -> tuple[int | None, int | None]:
    """Give the oldest and newest driver branch for a GPU, where `driver` is outside of them.

    (None, None) means that the driver serves the GPU, or that nothing is known against it.
    """
    branch = driver_branch(driver)
    for row in table(GpuArchitecture):
        if numbers(row.capability_min) <= numbers(capability) <= numbers(row.capability_max):
            low, high = row.driver_branch_min, row.driver_branch_max
            if branch and low and branch < int(low):
                return int(low), None
            if branch and high and branch > int(high):
                return None, int(high)
    return None, None


@functools.lru_cache(maxsize=1)
def _releases() -> dict[str, Release]:
    return {release.torch: release for release in table(Release)}


def release_of(torch: str) -> Release | None:
    """Find a release; "2.13" and "2.13.0+cu126" are 2.13.0's."""
    version = base(torch)
    return _releases().get(version) or _releases().get(f"{version}.0")


@functools.lru_cache(maxsize=1)
def _pairs() -> dict[str, Pair]:
    return {pair.torch: pair for pair in table(Pair)}


def pair_of(torch: str) -> Pair | None:
    """Find the torchvision and torchaudio that belong to a torch."""
    version = base(torch)
    return _pairs().get(version) or _pairs().get(f"{version}.0")


def wheel_of(torch: str, variant: str, platform: str) -> Wheel | None:
    """Find the CUDA wheel of a torch version, if it was made."""
    version = numbers(torch)
    for wheel in table(Wheel):
        if (wheel.minor, wheel.variant, wheel.platform) == (minor(torch), variant, platform):
            inside = numbers(wheel.first) <= (*version, 0)[:3] <= numbers(wheel.last)
            return wheel if inside else None
    return None


def pypi_variant(torch: str, platform: str) -> str | None:
    """Tell what `pip install torch==VERSION` gives: "cu130", "cpu", or None if not known."""
    release = release_of(torch)
    if release is None:
        return None
    if platform == "linux_x86_64":
        return release.pypi_linux_x86_64
    return release.pypi_linux_aarch64 if platform == "linux_aarch64" else "cpu"


def release_obstacles(release: Release, machine: Machine) -> list[Obstacle]:
    """List why no wheel of a release installs here: Python, the C library or macOS is outside."""
    found = []
    newest = (
        release.python_max_linux if machine.platform == "linux_x86_64" else release.python_max_other
    )
    if machine.python and not (
        numbers(release.python_min) <= numbers(machine.python)[:2] <= numbers(newest)
    ):
        found.append(Obstacle("python", f"{release.python_min}–{newest}", machine.python))
    if machine.glibc and machine.platform.startswith("linux"):
        # from 2.6 the aarch64 wheels asked for glibc 2.28, one minor before those for x86_64
        needed = "2.28" if _early_glibc(release, machine) else release.glibc
        if numbers(machine.glibc) < numbers(needed):
            found.append(Obstacle("glibc", needed, machine.glibc))
    if machine.platform == "macos_x86_64" and release.macos_intel == "no":
        found.append(Obstacle("macos", "arm64", "x86_64"))
    if (
        machine.platform == "macos_arm64"
        and machine.macos
        and numbers(machine.macos)[:1] < numbers(release.macos_arm64)
    ):
        found.append(Obstacle("macos", release.macos_arm64, machine.macos))
    return found


def _early_glibc(release: Release, machine: Machine) -> bool:
    return machine.platform == "linux_aarch64" and minor(release.torch) == "2.6"


def wheel_obstacles(wheel: Wheel, torch: str, machine: Machine) -> list[Obstacle]:
    """List everything that keeps a CUDA wheel from running on a machine; empty means it runs."""
    found = []
    release = release_of(torch)
    if release:
        found += [o for o in release_obstacles(release, machine) if o.kind != "python"]
    if machine.python and not (
        numbers(wheel.python_min) <= numbers(machine.python)[:2] <= numbers(wheel.python_max)
    ):
        found.append(Obstacle("python", f"{wheel.python_min}–{wheel.python_max}", machine.python))
    if machine.driver and driver_runs(machine.driver, wheel.cuda, machine.driver_system) is False:
        least = minimum_driver(wheel.cuda, machine.driver_system) or ""
        found.append(Obstacle("driver", least, machine.driver))
    codes = tuple(filter(None, wheel.architectures.split(";")))
    ptx = tuple(filter(None, wheel.ptx.split(";")))
    found += [
        Obstacle("architecture", wheel.architectures, capability)
        for capability in machine.capabilities
        if code_runs(capability, codes, ptx, wheel.cuda) is False
    ]
    return found
