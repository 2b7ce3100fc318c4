"""Keep the Chinese catalogs complete: `update` them from the English source, or `check` them.

    python tools/i18n.py update    add new messages, drop old ones, mark similar ones as fuzzy
    python tools/i18n.py check     fail on all that would not be good Chinese, with file and line

Both make the templates from the English source with Sphinx. The caches of an English build
are used; without them every page and example is executed first.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from babel.messages.catalog import Catalog, TranslationError
from babel.messages.checkers import checkers
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from catalogs import CatalogError, Entry, read_entries  # noqa: E402 - beside the site's sources
from chinese_style import has_chinese, has_words, style_problems  # noqa: E402
from complete_translations import UI_DOMAIN, entry_problems  # noqa: E402
from glossary import Term, read_terms  # noqa: E402
from message_markup import MARKDOWN, RST, Markup  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Template", "check", "main", "make_templates", "problems", "update"]

LANGUAGE = "zh_CN"
CATALOGS = Path("docs", "locales", LANGUAGE, "LC_MESSAGES")
GLOSSARY = Path("docs/reference/glossary.csv")
SAME = Path("docs", "locales", LANGUAGE, "same_as_english.csv")
UPDATE = "run tools/i18n.py update"
# No dates and no names: they would change every catalog, and git knows them.
HEADER = """\
# Chinese of torchguide, CC BY 4.0.
msgid ""
msgstr ""
"Project-Id-Version: torchguide\\n"
"Language: zh_CN\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"

"""


@dataclass(frozen=True)
class Template:
    """The messages of one domain, in their order, each with its place in the source."""

    catalog: Catalog
    places: dict[str, str]


def make_templates(root: Path) -> dict[str, Template]:
    """Extract all messages of the English source; exit with Sphinx's words where that fails."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "templates")
        command = [
            *(sys.executable, "-m", "sphinx", "-b", "gettext", "-q", "-W", "--keep-going"),
            *("-j", "auto", "-D", "gettext_location=1", "-d", str(Path(folder, "doctrees"))),
            *(str(root / "docs"), str(out)),
        ]
        # a folder of its own: a doctree made by older extensions would give older messages
        result = subprocess.run(
            command, env=os.environ | {"DOCS_LANGUAGE": "en"}, cwd=root, check=False
        )
        if result.returncode:
            sys.exit("i18n: Sphinx could not extract the messages; its output is above")
        found = {}
        for path in sorted(out.rglob("*.pot")):
            with path.open("rb") as file:
                catalog = read_po(file, abort_invalid=True)
            domain = path.relative_to(out).with_suffix("").as_posix()
            found[domain] = Template(catalog, _places(catalog, out, root))
    return found


def _places(catalog: Catalog, out: Path, root: Path) -> dict[str, str]:
    places = {}
    for message in catalog:
        if message.id and message.locations:
            name, line = message.locations[0]
            path = Path(os.path.normpath(out / name))
            path = path.relative_to(root) if path.is_relative_to(root) else path
            places[str(message.id)] = f"{path.as_posix()}:{line}"
    return places


def update(root: Path, templates: dict[str, Template]) -> list[str]:
    """Bring every catalog up to date and return a line for each message left to translate."""
    todo = []
    for domain, template in templates.items():
        path = root / CATALOGS / f"{domain}.po"
        place = path.relative_to(root).as_posix()
        old = path.read_text("utf-8") if path.exists() else ""
        if old:
            read_entries(path)  # Babel would drop what it does not understand
        new = _merged(old, template, domain)
        if new != old:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(new, "utf-8", newline="\n")
            print(f"written: {place}")
        for entry in read_entries(path):
            if entry.fuzzy or not entry.msgstr:
                state = "fuzzy" if entry.fuzzy else "untranslated"
                todo.append(f"{place}:{entry.line}: {state}: {entry.msgid!r}")
    return todo


def _merged(old: str, template: Template, domain: str) -> str:
    catalog = read_po(io.StringIO(old), locale=LANGUAGE)
    catalog.update(template.catalog)
    for message in catalog:
        message.previous_id = []
        if domain != UI_DOMAIN:  # prose: a brace or a percent sign is no format
            message.flags -= {"python-format", "python-brace-format"}
    file = io.BytesIO()
    write_po(
        file, catalog, width=0, omit_header=True, no_location=True, ignore_obsolete=True,
        # pages keep the order of reading; templates have none that stays
        sort_output=domain == UI_DOMAIN,
    )  # fmt: skip
    return HEADER + file.getvalue().decode().strip() + "\n"


def check(root: Path, templates: dict[str, Template]) -> list[str]:
    """Return one line for each fault."""
    return sorted(problems(root, templates))


