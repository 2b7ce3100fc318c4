"""The wheel of the package, built from the source beside the site, once for both languages."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder
from sphinx.errors import ExtensionError

__all__ = ["build_wheel", "source_digest"]


def source_digest(project: Path) -> str:
    """Return a digest of all that goes into the wheel."""
    digest = hashlib.sha256()
    top = (
        path
        for path in project.iterdir()
        if path.suffix in {".toml", ".md"} or path.name == "LICENSE"
    )
    sources = (path for path in (project / "src").rglob("*") if path.suffix not in {".pyc", ".pyo"})
    for path in sorted([*top, *sources]):
        if path.is_file():
            digest.update(path.relative_to(project).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def build_wheel(project: Path, cache: Path) -> Path:
    """Return the wheel of the project, from `cache/<digest>/` or built now, without network.

    hatchling writes the same bytes for the same source: its dates are fixed, or those of
    SOURCE_DATE_EPOCH.

    Raises:
        ExtensionError: The project cannot be built; the message says why.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "fixed")
    folder = cache / f"{source_digest(project)}-{epoch}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=cache, prefix="unfinished-"))
        try:
            list(WheelBuilder(str(project)).build(directory=str(made), versions=["standard"]))
            if not folder.is_dir():
                made.rename(folder)  # whole or not at all; a second build may have been first
        except OSError as error:
            if not folder.is_dir():
                raise ExtensionError(f"{project}: no wheel could be built: {error}") from error
        except Exception as error:
            raise ExtensionError(f"{project}: no wheel could be built: {error}") from error
        finally:
            shutil.rmtree(made, ignore_errors=True)
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise ExtensionError(
            f"{folder}: expected one wheel, found {len(wheels)}; remove the folder"
        )
    return wheels[0]
