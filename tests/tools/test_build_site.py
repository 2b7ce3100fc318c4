"""The build of both languages: order, marks of what did not end well, refusals."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from build_processes import wait_for_the_last_build

ROOT = Path(__file__).parents[2]
FRONT = "---\nfile_format: mystnb\nkernelspec:\n  name: python3\n  display_name: Python 3\n---\n\n"
CONF = """
import os, sys
from pathlib import Path
HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
project = "Miniature"
language = os.environ.get("DOCS_LANGUAGE", "en")
extensions = ["myst_nb", "page_execution"]
exclude_patterns = ["_ext", "_templates"]
nb_execution_mode = "cache"
guide_execution_cache = "../build/cache"
guide_fork = False
"""


class Tree:
    """A small copy of the repository with one page."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("docs/_ext", "docs/_templates", "src/torchguide"):
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        (folder / "tools").mkdir()
        for name in ("build_processes.py", "build_site.py", "site_stamp.py"):
            shutil.copy(ROOT / "tools" / name, folder / "tools")
        (folder / "docs" / "conf.py").write_text(CONF)
        self.page("print('made')")

    def page(self, code: str) -> None:
        text = f"{FRONT}# Home\n\n```{{code-cell}} python\n{code}\n```\n"
        (self.folder / "docs" / "index.md").write_text(text)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        environ = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "DOCS_"))}
        return subprocess.Popen(
            [sys.executable, "tools/build_site.py", *arguments],
            cwd=self.folder, env=environ, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def build(self, *arguments: str) -> tuple[int, str]:
        process = self.start(*arguments)
        log, _ = process.communicate(timeout=300)
        return process.returncode, log

    def site(self, name: str) -> Path:
        return self.folder / "build" / "site" / name


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return Tree(tmp_path_factory.mktemp("tree"))


def test_the_whole_site_from_nothing_then_nothing_to_do(tree):
    code, log = tree.build()
    assert code == 0, log
    assert log.count("executed index in") == 1
    for name in ("index.html", "en/index.html", "zh-cn/index.html"):
        assert tree.site(name).exists()
    code, log = tree.build()
    assert (code, log.count("\n")) == (0, 1)
    assert "Nothing has changed" in log
    tree.site("en/index.html").unlink()  # what is missing is noticed
    code, log = tree.build()
    assert code == 0, log
    assert tree.site("en/index.html").exists()


def test_an_unknown_language_is_refused_with_the_valid_ones(tree):
    code, log = tree.build("fr")
    assert code != 0
    assert "en" in log
    assert "zh_CN" in log
    assert "invalid choice: 'fr'" in log


def test_a_failing_page_fails_the_build_and_the_other_language_stops(tree):
    tree.page("1 / 0")
    code, log = tree.build()
    assert code != 0
    assert "index.md:11: ZeroDivisionError" in log
    assert "zh_CN | reading" not in log  # it had only got ready
    chinese = [line for line in log.splitlines() if line.startswith("zh_CN |")]
    assert not any("ZeroDivisionError" in line for line in chinese), "executed a second time"
    tree.page("print('repaired')")
    code, log = tree.build()
    assert code == 0, log
    assert "en: the last build did not end well" in log
    assert "repaired" in tree.site("zh-cn/index.html").read_text("utf-8")


def test_a_killed_build_is_rendered_from_scratch(tree):
    tree.page("import time\ntime.sleep(600)")
    process = tree.start()
    for line in process.stdout:
        if "updating environment" in line:
            break
    half = tree.site("en/index.html")
    half.write_text("<html>half")  # as if killed while writing
    os.utime(half, (time.time() + 999,) * 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    tree.page("print('made')")
    code, log = tree.build()
    assert code == 0, log
    assert "rendering from scratch" in log
    assert "made" in half.read_text("utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="languages are forked on Linux only")
def test_what_a_killed_build_had_forked_ends_with_it(tree):
    tree.page("import time\ntime.sleep(600)")
    process = tree.start()
    for line in process.stdout:
        if "updating environment" in line:
            break
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children
    os.kill(process.pid, signal.SIGKILL)  # it alone, as nox does after Ctrl-C
    process.wait()
    tree.page("print('after')")
    code, log = tree.build()
    assert code == 0, log
    assert not [each for each in children if Path("/proc", each).exists()]
    process.stdout.close()


@pytest.mark.skipif(sys.platform != "linux", reason="languages are forked on Linux only")
def test_a_build_waits_for_processes_that_the_last_one_left(tmp_path):
    lock = tmp_path / "lock"
    code = (
        "import os, sys, time, pathlib\n"
        "from build_processes import end_with\n"
        "end_with(os.getppid(), pathlib.Path(sys.argv[1]))\n"
        "if not os.fork():\n"
        "    time.sleep(1.5)\n"
    )
    start = time.monotonic()
    command = [sys.executable, "-c", code, str(lock)]
    subprocess.run(command, check=True, cwd=ROOT / "tools", stdout=subprocess.DEVNULL)
    wait_for_the_last_build(lock)
    assert time.monotonic() - start > 1.5


def test_one_language_alone_from_nothing(tmp_path):
    tree = Tree(tmp_path)
    code, log = tree.build("zh_CN")
    assert code == 0, log
    assert "executed index in" in log
    assert tree.site("zh-cn/index.html").exists()
    assert not tree.site("index.html").exists()


def test_a_second_build_waits_for_the_first(tree):
    tree.page("import time\ntime.sleep(1)\nprint('slow')")
    first, second = tree.start(), tree.start()
    logs = [process.communicate(timeout=300)[0] for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), logs
    assert sum("waiting for it" in log for log in logs) == 1
    assert sum(log.count("executed index in") for log in logs) == 1
