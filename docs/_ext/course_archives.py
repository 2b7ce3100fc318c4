"""Archives of the downloads: one for each section, one for the whole course."""

from __future__ import annotations

import zipfile
from io import BytesIO
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from sphinx.locale import _

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["archive", "readme", "sections"]

_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can hold: same files, same bytes


def sections(docnames: Iterable[str]) -> dict[str, list[str]]:
    """Group pages by the folders that hold them, at every depth; "" is the whole course."""
    groups: dict[str, list[str]] = {}
    for docname in sorted(docnames):
        for folder in PurePosixPath(docname).parents:
            groups.setdefault("" if str(folder) == "." else str(folder), []).append(docname)
    return groups


def archive(files: Mapping[str, bytes], top: str) -> bytes:
    """Zip the files under one folder `top`, so that unpacking leaves no litter."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{top}/{name}", _DATE)
            entry.external_attr = 0o644 << 16
            target.writestr(entry, files[name], zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def readme(title: str, example: str, url: str, packages: Iterable[str]) -> str:
    """Say how to run what is in an archive, in the language of the build."""
    install = f"python -m pip install {' '.join(packages)}"
    parts = [
        f"# {title}",
        _(
            "Each lesson is here twice: as a script (.py) and as a notebook (.ipynb). Each runs alone, without network."
        ),
        _("You need Python 3.10 or newer, and these packages:"),
        f"    {install}",
        _("Run a script:"),
        f"    python {example}.py",
        _("Or open a notebook in Jupyter, VS Code or Colab. The first cell says what is missing."),
        _("The same pages with their outputs: {url}").format(url=url),
        _("Text: CC BY 4.0. Code: Apache 2.0."),
    ]
    return "\n\n".join(parts) + "\n"
