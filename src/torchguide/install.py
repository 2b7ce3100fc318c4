"""Choose the wheel that fits a machine and print the exact command; nothing is ever run.

The rules, in order: a GPU that only old wheels have code for gets the newest of those; otherwise
the newest release whose CUDA version the driver runs; the PyPI build before an index, verified
facts before unverified ones.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace

from torchguide import compat
from torchguide.compat import Machine, Obstacle
from torchguide.facts import CondaBuild, DockerImage, Release, Wheel, table
from torchguide.install_commands import (
    Pick,
    find_mirror,
    from_pypi,
    mirrors,
    pip_command,
    torchvision_of,
    uv_command,
)
from torchguide.versions import minor, numbers

__all__ = [
    "ACCELERATORS",
    "MANAGERS",
    "Answer",
    "Choices",
    "ImpossibleError",
    "Reason",
    "mirrors",
    "recommend",
]

MANAGERS = ("pip", "uv", "conda", "docker")
ACCELERATORS = ("auto", "cpu", "cuda", "rocm", "xpu", "mps")
ROCM = "rocm7.2"  # the newest variant that torch_releases.csv has for a release
JETSON_INDEX = "https://pypi.jetson-ai-lab.io/jp6/cu126"
CHECKS = {
    "cuda": "torch.ones(2, device='cuda').sum().item()",
    "mps": "torch.ones(2, device='mps').sum().item()",
    "xpu": "torch.ones(2, device='xpu').sum().item()",
    "cpu": "torch.ones(2).sum().item()",
}


@dataclass(frozen=True)
class Choices:
    """What the reader has and wants."""

    machine: Machine
    gpus: tuple[str, ...] = ()
    accelerator: str = "auto"
    manager: str = "pip"
    torch: str | None = None
    mirror: str = "none"


@dataclass(frozen=True)
class Reason:
    """Why: a message's key with its values, and the table that says so."""

    key: str
    values: dict[str, str] = field(default_factory=dict)
    source: str = ""


@dataclass(frozen=True)
class Answer:
    """A command, why it is this one, and what to run afterwards."""

    command: str
    torch: str | None
    variant: str
    torchvision: str | None
    reasons: tuple[Reason, ...]
    check: str
    verified: bool = True


class ImpossibleError(ValueError):
    """No wheel fits; `nearest` is the answer to the choices changed as `reasons` say."""

    def __init__(self, reasons: tuple[Reason, ...], nearest: Answer | None = None) -> None:
        """Keep the reasons as message keys; the command line puts them into words."""
        super().__init__("; ".join(f"{reason.key} {reason.values}" for reason in reasons))
        self.reasons = reasons
        self.nearest = nearest


def accelerator_of(choices: Choices) -> str:
    """Decide what "auto" means on this machine."""
    if choices.accelerator != "auto":
        return choices.accelerator
    if choices.machine.platform.startswith("macos"):
        return "mps" if choices.machine.platform == "macos_arm64" else "cpu"
    named = " ".join(choices.gpus).lower()
    if choices.machine.driver or choices.machine.capabilities or "nvidia" in named:
        return "cuda"
    if any(word in named for word in ("amd", "radeon", "instinct")):
        return "rocm"
    return "xpu" if "intel" in named or "arc" in named.split() else "cpu"


def recommend(choices: Choices) -> Answer:
    """Give the command for the choices.

    Raises:
        ImpossibleError: nothing fits; it says why and carries the nearest possible answer.
    """
    accelerator = accelerator_of(choices)
    _check_accelerator(choices, accelerator)
    if choices.manager == "docker":
        return _docker(choices, accelerator)
    if choices.manager == "conda":
        return _conda(choices, accelerator)
    if accelerator == "cuda":
        return _cuda(choices)
    if accelerator == "rocm":
        return _rocm(choices)
    return _plain(choices, accelerator)


def _check_accelerator(choices: Choices, accelerator: str) -> None:
    platform = choices.machine.platform
    possible = {
        "cpu": True,
        "mps": platform == "macos_arm64",
        "cuda": not platform.startswith("macos"),
        "rocm": platform == "linux_x86_64",
        "xpu": platform in ("linux_x86_64", "windows"),
    }[accelerator]
    if not possible:
        nearest = recommend(replace(choices, accelerator="cpu"))
        reason = Reason("impossible.accelerator", {"accelerator": accelerator, "os": platform})
        raise ImpossibleError((reason,), nearest)


