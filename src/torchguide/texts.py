"""Say things in English or Chinese; both stand beside each other in data/messages.csv."""

from __future__ import annotations

import csv
import io
import locale
import os
import sys
from typing import Any

__all__ = ["LANGUAGES", "Texts", "messages", "system_language"]

LANGUAGES = ("en", "zh")


def system_language() -> str:
    """Take the language from the usual variables, else from the system."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name, "")
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415 -- only Windows needs it

        # the low ten bits name the language; 4 is Chinese
        return "zh" if ctypes.windll.kernel32.GetUserDefaultUILanguage() & 0x3FF == 4 else "en"
    told = locale.getlocale()[0] or ""
    return "zh" if told.lower().startswith(("zh", "chinese")) else "en"


class _Values(dict[str, Any]):
    """Fill a placeholder that has no value with a question mark: a text must never fail."""

    def __missing__(self, key: str) -> str:
        return "?"


def _rows(name: str) -> dict[str, dict[str, str]]:
    from torchguide.facts import read_text  # noqa: PLC0415 -- slow, and not every command says texts

    rows = csv.DictReader(io.StringIO(read_text(name), newline=""))
    key = (rows.fieldnames or ["?"])[0]
    return {row[key]: row for row in rows}


def messages(language: str, prefixes: tuple[str, ...]) -> dict[str, str]:
    """Give the messages whose keys begin with one of the prefixes, with their placeholders."""
    rows = _rows("messages.csv")
    return {key: row[language] for key, row in rows.items() if key.startswith(prefixes)}


class Texts:
    """The messages and the findings' texts in one language."""

    def __init__(self, language: str, findings: str = "findings.csv") -> None:
        """Read the texts, those of findings from their own file.

        An unknown language is an error of the program.
        """
        if language not in LANGUAGES:
            raise ValueError(f"language is {language!r}; expected one of {LANGUAGES}")
        self.language = language
        self._messages = _rows("messages.csv")
        self._findings = _rows(findings)

    def say(self, key: str, **values: object) -> str:
        """Give a message with its placeholders filled."""
        return self._messages[key][self.language].format_map(_Values(values))

    def label(self, key: str, value: str = "") -> str:
        """Give a message with the language's colon, and the value behind it."""
        colon = ": " if self.language == "en" else "："
        return f"{self.say(key)}{colon}{value}".rstrip()

    def title(self, finding: str, **values: object) -> str:
        """Give a finding's title."""
        return self._findings[finding][f"title_{self.language}"].format_map(_Values(values))

    def advice(self, finding: str, **values: object) -> str:
        """Give what a finding means and what to do.

        Where a value is not known, the finding's row ".short" says it without values.
        """
        short = self._findings.get(f"{finding}.short")
        row = short if short and "?" in values.values() else self._findings[finding]
        return row[f"advice_{self.language}"].format_map(_Values(values))

    def page(self, finding: str) -> str:
        """Name the page that explains a finding, without language and suffix."""
        return self._findings[finding]["page"]

    def severity(self, finding: str) -> str:
        """Give a finding's severity, where its file has one."""
        return self._findings[finding]["severity"]
