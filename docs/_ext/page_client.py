"""Execute one page's cells in a kernel; say where in the page a cell fails."""

from __future__ import annotations

import logging
import os
import re
import sys
import sysconfig
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["PageError", "execute_page"]

LOG = logging.getLogger("torchguide.pages")
LOG.addHandler(logging.NullHandler())  # page_execution says what there is to say
LOG.propagate = False
ANSI = re.compile(r"\x1b\[[0-9;]*m")
# how ipykernel names the file of a cell; begun only where a word begins, as outputs can be long
CELL = re.compile(r"(?<![^\s\"'(])[^\s\"'(]*ipykernel_\d+[/\\]\d+\.py")
SETUP = Path(__file__).with_name("torch_warnings.py")
EXPECTED = "raises-exception"


class PageError(Exception):
    """A cell that failed: where in the page's file, why, and its traceback."""

    def __init__(self, path: Path, line: int, reason: str, traceback: str = "") -> None:
        """Keep the place and the reason; the text is as a compiler would say it."""
        super().__init__(f"{path}:{line}: {reason}" + (f"\n{traceback}" if traceback else ""))
        self.path = path
        self.line = line


class PageClient(NotebookClient):
    """nbclient, with a hidden execution first and a memory of the cell that runs."""

    at = 0

    async def async_start_new_kernel_client(self) -> Any:
        """Start the kernel and turn torch's warnings into errors in it."""
        client = await super().async_start_new_kernel_client()
        code = f"exec(compile(open({str(SETUP)!r}).read(), {str(SETUP)!r}, 'exec'), {{'__name__': '__main__'}})"
        reply = await self.async_wait_for_reply(client.execute(code, silent=True))
        if reply is None or reply["content"]["status"] != "ok":
            raise DeadKernelError(f"the kernel could not be prepared: {reply}")
        return client

    async def async_execute_cell(
        self, cell: NotebookNode, cell_index: int, *args: Any, **kwargs: Any
    ) -> Any:
        """Execute a cell; a cell said to raise must raise."""
        self.at = cell_index
        done = await super().async_execute_cell(cell, cell_index, *args, **kwargs)
        join_streams(cell)
        shorten_paths(cell)
        if EXPECTED in cell.metadata.get("tags", []) and not _raised(cell):
            raise CellExecutionError(
                "", "NoError", f"the cell is tagged {EXPECTED} and raised nothing"
            )
        return done


def join_streams(cell: NotebookNode) -> None:
    """Put together what a cell prints, which arrives in parts that depend on the kernel's pace.

    myst-nb joins parts as if each ended a line: https://github.com/executablebooks/MyST-NB,
    `coalesce_streams`.
    """
    streams: dict[str, NotebookNode] = {}
    for output in list(cell.get("outputs", ())):
        if output.output_type == "stream":
            first = streams.setdefault(output.name, output)
            if first is not output:
                first.text += output.text
                cell.outputs.remove(output)


def _library_folders() -> tuple[str, ...]:
    package = find_spec("torchguide")
    folders = [str(Path(package.origin).parents[1])] if package and package.origin else []
    # the folder of the packages may lie in that of the standard library
    folders += [sysconfig.get_path(name) for name in ("purelib", "platlib", "stdlib")]
    return tuple(f"{folder}{os.sep}" for folder in folders)


def shorten_paths(cell: NotebookNode) -> None:
    """Name the files in tracebacks from their package on: where the site is built says nothing."""
    for output in cell.get("outputs", ()):
        if output.output_type == "error":
            output.traceback = [_short(part) for part in output.traceback]
        elif output.output_type == "stream":
            output.text = _short(output.text)


def _short(text: str) -> str:
    for folder in _library_folders():
        text = text.replace(folder, "")
    return CELL.sub("<cell>", text)


def execute_page(path: Path, text: str, notebook: NotebookNode, timeout: int) -> None:
    """Execute a notebook in place, in a kernel of its own.

    Args:
        path: the page's file; its folder is the working folder.
        text: what the file says.
        notebook: what myst-nb read from it, with its source map.
        timeout: seconds a cell may take.

    Raises:
        PageError: when a cell fails, takes too long or loses its kernel.
    """
    with tempfile.TemporaryDirectory(prefix="kernel-") as folder:
        manager = AsyncKernelManager(
            kernel_name=notebook.metadata.get("kernelspec", {}).get("name", "python3"),
            connection_file=str(Path(folder, "k.json")),
            # no kernel that the user has installed under the same name
            kernel_spec_manager=KernelSpecManager(
                kernel_dirs=[str(Path(sys.prefix, "share/jupyter/kernels"))]
            ),
        )
        if sys.platform != "win32":
            manager.transport = "ipc"  # nobody else can take the port or listen
        client = PageClient(
            notebook,
            km=manager,
            timeout=timeout,
            allow_errors=False,
            record_timing=False,  # it would become part of the cache's key
            log=LOG,
            resources={"metadata": {"path": str(path.parent)}},
        )
        client.owns_km = True  # ended with the page, although made here
        try:
            client.execute()
        except CellExecutionError as error:
            trace = ANSI.sub("", error.traceback).rsplit("\n------------------\n", 1)[-1].strip()
            line = _line(text, notebook, client.at, trace)
            raise PageError(path, line, f"{error.ename}: {error.evalue}", trace) from None
        except CellTimeoutError:
            line = _line(text, notebook, client.at)
            raise PageError(path, line, f"the cell took longer than {timeout} s") from None
        except (DeadKernelError, RuntimeError) as error:
            line = _line(text, notebook, client.at)
            raise PageError(path, line, f"the kernel died ({error})") from None


def _raised(cell: NotebookNode) -> bool:
    return any(output.output_type == "error" for output in cell.get("outputs", []))


def _line(text: str, notebook: NotebookNode, at: int, trace: str = "") -> int:
    """Return the line of the page's file that a cell, or the failing statement in it, is on."""
    starts = notebook.metadata.get("source_map") or [0] * len(notebook.cells)
    if at >= len(starts):
        return 1
    cell = notebook.cells[at]
    lines, body = text.splitlines(), cell.source.splitlines()
    start = int(starts[at])
    for first in range(start, len(lines) - len(body) + 1):  # options stand above the body
        if lines[first : first + len(body)] == body:
            start = first
            break
    count = cell.get("execution_count") or 1 + sum(
        bool(each.get("execution_count")) for each in notebook.cells[:at]
    )
    inside = re.search(rf"Cell In\[{count}\], line (\d+)", trace)
    return start + (int(inside[1]) if inside else 1)