# --- which wheel


@functools.lru_cache(maxsize=64)
def _offers(platform: str, torch: str | None) -> tuple[tuple[Pick, Wheel], ...]:
    """List the CUDA wheels for a platform, best first."""
    out = []
    for wheel in table(Wheel):
        if wheel.platform != platform or numbers(wheel.minor) < (1, 13):
            continue
        sure = wheel.status != "unverified"
        out += [
            (Pick(r.torch, wheel.variant, verified=sure, status_note=wheel.status_note), wheel)
            for r in table(Release)
            if minor(r.torch) == wheel.minor
            and numbers(wheel.first) <= numbers(r.torch) <= numbers(wheel.last)
            and (torch is None or _asked(r.torch, torch))
        ]
    out.sort(key=lambda offer: _rank(*offer), reverse=True)
    return tuple(out)


def _asked(torch: str, wanted: str) -> bool:
    return torch == wanted or (wanted.count(".") == 1 and torch.startswith(f"{wanted}."))


def _rank(pick: Pick, wheel: Wheel) -> tuple[bool, tuple[int, ...], bool, tuple[int, ...]]:
    usual = compat.pypi_variant(pick.torch, "linux_x86_64") == wheel.variant
    return (pick.verified, numbers(pick.torch), usual, numbers(wheel.cuda))


@functools.lru_cache(maxsize=4096)
def _best(machine: Machine, torch: str | None) -> tuple[Pick, Wheel] | None:
    """Give the best CUDA wheel that runs on a machine, or None."""
    for pick, wheel in _offers(machine.platform, torch):
        if not compat.wheel_obstacles(wheel, pick.torch, machine) and _known(wheel, machine):
            return pick, wheel
    return None


def _known(wheel: Wheel, machine: Machine) -> bool:
    """Tell whether the facts say that each GPU runs the wheel; silence is no yes."""
    codes = tuple(filter(None, wheel.architectures.split(";")))
    ptx = tuple(filter(None, wheel.ptx.split(";")))
    return all(
        compat.code_runs(capability, codes, ptx, wheel.cuda) for capability in machine.capabilities
    )


def _cuda(choices: Choices) -> Answer:
    machine = choices.machine
    _check_driver_serves(choices)
    if set(machine.capabilities) & {"5.3", "6.2", "7.2", "8.7"}:
        return _jetson(choices)
    if choices.torch and not _offers(machine.platform, choices.torch):
        raise _no_such_torch(choices)
    best = _best(machine, choices.torch)
    if best:
        return _answer(choices, best[0], "cuda", _why(*best, choices))
    raise _impossible(choices)


def _check_driver_serves(choices: Choices) -> None:
    machine = choices.machine
    for capability in machine.capabilities:
        if not machine.driver:
            return
        low, high = compat.driver_serves(machine.driver, capability)
        if low or high:
            key = "impossible.driver-before-gpu" if low else "impossible.driver-after-gpu"
            branch = str(low or high)
            values = {"driver": machine.driver, "branch": branch, "capability": capability}
            other = replace(choices, machine=replace(machine, driver=None))
            reason = Reason(key, values, "gpu_architectures.csv")
            raise ImpossibleError((reason,), _try(other))


def _try(choices: Choices) -> Answer | None:
    try:
        return recommend(choices)
    except ImpossibleError as error:
        return error.nearest


def _no_such_torch(choices: Choices) -> ImpossibleError:
    exists = compat.release_of(choices.torch or "")
    key = "impossible.no-cuda-wheel" if exists else "impossible.no-release"
    reason = Reason(key, {"torch": choices.torch or "", "os": choices.machine.platform})
    return ImpossibleError((reason,), _try(replace(choices, torch=None)))


