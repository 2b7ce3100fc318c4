"""Offer each executed page and each gallery script as .py and .ipynb, each section as .zip.

All is in the language of the build. A page's files are written when its doctree is resolved,
so that they are as new as its HTML; the archives when the build is finished.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from docutils import nodes
from sphinx.errors import ExtensionError

from check_cell import needed_packages
from course_archives import archive, readme, sections
from download_pages import gallery_downloads, page_downloads
from package_wheel import build_wheel

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["Downloads"]

KIND = "guide_download"  # in env.metadata: "page" or "gallery"
HERE = Path(__file__).parent


def mark(app: Sphinx, document: nodes.document) -> None:
    """Note which pages are offered, while they are read."""
    docname = app.env.docname
    if Path(app.srcdir, f"{docname}.py").is_file():
        app.env.metadata[docname][KIND] = "gallery"
    elif any(node.get("nb_element") == "cell_code" for node in document.findall(nodes.container)):
        app.env.metadata[docname][KIND] = "page"


def offered(env: BuildEnvironment) -> list[str]:
    """List the pages that have downloads."""
    return sorted(name for name in env.found_docs if KIND in env.metadata.get(name, {}))


class Downloads:
    """The downloads of one build."""

    def __init__(self) -> None:
        """Start without a wheel."""
        self.wheel: Path | None = None
        self.wheel_url: str | None = None

    def prepare(self, app: Sphinx) -> None:
        """Build the package's wheel."""
        if app.builder.format != "html":
            return
        if not app.config.html_baseurl.endswith("/"):
            raise ExtensionError('conf.py: html_baseurl must end with "/"; downloads link to it')
        if app.config.guide_package is not None:
            project = Path(app.srcdir, app.config.guide_package).resolve()
            cache = Path(app.srcdir, app.config.guide_wheel_cache or project / "build/cache/wheels")
            self.wheel = build_wheel(project, cache)
            self.wheel_url = urljoin(app.config.html_baseurl, f"downloads/wheels/{self.wheel.name}")

    def outdated(self, app: Sphinx, env: BuildEnvironment) -> list[str]:
        """Name the pages to write again although their source is the same."""
        if app.builder.format != "html":
            return []
        stamp, folder = Path(app.doctreedir, "downloads.sha256"), Path(app.outdir, "downloads")
        same = stamp.is_file() and stamp.read_text() == self._digest(app)
        return [
            docname
            for docname in offered(env)
            if not (same and all((folder / f"{docname}{s}").is_file() for s in (".py", ".ipynb")))
        ]

    def write_page(self, app: Sphinx, document: nodes.document, docname: str) -> None:
        """Write the script and the notebook of a page."""
        kind = app.env.metadata.get(docname, {}).get(KIND)
        if app.builder.format == "html" and kind:
            make = gallery_downloads if kind == "gallery" else page_downloads
            for suffix, text in make(app, document, docname, self.wheel_url).items():
                _write(app, f"{docname}{suffix}", text.encode())

    def finish(self, app: Sphinx, error: Exception | None) -> None:
        """Write wheel and archives, and remove what is no longer offered."""
        if error or app.builder.format != "html":
            return
        pages = offered(app.env)
        written = {f"{docname}{suffix}" for docname in pages for suffix in (".py", ".ipynb")}
        if self.wheel:
            _write(app, f"wheels/{self.wheel.name}", self.wheel.read_bytes())
            written.add(f"wheels/{self.wheel.name}")
        for section, docnames in sections(pages).items():
            name = f"{section or 'course'}.zip"
            files = self._archived(app, section, docnames)
            _write(app, name, archive(files, section.replace("/", "-") or "course"))
            written.add(name)
        folder = Path(app.outdir, "downloads")
        for path in folder.rglob("*"):
            if path.is_file() and path.relative_to(folder).as_posix() not in written:
                path.unlink()
        Path(app.doctreedir, "downloads.sha256").write_text(self._digest(app))

    def offer(
        self, app: Sphinx, pagename: str, _template: str, context: dict[str, Any], _doctree: Any
    ) -> None:
        """Give the template the page's downloads, from its own files to its section's archive."""
        kinds = {f"{pagename}.{kind}": kind for kind in ("py", "ipynb")}
        names = kinds if KIND in app.env.metadata.get(pagename, {}) else {}
        if pagename == app.config.root_doc:
            names = names | ({"course.zip": "zip"} if offered(app.env) else {})
        elif pagename.endswith("/index") and pagename[:-6] in sections(offered(app.env)):
            names = names | {f"{pagename[:-6]}.zip": "zip"}
        context["downloads"] = [
            {"kind": kind, "href": context["pathto"](f"downloads/{name}", 1)}
            for name, kind in names.items()
        ]

    def _archived(self, app: Sphinx, section: str, docnames: list[str]) -> dict[str, bytes]:
        """Collect an archive: the files by their path in the section, the wheel, how to run."""
        folder, files, needed = Path(app.outdir, "downloads"), {}, set()
        for docname in docnames:
            for suffix in (".py", ".ipynb"):
                name = f"{docname}{suffix}"
                files[name.removeprefix(section).lstrip("/")] = (folder / name).read_bytes()
            needed |= set(
                needed_packages((folder / f"{docname}.py").read_text("utf-8"), None).values()
            )
        if self.wheel and "torchguide" in needed:
            files[self.wheel.name] = self.wheel.read_bytes()
            needed = needed - {"torchguide"} | {self.wheel.name}
        index = f"{section}/index".lstrip("/")
        title = app.env.titles[index].astext() if index in app.env.titles else app.config.project
        url = urljoin(app.config.html_baseurl, app.builder.get_target_uri(index))
        example = docnames[0].removeprefix(section).lstrip("/")
        files["README.md"] = readme(title, example, url, sorted(needed)).encode()
        return files

    def _digest(self, app: Sphinx) -> str:
        """Digest what the files depend on beside their pages."""
        digest = hashlib.sha256(f"{app.config.html_baseurl} {self.wheel_url}".encode())
        for module in sorted(HERE.glob("*.py")):
            digest.update(module.read_bytes())
        return digest.hexdigest()


def _write(app: Sphinx, name: str, content: bytes) -> None:
    """Write a file whole or not at all: an interrupted build leaves no half download."""
    target = Path(app.outdir, "downloads", name)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.write_bytes(content)
    unfinished.replace(target)


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register the settings and the steps of the build."""
    app.setup_extension("catalogs")
    # The folder of the package's pyproject.toml, from the site's source; None offers no wheel.
    app.add_config_value("guide_package", "..", "html", types=frozenset({str, type(None)}))
    app.add_config_value("guide_wheel_cache", None, "", types=frozenset({str, type(None)}))
    downloads = Downloads()
    app.connect("builder-inited", downloads.prepare)
    app.connect("doctree-read", mark)
    app.connect("env-updated", downloads.outdated)
    app.connect("doctree-resolved", downloads.write_page)
    app.connect("html-page-context", downloads.offer)
    app.connect("build-finished", downloads.finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
