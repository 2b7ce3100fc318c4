"""What produces the outputs of this build: Python, torch, device, package; and its digest.

The caches are keyed on the digest, so that an upgrade or an edit of the package executes
everything again.  torch is not imported: that would cost every build its longest import.
"""

from __future__ import annotations

import hashlib
import os
import platform
import runpy
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

__all__ = ["Environment", "find_environment", "today"]

SCHEME = "3"  # raise it when the way pages are executed changes what they print
LIBRARIES = ("ipykernel", "ipython", "matplotlib", "numpy")
DEVICE_NODES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dri", "/dev/dxg", "/dev/accel")
ASK_TORCH = """
import torch
if torch.cuda.is_available():
    print(torch.cuda.get_device_name())
elif hasattr(torch, "xpu") and torch.xpu.is_available():
    print(torch.xpu.get_device_name())
elif torch.backends.mps.is_available():
    print("Apple MPS")
"""


@dataclass(frozen=True)
class Environment:
    """Everything that can change what a page or an example prints, besides its own code."""

    python: str  # 3.11.7
    torch: str  # 2.13.0+cpu; "none" where it is not installed
    device: str  # the accelerator's name, or "CPU (x86_64)"
    libraries: tuple[str, ...]  # "numpy 2.4.6", …
    package: str  # digest of the files of torchguide

    @property
    def digest(self) -> str:
        """Return 16 hexadecimal digits that change with any part."""
        return hashlib.sha256(f"{SCHEME} {asdict(self)}".encode()).hexdigest()[:16]

    def provenance(self) -> dict[str, str]:
        """Return what a reader wants to know about outputs made now."""
        return {
            "python": self.python,
            "torch": self.torch,
            "device": self.device,
            "date": today(),
        }


def find_environment(package: Path) -> Environment:
    """Describe this Python, its libraries, and the package whose sources are in a folder."""
    torch, may_accelerate = _torch()
    return Environment(
        python=platform.python_version(),
        torch=torch,
        device=(_accelerator() if may_accelerate else "") or f"CPU ({platform.machine()})",
        libraries=tuple(f"{name} {_version(name)}" for name in LIBRARIES),
        package=digest_folder(package),
    )


def today() -> str:
    """Return the day in UTC, or that of SOURCE_DATE_EPOCH, as 2026-11-30."""
    seconds = float(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    return datetime.fromtimestamp(seconds, timezone.utc).date().isoformat()


def digest_folder(folder: Path) -> str:
    """Return a digest of names and contents of all files in a folder but Python's caches."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def _torch() -> tuple[str, bool]:
    """Return torch's version with its build, and whether that build knows accelerators."""
    spec = find_spec("torch")
    if spec is None or spec.origin is None:
        return "none", False
    facts = runpy.run_path(str(Path(spec.origin).with_name("version.py")))
    builds = [facts.get(name) for name in ("cuda", "hip", "xpu")]
    return str(facts["__version__"]), any(builds) or sys.platform == "darwin"


def _accelerator() -> str:
    """Return the accelerator's name as torch says it; empty where there is none."""
    if sys.platform == "linux" and not any(Path(node).exists() for node in DEVICE_NODES):
        return ""  # and no need to wait for an import of torch
    done = subprocess.run(
        [sys.executable, "-c", ASK_TORCH], capture_output=True, text=True, check=False, timeout=300
    )
    return done.stdout.strip()
