"""Install one named build of torch into the running Python, or say which build is there.

    python tools/torch_builds.py install docs
    python tools/torch_builds.py check torch-2_13_0-cpu
    python tools/torch_builds.py list

torch is installed by its own pip call, so that an index which does not answer costs
seconds, not the minutes that pip spends on retries for every other package.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata

__all__ = ["BUILDS", "DOCS", "TorchBuild", "check", "install"]

DOCS = "torch-2_13_0-cpu"  # the build that executes the site's pages
INDEX = "https://download.pytorch.org/whl/"


@dataclass(frozen=True)
class TorchBuild:
    """Name one build of torch.

    ``version`` is the public version, ``backend`` the local tag of the wheel (``cpu``,
    ``cu126``, …). ``index`` is PyTorch's own index of that backend, or None where the
    default wheel on PyPI is that build (Linux x86-64).
    """

    version: str
    backend: str
    on_pypi: bool = False

    @property
    def name(self) -> str:
        """Return the id: without dots, so that it can stand in a session's name."""
        return f"torch-{self.version.replace('.', '_')}-{self.backend}"

    @property
    def index(self) -> str | None:
        """Return the address of the extra index that has this build."""
        return None if self.on_pypi else INDEX + self.backend

    @property
    def tags(self) -> list[str]:
        """Return the nox tags: ``matrix``, and ``cpu`` or ``gpu``."""
        return ["matrix", "cpu" if self.backend == "cpu" else "gpu"]

    @property
    def cuda(self) -> str | None:
        """Return the CUDA version as ``torch.version.cuda`` gives it, for example ``12.6``."""
        return None if self.backend == "cpu" else f"{self.backend[2:-1]}.{self.backend[-1]}"


# Which version exists for which backend: src/torchguide/data/torch_variants.csv
BUILDS = {
    build.name: build
    for build in (
        TorchBuild("2.7.1", "cpu"),
        TorchBuild("2.7.1", "cu126", on_pypi=True),
        TorchBuild("2.7.1", "cu128"),
        TorchBuild("2.9.1", "cpu"),
        TorchBuild("2.9.1", "cu126"),
        TorchBuild("2.9.1", "cu128", on_pypi=True),
        TorchBuild("2.9.1", "cu130"),
        TorchBuild("2.11.0", "cpu"),
        TorchBuild("2.11.0", "cu126"),
        TorchBuild("2.11.0", "cu128"),
        TorchBuild("2.11.0", "cu130", on_pypi=True),
        TorchBuild("2.13.0", "cpu"),
        TorchBuild("2.13.0", "cu126"),
        TorchBuild("2.13.0", "cu130", on_pypi=True),
        TorchBuild("2.14.1", "cpu"),
        TorchBuild("2.14.1", "cu126"),
        TorchBuild("2.14.1", "cu130", on_pypi=True),
        TorchBuild("2.14.1", "cu132"),
        TorchBuild("2.15.0", "cpu"),
        TorchBuild("2.15.0", "cu132", on_pypi=True),
    )
}

# What the installed torch is, asked in a process of its own: an import can crash.
PROBE = "import torch; print(torch.__version__, torch.version.cuda)"


def check(build: TorchBuild) -> str:
    """Return what the installed torch says of itself.

    Raises:
        SystemExit: it is not this build; the message says what is installed.
    """
    shown = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=False
    )
    if shown.returncode:
        raise SystemExit(f"torch cannot be imported:\n{shown.stderr}")
    version, cuda = shown.stdout.split()
    if version.partition("+")[0] != build.version or cuda != str(build.cuda):
        raise SystemExit(
            f"{build.name} was asked for, torch {version} with CUDA {cuda} is installed: "
            "remove this environment (or run nox without -r) and install again"
        )
    return f"torch {version}, CUDA {cuda}, Python {sys.version.split()[0]}"


def pip(*arguments: str, silent: bool = False) -> bool:
    """Run pip in this Python; return whether it did what it was asked."""
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, check=False, capture_output=silent)
    return done.returncode == 0


def installed() -> str | None:
    """Return the version of the installed torch, from its metadata alone."""
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None


def install(build: TorchBuild) -> None:
    """Install the build: from a local wheel folder, from PyTorch's index, else from PyPI.

    Raises:
        SystemExit: pip could not install it.
    """
    requirement = f"torch=={build.version}"
    present = installed()
    if present and present.partition("+")[0] == build.version:
        return
    # 1. a folder that pip is configured with (find-links): no network, at once
    # (silent: where there is no such folder, pip would print an error that is none)
    if build.backend == "cpu" and pip("--no-index", "--no-deps", requirement, silent=True):
        if not pip("--quiet", requirement):  # what torch itself needs
            raise SystemExit(
                f"pip could not install what {build.name} needs: see its message above"
            )
        return
    # PyPI's wheel for macOS and Windows is the CPU build (data/torch_releases.csv)
    if build.backend == "cpu" and sys.platform != "linux":
        if not pip(requirement):
            raise SystemExit(f"pip could not install {build.name}: see its message above")
        return
    # 2. PyTorch's own index, given up after seconds where it cannot be reached
    patience = ("--retries", "1", "--timeout", "10")
    exact = f"{requirement}+{build.backend}"
    if build.index and pip(*patience, "--extra-index-url", build.index, exact):
        return
    # 3. what PyPI has
    if build.backend == "cpu":
        print(
            f"WARNING: PyTorch's index {build.index} did not answer. PyPI's torch for Linux is a "
            "CUDA build: it works without a GPU, but downloads several gigabytes.",
            file=sys.stderr,
        )
    if not (build.on_pypi or build.backend == "cpu") or not pip(requirement):
        raise SystemExit(f"pip could not install {build.name}: see its message above")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=["install", "check", "list"])
    parser.add_argument("build", nargs="?", choices=["docs", *BUILDS], default="docs")
    options = parser.parse_args()
    build = BUILDS[DOCS if options.build == "docs" else options.build]
    if options.action == "install":
        install(build)
    elif options.action == "check":
        print(check(build))
    else:
        for each in BUILDS.values():
            print(each.name, each.index or "PyPI", *each.tags)


if __name__ == "__main__":
    main()