def _impossible(choices: Choices) -> ImpossibleError:
    """Say what stands in the way of the wheel with the fewest obstacles, and what would fit."""
    machine = choices.machine
    if choices.torch:
        obstacles = _fewest(machine, choices.torch)
        return ImpossibleError(_reasons(obstacles), _try(replace(choices, torch=None)))
    relaxed = (
        replace(machine, driver=None),
        replace(machine, python=None),
        replace(machine, python=None, driver=None),
    )
    for other in relaxed:
        best = None if other == machine else _best(other, None)
        if best:
            pick, wheel = best
            obstacles = compat.wheel_obstacles(wheel, pick.torch, machine)
            nearest = _answer(choices, pick, "cuda", _why(pick, wheel, choices))
            return ImpossibleError(_reasons(obstacles), nearest)
    return ImpossibleError(
        _reasons(_fewest(machine, None)), _try(replace(choices, accelerator="cpu"))
    )


@functools.lru_cache(maxsize=1024)
def _fewest(machine: Machine, torch: str | None) -> list[Obstacle]:
    offers = _offers(machine.platform, torch)
    every = [compat.wheel_obstacles(wheel, pick.torch, machine) for pick, wheel in offers]
    every = [obstacles for obstacles in every if obstacles]
    if every:
        return min(every, key=len)
    return [Obstacle("architecture", "", " ".join(machine.capabilities))]


def _reasons(obstacles: list[Obstacle]) -> tuple[Reason, ...]:
    return tuple(
        Reason(f"obstacle.{o.kind}", {"needs": o.needs, "has": o.has}, "torch_wheels.csv")
        for o in obstacles
    )


def _why(pick: Pick, wheel: Wheel, choices: Choices) -> tuple[Reason, ...]:
    machine = choices.machine
    least = compat.minimum_driver(wheel.cuda, machine.driver_system) or ""
    reasons = []
    for capability in machine.capabilities:
        codes = wheel.architectures
        values = {"capability": capability, "codes": codes, "torch": pick.torch}
        reasons.append(
            Reason("reason.architecture", values | {"variant": wheel.variant}, wheel.source)
        )
    values = {"cuda": wheel.cuda, "least": least, "driver": machine.driver or ""}
    key = "reason.driver" if machine.driver else "reason.driver-needed"
    reasons.append(Reason(key, values, "astral-sh/uv:crates/uv-torch/src/backend.rs@26a9dd4b"))
    reasons += () if choices.torch else _why_older(pick.torch, machine)
    if wheel.cuda == "13.2" and machine.driver and numbers(machine.driver) < (595,):
        reasons.append(Reason("note.nccl", {"driver": machine.driver}, "cuda_toolkits.csv"))
    return tuple(reasons)


@functools.lru_cache(maxsize=4096)
def _why_older(torch: str, machine: Machine) -> tuple[Reason, ...]:
    """Say what keeps each wheel of the newest torch away: not verified, or it does not fit."""
    rows = [w for w in table(Wheel) if w.platform == machine.platform and w.status != "unverified"]
    known = max(rows, key=lambda wheel: numbers(wheel.last)).last
    newest = table(Release)[-1].torch
    if torch == newest:
        return ()
    variants: dict[str, list[str]] = {}
    for wheel in rows if torch != known else ():
        if wheel.last == known:
            for obstacle in compat.wheel_obstacles(wheel, known, machine):
                variants.setdefault(obstacle.kind, []).append(wheel.variant)
    reasons = [Reason("older.unverified", {"newest": newest}, "torch_wheels.csv")]
    reasons = reasons if known != newest else []
    reasons += [
        Reason(f"older.{kind}", {"newest": f"{known} {', '.join(names)}"}, "torch_wheels.csv")
        for kind, names in variants.items()
    ]
    return tuple(reasons)


def _jetson(choices: Choices) -> Answer:
    if "8.7" not in choices.machine.capabilities or choices.manager != "pip":
        reason = Reason("impossible.jetson", {}, "gpus.csv")
        raise ImpossibleError((reason,), _try(replace(choices, accelerator="cpu")))
    return Answer(
        f"python -m pip install torch torchvision --index-url {JETSON_INDEX}",
        None,
        "cu126",
        None,
        (Reason("reason.jetson-orin", {}, "gpus.csv"),),
        _check("cuda"),
        verified=False,
    )


def _releases(choices: Choices) -> list[Release]:
    rows = [
        r for r in reversed(table(Release)) if not choices.torch or _asked(r.torch, choices.torch)
    ]
    if not rows:
        reason = Reason("impossible.no-release", {"torch": choices.torch or "", "os": ""})
        raise ImpossibleError((reason,), _try(replace(choices, torch=None)))
    return rows


