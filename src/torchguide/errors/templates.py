"""Turn a message template of the catalogue into a regular expression.

A template is the message as PyTorch prints it, with fields in braces:

- `{name:type}` captures a fact; `TYPES` lists the types;
- `{=name}` is the same text as an earlier fact;
- `{one|other}` is one of several texts, `{?text}` may be missing;
- `{*}` and `{**}` skip up to 40 and 300 characters;
- `{{` and `}}` are braces.

Spaces match a space or none, since terminals wrap lines and people retype messages; the different
quotation marks match each other. No template can be slow: every repetition has an upper bound, or
stops at the first character of another kind. The result is in the common subset of Python and
JavaScript, but for named groups, which `python_pattern` and `javascript_pattern` spell.
"""

from __future__ import annotations

import re

__all__ = [
    "TYPES",
    "TemplateError",
    "fields",
    "javascript_pattern",
    "python_pattern",
    "readable",
    "words",
]

TYPES = {
    "int": r"\d{1,20}",
    "num": r"-?\d{1,20}(?:\.\d{1,20})?",
    "size": r"\d{1,20}(?:\.\d{1,20})? ?(?:[KMGT]i?B|bytes)",
    "dims": r"[\d, x]{0,80}",  # what stands between the brackets of a shape
    "device": r"[a-z]{2,12}(?::\d{1,3})?",
    "word": r"\w{1,80}",
    "name": r"[\w.:<>]{1,120}?",
    "version": r"\d{1,10}[\w.+]{0,40}",
    "kind": r"[\w.: ]{1,40}?",  # a type in several words: unsigned char
    "release": r"\d{1,4}(?:\.\d{1,4}){1,3}",
    "path": r"[^' ]{1,300}?",
    "quote": r"[^']{0,300}?",
    "text": r".{1,120}?",
    "letters": r"[A-Za-z]{1,40}",
}
_GAPS = {"*": r".{0,40}?", "**": r".{0,300}?"}
_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_BRACES = re.compile(r"\{[^{}]*\}|[{}]+")
_FIELD = re.compile(r"([a-z][a-z0-9_]*):([a-z]+)")
_QUOTES = str.maketrans(dict.fromkeys('"`“”‘’´「」', "'"))
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}/]")


class TemplateError(ValueError):
    """A template cannot be read."""


def plain_quotes(text: str) -> str:
    """Make all quotation marks the same."""
    return text.translate(_QUOTES)


def _literal(text: str) -> str:
    escaped = _SPECIAL.sub(r"\\\g<0>", plain_quotes(text))
    return re.sub(r"\s+", " ?", escaped)


def _field(inner: str, known: dict[str, str], group: str, *, last: bool) -> str:
    if inner in _GAPS:
        return _GAPS[inner]
    if inner.startswith("="):
        if inner[1:] not in known:
            raise TemplateError(f"{{{inner}}} repeats a field that does not stand before it")
        return ("(?P=%s)" if group == "P" else r"\k<%s>") % inner[1:]
    if inner.startswith("?"):
        return f"(?:{_literal(inner[1:])})?"
    if "|" in inner:
        return f"(?:{'|'.join(_literal(choice) for choice in inner.split('|'))})"
    found = _FIELD.fullmatch(inner)
    if not found or found[2] not in TYPES:
        raise TemplateError(
            f"{{{inner}}} is no field; expected {{name:type}} with a type of {', '.join(TYPES)}, "
            "{=name}, {a|b}, {?text}, {*} or {**}"
        )
    if found[1] in known:
        raise TemplateError(f"the field {found[1]} stands twice; repeat it as {{={found[1]}}}")
    known[found[1]] = found[2]
    form = TYPES[found[2]]
    if last and form.endswith("}?"):  # lazy, it would take one character only
        form = r"[^ ]{1,120}" if found[2] == "text" else form[:-1]
    return f"(?{group}<{found[1]}>{form})"


def _compile(template: str, group: str) -> tuple[str, dict[str, str]]:
    parts: list[str] = []
    known: dict[str, str] = {}
    end = 0
    for token in _TOKEN.finditer(template):
        parts.append(_literal(template[end : token.start()]))
        end = token.end()
        if token[0] in ("{{", "}}"):
            parts.append(_literal(token[0][0]))
        elif token[1] is None:
            raise TemplateError(f"a single {token[0]} at position {token.start()}; write it twice")
        else:
            parts.append(_field(token[1], known, group, last=end == len(template)))
    parts.append(_literal(template[end:]))
    return "".join(parts), known


def python_pattern(template: str) -> str:
    """Give the pattern as Python spells it; compile it with `re.ASCII`."""
    return _compile(template, "P")[0]


def javascript_pattern(template: str) -> str:
    """Give the pattern as JavaScript spells it."""
    return _compile(template, "")[0]


def fields(template: str) -> dict[str, str]:
    """Give the names of the facts that a template captures, with their types."""
    return _compile(template, "P")[1]


def words(template: str) -> list[str]:
    """Give the words that a text must contain for the template to match, longest first."""
    bare = plain_quotes(_BRACES.sub(" ", template))
    return sorted((word for word in bare.split() if len(word) > 2), key=len, reverse=True)


def readable(template: str) -> str:
    """Give the message for people: … for each fact and gap, the first of several texts."""

    def shown(token: re.Match[str]) -> str:
        if token[0] in ("{{", "}}"):
            return token[0][0]
        inner = token[1]
        if inner.startswith("?"):
            return inner[1:]
        return inner.split("|")[0] if "|" in inner else "…"

    fields(template)  # refuses what is no template
    return re.sub(r"…(?: ?…)+", "…", _TOKEN.sub(shown, template)).strip()
