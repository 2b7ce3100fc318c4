"""Execute pages before Sphinx reads them, so that myst-nb finds every output in the cache.

One process writes the cache, threads wait for kernels, the longest page goes first.  All
failures are reported together, with page, line and traceback, and nothing of them is stored.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock
from sphinx.errors import SphinxError
from sphinx.util import logging

from execution_environment import Environment, find_environment

if TYPE_CHECKING:
    from nbformat import NotebookNode
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment
    from sphinx.util.typing import ExtensionMetadata

    from page_cache import PageCache

__all__ = ["kernel_count", "kernel_environ", "setup"]

logger = logging.getLogger(__name__)


class ExecutionFailedError(SphinxError):
    """Pages or examples failed; the message is what a writer needs to repair them."""

    category = "Pages or examples failed"


@dataclass(frozen=True)
class Job:
    """A page to execute."""

    docname: str
    path: Path
    text: str
    notebook: NotebookNode
    timeout: int


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


def before_read(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Execute those of the pages about to be read that are not in the cache."""
    gallery: dict[str, Any] = getattr(app.config, "sphinx_gallery_conf", {})
    failures = list(gallery.get("failing_examples", {}).values())
    if app.config.nb_execution_mode == "cache":
        failures += _execute(app, env, docnames)
    if failures:
        raise ExecutionFailedError("\n\n".join(["", *failures]))
    if app.config.guide_executed_marker:  # the other language may start
        Path(app.config.guide_executed_marker).touch()


def _execute(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> list[str]:
    from page_cache import PageCache  # noqa: PLC0415  # slow imports, and often nothing to read

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
        failures = _run(app, cache, list(jobs.values())) if jobs else []
        for docname, _, _, notebook in pages:
            found = cache.find(notebook)
            provenance[docname] = found and found.get("provenance")
    return failures


def _run(app: Sphinx, cache: PageCache, jobs: list[Job]) -> list[str]:
    from page_client import PageError, execute_page  # noqa: PLC0415  # see _execute
    from warm_kernels import warm_kernels  # noqa: PLC0415

    environment: Environment = app.guide_environment  # type: ignore[attr-defined]  # see choose_cache
    jobs.sort(key=lambda job: len(job.text), reverse=True)
    start, failures = time.perf_counter(), []

    def execute(job: Job) -> float:
        begin = time.perf_counter()
        execute_page(job.path, job.text, job.notebook, job.timeout)
        return time.perf_counter() - begin

    with ExitStack() as stack:
        pool = ThreadPoolExecutor(kernel_count(app.config))
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        # left first, also by Ctrl-C: the kernels end, and so the threads that wait for them
        stack.enter_context(
            warm_kernels(environ=kernel_environ(app.config), fork=app.config.guide_fork)
        )
        todo = {pool.submit(execute, job): job for job in jobs}
        for number, done in enumerate(as_completed(todo), 1):
            job = todo[done]
            try:
                seconds = done.result()
            except PageError as error:
                failures.append(str(error))
                logger.info("failed: %s (%d of %d)", job.docname, number, len(jobs))
                continue
            data = {"execution_seconds": seconds, "provenance": environment.provenance()}
            cache.store(job.notebook, job.path, data)
            logger.info("executed %s in %.1f s (%d of %d)", job.docname, seconds, number, len(jobs))
    took = time.perf_counter() - start
    logger.info("executed %d pages in %.1f s", len(jobs) - len(failures), took)
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
    app.add_config_value("guide_executed_marker", "", "", types=(str,))
    app.connect("config-inited", choose_cache, priority=100)
    app.connect("builder-inited", keep_output_private, priority=900)
    app.connect("env-before-read-docs", before_read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
