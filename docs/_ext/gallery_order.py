"""Order the gallery by ``gallery_order.txt`` files, and let no script be forgotten.

The file in the folder of the examples names its sections, the file in each section
names its scripts, one name a line, in the order to show them. A name without a script
or a script without its name ends the build.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.errors import ExtensionError

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["ORDER_FILE", "ScriptOrder", "read_scripts", "read_sections"]

ORDER_FILE = "gallery_order.txt"


def read_scripts(section: Path) -> list[str]:
    """Read the order of the scripts in a section.

    Raises:
        ExtensionError: If the names are not exactly those of the scripts there.
    """
    return _read(section, {path.name for path in section.glob("*.py")}, "script")


def read_sections(examples: Path) -> list[str]:
    """Read the order of the sections: the folders that have a ``GALLERY_HEADER.rst``.

    Raises:
        ExtensionError: If the names are not exactly those of the sections there.
    """
    found = {path.parent.name for path in examples.glob("*/GALLERY_HEADER.rst")}
    return _read(examples, found, "section")


def _read(folder: Path, found: set[str], kind: str) -> list[str]:
    """Read a folder's order and compare it with what was found in the folder."""
    path = folder / ORDER_FILE
    if not path.is_file():
        raise ExtensionError(f"{path} is missing; write each {kind} of the folder on a line of it")
    names: dict[str, int] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        name = line.strip()
        if not name:
            continue
        if name in names:
            raise ExtensionError(f"{path}:{number}: {name} is on line {names[name]} already")
        if name not in found:
            raise ExtensionError(f"{path}:{number}: there is no {kind} {name} in {folder}")
        names[name] = number
    for name in sorted(found - names.keys()):
        raise ExtensionError(f"{folder / name} is not listed in {path}; add it where it belongs")
    return list(names)


class ScriptOrder:
    """The key that sphinx-gallery sorts the scripts of a section by."""

    def __init__(self, src_dir: str) -> None:
        """Remember the section; sphinx-gallery also asks without one, to see that the key works."""
        self.section = Path(src_dir)

    @cached_property
    def order(self) -> list[str]:
        """The names of the section's scripts, read when the first is sorted."""
        return read_scripts(self.section)

    def __call__(self, filename: str) -> int:
        """Return the place of a script in its section."""
        return self.order.index(Path(filename).name)


def _check_order(app: Sphinx, config: Config) -> None:
    """Read all orders before anything is executed, and hand them to sphinx-gallery."""
    settings = config.sphinx_gallery_conf
    sections: list[str] = []
    for folder in settings["examples_dirs"]:
        examples = Path(app.srcdir, folder)
        for name in read_sections(examples):
            read_scripts(examples / name)
            sections.append(f"{folder}/{name}")
    settings["subsection_order"] = sections
    settings["within_subsection_order"] = "gallery_order.ScriptOrder"


def _ignore_readmes(_app: Sphinx, config: Config) -> None:
    """Let a README.md describe a folder beside the sections, without making it one of them.

    sphinx-gallery looks for GALLERY_HEADER and README with every suffix that Sphinx can read.
    """
    config.sphinx_gallery_conf["source_suffix"] = {".rst": "restructuredtext"}


def setup(app: Sphinx) -> ExtensionMetadata:
    """Set sphinx-gallery's order before sphinx-gallery reads its settings (at priority 10)."""
    app.connect("config-inited", _check_order, priority=5)
    app.connect("config-inited", _ignore_readmes, priority=20)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
