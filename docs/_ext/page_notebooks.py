"""Notebooks and scripts made from the resolved doctree of an executed page or a gallery page."""

from __future__ import annotations

import ast
import tokenize
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

import jupytext
import nbformat
from docutils import nodes
from docutils.utils import get_source_line
from sphinx.errors import ExtensionError

from doctree_markdown import Place, blocks
from markdown_inline import inline

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Cell", "gallery_cells", "make_notebook", "make_script", "page_cells", "program"]

NBFORMAT: Any = nbformat.v4  # its functions have no types
RAISES = "raises-exception"
# What JupyterLab and Colab understand, so that a hidden solution stays hidden there too.
_HIDDEN: dict[str, dict[str, Any]] = {
    "hide-input": {"jupyter": {"source_hidden": True}, "cellView": "form"},
    "hide-output": {"jupyter": {"outputs_hidden": True}},
    "hide-cell": {"jupyter": {"source_hidden": True, "outputs_hidden": True}, "cellView": "form"},
}


@dataclass(frozen=True)
class Cell:
    """One cell: Markdown, or code with its tags."""

    source: str
    code: bool = False
    tags: tuple[str, ...] = ()
    place: str = ""  # file and line, for messages


def page_cells(document: nodes.document, place: Place) -> list[Cell]:
    """Take the cells of an executed MyST-NB page."""
    return _merge(_walk(document, place, _page_code))


def gallery_cells(document: nodes.document, place: Place, code_blocks: list[str]) -> list[Cell]:
    """Take the prose of a gallery page, and the code from its script's own blocks, in order.

    Raises:
        ExtensionError: The page does not show a block of the script.
    """
    waiting = list(code_blocks)

    def take(node: nodes.Element) -> Cell | None:
        is_code = node.tagname in {"literal_block", "code_links_block"}
        if is_code and waiting and node.astext().strip() == waiting[0].strip():
            return Cell(waiting.pop(0).strip("\n"), code=True)
        return None

    cells = _merge(_walk(document, place, take))
    if waiting:
        raise ExtensionError(
            f"{document['source']}: the page does not show this code:\n{waiting[0]}"
        )
    return cells


def _walk(node: nodes.Element, place: Place, take: Any, level: int = 0) -> Iterator[Cell]:
    for child in node.children:
        if isinstance(child, nodes.section):
            title = child.next_node(nodes.title)
            heading = " ".join(inline(title, place).split()) if title else ""
            yield Cell(f"{'#' * (level + 1)} {heading}")
            yield from _walk(child, place, take, level + 1)
        elif isinstance(child, nodes.Element) and (code := take(child)):
            yield code
        else:
            yield from (Cell(block) for block in blocks(child, place))


def _page_code(node: nodes.Element) -> Cell | None:
    if node.get("nb_element") != "cell_code":
        return None
    for part in node.findall(nodes.container):
        if part.get("nb_element") == "cell_code_source":
            tags = dict(node.get("cell_metadata") or ()).get("tags", [])
            place = ":".join(map(str, get_source_line(part.children[0])))
            code = part.children[0].astext().rstrip("\n")
            return Cell(code, code=True, tags=tuple(tags), place=place)
    raise ExtensionError(
        f"{node.source}:{node.line}: a cell without visible code cannot be downloaded"
    )


def _merge(cells: Iterator[Cell]) -> list[Cell]:
    """Join the blocks of prose between two code cells into one cell."""
    merged: list[Cell] = []
    for cell in cells:
        if merged and not cell.code and not merged[-1].code:
            merged[-1] = Cell(f"{merged[-1].source}\n\n{cell.source}")
        else:
            merged.append(cell)
    return merged


def make_notebook(cells: list[Cell], check: str) -> str:
    """Write a notebook that opens with the check; same cells, same bytes."""
    all_cells = [Cell(check, code=True, tags=("hide-input",)), *cells]
    notebook = NBFORMAT.new_notebook(
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
        },
        cells=[_notebook_cell(cell, number) for number, cell in enumerate(all_cells)],
    )
    nbformat.validate(notebook)
    return str(NBFORMAT.writes(notebook)) + "\n"


def _notebook_cell(cell: Cell, number: int) -> Any:
    name = f"cell-{number:03}"
    if not cell.code:
        return NBFORMAT.new_markdown_cell(cell.source, id=name)
    metadata: dict[str, Any] = {"tags": list(cell.tags)} if cell.tags else {}
    for tag in cell.tags:
        metadata |= _HIDDEN.get(tag, {})
    return NBFORMAT.new_code_cell(cell.source, id=name, metadata=metadata)


def make_script(cells: list[Cell], check: str, name: str) -> str:
    """Write the page `name` as a script in cells (`# %%`) that runs to its end.

    A cell whose error is its lesson is put into `try`.
    """
    notebook = NBFORMAT.new_notebook(
        metadata={"jupytext": {"notebook_metadata_filter": "-all", "cell_metadata_filter": "-all"}},
        cells=[
            NBFORMAT.new_code_cell(check),
            *(
                NBFORMAT.new_code_cell(code_of(cell))
                if cell.code
                else NBFORMAT.new_markdown_cell(cell.source)
                for cell in cells
            ),
        ],
    )
    script = str(jupytext.writes(notebook, fmt="py:percent"))
    try:
        compile(script, name, "exec")
    except SyntaxError as error:  # for instance `from __future__`, which must come first
        raise ExtensionError(f"{name}: as a script: {error}") from error
    if ast.dump(ast.parse(script)) != ast.dump(ast.parse(f"{check}\n{program(cells)}")):
        raise ExtensionError(f"{name}: as a script it would be another program")
    return script


def program(cells: list[Cell]) -> str:
    """Return all code as one program; a cell that is not plain Python is an ExtensionError."""
    for cell in cells:
        try:
            ast.parse(cell.source if cell.code else "")
        except SyntaxError as error:
            raise ExtensionError(
                f"{cell.place}: a download must be plain Python, without magics: {error}"
            ) from error
    return "\n".join(code_of(cell) for cell in cells if cell.code)


def code_of(cell: Cell) -> str:
    """Return the code as a script runs it."""
    if RAISES not in cell.tags:
        return cell.source
    inside = _rows_in_strings(cell.source)
    rows = cell.source.split("\n")
    body = "\n".join(
        row if number in inside or not row else f"    {row}" for number, row in enumerate(rows, 1)
    )
    ending = "except Exception:\n    from traceback import print_exc\n\n    print_exc()"
    return f"try:\n{body}\n{ending}"


def _rows_in_strings(code: str) -> set[int]:
    """Return the rows that begin inside a string, which indentation would change."""
    rows: set[int] = set()
    opened: list[int] = []
    for token in tokenize.generate_tokens(StringIO(code).readline):
        kind = tokenize.tok_name[token.type]
        if kind.endswith("STRING_START"):
            opened.append(token.start[0])
        elif kind.endswith("STRING_END"):
            rows.update(range(opened.pop() + 1, token.end[0] + 1))
        elif kind == "STRING":
            rows.update(range(token.start[0] + 1, token.end[0] + 1))
    return rows
