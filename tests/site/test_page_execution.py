"""Pages are executed once, before they are read, and nothing broken is taken for whole."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from miniature_project import Project
from myst_nb.core.read import read_myst_markdown_notebook

from page_cache import PageCache

UNIQUE = "import time\nprint('made at', time.time_ns())"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Two pages, built once in English."""
    project = Project(tmp_path_factory.mktemp("project"))
    project.index("one", "two")
    project.page("one", UNIQUE)
    project.page("two", "print('two')")
    first = project.build(SOURCE_DATE_EPOCH="86400")
    assert first.code == 0, first.log
    return project, first


def test_both_languages_show_the_outputs_of_one_execution(built):
    project, first = built
    assert first.pages == {"one", "two"}
    second = project.build("zh_CN")
    assert second.code == 0, second.log
    assert second.pages == set()
    made = [line for line in project.html("one").splitlines() if "made at" in line][-1]
    assert made in project.html("one", "zh_CN")


def test_provenance_is_of_the_day_of_execution_in_both_languages(built):
    project, _ = built
    project.build("zh_CN")
    for language in ("en", "zh_CN"):
        pages = json.loads((project.folder / f"out-{language}" / "provenance.json").read_text())
        assert pages["one"]["date"] == "1970-01-02"
        assert pages["one"]["python"] == ".".join(map(str, sys.version_info[:3]))
        assert set(pages["one"]) == {"python", "torch", "device", "date"}
        assert pages["index"] is None


def test_only_what_changed_is_executed(built):
    project, _ = built
    assert project.build().pages == set()
    project.page("one", UNIQUE, prose="Other words.")
    result = project.build()
    assert (result.code, result.pages) == (0, set())
    project.page("two", "print('three')")
    assert project.build().pages == {"two"}
    assert "three" in project.html("two")


def test_an_edit_of_the_package_executes_everything_again(built):
    project, _ = built
    project.write("src/torchguide/__init__.py", "VERSION = 2\n")
    result = project.build()
    assert (result.code, result.pages) == (0, {"one", "two"})


def test_what_myst_nb_writes_stays_out_of_the_site(built):
    project, _ = built
    assert (project.folder / "trees-en" / "jupyter_execute" / "one.ipynb").exists()
    assert not (project.folder / "jupyter_execute").exists()


def test_what_is_printed_in_parts_is_shown_as_printed(tmp_path):
    project = Project(tmp_path)
    project.index("one")
    slowly = "import sys, time\nfor part in ['x ', 'y', '\\n\\n', 'z\\n']:\n    "
    slowly += (
        "print(part, end='', flush=True)\n    time.sleep(0.3)\n    print('!', file=sys.stderr)"
    )
    project.page("one", slowly)
    result = project.build()
    assert result.code == 0, result.log
    shown = re.sub("<[^>]*>", "", project.html("one"))
    assert "x y\n\nz\n" in shown
    assert "!\n!\n!\n!\n" in shown


def test_a_traceback_does_not_say_where_the_site_is_built(tmp_path):
    project = Project(tmp_path)
    project.index("one")
    program = """\
        :tags: [raises-exception]
        import json
        import traceback
        try:
            json.loads("{")
        except ValueError:
            print(traceback.format_exc())
        json.loads("[")"""
    project.page("one", textwrap.dedent(program))
    result = project.build()
    assert result.code == 0, result.log
    html = project.html("one")
    assert html.count("json/decoder.py") >= 2
    assert json.__file__.removesuffix("/json/__init__.py") not in html


def test_a_warning_does_not_name_the_file_of_its_cell(tmp_path):
    project = Project(tmp_path)
    project.index("one")
    project.page("one", "import warnings\nwarnings.warn('mind this')")
    result = project.build()
    assert result.code == 0, result.log
    assert "&lt;cell&gt;:2: UserWarning: mind this" in re.sub(
        "</?(?:span|pre)[^>]*>", "", project.html("one")
    )


