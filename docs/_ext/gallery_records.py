"""What each gallery script produced: which files, from which code, in which environment.

sphinx-gallery writes its checksum of a script before the page, the notebook and the thumbnail,
and knows nothing of torch.  So each script has a record of ours, written when everything else
stands; outputs without a record that fits them are deleted, and sphinx-gallery makes them anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Example", "find_examples", "read_provenance", "remove_orphans"]

RECORD = ".execution.json"


@dataclass(frozen=True)
class Example:
    """A script and the place of its outputs."""

    source: Path  # examples/tensors/add_rows.py
    target: Path  # docs/gallery/tensors/add_rows.py, a copy
    environment: str  # digest of what executes it

    @property
    def record(self) -> Path:
        """Return the path of the record."""
        return self.target.with_suffix(RECORD)

    def outputs(self) -> list[Path]:
        """Return the files that sphinx-gallery made from the script, besides the copy."""
        stem, folder = self.target.stem, self.target.parent
        beside = (".rst", ".ipynb", ".zip", ".py.md5", ".cost.json", "_codeobj.json")
        image = re.compile(rf"sphx_glr_{re.escape(stem)}_(\d+|thumb)(_\w+)?\.\w+")
        images = [p for p in folder.glob("images/**/sphx_glr_*") if image.fullmatch(p.name)]
        return sorted([p for end in beside if (p := folder / (stem + end)).exists()] + images)

    def is_whole(self) -> bool:
        """Say whether the outputs are those that the record tells of, of this script, from here."""
        try:
            return bool(_read(self.record)["key"] == self._key())
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def keep(self, provenance: dict[str, str]) -> None:
        """Write the record of a script that has just been executed, if it passed."""
        if not self.target.with_suffix(".py.md5").exists():
            return
        text = json.dumps({"key": self._key(), "provenance": provenance}, indent=1, sort_keys=True)
        new = self.record.with_suffix(".new")
        new.write_text(text + "\n", encoding="utf-8")
        os.replace(new, self.record)  # noqa: PTH105  # whole or not at all

    def remove(self) -> None:
        """Delete all outputs, the record first."""
        for path in [self.record, *self.outputs()]:
            path.unlink(missing_ok=True)

    def _key(self) -> str:
        digest = hashlib.sha256(f"{self.environment}\n".encode() + self.source.read_bytes())
        for path in self.outputs():
            digest.update(f"{path.name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()[:32]


def find_examples(conf: dict[str, Any], srcdir: Path, environment: str) -> list[Example]:
    """Return the scripts that sphinx-gallery executes with this configuration."""
    found = []
    for examples, gallery in _folders(conf, srcdir):
        for source in sorted(examples.rglob("*.py")):
            path = os.path.normpath(source)
            executed = re.search(conf["filename_pattern"], path)
            if executed and not re.search(conf["ignore_pattern"], path):
                found.append(Example(source, gallery / source.relative_to(examples), environment))
    return found


def remove_orphans(conf: dict[str, Any], srcdir: Path) -> None:
    """Delete what was made from scripts and sections that are no more."""
    for examples, gallery in _folders(conf, srcdir):
        for target in sorted(gallery.rglob("*.py")):
            if not (examples / target.relative_to(gallery)).exists():
                Example(target, target, "").remove()
                target.unlink()
        for section in [path for path in gallery.glob("*/") if path.name != "images"]:
            if section.is_dir() and not (examples / section.name).is_dir():
                shutil.rmtree(section)


def read_provenance(srcdir: Path, docname: str) -> dict[str, str] | None:
    """Return where the outputs of a gallery page come from; None for any other page."""
    path = srcdir / f"{docname}{RECORD}"
    try:
        return dict(_read(path)["provenance"])
    except (OSError, ValueError, KeyError):
        return None


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def _folders(conf: dict[str, Any], srcdir: Path) -> list[tuple[Path, Path]]:
    def listed(name: str) -> list[str]:
        value = conf[name]
        return value if isinstance(value, list) else [value]

    pairs = zip(listed("examples_dirs"), listed("gallery_dirs"), strict=True)
    return [(Path(srcdir, left).resolve(), Path(srcdir, right).resolve()) for left, right in pairs]
