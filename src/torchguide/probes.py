"""Look at this machine, read-only and without a network; each probe can be replaced in a test."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Completed", "Probes"]

_LOAD_TORCH = """
import sys, types, pathlib
folder = pathlib.Path(sys.argv[1])
sys.path[:] = [p for p in sys.path if p]
def say(module):
    count = getattr(module, "_cuda_getDeviceCount", None)
    flags = getattr(module, "_cuda_getArchFlags", lambda: None)() or ""
    print("loaded", count() if count else -1, flags, flush=True)
try:
    # the compiled part alone: it is what crashes, hangs or lacks a library, and it takes a fifth
    # of the time that the whole package takes
    stub = types.ModuleType("torch")
    stub.__path__ = [str(folder)]
    sys.modules["torch"] = stub
    library = folder / "lib" / "libtorch_global_deps.so"
    if library.exists():
        import ctypes
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    import torch._C
    say(torch._C)
except BaseException:
    for name in [name for name in sys.modules if name.split(".")[0] == "torch"]:
        del sys.modules[name]
    import torch
    say(torch._C)
"""


@dataclass(frozen=True)
class Completed:
    """How a program ended: its status (None: it ran out of time or does not exist) and output."""

    status: int | None
    out: str = ""
    err: str = ""


@dataclass
class Probes:
    """Everything that `collect` learns about the machine, it asks here."""

    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    def run(self, *command: str, timeout: float = 10.0) -> Completed:
        """Run a program and give its output; a missing program is no error."""
        path = shutil.which(command[0])
        if path is None:
            return Completed(None, err="not found")
        try:
            done = subprocess.run(
                [path, *command[1:]],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Completed(None, err="timeout")
        except OSError as error:
            return Completed(None, err=str(error))
        out, err = done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
        return Completed(done.returncode, out, err)

    def read(self, path: str) -> str | None:
        """Read a small file, or nothing."""
        try:
            with Path(path).open(encoding="utf-8", errors="replace") as file:
                return file.read(65_536)
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        """Tell whether a path exists."""
        return Path(path).exists()

    def version(self, package: str) -> str | None:
        """Give the version of an installed package, from its metadata."""
        try:
            return importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            return None

    def metadata(self, package: str, name: str) -> str | None:
        """Read a file of a package's metadata folder, such as INSTALLER."""
        try:
            return importlib.metadata.distribution(package).read_text(name)
        except importlib.metadata.PackageNotFoundError:
            return None

    def torch_folder(self) -> str | None:
        """Find the folder of the installed torch, without importing it."""
        try:
            found = importlib.metadata.distribution("torch").locate_file("torch")
        except importlib.metadata.PackageNotFoundError:
            return None
        return str(found) if Path(str(found)).is_dir() else None

    def import_origin(self, package: str, folder: str) -> str | None:
        """Tell which file Python would import, with a folder searched first."""
        for name in (f"{package}.py", f"{package}/__init__.py", package):
            path = Path(folder) / name
            if path.is_file() or (name == package and path.is_dir() and any(path.glob("*.py"))):
                return str(path)
        return None

    def load_torch(self, folder: str, timeout: float) -> Completed:
        """Load torch in a process of its own, so that a crash or a hang is only a finding."""
        return self.run(sys.executable, "-c", _LOAD_TORCH, folder, timeout=timeout)

    def platform(self) -> tuple[str, str, str, str]:
        """Give system, kernel release, machine and the C library's version."""
        libc = platform.libc_ver()
        glibc = libc[1] if libc[0] == "glibc" else ""
        return platform.system(), platform.release(), platform.machine(), glibc

    def os_name(self) -> str:
        """Name the system as people do."""
        system = platform.system()
        if system == "Darwin":
            return f"macOS {platform.mac_ver()[0]} ({platform.machine()})"
        if system == "Windows":
            return f"Windows {platform.release()} ({platform.version()})"
        try:
            return platform.freedesktop_os_release()["PRETTY_NAME"]
        except (OSError, KeyError):
            return platform.platform()

    def python(self) -> str:
        """Give this Python's version."""
        return platform.python_version()

    def bits(self) -> int:
        """Give the size of this Python's pointers."""
        return 64 if sys.maxsize > 2**32 else 32

    def prefix(self) -> str:
        """Give the folder of this environment."""
        return sys.prefix

    def cwd(self) -> str:
        """Give the working folder, whose files are imported first."""
        return str(Path.cwd())

    def shm_bytes(self) -> int | None:
        """Give the size of /dev/shm."""
        try:
            return shutil.disk_usage("/dev/shm").total  # noqa: S108 -- asked for its size only
        except OSError:
            return None

    def has_cjk_font(self) -> bool | None:
        """Tell whether a Chinese font is installed, where fontconfig can tell; None if not."""
        done = self.run("fc-list", ":lang=zh", "family", timeout=5)
        return bool(done.out.strip()) if done.status == 0 else None
