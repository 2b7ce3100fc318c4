from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import run_examples
from run_examples import Outcome, choose_scripts, find_scripts, judge, run

TOOL = Path(__file__).resolve().parents[2] / "tools" / "run_examples.py"
GOOD = "print('fine')\n"
SLOW = "import time\ntime.sleep(60)\n"
GREEDY = "memory = b'x' * 300_000_000\n"
FAILING = "print('before')\nraise ValueError('planted')\n"


@pytest.fixture
def run_tool(tmp_path):
    """Run the tool on planted scripts, `run_tool({"a/good_one.py": code}, "arguments")`."""

    def run(scripts, *arguments):
        for name, code in scripts.items():
            path = tmp_path / "examples" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(code, "utf-8")
        command = [sys.executable, str(TOOL), "--examples", str(tmp_path / "examples"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    return run


def test_a_script_within_its_budget_passes(run_tool):
    done = run_tool({"a/good_one.py": GOOD})
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "1 passed, 0 failed"
    assert "ok    a/good_one.py" in done.stdout


def test_a_slow_script_is_stopped_and_named_with_its_budget(run_tool):
    done = run_tool({"a/good_one.py": GOOD, "a/slow_one.py": SLOW}, "--seconds", "2")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed"
    assert "a/slow_one.py took longer than its budget of 2 s" in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows counts no waiting")
def test_waiting_for_a_processor_is_not_counted(tmp_path, monkeypatch):
    script = tmp_path / "short_one.py"
    script.write_text("import time\ntime.sleep(1)\n", "utf-8")
    monkeypatch.setattr(run_examples, "_waited", lambda _: 60.0)
    assert run(script, seconds=0.5).status == 0
    monkeypatch.setattr(run_examples, "_waited", lambda _: 0.0)
    assert run(script, seconds=0.5).status is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not tell a child's peak memory")
def test_a_greedy_script_is_named_with_what_it_used(run_tool):
    done = run_tool({"a/greedy_one.py": GREEDY, "a/good_one.py": GOOD}, "--gigabytes", "0.25")
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "1 passed, 1 failed"
    assert "a/greedy_one.py used 0.3" in done.stderr
    assert "GB of memory, more than its budget of 0.25 GB" in done.stderr


def test_a_failing_script_is_named_with_the_end_of_its_output(run_tool):
    done = run_tool({"a/failing_one.py": FAILING})
    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == "0 passed, 1 failed"
    assert "a/failing_one.py ended with status 1" in done.stderr
    assert "ValueError: planted" in done.stderr


def test_each_script_runs_alone_in_an_empty_folder(run_tool):
    first = "import builtins, pathlib\nbuiltins.left = 1\npathlib.Path('left').touch()\n"
    second = (
        "import builtins, os\nassert not hasattr(builtins, 'left')\nassert os.listdir() == []\n"
    )
    done = run_tool({"a/first_one.py": first, "a/second_one.py": second})
    assert done.stdout.splitlines()[-1] == "2 passed, 0 failed", done.stderr


def test_the_waiting_of_started_processes_counts_along_the_longest_chain(monkeypatch):
    tree = {1: [2], 2: [3, 4], 3: [], 4: []}
    waited = {1: 1.0, 2: 2.0, 3: 4.0, 4: 3.0}
    monkeypatch.setattr(run_examples, "_children", lambda pid: tree[pid])
    monkeypatch.setattr(run_examples, "_waited", lambda pid: waited[pid])
    waiting = run_examples.Waiting(1)
    assert waiting.look() == 1 + 2 + 4
    tree[2] = []  # both have ended
    assert waiting.look() == 1 + 2 + 4


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no process groups to end")
def test_what_a_stopped_script_started_is_stopped_with_it(run_tool, tmp_path):
    mark = tmp_path / "mark"
    child = f"import time, pathlib; time.sleep(3); pathlib.Path({str(mark)!r}).touch()"
    code = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])\n"
    run_tool({"a/parent_one.py": code, "a/torchrun_one.py": code.replace(
        "])", "], start_new_session=True)")}, "--seconds", "1.5")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", "import time; time.sleep(3)"], check=False)
    assert done.returncode == 0
    assert not mark.exists()


def test_a_script_is_chosen_by_its_section_name_or_path(tmp_path):
    for name in ("a/fit_line.py", "a/fit_curve.py", "b/sort_rows.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    scripts = find_scripts(tmp_path)
    assert list(choose_scripts(scripts, [])) == [
        "a/fit_curve.py",
        "a/fit_line.py",
        "b/sort_rows.py",
    ]
    assert list(choose_scripts(scripts, ["a"])) == ["a/fit_curve.py", "a/fit_line.py"]
    assert list(choose_scripts(scripts, ["sort_rows"])) == ["b/sort_rows.py"]
    assert list(choose_scripts(scripts, ["b", "a/fit_line.py"])) == [
        "a/fit_line.py",
        "b/sort_rows.py",
    ]


def test_an_unknown_name_is_an_error_that_lists_the_valid_ones(run_tool):
    done = run_tool({"a/good_one.py": GOOD}, "god_one")
    assert done.returncode == 2
    assert "no section or script is called god_one; valid:" in done.stderr
    assert done.stderr.splitlines()[-3:] == ["  a", "  a/good_one.py", "  good_one"]


def test_no_script_at_all_is_an_error(run_tool):
    assert "there is no script in" in run_tool({}).stderr


def test_memory_that_the_system_does_not_tell_is_not_judged():
    assert judge(Outcome(1.0, None, 0, ""), seconds=10, gigabytes=2) == ""
