"""Rules on everything else: torch itself, the launcher, the container, fonts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchguide.findings import Finding, cuda_build, quoted, reinstall, seen
from torchguide.versions import minor, numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchguide.environment import Snapshot

__all__ = ["RULES", "unexplained"]

SMALL_SHM = 1 << 30  # Docker gives 64 MB; workers of a DataLoader pass batches through it


def torch_itself(s: Snapshot) -> Iterator[Finding]:
    """Find a torch that is missing, hidden by another file, or does not load."""
    missing = s.has_sign("torch-missing")
    if s.shadowed_by:
        yield Finding("torch-shadowed", "error", (s.shadowed_by,), (), {"file": s.shadowed_by})
    elif missing or ("torch" in s.absent and not s.torch):
        evidence = quoted(missing) if missing else seen(s, "torch", "none")
        yield Finding("torch-missing", "error", (evidence,), reinstall(s, accelerator="auto"))
    elif s.torch_error:
        yield Finding("torch-broken", "error", (s.torch_error,), reinstall(s, accelerator="auto"))
    for name in ("torch-broken", "torch-shadowed"):
        sign = s.has_sign(name)
        if sign and not s.cuda_available and not s.has_sign("paging-file"):
            fix = reinstall(s, accelerator="auto") if name == "torch-broken" else ()
            yield Finding(name, "error", (quoted(sign),), fix, {"file": "torch.py"})


def paging_file(s: Snapshot) -> Iterator[Finding]:
    """Find a Windows that has too little memory promised for torch's libraries."""
    sign = s.has_sign("paging-file")
    if sign:
        yield Finding(
            "windows-paging-file", "error", (quoted(sign),), ("SystemPropertiesAdvanced",)
        )


def glibc(s: Snapshot) -> Iterator[Finding]:
    """Find a C library older than the wheel needs."""
    sign = s.has_sign("glibc")
    if sign:
        values = {"needs": sign.values[0]}
        yield Finding("glibc-too-old", "error", (quoted(sign),), ("ldd --version",), values)


def initialisation(s: Snapshot) -> Iterator[Finding]:
    """Find a CUDA that fails to start for a reason of the machine's."""
    sign = s.has_sign("cuda-init")
    if sign and not s.cuda_available:
        fix = ("sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm", "nvidia-smi")
        yield Finding("cuda-init-failed", "error", (quoted(sign),), fix)


def extensions(s: Snapshot) -> Iterator[Finding]:
    """Find an extension being compiled with another CUDA than torch was."""
    sign = s.has_sign("toolkit-mismatch")
    if sign and "accepting this combination" not in sign.text:
        yield Finding("toolkit-mismatch", "error", (quoted(sign),), ("nvcc --version",))


def conflicts(s: Snapshot) -> Iterator[Finding]:
    """Find packages that pip says want another torch."""
    for sign in s.signs:
        if sign.id == "conflict" and sign.values[0] not in ("torchvision", "torchaudio"):
            values = {"package": sign.values[0], "wants": sign.values[2]}
            fix = ("python -m pip check",)
            yield Finding("package-conflict", "error", (quoted(sign),), fix, values)
            return


def launcher(s: Snapshot) -> Iterator[Finding]:
    """Find a saved launcher configuration that keeps the work on the CPU."""
    if s.launcher.get("use_cpu", "").lower() == "true" and s.cuda_available:
        evidence = ("use_cpu = True", seen(s, "cuda_available"))
        yield Finding("launcher-uses-cpu", "error", evidence, ("accelerate config",))


def notes(s: Snapshot) -> Iterator[Finding]:
    """Note what is no fault, but is often taken for one, or matters later."""
    if cuda_build(s) and s.toolkit and minor(s.toolkit) != minor(s.torch_cuda or ""):
        values = {"toolkit": s.toolkit, "cuda": s.torch_cuda or ""}
        yield Finding("toolkit-differs", "info", (seen(s, "toolkit"),), (), values)
    newer = s.torch_cuda == "13.2" and s.driver and numbers(s.driver) < (595,)
    if newer and len(s.gpus) > 1:
        yield Finding("nccl-driver", "info", (seen(s, "driver"),), ())
    if s.shm_bytes is not None and s.container and s.shm_bytes < SMALL_SHM:
        size = f"{s.shm_bytes // (1 << 20)} MB"
        yield Finding("small-shm", "info", (f"shm_bytes = {s.shm_bytes}",), (), {"size": size})
    if s.cjk_font is False:
        yield Finding("no-cjk-font", "info", ("matplotlib",), ("fc-list :lang=zh",))


def unexplained(s: Snapshot) -> Iterator[Finding]:
    """Say what is known where a CUDA build sees no GPU and no other rule has found why."""
    if s.cuda_available is False and s.system != "macos":
        if s.jetson:
            yield Finding("jetson-wheel", "error", (seen(s, "cuda_available"),), reinstall(s))
        elif cuda_build(s) or (s.torch_cuda is None and (s.nvidia_gpus or s.driver)):
            known = seen(s, "torch_cuda") if cuda_build(s) else seen(s, "torch")
            evidence = (seen(s, "cuda_available"), known)
            yield Finding("cuda-unavailable", "error", evidence, ("nvidia-smi",))
        elif s.torch_cuda == "rocm":
            yield Finding("rocm-unavailable", "error", (seen(s, "cuda_available"),), ("rocminfo",))
    sign = s.has_sign("no-gpus", "wants-gpu")
    if sign and not cuda_build(s) and s.torch_cuda is None:
        yield Finding("cuda-unavailable", "error", (quoted(sign),), ("nvidia-smi",))


RULES = (torch_itself, paging_file, glibc, initialisation, extensions, conflicts, launcher, notes)
