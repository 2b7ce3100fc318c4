from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import torchguide

SRC = Path(torchguide.__file__).parents[1]
MESSAGE = "Traceback (most recent call last):\nIndexError: Target 10 is out of bounds.\n"


def run(*arguments, text="", **variables):
    environment = {**os.environ, "PYTHONPATH": str(SRC), "LC_ALL": "C.UTF-8", **variables}
    return subprocess.run(
        [sys.executable, "-m", "torchguide", "explain", *arguments],
        input=text.encode() if isinstance(text, str) else text,
        env=environment,
        capture_output=True,
        check=False,
    )


def test_the_json_has_the_documented_form():
    done = run("--json", "-", text=MESSAGE)
    assert done.returncode == 0
    answer = json.loads(done.stdout)
    assert set(answer) == {"matches", "language"}
    assert answer["language"] == "en"
    match = answer["matches"][0]
    assert {name: type(value) for name, value in match.items()} == {
        "id": str,
        "confidence": str,
        "line": int,
        "title": str,
        "cause": str,
        "fix": str,
        "page": str,
        "facts": dict,
    }
    assert match["id"] == "target-out-of-bounds"
    assert match["confidence"] == "certain"
    assert match["line"] == 2
    assert match["facts"]["target"] == 10


def test_the_human_text_has_title_reason_and_fix_with_code():
    text = run(text=MESSAGE).stdout.decode()
    assert text.startswith("[certain] The label 10 is outside the model's classes")
    assert "target-out-of-bounds, line 2" in text
    assert "\nWhy\n" in text
    assert "\nWhat to do\n" in text
    assert "\n      print(target.min()" in text


def test_a_file_is_read(tmp_path):
    path = tmp_path / "train.log"
    path.write_bytes(MESSAGE.encode("utf-16"))
    assert run(str(path)).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "variables"), [(["--lang", "zh"], {}), ([], {"LC_ALL": "zh_CN.UTF-8"})]
)
def test_chinese_is_chosen_by_option_or_locale(arguments, variables):
    done = run("--json", *arguments, text=MESSAGE, **variables)
    answer = json.loads(done.stdout)
    assert answer["language"] == "zh"
    assert "标签 10" in answer["matches"][0]["title"]
    assert "怎么办" in run(*arguments, text=MESSAGE, **variables).stdout.decode()


def test_nothing_known_ends_with_one_and_three_commands():
    done = run(text="all is well\n")
    assert done.returncode == 1
    shown = done.stdout.decode()
    commands = [line for line in shown.splitlines() if line.startswith("    ")]
    assert len(commands) == 3
    assert json.loads(run("--json", text="all is well\n").stdout) == {
        "matches": [],
        "language": "en",
    }


@pytest.mark.parametrize("text", ["", "  \n", bytes(3000)])
def test_unusable_input_ends_with_two_and_one_line(text):
    done = run(text=text)
    assert done.returncode == 2
    assert done.stdout == b""
    assert len(done.stderr.decode().splitlines()) == 1


def test_a_missing_file_ends_with_two_and_names_it(tmp_path):
    done = run(str(tmp_path / "none.log"))
    assert done.returncode == 2
    assert "none.log" in done.stderr.decode()


def test_a_broken_torch_does_not_matter(tmp_path):
    for name in ("torch", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')\n", encoding="utf-8")
    done = run(text=MESSAGE, PYTHONPATH=os.pathsep.join([str(tmp_path), str(SRC)]))
    assert done.returncode == 0


def test_colour_only_where_it_is_wanted():
    assert b"\x1b[" not in run(text=MESSAGE).stdout
    assert b"\x1b[" in run(text=MESSAGE, FORCE_COLOR="1").stdout
    assert b"\x1b[" not in run(text=MESSAGE, FORCE_COLOR="1", NO_COLOR="1").stdout


def test_other_answers_are_named_after_the_best():
    text = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (77x768 and 2048x640)\n"
    shown = run(text=text).stdout.decode()
    assert shown.index("Also possible") < shown.index("matmul-shape, line 1")


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal is imitated with pty")
def test_on_a_terminal_it_asks_for_the_text():
    import pty

    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "torchguide", "explain", "--json"],
        stdin=child,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SRC), "LC_ALL": "C.UTF-8"},
    )
    os.close(child)
    os.write(parent, MESSAGE.encode() + b"\x04")
    out, err = process.communicate(timeout=60)
    os.close(parent)
    assert b"Paste the error" in err
    assert json.loads(out)["matches"][0]["id"] == "target-out-of-bounds"
