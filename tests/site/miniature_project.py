"""A miniature project that executes pages and scripts, built as from a command line."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.process import BaseProcess

# most of a small build is imports: fork builds from a process that has them behind it
CONTEXT = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
CONTEXT.set_forkserver_preload(
    [
        "sphinx.cmd.build",
        "sphinx.builders.html",
        "myst_nb.sphinx_ext",
        "sphinx_gallery.gen_gallery",
        "page_cache",
        "page_client",
        "matplotlib.pyplot",
        "joblib",
    ]
)

EXT = Path(__file__).parents[2] / "docs" / "_ext"
FRONT = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n  display_name: Python 3\n---\n\n"
CONF = """
import json, os, sys
from pathlib import Path
sys.path.insert(0, {ext!r})
project = "Miniature"
language = os.environ.get("DOCS_LANGUAGE", "en")
extensions = {extensions!r}
exclude_patterns = ["gallery/**.ipynb"]
nb_execution_mode = "cache"
nb_execution_timeout = 60
guide_execution_cache = "../cache"
guide_package_source = "../src/torchguide"
guide_fork = {fork!r}
{more}
def keep(app, page, template, context, doctree):
    found = Path(app.outdir, "provenance.json")
    pages = json.loads(found.read_text()) if found.exists() else {{}}
    found.write_text(json.dumps(pages | {{page: context["provenance"]}}))
def setup(app):
    app.connect("html-page-context", keep, priority=900)
"""
GALLERY = """
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"], "gallery_dirs": ["gallery"], "filename_pattern": r"\\.py$",
    "ignore_pattern": "__never__", "backreferences_dir": None, "download_all_examples": False,
    "min_reported_time": float("inf"), "show_signature": False, "write_computation_times": False,
}
"""


@dataclass
class Result:
    """How a build ended."""

    code: int
    log: str

    @property
    def pages(self) -> set[str]:
        """Return the pages that were executed."""
        return set(re.findall(r"^executed (\S+) in ", self.log, re.MULTILINE))

    @property
    def examples(self) -> set[str]:
        """Return the scripts that were executed."""
        found = re.search(r"^executed \d+ examples: (.*)$", self.log, re.MULTILINE)
        return set(found[1].split(", ")) if found else set()


class Project:
    """Sources, cache and output in a folder."""

    def __init__(self, folder: Path, *, gallery: bool = False, fork: bool = False) -> None:
        """Write the settings."""
        self.folder = folder
        self.docs = folder / "docs"
        extensions = ["myst_nb", "provenance", *(["gallery_execution"] if gallery else [])]
        self.write(
            "docs/conf.py",
            CONF.format(
                ext=str(EXT), extensions=extensions, fork=fork, more=GALLERY if gallery else ""
            ),
        )
        self.write("src/torchguide/__init__.py", "VERSION = 1\n")

    def write(self, name: str, text: str) -> Path:
        """Write a file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def page(self, name: str, *cells: str, prose: str = "Prose.") -> Path:
        """Write a page of code cells."""
        blocks = [f"```{{code-cell}} python\n{cell.strip()}\n```\n" for cell in cells]
        return self.write(f"docs/{name}.md", FRONT + f"# {name}\n\n{prose}\n\n" + "\n".join(blocks))

    def index(self, *pages: str) -> None:
        """Write the home page."""
        self.write(
            "docs/index.md", "# Home\n\n```{toctree}\n" + "".join(f"{p}\n" for p in pages) + "```\n"
        )

    def start(self, language: str = "en", largest: int = 0, **environ: str) -> BaseProcess:
        """Start a build of one language in a process where no file may exceed a size."""
        environ = {"DOCS_LANGUAGE": language, **environ}
        process = CONTEXT.Process(target=_build, args=(self.folder, language, largest, environ))
        process.start()
        return process

    def finish(self, process: BaseProcess, language: str = "en") -> Result:
        """Wait for the end of a build."""
        process.join(300)
        assert process.exitcode is not None, "the build hangs"
        return Result(process.exitcode, (self.folder / f"log-{language}").read_text("utf-8"))

    def build(self, language: str = "en", largest: int = 0, **environ: str) -> Result:
        """Build one language."""
        return self.finish(self.start(language, largest, **environ), language)

    def html(self, page: str, language: str = "en") -> str:
        """Return a built page."""
        return (self.folder / f"out-{language}" / f"{page}.html").read_text("utf-8")

    def cached(self) -> list[Path]:
        """Return the pages in the cache."""
        return sorted(self.folder.glob("cache/pages-*/executed/*/base.ipynb"))


def _build(folder: Path, language: str, largest: int, environ: dict[str, str]) -> None:
    """Run sphinx-build in the new process."""
    with (folder / f"log-{language}").open("wb") as log:
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    for name in [name for name in os.environ if name.startswith("PYTEST")]:
        del os.environ[name]
    os.environ.update(environ)
    os.chdir(folder / "docs")
    if largest:
        import resource

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # an error instead, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, resource.RLIM_INFINITY))
    from sphinx.cmd.build import main

    out = ["-d", f"../trees-{language}", ".", f"../out-{language}"]
    sys.exit(main(["-b", "html", "-n", "-W", "--keep-going", *out]))