def _plain(choices: Choices, accelerator: str) -> Answer:
    """Choose the newest release for the CPU, for MPS or for Intel GPUs."""
    rows = _releases(choices)
    for release in rows:
        if compat.release_obstacles(release, choices.machine):
            continue
        variant = "xpu" if accelerator == "xpu" else "cpu"
        sure = variant != "xpu"
        note = "" if sure else "which releases have XPU wheels"
        pick = Pick(release.torch, variant, verified=sure, status_note=note)
        reasons = [Reason(f"reason.{accelerator}", {"torch": release.torch}, release.source)]
        if choices.machine.platform == "macos_x86_64":
            reasons.append(Reason("reason.intel-mac", {"torch": release.torch}, release.source))
        return _answer(choices, pick, accelerator, tuple(reasons))
    obstacles = compat.release_obstacles(rows[0], choices.machine)
    without_python = replace(choices, machine=replace(choices.machine, python=None))
    nearest = None if without_python == choices else _try(without_python)
    raise ImpossibleError(_reasons(obstacles), nearest)


def _rocm(choices: Choices) -> Answer:
    for release in _releases(choices):
        variants = [v for v in release.rocm.split(";") if v]
        if variants and not compat.release_obstacles(release, choices.machine):
            pick = Pick(release.torch, variants[-1])
            reason = Reason(
                "reason.rocm", {"torch": release.torch, "rocm": variants[-1]}, release.source
            )
            return _answer(choices, pick, "rocm", (reason,))
    reason = Reason("impossible.no-cuda-wheel", {"torch": choices.torch or "", "os": "ROCm"})
    raise ImpossibleError((reason,), _try(replace(choices, accelerator="cpu")))


# --- the command for it


def _check(accelerator: str) -> str:
    device = "cuda" if accelerator == "rocm" else accelerator
    expression = CHECKS.get(device, CHECKS["cpu"])
    return f'python -c "import torch; print(torch.__version__, {expression})"'


def _answer(
    choices: Choices, chosen: Pick, accelerator: str, reasons: tuple[Reason, ...]
) -> Answer:
    if choices.mirror not in mirrors():
        values = {"mirror": choices.mirror, "known": ", ".join(mirrors())}
        raise ImpossibleError((Reason("impossible.mirror", values),))
    newest = chosen.torch == table(Release)[-1].torch and not choices.torch
    pick = replace(
        chosen, platform=choices.machine.platform, mirror=choices.mirror, exact=not newest
    )
    return Answer(
        command=uv_command(pick) if choices.manager == "uv" else pip_command(pick),
        torch=None if pick.variant == "xpu" else pick.torch,
        variant=pick.variant,
        torchvision=torchvision_of(pick),
        reasons=(*reasons, *_numpy(pick), *_notes(pick)),
        check=_check(accelerator),
        verified=pick.verified,
    )


def _numpy(pick: Pick) -> tuple[Reason, ...]:
    if numbers(pick.torch) < (2, 3):
        return (Reason("note.numpy", {"torch": pick.torch}, "pytorch/pytorch#132179"),)
    return ()


def _notes(pick: Pick) -> list[Reason]:
    notes = []
    if not pick.verified:
        notes.append(Reason("note.unverified", {"what": pick.status_note}, "torch_wheels.csv"))
    if pick.platform == "windows" and pick.variant.startswith("cu"):
        notes.append(Reason("note.windows", {}, "torch_releases.csv"))
    if pick.mirror != "none":
        notes.append(Reason("note.mirror", {"mirror": pick.mirror}, "mirrors.csv"))
        if not find_mirror(pick.mirror, "wheels") and not from_pypi(pick):
            notes.append(Reason("note.mirror-wheels", {"mirror": pick.mirror}, "mirrors.csv"))
    return notes


# --- conda-forge and Docker


