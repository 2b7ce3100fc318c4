"""The doctor's findings: what each holds, and how its evidence and its fix are put together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from torchguide import compat
from torchguide.compat import Machine
from torchguide.install import Answer, Choices, ImpossibleError, recommend
from torchguide.versions import base, minor, numbers

if TYPE_CHECKING:
    from torchguide.environment import Sign, Snapshot

__all__ = ["Finding", "cuda_build", "driver_system", "pair_fix", "quoted", "reinstall", "seen"]


@dataclass(frozen=True)
class Finding:
    """One thing found: evidence (which value, read where), and commands that mend it.

    `values` fill the placeholders of its texts, which stand in data/findings.csv.
    """

    id: str
    severity: str  # "error", "warning", "info"
    evidence: tuple[str, ...] = ()
    fix: tuple[str, ...] = ()
    values: dict[str, str] = field(default_factory=dict)


def seen(snapshot: Snapshot, name: str, value: str | None = None) -> str:
    """Say what a field holds and where it was read."""
    held = value if value is not None else getattr(snapshot, name)
    where = snapshot.where.get(name)
    return f"{name} = {held}" + (f"  [{where}]" if where else "")


def quoted(sign: Sign) -> str:
    """Quote the line that a sign stands in."""
    return f"{sign.line}: {sign.text[:160]}" if sign.line else sign.text


def cuda_build(snapshot: Snapshot) -> bool:
    """Tell whether torch was built for CUDA."""
    return bool(snapshot.torch_cuda and snapshot.torch_cuda[0].isdigit())


def driver_system(snapshot: Snapshot) -> str:
    """Name the system whose driver numbers count: under WSL 2 it is Windows."""
    return "windows" if snapshot.wsl == 2 or snapshot.system == "windows" else "linux"


def _machine(snapshot: Snapshot) -> Machine:
    """Describe the machine; where the system is unknown, ask for wheels that both systems have."""
    return snapshot.as_machine() or replace(
        replace(snapshot, system="windows").as_machine() or Machine("windows"), glibc=None
    )


def _answer(snapshot: Snapshot, *, accelerator: str, driver: bool) -> Answer | None:
    machine = _machine(snapshot)
    if not driver:
        machine = replace(machine, driver=None)
    choices = Choices(
        machine,
        tuple(gpu.name for gpu in snapshot.gpus),
        accelerator=accelerator,
        manager=snapshot.manager or "pip",
    )
    try:
        return recommend(choices)
    except ImpossibleError as error:
        return error.nearest


def reinstall(
    snapshot: Snapshot, *, accelerator: str = "cuda", driver: bool = True
) -> tuple[str, ...]:
    """Give the commands that replace torch by the wheel that fits, and the check."""
    if snapshot.system == "macos":
        accelerator = "auto"
    answer = _answer(snapshot, accelerator=accelerator, driver=driver)
    if answer is None:
        return ("torchguide install",)
    remove = {
        "uv": "uv pip uninstall torch torchvision torchaudio",
        "conda": "conda remove --force pytorch torchvision torchaudio cpuonly pytorch-mutex",
    }.get(snapshot.manager or "pip", "python -m pip uninstall -y torch torchvision torchaudio")
    steps = (remove,) if snapshot.torch or "torch" not in snapshot.absent else ()
    return (*steps, answer.command, answer.check)


def pair_fix(snapshot: Snapshot, package: str) -> tuple[str, ...]:
    """Give the command that installs the torchvision or torchaudio that belongs to this torch."""
    pair = compat.pair_of(snapshot.torch or "")
    version = getattr(pair, package) if pair else ""
    if not version:
        return reinstall(snapshot)
    if snapshot.manager == "conda":
        return (f"conda install {package}={version}",)
    start = (
        "uv pip install --reinstall --no-deps"
        if snapshot.manager == "uv"
        else "python -m pip install --force-reinstall --no-deps"
    )
    cuda = snapshot.torch_cuda or ""
    variant = "cpu" if cuda == "cpu" else f"cu{cuda.replace('.', '')}" if cuda[:1].isdigit() else ""
    if numbers(version) >= (2, 11) and package == "torchaudio":
        variant = ""  # one wheel for every build (docs.pytorch.org/audio/2.11.0)
    platform = snapshot.platform or "windows"
    if not variant or compat.pypi_variant(base(snapshot.torch or ""), platform) == variant:
        return (f"{start} {package}=={version}",)
    return (f"{start} {package}=={version} --index-url https://download.pytorch.org/whl/{variant}",)


def release_minor(snapshot: Snapshot) -> str:
    """Give torch's minor version, or nothing."""
    return minor(snapshot.torch) if snapshot.torch else ""
