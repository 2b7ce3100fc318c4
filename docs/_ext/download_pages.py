"""The files that one page offers: its notebook and its script, from the resolved doctree."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, cast
from urllib.parse import quote, urljoin

from sphinx.util import logging
from sphinx_gallery.py_source_parser import (
    remove_config_comments,
    remove_ignore_blocks,
    split_code_and_text_blocks,
)

from catalogs import page_catalog
from check_cell import check_cell, insert_check, needed_packages
from doctree_markdown import Place
from page_notebooks import gallery_cells, make_notebook, make_script, page_cells, program
from script_sources import translate_script

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.domains.std import StandardDomain

__all__ = ["gallery_downloads", "page_downloads"]

logger = logging.getLogger(__name__)


def page_downloads(
    app: Sphinx, document: nodes.document, docname: str, wheel_url: str | None
) -> dict[str, str]:
    """Return {suffix: text} for an executed page."""
    cells = page_cells(document, _place(app, docname))
    check = check_cell(needed_packages(program(cells), wheel_url))
    name = os.path.relpath(app.env.doc2path(docname))
    return {".ipynb": make_notebook(cells, check), ".py": make_script(cells, check, name)}


def gallery_downloads(
    app: Sphinx, document: nodes.document, docname: str, wheel_url: str | None
) -> dict[str, str]:
    """Return {suffix: text} for a gallery script, translated by its page's catalog."""
    name, source = _example(app, docname)
    script = translate_script(source, page_catalog(app.env, docname), name)
    for line, message in script.missed:
        logger.warning(
            "not applied to the download, as it is not a line of its own there: %s", message,
            location=f"{name}:{line}", type="guide", subtype="download",
        )  # fmt: skip
    check = check_cell(needed_packages(script.text, wheel_url))
    cells = gallery_cells(document, _place(app, docname), _code_blocks(script.text))
    return {".ipynb": make_notebook(cells, check), ".py": insert_check(script.text, check, name)}


def _example(app: Sphinx, docname: str) -> tuple[str, str]:
    """Return a script's name in the repository and its text."""
    script = Path(app.srcdir, f"{docname}.py")
    conf = app.config.sphinx_gallery_conf
    for folder, copies in zip(conf["examples_dirs"], conf["gallery_dirs"], strict=True):
        copied = Path(app.srcdir, copies)
        if script.is_relative_to(copied):
            script = Path(app.srcdir, folder, script.relative_to(copied)).resolve()
    return os.path.relpath(script), script.read_text("utf-8")


def _code_blocks(script: str) -> list[str]:
    """Cut a script as sphinx-gallery does for its pages."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "script.py")
        file.write_text(script, "utf-8")
        _settings, parts = split_code_and_text_blocks(file)
    codes = [
        remove_config_comments(remove_ignore_blocks(b.content)) for b in parts if b.type == "code"
    ]
    return [code for code in codes if code.strip()]


def _place(app: Sphinx, docname: str) -> Place:
    env, base = app.env, app.config.html_baseurl
    path = env.doc2path(docname)
    figures = cast("StandardDomain", env.get_domain("std"))

    def image(uri: str) -> str:
        return str(urljoin(base, f"_images/{quote(env.images[uri][1])}"))

    def caption_number(node: nodes.Element) -> str:
        kind = figures.get_enumerable_node_type(node) or ""
        numbers = env.toc_fignumbers.get(docname, {}).get(kind, {})
        number = next((numbers[name] for name in node["ids"] if name in numbers), ())
        form = str(app.config.numfig_format.get(kind, "%s"))
        return str(form % ".".join(map(str, number))) if number else ""

    def unknown(node: nodes.Node) -> None:
        logger.warning(
            "a notebook cannot show <%s>; write it another way, or teach doctree_markdown.py",
            getattr(node, "tagname", type(node).__name__),
            location=f"{path}:{_line(node)}", type="guide", subtype="download",
        )  # fmt: skip

    return Place(urljoin(base, app.builder.get_target_uri(docname)), image, caption_number, unknown)


def _line(node: nodes.Node) -> int:
    """Return the line of a node: its own, or that of the nearest one that has one."""
    around = [*node.findall()]
    while node.parent is not None:
        around.append(node := node.parent)
    return next((each.line for each in around if each.line), 1)
