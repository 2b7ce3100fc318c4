"""Know that a finished site is up to date, without starting Sphinx.

Sphinx takes seconds to find out that nothing changed: most of them go into imports.  The stamp
of a finished build holds a digest of everything that went in (files, versions, settings) and of
what came out; when both still fit, there is nothing to do.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from execution_environment import find_environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Stamp"]

# made by builds and tools, not part of the source
IGNORED = frozenset({"build", "dist", "__pycache__", "node_modules"})
VARIABLES = ("DOCS_", "SOURCE_DATE_EPOCH", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")


class Stamp:
    """The state of the source tree and of what a build made from it."""

    def __init__(self, path: Path, root: Path, outputs: Iterable[Path], request: object) -> None:
        """Prepare to compare.

        Args:
            path: the file that keeps the stamp of the last finished build.
            root: the repository.
            outputs: the folders that a build fills.
            request: what was asked for, for instance languages and folders.
        """
        self.path = path
        self.outputs = list(outputs)
        self.inputs = self._inputs(root, request)

    def fits(self) -> bool:
        """Say whether nothing changed since the last finished build, neither in nor out."""
        try:
            last = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return False
        return bool(last == self._now())

    def remove(self) -> None:
        """Forget the last build: another one begins."""
        self.path.unlink(missing_ok=True)

    def write(self) -> None:
        """Remember a build that ended well, made from the source as it was at the beginning."""
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self._now()), encoding="utf-8")
        os.replace(new, self.path)  # noqa: PTH105  # whole or not at all

    def _now(self) -> dict[str, str]:
        digest = hashlib.sha256()
        for folder in self.outputs:
            for entry in _files(folder):
                about = entry.stat()
                digest.update(f"{entry.path}\0{about.st_size}\0{about.st_mtime_ns}\n".encode())
        return {"in": self.inputs, "out": digest.hexdigest()}

    def _inputs(self, root: Path, request: object) -> str:
        variables = {k: v for k, v in os.environ.items() if k.startswith(VARIABLES)}
        environment = find_environment(root / "src" / "torchguide")
        packages = sorted(p.name for p in Path(sysconfig.get_path("purelib")).glob("*-info"))
        facts = [request, sorted(variables.items()), environment.digest, sys.version, packages]
        digest = hashlib.sha256(repr(facts).encode())
        skipped = {path.resolve() for path in self.outputs}
        for entry in _files(root, skipped):
            if not entry.name.endswith((".mo", ".pyc")):
                digest.update(f"{entry.path}\0".encode())
                digest.update(hashlib.sha256(Path(entry.path).read_bytes()).digest())
        return digest.hexdigest()


def _files(folder: Path, skipped: Iterable[Path] = ()) -> Iterator[os.DirEntry[str]]:
    """Yield all files below a folder, in order, but those of tools, builds and other folders."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir():
            hidden = entry.name in IGNORED or entry.name.startswith(".")
            if not hidden and Path(entry.path).resolve() not in skipped:
                yield from _files(Path(entry.path), skipped)
        elif entry.is_file():
            yield entry
