"""What the selector of wheels offers: the fields, and the options of each after the choices before.

Everything is taken from the tables of facts: which GPUs a platform has, and at which drivers the
answer for a GPU can change.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from torchguide import compat, install
from torchguide.cli_install import SYSTEMS
from torchguide.facts import CondaBuild, Gpu, GpuArchitecture, Release, Toolkit, Wheel, table
from torchguide.versions import minor, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FIELDS", "OTHER_GPUS", "command_line", "driver_number", "offered", "options_of"]

FIELDS = ("os", "gpu", "driver", "manager", "python", "torch", "mirror")
# what stands in the field of the GPU where it is no NVIDIA card -> --accelerator
OTHER_GPUS = {"none": "cpu", "amd": "rocm", "intel": "xpu", "apple": "mps"}
# the command line knows more of both
MINORS = 3  # so many minors of torch before the newest
MIRRORS = ("tuna", "aliyun", "nju")


def _versions(found: set[str]) -> list[str]:
    return sorted(found, key=numbers)


@functools.cache
def torch_minors() -> tuple[str, ...]:
    """List the newest minors of torch, the newest first."""
    found = _versions({minor(release.torch) for release in table(Release)})
    return tuple(reversed(found))[: MINORS + 1]


@functools.cache
def pythons() -> tuple[str, ...]:
    """List the Pythons of these minors, the newest first."""
    rows = [release for release in table(Release) if minor(release.torch) in torch_minors()]
    ends = [numbers(row.python_min)[1] for row in rows]
    ends += [numbers(row.python_max_linux)[1] for row in rows]
    return tuple(f"3.{number}" for number in range(max(ends), min(ends) - 1, -1))


@functools.cache
def capabilities(platform: str) -> tuple[str, ...]:
    """List the compute capabilities of a platform's GPUs: ARM machines are servers or Jetsons."""
    arm = platform == "linux_aarch64"
    kinds = {"datacenter", "jetson"} if arm else {"datacenter", "workstation", "geforce"}
    return tuple(_versions({gpu.capability for gpu in table(Gpu) if gpu.kind in kinds}))


def is_jetson(capability: str) -> bool:
    """Tell the chips of Jetsons, whose driver belongs to the system and has no choice."""
    return all(gpu.kind == "jetson" for gpu in table(Gpu) if gpu.capability == capability)


@functools.cache
def driver_steps(platform: str, capability: str, system: str) -> tuple[str, ...]:
    """List the drivers at which the answer for a GPU can change, the oldest first."""
    rows: list[Wheel | CondaBuild] = [
        *(w for w in table(Wheel) if numbers(w.minor) >= (1, 13)),
        *table(CondaBuild),
    ]
    cudas = {
        row.cuda
        for row in rows
        if row.platform == platform
        and compat.code_runs(
            capability,
            tuple(filter(None, row.architectures.split(";"))),
            tuple(filter(None, row.ptx.split(";"))),
            row.cuda,
        )
    }
    steps = {compat.minimum_driver(cuda, system) or "" for cuda in cudas} - {""}
    if not cudas:  # nothing runs on it, whatever the driver
        return ()
    low = high = 0
    for architecture in table(GpuArchitecture):
        ends = numbers(architecture.capability_min), numbers(architecture.capability_max)
        if ends[0] <= numbers(capability) <= ends[1]:
            low = int(architecture.driver_branch_min or 0)
            high = int(architecture.driver_branch_max or 0)
    branches = sorted({int(toolkit.branch) for toolkit in table(Toolkit)})
    if low:
        steps.add(str(low))
    if high:
        after = next(branch for branch in branches if branch > high)
        steps = {step for step in steps if numbers(step) < (after,)} | {str(after)}
    else:  # older drivers run the newest CUDA only by minor-version compatibility
        newest = _versions(cudas)[-1]
        steps.add(str(min(int(t.branch) for t in table(Toolkit) if t.cuda == newest)))
    return tuple(_versions({step for step in steps if numbers(step) >= (low,)}))


def _drivers(os: str, gpu: str) -> list[str]:
    """List drivers as "from-below"; an open end is left out, "" is unknown."""
    platform, wsl = SYSTEMS[os]
    if gpu in OTHER_GPUS or is_jetson(gpu):
        return [""]
    system = "windows" if wsl or platform == "windows" else "linux"
    steps = driver_steps(platform, gpu, system)
    if not steps:
        return [""]
    between = [f"{low}-{high}" for low, high in zip(steps, [*steps[1:], ""], strict=True)]
    return ["", *reversed(between), f"-{steps[0]}"]


def driver_number(driver: str) -> str:
    """Give the driver that stands for a range: its oldest, or the branch before an open one."""
    low, _, high = driver.partition("-")
    if low or not high:
        return low
    branches = {int(toolkit.branch) for toolkit in table(Toolkit)}
    return str(max(branch for branch in branches if (branch,) < numbers(high)))


def _gpus(os: str) -> tuple[str, ...]:
    platform = SYSTEMS[os][0]
    if platform.startswith("macos"):
        return ("apple", "none") if platform == "macos_arm64" else ("none",)
    return ("none", "amd", "intel", *reversed(capabilities(platform)))


def _brings_its_own(manager: str) -> bool:
    """Tell who has a Python and versions of torch of its own: conda-forge and the images."""
    return manager in {"conda", "docker"}


def options_of(chosen: tuple[str, ...]) -> tuple[str, ...]:
    """List what the next field offers after the choices before it."""
    name = FIELDS[len(chosen)]
    if name == "gpu":
        return _gpus(chosen[0])
    if name == "driver":
        return tuple(_drivers(*chosen))
    always = {"os": tuple(SYSTEMS), "manager": install.MANAGERS}
    if name in always:
        return always[name]
    mirror_fits = name != "mirror" or not chosen[FIELDS.index("torch")]
    if _brings_its_own(chosen[FIELDS.index("manager")]) or not mirror_fits:
        return ("",)
    return {
        "python": pythons(),
        "torch": ("", *torch_minors()[1:]),
        "mirror": ("", *MIRRORS),
    }[name]


def command_line(chosen: tuple[str, ...]) -> dict[str, str]:
    """Give the options of `torchguide install` that say the same as the choices."""
    values = dict(zip(FIELDS, chosen, strict=True))
    given = {"os": values["os"]}
    if values["gpu"] in OTHER_GPUS:
        given["accelerator"] = OTHER_GPUS[values["gpu"]]
    else:
        given["gpu"] = values["gpu"]
    given["driver"] = driver_number(values["driver"])
    given |= {name: values[name] for name in FIELDS[3:]}
    return {name: value for name, value in given.items() if value}


def offered(chosen: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield every combination that is offered."""
    if len(chosen) == len(FIELDS):
        yield chosen
        return
    for option in options_of(chosen):
        yield from offered((*chosen, option))
