"""What each executed page owes its reader: where the outputs come from, and files to take away."""

from __future__ import annotations

import ast
import json
import posixpath
import zipfile
from typing import TYPE_CHECKING

from site_checks.site import LANGUAGES, Failure, attribute, text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from site_checks.site import Page, Site

__all__ = ["archives", "downloads", "provenance"]


def _with_class(page: Page, name: str) -> list[str]:
    return [text_of(each) for each in page.all if name in attribute(each, "class").split()]


def provenance(page: Page) -> Iterator[Failure]:
    """An executed page says which Python, torch, device and date made its outputs."""
    texts = _with_class(page, "provenance")
    if page.executed and not texts:
        yield page.fail(
            1, "executed code, but no line says which Python, PyTorch and device ran it"
        )
    for text in texts:
        if "Python" not in text or "PyTorch" not in text or not any(map(str.isdigit, text)):
            yield page.fail(1, f"the foot does not name Python and PyTorch: {text!r}")


def downloads(site: Site, page: Page) -> Iterator[Failure]:
    """An executed page offers itself as a script and as a notebook that can be read."""
    links = {
        posixpath.basename(attribute(each, "href")): each
        for each in page.all
        if each.name == "a" and "download" in each.attrs
    }
    for suffix, read in ((".py", ast.parse), (".ipynb", json.loads)):
        name = f"{posixpath.basename(page.docname)}{suffix}"
        path = site.folder / str(page.language) / "downloads" / f"{page.docname}{suffix}"
        if page.executed and name not in links:
            yield page.fail(1, f"executed code, but no download of {name}")
        elif page.executed and not path.is_file():
            yield page.fail(links[name], f"no file {path.relative_to(site.folder)}")
        elif path.is_file():
            try:
                read(path.read_text("utf-8"))
            except (SyntaxError, ValueError) as error:
                yield Failure(path, getattr(error, "lineno", 1) or 1, f"can't be read: {error}")


def archives(site: Site) -> Iterator[Failure]:
    """Each language has the whole course as an archive; every archive is whole and not empty."""
    for folder in LANGUAGES:
        course = site.folder / folder / "downloads" / "course.zip"
        if not course.is_file():
            yield Failure(course, 1, "missing: the archive of all scripts and notebooks")
    for path in site.files(".zip", ".whl"):
        try:
            with zipfile.ZipFile(path) as archive:
                broken, names = archive.testzip(), archive.namelist()
        except zipfile.BadZipFile as error:
            yield Failure(path, 1, f"no archive: {error}")
            continue
        if broken or not names:
            yield Failure(path, 1, f"{broken} is damaged" if broken else "the archive is empty")
