"""What a message and its translation must have in common: code, roles, targets, formulas."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["MARKDOWN", "RST", "Markup", "differences"]

_EXPLICIT_TITLE = re.compile(r"(?s)(?P<title>.+?)\s*<(?P<target>[^<>]+)>")
# Roles whose text is shown as it stands, so that a translation may change all of it.
_TEXT_ROLES = {"abbr", "dfn", "sub", "sup", "subscript", "superscript", "emphasis", "strong"}


class Markup:
    """One markup language: how its inline constructs look."""

    def __init__(self, name: str, *constructs: str) -> None:
        """Take the name and the patterns of the constructs, the first match winning."""
        self.name = name
        self.pattern = re.compile("|".join(constructs), flags=re.DOTALL)

    def constructs(self, text: str) -> Counter[str]:
        """Count what must be the same in both languages, each in a readable form."""
        found: Counter[str] = Counter()
        for match in self.pattern.finditer(text):
            groups = {name: value for name, value in match.groupdict().items() if value is not None}
            if "role" in groups:
                found[_role(groups["role"], groups["content"])] += 1
            elif "target" in groups:
                found[f"link to {groups['target']}"] += 1
                # what stands inside a link's text counts too
                found += self.constructs(groups.get("text", ""))
            else:
                found[" ".join(match.group().split())] += 1
        return found

    def plain(self, text: str) -> str:
        """Return the text as a reader sees it, with X for code and for formulas."""

        def shown(match: re.Match[str]) -> str:
            groups = match.groupdict()
            if groups.get("text") is not None:
                return self.plain(groups["text"])
            if groups.get("role") is not None:
                title = _EXPLICIT_TITLE.fullmatch(groups["content"])
                if title:
                    return title["title"]
                return groups["content"] if groups["role"] in _TEXT_ROLES else "X"
            return "X"

        return self.pattern.sub(shown, text)


def _role(name: str, content: str) -> str:
    if name in _TEXT_ROLES:
        return f"role {name}"
    explicit = _EXPLICIT_TITLE.fullmatch(content)
    return f"role {name}: {explicit['target'] if explicit else ' '.join(content.split())}"


MARKDOWN = Markup(
    "Markdown",
    r"\{(?P<role>[\w:.+-]+)\}(?P<ticks>`+)(?P<content>.+?)(?P=ticks)(?!`)",
    r"(?<![`\\])(?P<fence>`+)(?!`).+?(?<!`)(?P=fence)(?!`)",  # code span
    r"(?<![\\$\w])\$\$?(?=\S)[^$]+?(?<=\S)\$\$?(?![\d$])",  # formula
    r"!?\[(?P<text>(?:`[^`]*`|[^\[\]`]|!?\[[^\[\]]*\]\([^()]*\))*)\]\((?P<target>(?:[^()\s]|\([^()]*\))*)"
    r"(?:\s+\"[^\"]*\")?\)",
    r"<(?:https?|mailto):[^>\s]+>",
    r"\[\^[\w-]+\]",  # footnote
    r"</?[a-z]\w*(?:\s[^<>]*)?/?>",  # HTML
)

RST = Markup(
    "reStructuredText",
    r":(?P<role>[\w:.+-]+):`(?P<content>[^`]+)`",
    r"``.+?``",
    r"`(?P<text>[^`<>]+?)\s*<(?P<target>[^`<>]+)>`__?",
    r"`[^`]+`__?",
    r"`[^`]+`",
    r"\|[^|\s][^|]*\|_{0,2}",
    r"\[(?:\#[\w-]*|\*|\d+)\]_",
)


def differences(message: str, translation: str, markup: Markup) -> list[str]:
    """Say what the translation lost or added, one sentence each; empty where it agrees."""
    source, target = markup.constructs(message), markup.constructs(translation)
    lost = [f"the translation lacks {item}" for item in (source - target).elements()]
    new = [f"only the translation has {item}" for item in (target - source).elements()]
    return lost + new
