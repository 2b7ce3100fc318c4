"""Rules on the driver: is there one, does it serve this build, can torch reach the GPUs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torchguide import compat
from torchguide.findings import Finding, cuda_build, driver_system, quoted, reinstall, seen
from torchguide.versions import is_release, minor, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchguide.environment import Snapshot

__all__ = ["RULES"]


def nvml_mismatch(s: Snapshot) -> Iterator[Finding]:
    """Find a driver library beside a kernel module of another version."""
    sign = s.has_sign("nvml-mismatch")
    if sign:
        yield Finding("nvml-mismatch", "error", (quoted(sign),), ("sudo reboot", "nvidia-smi"))


def built_for(s: Snapshot) -> tuple[str | None, bool]:
    """Give the CUDA version of the installed torch, and whether it had to be inferred.

    A plain version installed by pip on Linux is the build that PyPI has of it.
    """
    if cuda_build(s):
        return s.torch_cuda, False
    plain = s.torch and is_release(s.torch) and "+" not in s.torch
    if not plain or s.torch_cuda or s.conda_packages or s.system != "linux":
        return None, False
    variant = compat.pypi_variant(s.torch or "", s.platform or "linux_x86_64")
    if not variant or not variant.startswith("cu"):
        return None, False
    return f"{variant[2:-1]}.{variant[-1]}", True


def too_old(s: Snapshot) -> Iterator[Finding]:
    """Find a driver older than the CUDA version of the build allows."""
    sign = s.has_sign("driver-old")
    cuda, inferred = built_for(s)
    system = driver_system(s)
    least = compat.minimum_driver(cuda, system) if cuda else None
    values = {
        "driver": s.driver or "?",
        "least": least or "?",
        "cuda": cuda or "?",
    }
    evidence = [quoted(sign)] if sign else []
    if s.driver:
        evidence.append(seen(s, "driver"))
    if cuda:
        origin = "PyPI" if inferred else seen(s, "torch_cuda")
        evidence.append(f"CUDA {cuda} -> driver >= {least}  [{origin}; cuda_minimum_drivers.csv]")
    if sign:
        yield Finding("driver-too-old", "error", tuple(evidence), reinstall(s), values)
        return
    if not cuda or s.jetson:
        return
    below = (
        compat.driver_runs(s.driver, cuda, system) is False
        if s.driver
        else _speaks_older(s.driver_cuda, cuda)
    )
    if not below:
        return
    if s.cuda_available:
        yield Finding("driver-compat", "info", tuple(evidence), (), values)
    elif not (inferred and s.cuda_available is None and s.source != "machine" and not s.driver):
        yield Finding("driver-too-old", "error", tuple(evidence), reinstall(s), values)


def _speaks_older(driver_cuda: str | None, cuda: str) -> bool:
    """Compare by CUDA numbers only: a newer minor of one major runs, from 11 on."""
    if not driver_cuda:
        return False
    speaks, built = numbers(driver_cuda), numbers(minor(cuda))
    return speaks[:1] < built[:1] if built >= (11,) else speaks < built


_HOSTS = re.compile(
    r"\.el[789]|amzn|\.tl\d|tlinux|\.bsk|\.nbp|linuxkit|-cos\b|coreos|\.al[78x]|alios"
)


def foreign_kernel(s: Snapshot) -> bool:
    """Tell whether the kernel is another distribution's than the programs around it."""
    kernel, name = s.kernel or "", (s.os or "").lower()
    if not kernel or not name or name.startswith("linux"):
        return False
    ubuntu, debian = "ubuntu" in name, "debian" in name
    if (ubuntu or debian) and _HOSTS.search(kernel):
        return True
    if not ubuntu and kernel.endswith("-generic") and "mint" not in name and "pop" not in name:
        return True
    oldest = {"24.04": (6, 8), "22.04": (5, 15), "20.04": (5, 4), "18.04": (4, 15)}
    release = re.search(r"\d\d\.\d\d", name)
    return bool(
        ubuntu
        and release
        and numbers(kernel)[:2] < oldest.get(release.group(), (0,))
        and "microsoft" not in kernel
    )


