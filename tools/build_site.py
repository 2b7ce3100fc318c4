"""Build the site: English first, which executes everything; Chinese gets ready meanwhile.

    python tools/build_site.py             both languages, into build/site
    python tools/build_site.py zh_CN       one of them

On Linux both languages are forked from this process, with Sphinx imported once.  A language
whose build did not end well is rendered from scratch the next time; what was executed stays.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import multiprocessing
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from filelock import FileLock, Timeout  # noqa: E402  (the line above comes first)

from build_processes import end_with, wait_for_the_last_build  # noqa: E402
from language_links import LANGUAGES, SITE_URL, write_root_page  # noqa: E402
from site_files import write_not_found_page, write_sitemap  # noqa: E402
from site_stamp import Stamp  # noqa: E402

BUILD = Path(os.environ.get("DOCS_BUILD_DIR", ROOT / "build"))
FORKED = BUILD / "lock.forked"
PLAIN = ("guide_fork=0", "guide_execute_first=0")
SLOW_IMPORTS = (
    "sphinx.cmd.build",
    "sphinx.builders.html",
    "sphinx.search",
    "myst_nb.sphinx_ext",
    "sphinx_gallery.gen_gallery",
    "furo",
    "matplotlib.pyplot",
    "page_cache",
)


@dataclass
class Language:
    """One language's build."""

    code: str
    site: Path
    jobs: int
    settings: list[str] = field(default_factory=list)
    waits_for: Path | None = None  # a file that appears when its pages are executed
    started: float = 0.0
    ended: float = 0.0

    @property
    def out(self) -> Path:
        """Return the language's folder in the site."""
        return self.site / LANGUAGES[self.code][0]

    @property
    def doctrees(self) -> Path:
        """Return where Sphinx keeps what it has read."""
        return BUILD / "doctrees" / self.code

    @property
    def unfinished(self) -> Path:
        """Return the file that stands while the build has not ended well."""
        return BUILD / "doctrees" / f"{self.code}.unfinished"

    @property
    def executed(self) -> Path:
        """Return the file that appears when everything is executed."""
        return BUILD / f"{self.code}.executed"

    @property
    def reached_pages(self) -> Path:
        """Return the file that appears when the gallery is done and pages come next."""
        return BUILD / f"{self.code}.gallery"

    @property
    def stands(self) -> bool:
        """Say whether the last build of the language ended well."""
        return self.out.is_dir() and not self.unfinished.exists()

    def command(self) -> list[str]:
        """Return the arguments of sphinx-build."""
        settings = [
            f"guide_gallery_marker={self.reached_pages}",
            f"guide_executed_marker={self.executed}",
            f"guide_wait_for={self.waits_for or ''}",
            *self.settings,
        ]
        defines = [part for setting in settings for part in ("-D", setting)]
        return [
            *("-b", "html", "-n", "-W", "--keep-going", "-j", str(self.jobs)),
            *("-d", str(self.doctrees), *defines, str(ROOT / "docs"), str(self.out)),
        ]

    def prepare(self) -> None:
        """Start from scratch if the last build was interrupted or failed."""
        if self.unfinished.exists():
            print(f"{self.code}: the last build did not end well; rendering from scratch")
            shutil.rmtree(self.doctrees, ignore_errors=True)
            shutil.rmtree(self.out, ignore_errors=True)
            (self.site / "index.html").unlink(missing_ok=True)  # it would lead here
        self.unfinished.parent.mkdir(parents=True, exist_ok=True)
        self.unfinished.touch()
        self.reached_pages.unlink(missing_ok=True)
        self.executed.unlink(missing_ok=True)


class Running:
    """A language being built in another process, its output passed on line by line."""

    def __init__(self, language: Language) -> None:
        """Fork on Linux, start a new Python elsewhere."""
        self.language = language
        language.prepare()
        language.started = time.perf_counter()
        reader, writer = os.pipe()
        self.process: Any
        if sys.platform == "linux":
            context = multiprocessing.get_context("fork")
            self.process = context.Process(
                target=_sphinx, args=(language, reader, writer, os.getpid())
            )
            self.process.start()
        else:
            command = [sys.executable, "-m", "sphinx", *language.command()]
            environ = {**os.environ, "DOCS_LANGUAGE": language.code}
            self.process = subprocess.Popen(
                command, env=environ, stdout=writer, stderr=subprocess.STDOUT
            )
        os.close(writer)
        stream = os.fdopen(reader, "rb")
        self.relay = threading.Thread(target=_relay, args=(language.code, stream), daemon=True)
        self.relay.start()

    @property
    def code(self) -> int | None:
        """Return the exit code; None while it runs."""
        if sys.platform == "linux":
            return self.process.exitcode  # type: ignore[no-any-return]
        return self.process.poll()

    def wait(self, marker: Path | None = None) -> None:
        """Wait for the end, or until a file is there."""
        while self.code is None and not (marker and marker.exists()):
            time.sleep(0.02)

    def finish(self) -> int:
        """Wait for the end and return the exit code."""
        self.wait()
        self.language.ended = time.perf_counter()
        self.relay.join(1)  # no longer: something it started may hold the other end
        code = self.code or 0
        if code == 0:
            self.language.unfinished.unlink()
        return code

    def stop(self) -> None:
        """End it now."""
        if self.code is None:
            self.process.terminate()
        self.wait()


