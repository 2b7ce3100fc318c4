"""Execute pages side by side, the longest first, and store those that pass."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sphinx.util import logging

from page_client import PageError, execute_page
from warm_kernels import warm_kernels

if TYPE_CHECKING:
    from pathlib import Path

    from nbformat import NotebookNode

    from execution_environment import Environment
    from page_cache import PageCache

__all__ = ["Job", "run_jobs", "start_kernels"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """A page to execute."""

    docname: str
    path: Path
    text: str
    notebook: NotebookNode
    timeout: int


def start_kernels(environ: dict[str, str], *, fork: bool) -> ExitStack:
    """Get ready to start kernels; the helper imports torch while other things go on."""
    stack = ExitStack()
    stack.enter_context(warm_kernels(environ=environ, fork=fork))
    return stack


def run_jobs(
    jobs: list[Job], cache: PageCache, environment: Environment, kernels: ExitStack, count: int
) -> list[str]:
    """Execute pages, store those that pass, and return what to say of the others.

    Args:
        jobs: the pages.
        cache: where to store them.
        environment: what executes them.
        kernels: from start_kernels; ended here.
        count: how many pages run at a time.
    """
    jobs.sort(key=lambda job: len(job.text), reverse=True)
    start, failures = time.perf_counter(), []

    def execute(job: Job) -> float:
        begin = time.perf_counter()
        execute_page(job.path, job.text, job.notebook, job.timeout)
        return time.perf_counter() - begin

    with ExitStack() as stack:
        pool = ThreadPoolExecutor(count)
        stack.callback(pool.shutdown, wait=True, cancel_futures=True)
        # left first, also by Ctrl-C: the kernels end, and so the threads that wait for them
        stack.enter_context(kernels)
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
