"""Take a snapshot of this machine. Every probe is isolated: a failing one leaves a gap, no crash."""

from __future__ import annotations

import contextlib
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from torchguide.environment import Package, Sign, Snapshot, cuda_of_tag
from torchguide.environment_text import UnusableTextError, parse
from torchguide.probes import Completed, Probes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    _T = TypeVar("_T")

__all__ = ["collect"]

_SYSTEMS = {"Linux": "linux", "Windows": "windows", "Darwin": "macos"}
_WITH_TORCH = ("torch", "torchvision", "torchaudio", "numpy")


def _safely(probe: Callable[[], _T], fallback: _T) -> _T:
    try:
        return probe()
    except Exception:  # noqa: BLE001 -- whatever a probe meets, the others go on
        return fallback


def collect(
    probes: Probes | None = None, *, load_torch: bool = True, timeout: float = 60.0
) -> Snapshot:
    """Look at this machine; nothing is changed, nothing is sent, torch is not imported here."""
    probes = probes or Probes()
    folder = _safely(lambda: probes.torch_folder() or "", "")
    with ThreadPoolExecutor(4) as pool:
        loading = (
            pool.submit(_safely, lambda: probes.load_torch(folder, timeout), Completed(None))
            if load_torch and folder
            else None
        )
        smi = pool.submit(_safely, lambda: probes.run("nvidia-smi"), Completed(None))
        nvcc = pool.submit(_safely, lambda: probes.run("nvcc", "--version"), Completed(None))
        fonts = pool.submit(_safely, lambda: _fonts(probes), None)
        snapshot = _safely(lambda: _system(probes), Snapshot(source="machine"))
        snapshot = _safely(lambda: _packages(probes, snapshot, folder), snapshot)
        snapshot = _safely(lambda: _driver(probes, snapshot, smi.result()), snapshot)
        snapshot = _safely(lambda: _toolkit(snapshot, nvcc.result()), snapshot)
        snapshot = replace(snapshot, cjk_font=fonts.result())
        if loading:
            snapshot = _safely(lambda: _loaded(snapshot, loading.result(), timeout), snapshot)
    return snapshot


def _fonts(probes: Probes) -> bool | None:
    return probes.has_cjk_font() if probes.version("matplotlib") else None


def _wsl(kernel: str) -> int | None:
    if "microsoft-standard" in kernel or "WSL2" in kernel:
        return 2
    return 1 if "Microsoft" in kernel else None


def _system(probes: Probes) -> Snapshot:
    system, kernel, machine, glibc = probes.platform()
    environ = probes.environ
    cgroup = probes.read("/proc/1/cgroup") or ""
    boxed = (
        probes.exists("/.dockerenv")
        or probes.exists("/run/.containerenv")
        or bool(re.search(r"docker|containerd|kubepods|lxc", cgroup))
    )
    jetson = "tegra" in kernel or probes.exists("/etc/nv_tegra_release")
    python_bits = probes.bits()
    hidden = environ.get("CUDA_VISIBLE_DEVICES")
    return Snapshot(
        source="machine",
        os=probes.os_name(),
        system=_SYSTEMS.get(system),
        machine={"AMD64": "x86_64"}.get(machine, machine) or None,
        kernel=kernel or None,
        glibc=glibc or None,
        wsl=_wsl(kernel),
        container=boxed if system == "Linux" else None,
        jetson=jetson,
        python=probes.python(),
        visible_devices=hidden,
        shm_bytes=probes.shm_bytes() if system == "Linux" else None,
        signs=() if python_bits == 64 else (Sign("bits32", "32-bit Python"),),
        where={
            "python": "this interpreter",
            "os": "platform",
            "visible_devices": "environment variable CUDA_VISIBLE_DEVICES",
        },
    )


def _manager(probes: Probes) -> str:
    """Tell which program manages this environment: the one that installed torch, else its kind."""
    installer = (probes.metadata("torch", "INSTALLER") or "").strip()
    if installer in ("pip", "uv", "conda"):
        return installer
    if probes.exists(str(PurePath(probes.prefix()) / "conda-meta")):
        return "conda"
    settings = probes.read(str(PurePath(probes.prefix()) / "pyvenv.cfg")) or ""
    return "uv" if re.search(r"^uv\s*=", settings, re.MULTILINE) else "pip"