def test_all_failures_are_reported_and_none_is_stored(tmp_path):
    project = Project(tmp_path)
    project.index("good", "bad", "worse")
    project.page("good", "print('good')")
    bad = project.page("bad", "x = 1", "y = 2\nx / 0")
    worse = project.page("worse", "import os\nos._exit(3)")
    for _ in range(2):  # the second build finds nothing of the failures
        result = project.build()
        assert result.code != 0
        assert f"{bad}:18: ZeroDivisionError: division by zero" in result.log
        assert f"{worse}:13: the kernel died" in result.log
        assert len(project.cached()) == 1
        assert not (tmp_path / "out-en" / "good.html").exists()
    project.page("bad", "x = 1", "x / 1")
    project.page("worse", "print('better')")
    result = project.build()
    assert (result.code, result.pages) == (0, {"bad", "worse"})


def test_damaged_entries_are_executed_again(tmp_path):
    project = Project(tmp_path)
    names = {"half", "empty", "missing", "whole"}
    project.index(*sorted(names))
    for name in names:
        project.page(name, f"print('this is', '{name}')")
    assert project.build().code == 0
    entries = {name: p for p in project.cached() for name in names if name in p.read_text()}
    entries["half"].write_bytes(entries["half"].read_bytes()[:100])
    entries["empty"].write_bytes(b"")
    entries["missing"].unlink()
    result = project.build("zh_CN")
    assert (result.code, result.pages) == (0, {"half", "empty", "missing"}), result.log
    assert "this is half" in project.html("half", "zh_CN")
    database = entries["whole"].parents[2] / "global.db"
    database.write_bytes(database.read_bytes()[:5000])
    result = project.build("de")
    assert (result.code, result.pages) == (0, names), result.log


def test_a_page_that_cannot_be_written_whole_is_not_kept(tmp_path, monkeypatch):
    text = "---\nfile_format: mystnb\n---\n\n```{code-cell} python\n1\n```\n"
    notebook = read_myst_markdown_notebook(text, add_source_map=True)
    cache = PageCache(tmp_path / "cache")
    write = Path.write_text

    def full(path, text, *args, **kwargs):
        write(path, text[: len(text) // 2], *args, **kwargs)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        with pytest.raises(OSError, match="No space left"):
            cache.store(notebook, tmp_path / "page.md", {})
    assert PageCache(tmp_path / "cache").find(notebook) is None
    assert not list((tmp_path / "cache").rglob("base.ipynb"))


def test_a_full_disk_fails_the_build_and_leaves_nothing_half(tmp_path):
    project = Project(tmp_path)
    project.index("big")
    project.page("big", "print('x' * 400_000)\nprint('the end')")
    result = project.build(largest=300_000)
    assert result.code != 0, result.log
    assert project.cached() == []
    result = project.build()
    assert (result.code, result.pages) == (0, {"big"})
    assert "the end" in project.html("big")


def test_two_builds_at_once_execute_each_page_once(tmp_path):
    project = Project(tmp_path)
    project.index(*"abc")
    for name in "abc":
        project.page(name, f"# {name}\n{UNIQUE}")
    started = [(project.start(language), language) for language in ("en", "zh_CN")]
    results = [project.finish(process, language) for process, language in started]
    assert [result.code for result in results] == [0, 0], results
    assert sorted(page for result in results for page in result.pages) == ["a", "b", "c"], results


def test_an_interrupted_build_leaves_no_kernel_and_keeps_what_was_whole(tmp_path):
    project = Project(tmp_path)
    project.index("quick", "slow")
    project.page("quick", "print('quick')")
    pid = tmp_path / "pid"
    slow = f"from pathlib import Path; import os, time\nPath({str(pid)!r}).write_text(str(os.getpid()))"
    project.page("slow", slow + "\n" + "#" * 99 + "\nPath('../go').exists() or time.sleep(600)")
    process = project.start()
    _wait(lambda: pid.exists() and pid.read_text() and project.cached())
    process.kill()
    process.join()
    _wait(lambda: not _alive(int(pid.read_text())))
    (tmp_path / "go").touch()
    result = project.build()
    assert (result.code, result.pages) == (0, {"slow"}), result.log


def _alive(pid: int) -> bool:
    try:
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return False
    return bool(state.strip()) and not state.startswith("Z")


def _wait(condition, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.05)