def _conda(choices: Choices, accelerator: str) -> Answer:
    if choices.mirror != "none":
        raise ImpossibleError(
            (Reason("impossible.conda-mirror", {"mirror": choices.mirror}),),
            _try(replace(choices, mirror="none")),
        )
    if choices.torch:
        raise ImpossibleError(
            (Reason("impossible.conda-version", {"torch": choices.torch}, "conda_builds.csv"),),
            _try(replace(choices, torch=None)),
        )
    start = "conda install -c conda-forge"
    if accelerator in ("cpu", "mps"):
        package = "pytorch" if choices.machine.platform.startswith("macos") else "pytorch-cpu"
        command = f"{start} {package} torchvision"
        reason = Reason("reason.conda-cpu", {}, table(CondaBuild)[0].source)
        return Answer(command, None, "cpu", None, (reason,), _check(accelerator))
    if accelerator != "cuda":
        reason = Reason("impossible.conda-accelerator", {"accelerator": accelerator})
        raise ImpossibleError((reason,), _try(replace(choices, manager="pip")))
    _check_driver_serves(choices)
    machine = choices.machine
    rows = [row for row in table(CondaBuild) if row.platform == machine.platform]
    rows.sort(key=lambda row: numbers(row.cuda), reverse=True)
    for row in rows:
        codes, ptx = tuple(row.architectures.split(";")), tuple(filter(None, row.ptx.split(";")))
        runs = all(compat.code_runs(c, codes, ptx, row.cuda) for c in machine.capabilities)
        old_driver = machine.driver and not compat.driver_runs(
            machine.driver, row.cuda, machine.driver_system
        )
        old_glibc = machine.glibc and row.glibc and numbers(machine.glibc) < numbers(row.glibc)
        if runs and not old_driver and not old_glibc:
            least = compat.minimum_driver(row.cuda, machine.driver_system) or ""
            values = {"cuda": row.cuda, "least": least, "driver": machine.driver or ""}
            reasons = [Reason("reason.conda", {"cuda": row.cuda, "torch": row.torch}, row.source)]
            reasons.append(
                Reason("reason.driver" if machine.driver else "reason.driver-needed", values)
            )
            command = f"{start} pytorch-gpu torchvision cuda-version={row.cuda}"
            variant = "cu" + row.cuda.replace(".", "")
            return Answer(command, row.torch, variant, None, tuple(reasons), _check("cuda"))
    reason = Reason("impossible.conda-gpu", {"capability": " ".join(machine.capabilities)})
    raise ImpossibleError((reason,), _try(replace(choices, manager="pip")))


def _docker(choices: Choices, accelerator: str) -> Answer:
    machine = choices.machine
    if choices.mirror != "none":
        raise ImpossibleError(
            (Reason("impossible.docker-mirror", {"mirror": choices.mirror}),),
            _try(replace(choices, mirror="none")),
        )
    if accelerator != "cuda" or machine.platform not in ("linux_x86_64", "windows"):
        reason = Reason("impossible.docker", {"os": machine.platform, "accelerator": accelerator})
        raise ImpossibleError((reason,), _try(replace(choices, manager="pip")))
    _check_driver_serves(choices)
    # inside the image the system is Linux and Python is the image's own
    inside = replace(machine, platform="linux_x86_64", python=None, glibc=None)
    inside = replace(inside, wsl=machine.wsl or machine.platform == "windows")
    for image in table(DockerImage):
        if choices.torch and not _asked(image.torch, choices.torch):
            continue
        variant = "cu" + image.cuda.replace(".", "")
        wheel = compat.wheel_of(image.torch, variant, "linux_x86_64")
        sure = image.verified and wheel
        if not wheel or not sure or compat.wheel_obstacles(wheel, image.torch, inside):
            continue
        command = (
            "docker run --rm -it --gpus all --ipc=host "
            f"pytorch/pytorch:{image.tag} python -c "
            f'"import torch; print(torch.__version__, {CHECKS["cuda"]})"'
        )
        pick = Pick(image.torch, variant)
        reasons = (*_why(pick, wheel, replace(choices, machine=inside, torch=image.torch)),)
        toolkit = Reason("reason.docker", {"tag": image.tag}, image.source)
        return Answer(command, image.torch, variant, None, (toolkit, *reasons), _check("cuda"))
    reason = Reason("impossible.docker-image", {"capability": " ".join(machine.capabilities)})
    raise ImpossibleError((reason,), _try(replace(choices, manager="pip")))