def _packages(probes: Probes, snapshot: Snapshot, folder: str | None) -> Snapshot:
    versions = {name: probes.version(name) for name in _WITH_TORCH}
    installed = {name: Package(version) for name, version in versions.items() if version}
    shadow = probes.import_origin("torch", probes.cwd())
    if shadow and folder and PurePath(shadow).parent == PurePath(folder):
        shadow = None  # the working folder is site-packages itself
    torch = versions["torch"]
    told = probes.read(str(PurePath(folder) / "version.py")) if folder else None
    full = re.search(r"__version__ = ['\"]([^'\"]+)", told or "")
    return replace(
        snapshot,
        torch=full.group(1) if full else torch,
        torch_cuda=_built_for(told or "", full.group(1) if full else torch or ""),
        pip_packages=installed,
        manager=_manager(probes),
        shadowed_by=shadow if shadow and folder else None,
        absent=snapshot.absent | ({"torch"} if not torch else frozenset()),
        where=snapshot.where | {"torch": "torch/version.py", "torch_cuda": "torch/version.py"},
    )


def _built_for(version_file: str, version: str) -> str | None:
    """Read from torch/version.py what torch was built for."""
    for name, value in (("hip", "rocm"), ("xpu", "xpu")):
        if re.search(rf"^{name}\b[^=\n]*= ['\"]\d", version_file, re.MULTILINE):
            return value
    cuda = re.search(r"^cuda\b[^=\n]*= (?:['\"](\d+\.\d+)|None)", version_file, re.MULTILINE)
    if cuda:
        return cuda.group(1) or "cpu"
    return cuda_of_tag(version)


def _driver(probes: Probes, snapshot: Snapshot, smi: Completed) -> Snapshot:
    if snapshot.system == "macos":
        return snapshot
    text = f"{smi.out}\n{smi.err if smi.status not in (None, 0) else ''}"
    read = Snapshot()
    with contextlib.suppress(UnusableTextError):
        read = parse(text)
    driver, where = read.driver, "nvidia-smi"
    if not driver:
        module = probes.read("/proc/driver/nvidia/version") or ""
        found = re.search(r"Kernel Module(?: for \w+)?\s+(\d{3}\.\d+[.\d]*)", module)
        driver, where = found.group(1) if found else None, "/proc/driver/nvidia/version"
    absent = set(snapshot.absent)
    if not driver:
        absent.add("driver")
    if not read.gpus:
        absent.add("gpus")
    return replace(
        snapshot,
        driver=driver,
        driver_cuda=read.driver_cuda,
        gpus=read.gpus,
        signs=(*snapshot.signs, *(sign for sign in read.signs if driver or sign.id != "no-driver")),
        absent=frozenset(absent),
        where=snapshot.where | {"driver": where, "gpus": "nvidia-smi"},
    )


def _toolkit(snapshot: Snapshot, nvcc: Completed) -> Snapshot:
    found = re.search(r"release (\d+\.\d+)", nvcc.out)
    if not found:
        return snapshot
    where = snapshot.where | {"toolkit": "nvcc --version"}
    return replace(snapshot, toolkit=found.group(1), where=where)


def _loaded(snapshot: Snapshot, done: Completed, timeout: float) -> Snapshot:
    """Take from the loading of torch: does it load, how many GPUs, for which architectures."""
    match = re.search(r"^loaded (-?\d+) ?(.*)$", done.out, re.MULTILINE)
    if match and done.status == 0:
        count = int(match.group(1))
        build = bool(snapshot.torch_cuda and snapshot.torch_cuda != "cpu")
        warned: tuple[Sign, ...] = ()
        with contextlib.suppress(UnusableTextError):
            warned = parse(done.err).signs if done.err.strip() else ()
        return replace(
            snapshot,
            cuda_available=count > 0 if build or count >= 0 else False,
            device_count=max(count, 0),
            architectures=tuple(match.group(2).split()),
            signs=(*snapshot.signs, *warned),
            where=snapshot.where | {"cuda_available": "torch loaded in a process of its own"},
        )
    if done.err == "timeout":
        return replace(snapshot, torch_error=f"no answer within {timeout:g} s")
    last = [line.strip() for line in done.err.strip().splitlines() if line.strip()]
    reason = last[-1] if last else f"the process ended with status {done.status}"
    return replace(snapshot, torch_error=reason[:300])
