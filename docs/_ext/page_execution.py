"""Execute pages before Sphinx reads them, so that myst-nb finds every output in the cache.

One process writes the cache, threads wait for kernels.  All failures are reported together, with page, line and traceback, and nothing of them is stored.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock
from sphinx.errors import SphinxError
from sphinx.util import logging

from execution_environment import find_environment

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["kernel_count", "kernel_environ", "setup"]

logger = logging.getLogger(__name__)


class ExecutionFailedError(SphinxError):
    """Pages or examples failed; the message is what a writer needs to repair them."""

    category = "Pages or examples failed"


def kernel_count(config: Config) -> int:
    """Return how many kernels, or gallery scripts, run at a time."""
    return int(config.guide_kernels) or os.cpu_count() or 1


def kernel_environ(config: Config) -> dict[str, str]:
    """Return variables that make outputs the same in every build on this machine."""
    threads = max(1, (os.cpu_count() or 1) // kernel_count(config))  # more of them would fight
    private = Path(config.guide_execution_cache, "ipython")  # no start-up files of the user
    package = str(Path(config.guide_package_source).parent)  # the one that the digest is of
    return {
        "PYTHONPATH": os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH")))),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", str(threads)),
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),  # the order of sets
        "IPYTHONDIR": str(private),
        "LC_ALL": "C.UTF-8",  # the package speaks the system's language
        "KINETO_LOG_LEVEL": "99",  # torch's profiler would print times and process ids
    }


def choose_cache(app: Sphinx, config: Config) -> None:
    """Key the cache on everything besides a page's code that can change its output."""
    cache = Path(app.confdir, config.guide_execution_cache).resolve()
    config.guide_execution_cache = str(cache)
    config.guide_package_source = str(Path(app.confdir, config.guide_package_source).resolve())
    environment = find_environment(Path(config.guide_package_source))
    app.guide_environment = environment  # type: ignore[attr-defined]  # of this build, not of its pickle
    config.nb_execution_cache_path = str(cache / f"pages-{environment.digest}")


def keep_output_private(app: Sphinx) -> None:
    """Move what MyST-NB writes into <outdir>/../jupyter_execute, inside the site, elsewhere."""
    env: Any = app.env
    env.mystnb_config = env.mystnb_config.copy(
        output_folder=str(app.doctreedir / "jupyter_execute")
    )


def start_early(app: Sphinx) -> None:
    """When nothing is executed yet, let the helper import torch while the gallery is made."""
    cold = not Path(app.config.nb_execution_cache_path).exists()
    if cold and app.config.guide_execute_first and app.config.nb_execution_mode == "cache":
        app.guide_kernels = _kernels(app)  # type: ignore[attr-defined]  # until build-finished


def _kernels(app: Sphinx) -> ExitStack:
    from page_jobs import start_kernels  # noqa: PLC0415  # see _execute

    started: ExitStack | None = getattr(app, "guide_kernels", None)
    return started or start_kernels(kernel_environ(app.config), fork=app.config.guide_fork)


def end_kernels(app: Sphinx, _error: Exception | None) -> None:
    """End the helper if no page needed it."""
    getattr(app, "guide_kernels", ExitStack()).close()


def before_read(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Execute those of the pages about to be read that are not in the cache."""
    gallery: dict[str, Any] = getattr(app.config, "sphinx_gallery_conf", {})
    failures = list(gallery.get("failing_examples", {}).values())
    if app.config.guide_gallery_marker and not failures:  # the other language may start
        Path(app.config.guide_gallery_marker).touch()
    while app.config.guide_wait_for and not Path(app.config.guide_wait_for).exists():
        time.sleep(0.05)
    if app.config.nb_execution_mode == "cache":
        failures += _execute(app, env, docnames)
    if failures:
        raise ExecutionFailedError("\n\n".join(["", *failures]))
    if app.config.guide_executed_marker:  # the other language may read
        Path(app.config.guide_executed_marker).touch()


def _execute(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> list[str]:
    from page_cache import PageCache  # noqa: PLC0415  # slow imports, and often nothing to read
    from page_jobs import Job, run_jobs  # noqa: PLC0415

    provenance: dict[str, Any] = env.__dict__.setdefault("guide_page_provenance", {})
    for docname in docnames:
        provenance.pop(docname, None)
    pages = [(docname, *page) for docname in docnames if (page := _read(env, docname))]
    if not pages:
        return []
    folder = Path(app.config.nb_execution_cache_path)
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "lock"):  # a build at the same time finds our outputs
        cache = PageCache(folder)
        if not app.config.guide_execute_first:
            return []  # myst-nb executes while it reads: only to compare, see benchmarks/build.py
        jobs: dict[str, Job] = {}
        for docname, path, text, notebook in pages:
            if cache.find(notebook) is None:
                job = Job(docname, path, text, notebook, env.mystnb_config.execution_timeout)  # type: ignore[attr-defined]  # myst-nb's
                jobs.setdefault(cache.key(notebook), job)
        failures = []
        if jobs:
            environment, kernels = app.guide_environment, _kernels(app)  # type: ignore[attr-defined]  # see choose_cache
            count = kernel_count(app.config) + 1  # pages wait for processes, disks and timeouts
            failures = run_jobs(list(jobs.values()), cache, environment, kernels, count)
        for docname, _, _, notebook in pages:
            found = cache.find(notebook)
            provenance[docname] = found and found.get("provenance")
    return failures


def _read(env: BuildEnvironment, docname: str) -> tuple[Path, str, NotebookNode] | None:
    """Return a page's path, text and notebook; None if it has no cells to execute."""
    path = Path(env.doc2path(docname))
    if path.suffix != ".md":
        return None
    text = path.read_text(encoding="utf-8")
    notebook = _notebook(env, path, text)
    if notebook is None or not any(cell.cell_type == "code" for cell in notebook.cells):
        return None
    return path, text, notebook


def _notebook(env: Any, path: Path, text: str) -> NotebookNode | None:
    from myst_nb.core.read import create_nb_reader  # noqa: PLC0415  # see _execute

    reader = create_nb_reader(str(path), env.myst_config, env.mystnb_config, text)
    return None if reader is None else reader.read(text)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the settings, and the handlers around the reading of pages."""
    app.add_config_value("guide_execution_cache", "../build/cache", "", types=(str,))
    app.add_config_value("guide_package_source", "../src/torchguide", "", types=(str,))
    app.add_config_value("guide_kernels", 0, "", types=(int,))  # 0: one a core
    app.add_config_value("guide_fork", True, "", types=(bool,))
    app.add_config_value("guide_execute_first", True, "", types=(bool,))
    for marker in ("guide_gallery_marker", "guide_executed_marker", "guide_wait_for"):
        app.add_config_value(marker, "", "", types=(str,))  # files; see tools/build_site.py
    app.connect("config-inited", choose_cache, priority=100)
    app.connect("builder-inited", start_early, priority=100)
    app.connect("builder-inited", keep_output_private, priority=900)
    app.connect("env-before-read-docs", before_read)
    app.connect("build-finished", end_kernels)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
