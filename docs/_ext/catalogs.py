"""Read the gettext catalogs of the pages, strictly: a fault is an error with file and line.

Sphinx and Babel compile a malformed catalog as far as they can; the rest shows in English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from babel.messages.pofile import unescape
from sphinx.errors import ExtensionError

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment
    from sphinx.util.typing import ExtensionMetadata

__all__ = [
    "CatalogError",
    "Entry",
    "catalog_folders",
    "is_source",
    "page_catalog",
    "read",
    "read_entries",
]

# The grammar of PO files (gettext manual, "The Format of PO Files") without contexts and
# plurals, which no page has.
_LINE = re.compile(r'(?:(?P<keyword>msgid|msgstr) +)?(?P<string>"(?:[^"\\]|\\[\\abfnrtv"])*")')


class CatalogError(ExtensionError):
    """A catalog that can't be read, with the place of the fault."""

    def __init__(self, path: Path, line: int, fault: str) -> None:
        """Take the file, the line (from 1) and what is wrong there."""
        super().__init__(f"{path}:{line}: {fault}")
        self.path, self.line, self.fault = path, line, fault


@dataclass(frozen=True)
class Entry:
    """One message of a catalog; `line` is where its msgid stands, from 1."""

    line: int
    fuzzy: bool
    msgid: str
    msgstr: str


def read_entries(path: Path) -> tuple[Entry, ...]:
    """Read all messages, the header left out; raise CatalogError on any fault of syntax."""
    return _parse(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4096)  # pages, downloads and checks all ask; a changed file has another time
def _parse(path: Path, _changed: int) -> tuple[Entry, ...]:
    fields = _fields(path)
    entries: dict[str, Entry] = {}
    for msgid, msgstr in zip(fields[::2], [*fields[1::2], None], strict=False):
        if msgid.keyword != "msgid":
            raise CatalogError(path, msgid.line, "msgstr without a msgid before it")
        if msgstr is None or msgstr.keyword != "msgstr":
            raise CatalogError(path, msgid.line, "this msgid has no msgstr")
        entry = Entry(msgid.line, msgid.fuzzy, msgid.text, msgstr.text)
        if (other := entries.setdefault(msgid.text, entry)) is not entry:
            raise CatalogError(path, entry.line, f"the same msgid as in line {other.line}")
    if "" not in entries:
        raise CatalogError(path, 1, 'the header is missing, the entry of msgid ""')
    return tuple(entry for entry in entries.values() if entry.msgid)


@dataclass
class _Field:
    line: int
    keyword: str
    text: str
    fuzzy: bool


def _fields(path: Path) -> list[_Field]:
    """Return the msgid and msgstr fields in their order, continued strings joined."""
    fields: list[_Field] = []
    fuzzy = False
    for number, row in _rows(path):
        if row.startswith("#"):
            # the flag belongs to the next msgid; an obsolete entry (#~) takes its own away
            fuzzy = not row.startswith("#~") and (fuzzy or bool(re.match(r"#,.*\bfuzzy\b", row)))
            continue
        match = _LINE.fullmatch(row)
        if not match:
            raise CatalogError(path, number, f"expected msgid, msgstr or a string, found {row}")
        text = unescape(match["string"])
        if match["keyword"]:
            fields.append(_Field(number, match["keyword"], text, fuzzy))
            fuzzy = False
        elif fields:
            fields[-1].text += text
        else:
            raise CatalogError(path, number, "a string without a msgid before it")
    return fields


def _rows(path: Path) -> list[tuple[int, str]]:
    """Return the numbered lines that are not empty."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise CatalogError(path, line, "not UTF-8; save the file in that encoding") from None
    # not splitlines(), which also cuts at a form feed or U+2028 inside a string
    rows = ((number, row.strip()) for number, row in enumerate(text.split("\n"), 1))
    return [(number, row) for number, row in rows if row]


def read(path: Path) -> dict[str, str]:
    """Return {message: translation} of one catalog, the unfinished ones left out."""
    entries = read_entries(path)
    return {entry.msgid: entry.msgstr for entry in entries if entry.msgstr and not entry.fuzzy}


def is_source(config: Config) -> bool:
    """Tell whether this build is in the language of the sources."""
    return bool(config.language == config.guide_source_language)


def catalog_folders(config: Config, source_folder: Path) -> list[Path]:
    """Return the folders that hold catalogs in this build's language."""
    folders = (source_folder / d / config.language / "LC_MESSAGES" for d in config.locale_dirs)
    return [folder for folder in folders if folder.is_dir()]


def page_catalog(env: BuildEnvironment, docname: str) -> dict[str, str]:
    """Return {message: translation} of one page; empty in the language of the sources."""
    messages: dict[str, str] = {}
    if not is_source(env.config):
        for folder in catalog_folders(env.config, Path(env.srcdir)):
            path = folder / f"{docname}.po"
            messages |= read(path) if path.exists() else {}
    return messages


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the setting that names the language of the sources."""
    app.add_config_value("guide_source_language", "en", "env", types=frozenset({str}))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
