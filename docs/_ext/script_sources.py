"""Gallery scripts in the language of the build, as the same program.

A script holds prose in its docstring and in its `# %%` comments, and code between them.
The page's catalog translates both: prose message by message, as sphinx-gallery's pages show
it, and the comments of the code through `code_comments`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from docutils.utils import column_width
from sphinx.errors import ExtensionError

from comment_text import translate_comments

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TranslatedScript", "docstring_lines", "translate_script"]

# Where a message may start: after indentation and list markers, a directive, an option.
_LEAD = (
    r"^(?P<lead>[ \t]*(?:(?:[-*+]|\#|\#\.|\d+[.)]|\||\.\.[ ]\[[^\]]+\]|\.\.[ ][\w-]+::|:[\w-]+:)"
    r"[ \t]+)*)"
)
_ADORNMENT = r"([=\-~^\"*+#'`.:])"
_HEADING = re.compile(
    rf"^(?P<over>{_ADORNMENT}\2{{2,}}\n)?(?P<title>\S.*)\n(?P<under>{_ADORNMENT}\5{{2,}})$",
    re.MULTILINE,
)
# sphinx-gallery's own rule for a block of prose (py_source_parser.split_code_and_text_blocks)
_PROSE_BLOCK = re.compile(
    r"^(?P<mark>\#{20,}.*|\# ?%%.*)\n(?P<text>(?:\#.*(?:\n|\Z))*)", re.MULTILINE
)


@dataclass(frozen=True)
class TranslatedScript:
    """A script's text; line and message of what stands in its prose but could not be applied."""

    text: str
    missed: list[tuple[int, str]] = field(default_factory=list)


def translate_script(source: str, catalog: Mapping[str, str], name: str) -> TranslatedScript:
    """Translate prose and comments of the script `name`.

    Raises ExtensionError, naming file and line, where a translation changes the program.
    """
    if not catalog:
        return TranslatedScript(source)
    prose = _Prose(catalog)
    first, last = docstring_lines(source, name)
    lines = source.splitlines(keepends=True)
    head, rest = "".join(lines[: first - 1]), "".join(lines[last:])
    text = ast.literal_eval("".join(lines[first - 1 : last]).strip())
    docstring = _quote(prose.translate(text), f"{name}:{first}")
    parts, end = [head, docstring, "\n"], 0

    def first_line(start: int) -> int:
        return last + rest.count("\n", 0, start) + 1

    for block in _PROSE_BLOCK.finditer(rest):
        parts.append(_translate_code(rest[end : block.start()], catalog, name, first_line(end)))
        parts += [block["mark"], "\n", _comment(prose.translate(_uncomment(block["text"])))]
        end = block.end()
    parts.append(_translate_code(rest[end:], catalog, name, first_line(end)))
    text = "".join(parts)
    _require_same_program(source, text, name)
    return TranslatedScript(text, [(_line_of(each, source), each) for each in prose.missed()])


def docstring_lines(source: str, name: str) -> tuple[int, int]:
    """Return the first and last line of the module's docstring."""
    body = ast.parse(source, name).body
    if not body or ast.get_docstring(ast.Module(body[:1], [])) is None:
        raise ExtensionError(f"{name}:1: a gallery script opens with a docstring")
    return body[0].lineno, body[0].end_lineno or body[0].lineno


class _Prose:
    """Replaces whole messages in blocks of reStructuredText and remembers which."""

    def __init__(self, catalog: Mapping[str, str]) -> None:
        # Longest first, so that a message that is a line of a longer one waits for its turn.
        self._messages = dict(sorted(catalog.items(), key=lambda item: -len(item[0])))
        self._used: set[str] = set()
        self._translated: list[str] = []

    def translate(self, text: str) -> str:
        for message, translation in self._messages.items():
            words = r"\s+".join(map(re.escape, message.split()))
            start, end = rf"{_LEAD}{words}(?=[ \t]*$)", translation.replace("\\", r"\\")
            text, count = re.subn(start, rf"\g<lead>{end}", text, flags=re.MULTILINE)
            if count:
                self._used.add(message)
        text = _HEADING.sub(_fit_adornment, text)
        self._translated.append(text)
        return text

    def missed(self) -> list[str]:
        """Return the messages that still stand in the translated prose."""
        left = " ".join(" ".join(self._translated).split())
        return [
            message
            for message, translation in self._messages.items()
            if message not in self._used
            and message != translation
            and re.search(rf"(?<!\w){re.escape(' '.join(message.split()))}(?!\w)", left)
        ]


def _line_of(message: str, source: str) -> int:
    found = re.search(r"[\s#]+".join(map(re.escape, message.split())), source)
    return source.count("\n", 0, found.start()) + 1 if found else 1


def _fit_adornment(heading: re.Match[str]) -> str:
    """Make a heading's lines as wide as its translation; Han characters are two wide."""
    width = max(len(heading["under"]), column_width(heading["title"]))
    over = f"{heading['under'][0] * width}\n" if heading["over"] else ""
    return f"{over}{heading['title']}\n{heading['under'][0] * width}"


def _quote(text: str, place: str) -> str:
    """Write a docstring; raw where it has backslashes, as reStructuredText may."""
    if '"""' in text or text.endswith(('"', "\\")):
        raise ExtensionError(f"{place}: a docstring cannot hold this translation: {text!r}")
    return f'{"r" if chr(92) in text else ""}"""{text}"""'


def _uncomment(text: str) -> str:
    return re.sub(r"^# ?", "", text, flags=re.MULTILINE)


def _comment(text: str) -> str:
    body = text.removesuffix("\n")
    if not text:
        return ""
    return re.sub(r"^", "# ", body, flags=re.MULTILINE).replace("# \n", "#\n") + text[len(body) :]


def _translate_code(code: str, catalog: Mapping[str, str], name: str, line: int) -> str:
    """Translate the comments of the code that begins in `line`, or some empty lines later."""
    line += len(code) - len(code.lstrip("\n"))
    return translate_comments(code, catalog, place=f"{name}:{line}")


def _require_same_program(source: str, text: str, name: str) -> None:
    """Compare the syntax trees, docstring aside."""
    before = ast.parse(source, name).body[1:]
    try:
        after = ast.parse(text, name).body[1:]
    except SyntaxError as error:
        raise ExtensionError(f"{name}:{error.lineno}: the translated script: {error}") from error
    for old, new in zip(before, after, strict=False):
        if ast.dump(old) != ast.dump(new):
            raise ExtensionError(f"{name}:{old.lineno}: its translation changes this statement")
    if len(before) != len(after):
        line = (before[len(after) :] or after[len(before) :])[0].lineno
        raise ExtensionError(f"{name}:{line}: its translation adds or drops statements from here")
