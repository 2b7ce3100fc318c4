from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SESSIONS = (
    "lint", "tests", "tests_ext", "tests_torch", "gpu", "container", "hosts", "facts", "examples", "docs",
    "serve", "i18n_update", "i18n_check", "site_check", "downloads", "browser", "linkcheck", "build",
)  # fmt: skip


def nox(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nox", "-f", str(ROOT / "noxfile.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_every_session_is_described_in_the_module_docstring():
    docstring = (ROOT / "noxfile.py").read_text().split('"""')[1]
    for name in SESSIONS:
        assert f"nox -s {name} " in docstring, name


def test_sessions_are_listed_with_a_description_each():
    shown = nox("--list")
    assert shown.returncode == 0, shown.stderr
    for name in SESSIONS:
        line = next(x for x in shown.stdout.splitlines() if x[2:].startswith(name))
        assert " -> " in line, line


@pytest.mark.parametrize(
    ("session", "valid"), [("docs", "en, zh_CN"), ("serve", "en, zh_CN"), ("lint", "none")]
)
def test_an_unknown_argument_is_an_error_that_lists_the_valid_ones(session, valid):
    shown = nox("-s", session, "--", "fr")
    assert shown.returncode != 0
    assert "pip install" not in shown.stderr  # refused before anything is made
    assert f"does not know: fr. Arguments it takes: {valid}" in shown.stderr
