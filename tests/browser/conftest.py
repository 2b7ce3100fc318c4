"""The built site on a loopback port, and the system's Chromium, for the tests beside this file.

SITE      folder of the built site; build/site by default
CHROMIUM  the browser's program; found on PATH by default
"""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import threading
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SITE = Path(os.environ.get("SITE", ROOT / "build" / "site")).resolve()
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",  # CI runs as root in a container
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PHONE = {"width": 360, "height": 740}
DESKTOP = {"width": 1280, "height": 900}


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(item.path).parent == Path(__file__).parent:
            item.add_marker(pytest.mark.browser)


def find_chromium():
    named = os.environ.get("CHROMIUM")
    found = shutil.which(named) if named else next(filter(None, map(shutil.which, PROGRAMS)), None)
    if not found:
        pytest.fail(
            f"no browser: CHROMIUM={named or 'unset'}, and none of {', '.join(PROGRAMS)} is on PATH; "
            "install Chromium, for example with `apt-get install chromium fonts-noto-cjk`"
        )
    return found


@pytest.fixture(scope="session")
def site():
    if not (SITE / "index.html").is_file():
        pytest.fail(f"no built site in {SITE}: run `nox -s docs` first, or set SITE")
    return SITE


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Say nothing of each request."""


@pytest.fixture(scope="session")
def address(site):
    # a sub-folder, as on GitHub Pages: the site must not count on the host's root
    handler = functools.partial(Quiet, directory=site.parent)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/{site.name}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="session")
def chromium():
    program = find_chromium()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def new_context(chromium):
    """Open browsers of their own storage; `scheme`, `locale`, JavaScript off as a test needs."""
    contexts = []

    def make(**options):
        context = chromium.new_context(**({"viewport": DESKTOP} | options))
        context.set_default_timeout(5_000)
        contexts.append(context)
        return context

    yield make
    for context in contexts:
        context.close()


@pytest.fixture
def page(new_context):
    return new_context().new_page()


@pytest.fixture(scope="session")
def phone_size():
    return PHONE


@pytest.fixture
def phone(new_context):
    return new_context(viewport=PHONE).new_page()