def problems(root: Path, templates: dict[str, Template]) -> Iterator[str]:
    """Yield `file:line: fault` for all that keeps the Chinese site from being complete."""
    same = _SameAsEnglish(root / SAME)
    yield from same.faults
    terms = read_terms(root / GLOSSARY) if (root / GLOSSARY).exists() else ()
    catalogs = {
        path.relative_to(root / CATALOGS).with_suffix("").as_posix(): path
        for path in sorted((root / CATALOGS).rglob("*.po"))
    }
    for domain in sorted(templates.keys() - catalogs.keys()):
        yield f"{(CATALOGS / domain).as_posix()}.po:1: this catalog is missing, {UPDATE}"
    for domain, path in catalogs.items():
        place = path.relative_to(root).as_posix()
        if domain not in templates:
            yield f"{place}:1: no page has this catalog; delete it, or rename it with its page"
            continue
        try:
            entries = read_entries(path)
        except CatalogError as error:
            yield f"{place}:{error.line}: {error.fault}"
            continue
        yield from _compare(place, entries, templates[domain])
        for number, row in enumerate(path.read_text("utf-8").split("\n"), 1):
            if row.startswith("#~"):
                yield f"{place}:{number}: an obsolete entry, {UPDATE}"
        for entry in entries:
            for fault in (
                *_entry_faults(entry, domain, root / "docs", same),
                *_other_words(entry, terms),
            ):
                yield f"{place}:{entry.line}: {fault}"
    yield from same.unused()


def _other_words(entry: Entry, terms: tuple[Term, ...]) -> Iterator[str]:
    """Name words for which this guide has another one."""
    for term in terms:
        for word in term.not_chinese:
            if word in entry.msgstr:
                yield f"this guide says {term.chinese}, not {word}: {entry.msgstr!r}"


def _compare(place: str, entries: tuple[Entry, ...], template: Template) -> Iterator[str]:
    wanted = {str(message.id) for message in template.catalog if message.id}
    present = {entry.msgid: entry.line for entry in entries}
    for message in wanted - present.keys():
        source = template.places.get(message, place)
        yield f"{source}: not in {place}, {UPDATE}: {message!r}"
    for message in present.keys() - wanted:
        yield f"{place}:{present[message]}: the page no longer says this, {UPDATE}: {message!r}"


def _entry_faults(
    entry: Entry, domain: str, source_folder: Path, same: _SameAsEnglish
) -> Iterator[str]:
    yield from entry_problems(entry, domain, source_folder)
    markup: Markup | None = None
    if domain == UI_DOMAIN:
        yield from _format_faults(entry)
    else:
        markup = MARKDOWN if (source_folder / f"{domain}.md").exists() else RST
    if has_chinese(entry.msgstr):
        yield from style_problems(entry.msgstr, markup)
    elif entry.msgstr and has_words(entry.msgstr, markup) and not same.allows(entry):
        yield f"no Chinese; translate it, or give a reason in {SAME.as_posix()}: {entry.msgstr!r}"


def _format_faults(entry: Entry) -> Iterator[str]:
    catalog = Catalog(locale=LANGUAGE)
    message = catalog.add(entry.msgid, entry.msgstr)
    for checker in checkers:
        try:
            checker(catalog, message)
        except TranslationError as error:
            yield f"{error}: {entry.msgstr!r}"


class _SameAsEnglish:
    """The messages that are the same in both languages, each with its reason."""

    def __init__(self, path: Path) -> None:
        self.lines: dict[str, int] = {}
        self.faults: list[str] = []
        self.used: set[str] = set()
        if path.exists():
            with path.open(encoding="utf-8", newline="") as file:
                rows = csv.DictReader(file)
                for row in rows:
                    self.lines[row["message"]] = rows.line_num
                    if not (row.get("reason") or "").strip():
                        fault = f"no reason for {row['message']!r}"
                        self.faults.append(f"{SAME.as_posix()}:{rows.line_num}: {fault}")

    def allows(self, entry: Entry) -> bool:
        if entry.msgid == entry.msgstr and entry.msgid in self.lines:
            self.used.add(entry.msgid)
            return True
        return False

    def unused(self) -> Iterator[str]:
        for message in self.lines.keys() - self.used:
            yield f"{SAME.as_posix()}:{self.lines[message]}: no catalog has this: {message!r}"


def main(arguments: list[str] | None = None) -> int:
    """Run one of the two commands; exit with 1 where something is left to do."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=["update", "check"])
    command = parser.parse_args(arguments).command
    templates = make_templates(ROOT)
    if command == "update":
        todo = update(ROOT, templates)
        print("\n".join(todo))
        print(f"i18n: {len(templates)} catalogs; {len(todo)} messages to translate")
        return 0
    found = check(ROOT, templates)
    count = sum(len(template.places) for template in templates.values())
    print("\n".join(found))
    print(f"i18n: {len(templates)} catalogs, {count} messages; {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
