"""Execute gallery scripts each in a process of its own, forked where torch is imported already.

sphinx-gallery can hand the scripts of one section at a time to joblib's workers, which import
torch anew and carry the state of one script into the next.  On Linux all scripts are executed
here, before sphinx-gallery looks at them, and it finds them done.  Elsewhere joblib does it.
"""

from __future__ import annotations

import ctypes
import importlib
import multiprocessing
import os
import random
import signal
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx_gallery.gen_rst import generate_file_rst

import torch_warnings
from execution_environment import today
from gallery_records import Example, find_examples, remove_orphans
from page_execution import kernel_count, kernel_environ

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection

    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.util.typing import ExtensionMetadata

    from execution_environment import Environment

__all__ = ["reset_example", "setup"]

logger = logging.getLogger(__name__)
STATE = "guide_state"  # what the hook needs in workers; sphinx-gallery hands them its settings
PR_SET_PDEATHSIG = 1  # linux/prctl.h
PRELOADED = ("matplotlib.pyplot", "torch")
STARTING = threading.Lock()


def configure(app: Sphinx, config: Config) -> None:
    """Complete sphinx-gallery's settings, which it has checked and filled by now."""
    conf = config.sphinx_gallery_conf
    conf["reset_modules"] = (*conf["reset_modules"], f"{__name__}.reset_example")
    conf["reset_modules_order"] = "both"
    environment: Environment = app.guide_environment  # type: ignore[attr-defined]  # page_execution's
    where = environment.provenance()
    del where["date"]  # settings that change each day would render everything anew each day
    conf[STATE] = {"digest": environment.digest, "where": where, "srcdir": str(app.srcdir)}


def reset_example(conf: dict[str, Any], fname: str, when: str) -> None:
    """Give a script the state of a new process; afterwards, keep the record of what it made."""
    if when == "after":
        state = conf[STATE]
        for example in find_examples(conf, Path(state["srcdir"]), state["digest"]):
            if example.source.name == Path(fname).name:
                example.keep({**state["where"], "date": today()})
        return
    torch_warnings.install()
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "torch" in sys.modules:
        torch = sys.modules["torch"]
        torch.default_generator.seed()
        torch.set_default_dtype(torch.float32)
        torch.set_grad_enabled(True)


def before_gallery(app: Sphinx) -> None:
    """Delete outputs that are not whole or not of today's code; execute what is missing."""
    conf = app.config.sphinx_gallery_conf
    remove_orphans(conf, app.srcdir)
    examples = find_examples(conf, app.srcdir, conf[STATE]["digest"])
    stale = [example for example in examples if not example.is_whole()]
    for example in stale:
        example.remove()
    if not app.config.guide_fork:
        return  # sphinx-gallery executes them, one after the other
    if stale and sys.platform == "linux":
        _execute(app, conf, stale)
        stale = []
    conf["parallel"] = max(2, kernel_count(app.config)) if stale else False


def _execute(app: Sphinx, conf: dict[str, Any], stale: list[Example]) -> None:
    """Execute scripts of all sections side by side; sphinx-gallery only collects them then."""
    os.environ.update(kernel_environ(app.config))  # read when torch is loaded
    for name in PRELOADED if len(stale) > 1 else ():
        try:
            importlib.import_module(name)  # and nothing run before the fork
        except (ImportError, OSError):
            logger.info("not imported before the gallery: %s", name)
    passed: list[str] = []
    with ThreadPoolExecutor(kernel_count(app.config)) as pool:
        todo = {pool.submit(run_forked, partial(_generate, conf, each)): each for each in stale}
        for number, done in enumerate(as_completed(todo), 1):
            example = todo[done]
            try:
                error = done.result()
            except ExtensionError as died:
                error = f"{example.source}:1: {died}"
            if error:
                conf["failing_examples"][str(example.source)] = error
            else:
                passed.append(example.source.stem)
            word = "failed" if error else "executed"
            logger.info("%s example %s (%d of %d)", word, example.source.stem, number, len(stale))
    if conf["failing_examples"]:
        conf["plot_gallery"] = False  # not a second time; page_execution ends the build
    logger.info("executed %d examples: %s", len(passed), ", ".join(sorted(passed)))


def _generate(conf: dict[str, Any], example: Example) -> str | None:
    """Make a script's outputs, in the forked process; return the traceback of a failure."""
    source, folder = example.source, example.target.parent
    (folder / "images" / "thumb").mkdir(parents=True, exist_ok=True)
    about = generate_file_rst(source.name, folder, source.parent, conf)[3]
    failure: str | None = about.get("formatted_exception")
    return failure


def after_gallery(app: Sphinx) -> None:
    """Say what sphinx-gallery executed where scripts are not forked."""
    names = sorted(Path(name).stem for name in app.config.sphinx_gallery_conf["passing_examples"])
    if names:
        logger.info("executed %d examples: %s", len(names), ", ".join(names))


def run_forked(function: Callable[[], Any]) -> Any:
    """Call a function in a forked process and return its result.

    Raises:
        ExtensionError: with the traceback, or how the process died.
    """
    context = multiprocessing.get_context("fork")
    with STARTING:  # no other child may inherit our end of the pipe: we would miss a death
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_call, args=(function, sender))
        process.start()
        sender.close()
    with receiver:
        try:
            passed, result = receiver.recv()
        except EOFError:
            process.join()
            code = process.exitcode
            raise ExtensionError(
                f"the process of a gallery script ended without a result (exit code {code})"
            ) from None
    process.join()
    if not passed:
        raise ExtensionError(result)
    return result


def _call(function: Callable[[], Any], sender: Connection) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # end with the build
    try:
        result = (True, function())
    except Exception:  # noqa: BLE001  # told to the parent
        result = (False, traceback.format_exc())
    sender.send(result)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Stand around sphinx-gallery's own handlers of the same events."""
    app.setup_extension("page_execution")
    app.setup_extension("sphinx_gallery.gen_gallery")
    app.connect("config-inited", configure, priority=600)
    app.connect("builder-inited", before_gallery, priority=200)
    app.connect("builder-inited", after_gallery, priority=800)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
