"""Hold what is known of an environment, whether probed here or read from pasted text."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any

from torchguide.compat import Machine, find_gpu
from torchguide.versions import local_tag

__all__ = ["Device", "Package", "Sign", "Snapshot", "cuda_of_tag"]


_OTHER_MAKER = re.compile(r"Intel|AMD|Radeon|Instinct|Apple|gfx\d|\bArc\b", re.IGNORECASE)


@dataclass(frozen=True)
class Device:
    """A GPU as it was named; the compute capability where the text told it."""

    name: str
    capability: str | None = None

    @property
    def known_capability(self) -> str | None:
        """Give the capability as told, else the one that the facts have for this name."""
        gpu = find_gpu(self.name)
        return self.capability or (gpu.capability if gpu else None)


@dataclass(frozen=True)
class Package:
    """An installed package: its version, and for conda its build and channel."""

    version: str
    build: str = ""
    channel: str = ""


@dataclass(frozen=True)
class Sign:
    """A known message found in the text, with what it names, and the line it stands in."""

    id: str
    text: str
    line: int = 0
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Snapshot:
    """Everything the doctor decides on. None or empty means: not known.

    `torch_cuda` is a CUDA version, "cpu", "rocm" or "xpu". `where` tells for a field where its
    value was read. `absent` holds the fields that were looked for without finding anything, which
    is more than not knowing them.
    """

    source: str = "text"
    torch: str | None = None
    torch_cuda: str | None = None
    architectures: tuple[str, ...] = ()
    cuda_available: bool | None = None
    driver: str | None = None
    driver_cuda: str | None = None
    gpus: tuple[Device, ...] = ()
    python: str | None = None
    os: str | None = None
    system: str | None = None  # "linux", "windows", "macos"
    machine: str | None = None  # "x86_64", "aarch64", "arm64"
    kernel: str | None = None
    glibc: str | None = None
    wsl: int | None = None
    container: bool | None = None
    jetson: bool = False
    toolkit: str | None = None
    manager: str | None = None  # "pip", "uv", "conda"
    pip_packages: dict[str, Package] = field(default_factory=dict)
    conda_packages: dict[str, Package] = field(default_factory=dict)
    visible_devices: str | None = None
    device_count: int | None = None
    torch_error: str | None = None  # why torch does not load
    shadowed_by: str | None = None  # a file that hides torch
    shm_bytes: int | None = None
    cjk_font: bool | None = None
    launcher: dict[str, str] = field(default_factory=dict)
    signs: tuple[Sign, ...] = ()
    absent: frozenset[str] = frozenset()
    where: dict[str, str] = field(default_factory=dict)

    @property
    def platform(self) -> str | None:
        """Name the platform as the facts do, where system and machine are known."""
        if self.system == "windows":
            return "windows"
        if self.system == "macos":
            return "macos_x86_64" if self.machine == "x86_64" else "macos_arm64"
        if self.system == "linux":
            return "linux_aarch64" if self.machine in ("aarch64", "arm64") else "linux_x86_64"
        return None

    @property
    def nvidia_gpus(self) -> tuple[Device, ...]:
        """Leave out the GPUs whose names say that another maker made them."""
        return tuple(gpu for gpu in self.gpus if not _OTHER_MAKER.search(gpu.name))

    def package(self, name: str) -> Package | None:
        """Find a package, pip's before conda's."""
        return self.pip_packages.get(name) or self.conda_packages.get(name)

    def has_sign(self, *ids: str) -> Sign | None:
        """Find the first of the given signs."""
        return next((sign for sign in self.signs if sign.id in ids), None)

    def as_machine(self) -> Machine | None:
        """Give what the rules of compatibility ask for."""
        if self.platform is None:
            return None
        capabilities = [gpu.known_capability for gpu in self.gpus]
        macos = re.search(r"(\d+)(?:\.\d+)*", self.os or "") if self.system == "macos" else None
        return Machine(
            platform=self.platform,
            python=self.python,
            driver=self.driver,
            capabilities=tuple(dict.fromkeys(c for c in capabilities if c)),
            glibc=self.glibc,
            macos=macos.group(1) if macos else None,
            wsl=self.wsl == 2,
        )

    def facts(self) -> dict[str, Any]:
        """Give the facts as `doctor --json` prints them."""
        return {
            "torch": self.torch,
            "torch_cuda": self.torch_cuda,
            "driver": self.driver,
            "driver_cuda": self.driver_cuda,
            "gpus": [gpu.name for gpu in self.gpus],
            "python": self.python,
            "os": self.os,
            "cuda_available": self.cuda_available,
        }

    def as_dict(self) -> dict[str, Any]:
        """Give every field that is known, as JSON can hold it; `from_dict` reads it back."""
        empty = Snapshot()
        out: dict[str, Any] = {}
        for item in dataclasses.fields(self):
            value = getattr(self, item.name)
            if value == getattr(empty, item.name) and item.name != "source":
                continue
            if isinstance(value, frozenset):
                value = sorted(value)
            elif isinstance(value, dict):
                value = {
                    key: dataclasses.asdict(entry) if isinstance(entry, Package) else entry
                    for key, entry in value.items()
                }
            elif isinstance(value, tuple):
                value = [
                    dataclasses.asdict(entry) if isinstance(entry, (Device, Sign)) else entry
                    for entry in value
                ]
            out[item.name] = value
        return out


def cuda_of_tag(version: str) -> str | None:
    """Read the CUDA version from a local tag: "2.1.0+cu121" is "12.1", "+cpu" is "cpu"."""
    tag = local_tag(version).lower()
    if tag.startswith("cpu"):
        return "cpu"
    for name in ("rocm", "xpu"):
        if tag.startswith(name):
            return name
    found = re.match(r"cu(\d{2,3})(?!\d)", tag)
    return f"{found.group(1)[:-1]}.{found.group(1)[-1]}" if found else None