def _sphinx(language: Language, reader: int, writer: int, parent: int) -> None:
    """Run sphinx-build in the forked process."""
    end_with(parent, FORKED)
    os.close(reader)
    os.dup2(writer, 1)
    os.dup2(writer, 2)
    os.environ["DOCS_LANGUAGE"] = language.code
    gc.freeze()  # what both languages share is not looked at again
    gc.set_threshold(100_000, 20, 20)  # doctrees are large, and garbage is little
    from sphinx.cmd.build import main as sphinx_build  # noqa: PLC0415  (imported before the fork)

    sys.exit(sphinx_build(language.command()))


def _relay(code: str, stream: IO[bytes]) -> None:
    with stream:
        for line in stream:
            text = line.decode(errors="replace").rstrip()
            if text:
                print(f"{code:5} | {text}", flush=True)


def build(languages: list[Language]) -> int:
    """Build languages; the first executes everything, the others read and render beside it.

    A forked one dies with this process, and so may wait for the first by itself, ready to read.
    """
    first = languages[0]
    running: list[Running] = []
    try:
        for language in languages:
            if running:
                early = sys.platform == "linux"
                running[0].wait(first.reached_pages if early else first.executed)
                if running[0].code:
                    break
                language.waits_for = first.executed if early else None
            running.append(Running(language))
        running[0].wait(first.executed)
        if not first.executed.exists():  # nothing to wait for any more
            for each in running[1:]:
                each.stop()
        codes = [each.finish() for each in running]
    except BaseException:
        for each in running:
            each.stop()
        raise
    return max(map(abs, codes))


def preload() -> None:
    """Import once what both languages need; what is missing, Sphinx will name."""
    for name in SLOW_IMPORTS:
        try:
            importlib.import_module(name)
        except ImportError:
            return


def main(argv: list[str] | None = None) -> int:
    """Build what the arguments say and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("language", nargs="?", choices=list(LANGUAGES), help="default: all")
    parser.add_argument("--out", type=Path, default=BUILD / "site", help="default: build/site")
    parser.add_argument("--jobs", type=int, help="processes for each language's rendering")
    parser.add_argument(
        "--look", action="store_true", help="let Sphinx look for changes even if there are none"
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="for comparison: a new kernel for each page, nothing executed before reading, one\n"
        "language after the other",
    )
    arguments = parser.parse_args(argv)
    codes = [arguments.language] if arguments.language else list(LANGUAGES)
    jobs = arguments.jobs or max(1, (os.cpu_count() or 1) // len(codes))
    settings = list(PLAIN) if arguments.plain else []
    site = arguments.out.resolve()
    languages = [Language(code, site, jobs, settings) for code in codes]

    BUILD.mkdir(parents=True, exist_ok=True)
    lock = FileLock(BUILD / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        print("Another build of this tree is running; waiting for it.", flush=True)
        lock.acquire()
    with lock:
        wait_for_the_last_build(FORKED)
        start = time.perf_counter()
        outputs = [*(language.out for language in languages), ROOT / "docs" / "gallery"]
        stamp = Stamp(BUILD / "finished.json", ROOT, outputs, [codes, str(site), settings])
        if not arguments.look and stamp.fits():
            print(f"Nothing has changed since the site was built: {site}")
            return 0
        stamp.remove()
        if sys.platform == "linux":
            preload()
        if arguments.plain:
            code = max(build([language]) for language in languages)
        else:
            code = build(languages)
        if all(Language(each, site, jobs).stands for each in LANGUAGES):
            write_root_page(site)
            write_not_found_page(site, SITE_URL)
            write_sitemap(site, SITE_URL)
        for language in languages:
            if language.ended:
                print(f"{language.code}: {language.ended - language.started:.1f} s, {language.out}")
        if code == 0:
            stamp.write()
        print(f"all: {time.perf_counter() - start:.1f} s" if code == 0 else "The build failed.")
    return code


if __name__ == "__main__":
    if "PYTHONHASHSEED" not in os.environ and os.name == "posix":
        # gallery scripts are forked from here: the order of sets must not differ between builds
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606
    sys.exit(main())
