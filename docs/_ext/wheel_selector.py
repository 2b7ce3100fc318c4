"""The directive `wheel-selector`: choose a machine and see `torchguide install`'s command.

The page holds a form, which stays hidden without JavaScript, and a table of usual machines.
The answers are computed here and lie in a script beside the page, so that no request is needed
and the page works from a file, too; `_static/wheel_selector.js` only looks them up.
"""

from __future__ import annotations

import json
import multiprocessing
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from sphinx.errors import ExtensionError
from sphinx.locale import _
from sphinx.util.docutils import SphinxDirective

import torchguide
from torchguide.facts import Gpu, table
from torchguide.texts import Texts
from wheel_answers import ask, diagram
from wheel_form import PYTHON, form, label

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.builders import Builder
    from sphinx.config import Config
    from sphinx.util.typing import ExtensionMetadata
    from sphinx.writers.html5 import HTML5Translator

    from wheel_answers import Diagram

__all__ = ["WheelSelector", "answers_script", "wheel_selector"]

# system, GPU, driver, package manager, mirror
USUAL = (
    ("linux", "GeForce RTX 4090", "580.95.05", "pip", ""),
    ("windows", "GeForce RTX 4090", "581.29", "pip", ""),
    ("wsl", "GeForce RTX 4090", "581.29", "pip", ""),
    ("linux", "GeForce RTX 5090", "570.133.07", "pip", ""),
    ("linux", "GeForce RTX 4090", "550.54.14", "pip", ""),
    ("windows", "GeForce RTX 3060", "551.61", "pip", ""),
    ("linux", "GeForce GTX 1080", "580.95.05", "pip", ""),
    ("windows", "GeForce GTX 1080", "581.29", "pip", ""),
    ("linux", "Tesla V100", "570.26", "pip", ""),
    ("linux-aarch64", "GH200", "580.95.05", "pip", ""),
    ("linux", "none", "", "pip", ""),
    ("windows", "none", "", "pip", ""),
    ("macos", "apple", "", "pip", ""),
    ("linux", "amd", "", "pip", ""),
    ("windows", "intel", "", "pip", ""),
    ("windows", "GeForce RTX 4090", "581.29", "uv", ""),
    ("linux", "GeForce RTX 4090", "580.95.05", "conda", ""),
    ("linux", "GeForce RTX 4090", "580.95.05", "docker", ""),
    ("linux", "GeForce RTX 4090", "580.95.05", "pip", "tuna"),
    ("windows", "GeForce RTX 4090", "581.29", "pip", "nju"),
)


class wheel_selector(nodes.General, nodes.Element):  # noqa: N801 -- docutils names nodes so
    """The form; its children are the table."""


class WheelSelector(SphinxDirective):
    """Put the form and the table into a page; it takes no options."""

    def run(self) -> list[nodes.Node]:
        """Make the node, which is made again when the installer or its facts change."""
        package = Path(torchguide.__file__).parent
        for path in sorted([*package.glob("*.py"), *package.glob("data/*.csv")]):
            self.env.note_dependency(str(path))
        node = wheel_selector()
        node += _table([(_("Machine"), _("Command")), *map(_row, USUAL)])
        return [node]


def _row(usual: tuple[str, str, str, str, str]) -> tuple[str, str]:
    os, gpu, driver, manager, mirror = usual
    capability = next((row.capability for row in table(Gpu) if row.gpu == gpu), gpu)
    own_python = "" if manager in {"conda", "docker"} else PYTHON
    why_not, answer = ask((os, capability, f"{driver}-", manager, own_python, "", mirror))
    if why_not or not answer:
        raise ExtensionError(f"wheel-selector: {usual}: no usual machine, {why_not}")
    words = [label("os", os), label("gpu", gpu)]
    words += [_("driver {number}").format(number=driver)] if driver else []
    words += [label("manager", manager)] if manager != "pip" else []
    words += [_("mirror {name}").format(name=mirror)] if mirror else []
    return " · ".join(words), answer.command


def _table(rows: list[tuple[str, str]]) -> nodes.table:
    group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in (2, 5)), cols=2)
    head, body = nodes.thead(), nodes.tbody()
    for number, (machine, command) in enumerate(rows):
        said = nodes.Text(command) if number == 0 else nodes.literal(command, command)
        # the words are in the page's language already
        cells = [nodes.paragraph("", "", nodes.Text(machine)), nodes.paragraph("", "", said)]
        for cell in cells:
            cell["translatable"] = False
        row = nodes.row("", *(nodes.entry("", cell) for cell in cells))
        (body if number else head).append(row)
    group += [head, body]
    return nodes.table("", group, classes=["wheel-table"])


def answers_script(made: Diagram, texts: Texts) -> str:
    """Write the answers in the words of one language as a script that sets a variable."""
    data = {
        "options": made.options,
        "nodes": made.nodes,
        "answers": made.answers,
        "commands": made.commands,
        "sets": made.sets,
        "reasons": [[texts.say(key, **values), source] for key, values, source in made.reasons],
    }
    packed = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return f"globalThis.guideWheelAnswers = {packed};\n"


def answers_of(builder: Builder) -> Diagram:
    """Compute the answers, or take them from the cache of executed pages."""
    return diagram(Path(builder.confdir, builder.config.guide_execution_cache))


def begin_answers(app: Sphinx) -> None:
    """Compute missing answers on a core that the start of the build leaves idle.

    Both languages then find them in the cache. Where processes cannot be forked, the first page
    that needs the answers computes them.
    """
    if "fork" in multiprocessing.get_all_start_methods():
        cache = Path(app.confdir, app.config.guide_execution_cache)
        process = multiprocessing.get_context("fork").Process(target=diagram, args=(cache,))
        with warnings.catch_warnings():
            # Python 3.12 warns of threads, here those of a numerical library, which are idle
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        app.connect("env-updated", lambda _app, _env: process.join())


def add_answers(
    app: Sphinx, _page: str, _template: str, _context: object, doctree: nodes.document | None
) -> None:
    """Write the script of answers, and load it on the pages that have the selector."""
    if doctree is None or not any(doctree.findall(wheel_selector)):
        return
    folder = app.outdir / "_static"
    folder.mkdir(exist_ok=True)
    script = answers_script(answers_of(app.builder), texts_of(app.config))
    (folder / "wheel_answers.js").write_text(script, "utf-8")
    app.add_css_file("wheel_selector.css")
    for name in ("wheel_answers.js", "wheel_selector.js"):
        app.add_js_file(name, loading_method="defer")


def texts_of(config: Config) -> Texts:
    """Give the installer's messages in the language of the build."""
    return Texts("zh" if config.language.startswith("zh") else "en")


def visit(self: HTML5Translator, _node: wheel_selector) -> None:
    """Write the form before the table."""
    options = answers_of(self.builder).options
    self.body.append(f'<div class="wheel-selector">{form(options, texts_of(self.config))}')


def depart(self: HTML5Translator, _node: wheel_selector) -> None:
    """Close the box."""
    self.body.append("</div>\n")


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the directive."""
    app.add_directive("wheel-selector", WheelSelector)
    app.add_node(wheel_selector, html=(visit, depart))
    app.connect("builder-inited", begin_answers, priority=150)  # the gallery begins at 200
    app.connect("html-page-context", add_answers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
