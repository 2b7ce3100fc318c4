"""The words that readers type to find a page, where the page itself says it otherwise.

They stand in `reference/search_words.csv`; and words that the glossary avoids in Chinese lead to
the page of the one that it uses. The Chinese site knows the English words, too.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

from sphinx.errors import ExtensionError
from sphinx.util import logging

from glossary import read_terms

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["read_typed_words"]

logger = logging.getLogger(__name__)
TABLE = "search_words.csv"
Typed = list[tuple[str, str]]  # page, words that a reader types to find it


def read_typed_words(folder: Path, language: str) -> Typed:
    """Read the words that readers type: English on the English site, both on the Chinese one.

    Raises:
        ExtensionError: A field is empty; with file and line.
    """
    typed: Typed = []
    path = folder / TABLE
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        for row in rows:
            page, english, chinese = (row[name] for name in ("page", "english", "chinese"))
            if not (page and english and chinese):
                raise ExtensionError(f"{path}:{rows.line_num}: expected page, english, chinese")
            typed.append((page, english))
            if language == "zh_CN":
                typed.append((page, chinese))
    if language == "zh_CN":
        terms = read_terms(folder / "glossary.csv")
        typed += [(term.page, " ".join(term.not_chinese)) for term in terms]
    return typed


def note_typed_words(
    app: Sphinx, env: BuildEnvironment, _added: set[str], _changed: set[str], _removed: set[str]
) -> list[str]:
    """Read the tables; where they have changed, let a page be written so that the index is."""
    typed = read_typed_words(Path(app.srcdir) / "reference", app.config.language)
    known = getattr(env, "guide_typed_words", None)
    vars(env)["guide_typed_words"] = typed
    return [] if known in (None, typed) else [app.config.root_doc]


def check_pages(_app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of words for a page that is not there."""
    typed: Typed = vars(env)["guide_typed_words"]
    for page in sorted({page for page, _words in typed} - env.found_docs):
        logger.warning("reference/%s: there is no page %s", TABLE, page)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Read the tables before a build decides what it has to do."""
    app.connect("env-get-outdated", note_typed_words)
    app.connect("env-check-consistency", check_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
