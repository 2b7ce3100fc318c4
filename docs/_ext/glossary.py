"""The terms of this guide: their list, and a link to it where a page first uses one.

`reference/glossary.csv` holds each term in English and Chinese, what it means, and the page that
teaches it.  The directive `glossary-terms` shows all.  On every other page the first use in the
running text becomes a link; headings, code and links stay as they are.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx import addnodes
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["GlossaryTerms", "Term", "link_terms", "read_terms", "setup"]

HAN = "\u3400-\u9fff"
# in these a link would be wrong, or lead away from what the reader is doing
SKIPPED = (
    nodes.title, nodes.reference, nodes.literal, nodes.literal_block, nodes.rubric, nodes.caption,
    nodes.math, nodes.strong, nodes.term, nodes.table, addnodes.pending_xref, addnodes.toctree,
)  # fmt: skip


@dataclass(frozen=True)
class Term:
    """One row of the table."""

    term: str
    forms: tuple[str, ...]
    chinese: str
    chinese_forms: tuple[str, ...]
    everyday: str
    """Where the word often means something else, so that only its forms are linked: en, zh, both."""
    not_chinese: tuple[str, ...]
    """Words that mean the same and are not used here."""
    definition: str
    chinese_definition: str
    page: str
    """The page that teaches it, without suffix."""

    @property
    def anchor(self) -> str:
        """Return the identifier of its entry, the same in both languages."""
        return "term-" + self.term.replace(" ", "-")


def read_terms(path: Path) -> tuple[Term, ...]:
    """Read the table.

    Raises:
        ExtensionError: A field is empty, a term or a form stands twice; with file and line.
    """
    terms: list[Term] = []
    seen: set[str] = set()
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        for row in rows:
            place = f"{path}:{rows.line_num}"
            optional = {"forms", "chinese_forms", "everyday", "not_chinese"}
            if missing := [
                name for name, value in row.items() if name not in optional and not value
            ]:
                raise ExtensionError(f"{place}: no {', '.join(missing)}")
            lists: dict[str, Any] = {
                name: tuple(filter(None, row[name].split("|"))) for name in optional - {"everyday"}
            }
            term = Term(**{**row, **lists})
            names = {term.term, *term.forms}
            if twice := seen & names:
                raise ExtensionError(f"{place}: {', '.join(sorted(twice))} stands twice")
            seen |= names
            terms.append(term)
    return tuple(terms)


class GlossaryTerms(SphinxDirective):
    """List all terms in the alphabet's order of the English ones."""

    def run(self) -> list[nodes.Node]:
        """Leave a place with an anchor for each term."""
        path = _path(self.config, Path(self.env.srcdir))
        self.env.note_dependency(str(path))
        chinese = self.config.language.startswith("zh")
        items = []
        for term in sorted(read_terms(path), key=lambda term: term.term.lower()):
            if term.page not in self.env.found_docs:
                raise ExtensionError(f"{path}: {term.term}: there is no page {term.page}")
            shown, other = (term.chinese, term.term) if chinese else (term.term, term.chinese)
            text = (
                shown
                if shown == other
                else f"{shown}（{other}）"
                if chinese
                else f"{shown} ({other})"
            )
            name = nodes.term("", nodes.Text(text), ids=[term.anchor])
            meaning = nodes.paragraph(
                "", nodes.Text(term.chinese_definition if chinese else term.definition)
            )
            link = addnodes.pending_xref(
                "", nodes.inline("", ""), refdomain="std", reftype="doc", refexplicit=False,
                reftarget=f"/{term.page}", refdoc=self.env.docname, refwarn=True,
            )  # fmt: skip
            where = nodes.paragraph("", "→ ", link)
            items.append(nodes.definition_list_item("", name, nodes.definition("", meaning, where)))
        return [nodes.definition_list("", *items, classes=["glossary-terms"])]


def _path(config: Config, source: Path) -> Path:
    return source / str(config.guide_glossary)


@functools.lru_cache(maxsize=4)
def _finder(path: Path, _digest: str, *, chinese: bool) -> tuple[re.Pattern[str], dict[str, Term]]:
    """Return a pattern for all terms, longest first, and what each match means."""
    means: dict[str, Term] = {}
    for term in read_terms(path):
        name = term.chinese if chinese else term.term
        clear = term.everyday not in ("both", "zh" if chinese else "en")
        forms = (*([name] if clear else []), *(term.chinese_forms if chinese else term.forms))
        means.update({form.lower(): term for form in forms})
    longest = sorted(means, key=len, reverse=True)
    parts = [
        re.escape(each) if re.search(f"[{HAN}]", each) else rf"\b{re.escape(each)}\b"
        for each in longest
    ]
    return re.compile("|".join(parts), re.IGNORECASE), means


def link_terms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Turn the first use of each term into a link to its entry."""
    glossary = Path(app.config.guide_glossary).with_suffix("").as_posix()
    if app.builder.format != "html" or docname == glossary or glossary not in app.env.found_docs:
        return
    chinese = app.config.language.startswith("zh")
    digest = app.config.guide_glossary_digest
    finder, means = _finder(_path(app.config, Path(app.srcdir)), digest, chinese=chinese)
    address = app.builder.get_relative_uri(docname, glossary)
    linked: set[Term] = set()
    for text in list(_running_text(doctree)):
        parts: list[nodes.Node] = []
        end = 0
        said = text.astext()
        for found in finder.finditer(said):
            term = means[found[0].lower()]
            if term in linked or term.page == docname:
                continue
            linked.add(term)
            parts += [nodes.Text(said[end : found.start()])] if found.start() > end else []
            target = f"{address}#{term.anchor}"
            parts.append(
                nodes.reference("", found[0], internal=True, refuri=target, classes=["term"])
            )
            end = found.end()
        if parts:
            parts += [nodes.Text(said[end:])] if end < len(said) else []
            text.parent.replace(text, parts)


def _running_text(doctree: nodes.document) -> Iterator[nodes.Text]:
    for paragraph in doctree.findall(nodes.paragraph):
        for text in paragraph.findall(nodes.Text):
            above: Any = text.parent
            while above is not None and not isinstance(above, SKIPPED):
                above = above.parent
            if above is None:
                yield text


def note_table(app: Sphinx, config: Config) -> None:
    """Write all pages again when the table has changed."""
    path = _path(config, Path(app.srcdir))
    if path.exists():
        config.guide_glossary_digest = hashlib.sha256(path.read_bytes()).hexdigest()


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directive and the links."""
    app.add_config_value("guide_glossary", "reference/glossary.csv", "", (str,))
    app.add_config_value("guide_glossary_digest", "", "html", (str,))
    app.add_directive("glossary-terms", GlossaryTerms)
    app.connect("config-inited", note_table)
    app.connect("doctree-resolved", link_terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