def no_driver(s: Snapshot) -> Iterator[Finding]:
    """Find a CUDA build that sees no driver: none installed, or none let into a container."""
    sign = s.has_sign("no-driver")
    boxed = s.has_sign("container")
    lost = s.has_sign("container-lost")
    if boxed and not s.cuda_available:
        yield Finding("container-no-gpu", "error", (quoted(boxed),), _CONTAINER)
    elif lost and not s.cuda_available:
        again = ("docker restart CONTAINER", *_CONTAINER[:1])
        yield Finding("container-no-gpu", "error", (quoted(lost),), again)
    if s.cuda_available or s.system == "macos" or s.jetson or s.torch_cuda in ("rocm", "xpu"):
        return
    nothing = not s.driver and not s.gpus and {"driver", "gpus"} & s.absent
    bare = s.has_sign("docker-run")
    if bare and not sign and s.cuda_available is False and s.torch_cuda != "cpu" and not s.gpus:
        yield Finding("container-no-gpu", "error", (quoted(bare),), _CONTAINER)
        return
    if not sign and not (cuda_build(s) and nothing and s.cuda_available is False):
        return
    evidence = [quoted(sign)] if sign else [seen(s, "driver", "none")]
    if cuda_build(s):
        evidence.append(seen(s, "torch_cuda"))
    inside = s.container or foreign_kernel(s)
    if inside and not boxed:
        why = f"kernel {s.kernel}, system {s.os}" if foreign_kernel(s) else "container"
        yield Finding("container-no-gpu", "error", (why, *evidence), _CONTAINER)
    if s.wsl == 2:
        yield Finding("wsl-driver", "error", (f"kernel {s.kernel}", *evidence), _WSL)
    fix = _WSL if s.wsl == 2 else ("nvidia-smi",)
    yield Finding("no-nvidia-driver", "error", tuple(evidence), fix)


_CONTAINER = (
    "docker run --rm --gpus all ubuntu nvidia-smi",
    "sudo nvidia-ctk runtime configure --runtime=docker && sudo systemctl restart docker",
)
_WSL = ("wsl --update", "wsl --shutdown", "nvidia-smi")


def wsl(s: Snapshot) -> Iterator[Finding]:
    """Find a WSL that cannot reach the Windows driver."""
    blocked = s.has_sign("wsl-blocked")
    if blocked:
        yield Finding("wsl-driver", "error", (quoted(blocked),), _WSL)
    elif s.wsl == 1 and not s.cuda_available:
        fix = ("wsl --set-version Ubuntu 2", "wsl --update")
        yield Finding("wsl-driver", "error", (f"kernel {s.kernel}: WSL 1",), fix)


def libcuda(s: Snapshot) -> Iterator[Finding]:
    """Find a driver library that programs cannot load."""
    header = s.has_sign("smi-cuda")
    if header and not s.cuda_available:
        shown = f"nvidia-smi: CUDA Version: {header.values[0]}"
        if s.wsl:
            yield Finding("wsl-driver", "error", (shown, seen(s, "driver")), _WSL)
        else:
            yield Finding("libcuda-missing", "error", (shown,), ("ldconfig -p | grep libcuda",))
    sign = s.has_sign("libcuda")
    if not sign or (s.torch_cuda == "cpu" and not s.gpus and not s.driver):
        return
    fix: tuple[str, ...] = ("ldconfig -p | grep libcuda",)
    if s.wsl == 2 or "cudnn" in sign.text:
        fix = ("export LD_LIBRARY_PATH=/usr/lib/wsl/lib:$LD_LIBRARY_PATH", *fix)
    yield Finding("libcuda-missing", "error", (quoted(sign),), fix)


def hidden(s: Snapshot) -> Iterator[Finding]:
    """Find GPUs that a variable or a launcher hides."""
    ids = s.launcher.get("gpu_ids", "")
    if ids.startswith("["):
        fix = (f"accelerate launch --gpu_ids {ids.strip('[]').replace(' ', '')} train.py",)
        yield Finding("devices-hidden", "error", (f"gpu_ids = {ids}",), fix)
    value = s.visible_devices
    if value is not None and not s.cuda_available and s.torch_cuda != "cpu":
        wrong = _hides(value, len(s.gpus))
        if wrong and (cuda_build(s) or s.gpus or s.cuda_available is False):
            evidence = (seen(s, "visible_devices", repr(value)),)
            yield Finding("devices-hidden", "error", evidence, _unset(s))
            return
    sign = s.has_sign("no-gpus", "bad-ordinal")
    known_good = cuda_build(s) and s.gpus and s.driver
    asked = value is not None and re.match(r"[1-9]", value)  # of a machine that may have one GPU
    if sign and (known_good or asked or sign.id == "bad-ordinal"):
        yield Finding("devices-hidden", "warning", (quoted(sign),), _unset(s))


def _hides(value: str, count: int) -> bool:
    parts = [part.strip() for part in value.split(",")]
    if not all(re.fullmatch(r"\d+|(?:GPU|MIG)-[\w/-]+", part) for part in parts):
        return True  # empty, -1, brackets: the first entry that is no device ends the list
    first = parts[0]
    return bool(count and first.isdigit() and int(first) >= count)


def _unset(s: Snapshot) -> tuple[str, ...]:
    if s.system == "windows":
        return ("set CUDA_VISIBLE_DEVICES=", "nvidia-smi -L")
    return ("unset CUDA_VISIBLE_DEVICES", "nvidia-smi -L")


RULES = (nvml_mismatch, too_old, no_driver, wsl, libcuda, hidden)
