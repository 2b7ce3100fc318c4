"""A miniature site in either language, built in this process."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import pytest
from sphinx.testing.util import SphinxTestApp

if TYPE_CHECKING:
    from pathlib import Path

CONF = """
project = "Miniature"
# not the default, which is one dictionary for all applications of a process
source_suffix = {{".rst": "restructuredtext"}}
language = {language!r}
guide_source_language = "en"
locale_dirs = ["locales"]
gettext_compact = False
gettext_location = False
exclude_patterns = ["gallery/**.ipynb", "**/sg_execution_times.rst", "sg_execution_times.rst"]
"""
HEADER = 'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


@pytest.fixture
def po():
    """Write a catalog: `po({"Views": "视图"})` returns the text of the file."""

    def write(messages: dict[str, str]) -> str:
        entries = (f"msgid {_quoted(a)}\nmsgstr {_quoted(b)}\n" for a, b in messages.items())
        return HEADER + "\n".join(entries)

    return write


@pytest.fixture
def make_site():
    """Write the files, build them and return the application: `make_site(tmp_path, files)`.

    The paths in `files` count from the folder of the sources, `tmp_path/docs`, so that
    "../examples/x.py" lies beside it; a catalog is "locales/zh_CN/LC_MESSAGES/page.po". `conf` is
    appended to conf.py and names the extensions. Output: `app.outdir`; warnings:
    `app.warning.getvalue()`. Called again with the same folder, it builds what changed.
    """
    apps: list[SphinxTestApp] = []

    def make(
        tmp_path: Path,
        files: dict[str, str],
        conf: str = "",
        language: str = "en",
        builder: str = "html",
    ) -> SphinxTestApp:
        docs = tmp_path / "docs"
        for name, text in (files | {"conf.py": CONF.format(language=language) + conf}).items():
            path = docs / name
            if not path.exists() or path.read_text("utf-8") != text:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, "utf-8")
        build = tmp_path / "build" / f"{language}-{builder}"
        for other in apps:
            other.cleanup()  # what one application registers is global
        app = SphinxTestApp(builder, srcdir=docs, builddir=build)
        apps.append(app)
        with warnings.catch_warnings():
            # of MyST-Parser 5.2 under Sphinx 9; its readers see no difference
            warnings.filterwarnings("ignore", message="'myst_parser.*MystReferenceResolver.app'")
            app.build()
        return app

    yield make
    for app in apps:
        app.cleanup()
