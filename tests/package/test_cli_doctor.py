"""`torchguide doctor` and `install`, run as a reader runs them."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from torchguide.cli_report import report, settings
from torchguide.collect import collect
from torchguide.doctor import diagnose
from torchguide.environment import Device, Package, Snapshot
from torchguide.environment_text import parse
from torchguide.facts import read_text
from torchguide.probes import Completed, Probes
from torchguide.texts import Texts

SOURCE = Path(__file__).parents[2] / "src"
REPORT = """PyTorch version: 2.0.1
CUDA used to build PyTorch: Could not collect
OS: Ubuntu 22.04.2 LTS (x86_64)
Python version: 3.11.4 (main, Jul  5 2023) [GCC 11.2.0] (64-bit runtime)
Is CUDA available: False
GPU models and configuration: GPU 0: NVIDIA GeForce RTX 4070 Ti
Nvidia driver version: 537.13
"""
FIT = REPORT.replace("Could not collect", "11.8").replace("available: False", "available: True")


def torchguide(*arguments, text="", env=None, **more):
    environ = {k: v for k, v in os.environ.items() if k not in ("LANG", "LC_ALL", "LC_MESSAGES")}
    environ |= {"PYTHONPATH": str(SOURCE), "LANG": "en_US.UTF-8", **(env or {})}
    data = text if isinstance(text, bytes) else text.encode()
    return subprocess.run(
        [sys.executable, "-m", "torchguide", *arguments],
        input=data,
        capture_output=True,
        env=environ,
        timeout=120,
        check=False,
        **more,
    )


def test_json_has_the_documented_form():
    done = torchguide("doctor", "--json", "--from", "-", text=REPORT)
    data = json.loads(done.stdout)
    assert done.returncode == 1
    assert data["verdict"] == "problem"
    assert data["language"] == "en"
    assert data["facts"] == {
        "torch": "2.0.1",
        "torch_cuda": "cpu",
        "driver": "537.13",
        "driver_cuda": None,
        "gpus": ["NVIDIA GeForce RTX 4070 Ti"],
        "python": "3.11.4",
        "os": "Ubuntu 22.04.2 LTS (x86_64)",
        "cuda_available": False,
    }
    finding = data["findings"][0]
    assert finding["id"] == "cpu-only-wheel"
    assert {"severity", "evidence", "fix", "page", "title", "advice"} <= set(finding)
    assert isinstance(finding["fix"], list)


def test_own_json_can_be_given_back():
    first = torchguide("doctor", "--json", "--from", "-", text=REPORT)
    again = torchguide("doctor", "--json", "--from", "-", text=first.stdout)
    assert json.loads(again.stdout) == json.loads(first.stdout)


@pytest.mark.parametrize(
    ("text", "status", "start"),
    [
        (REPORT, 1, "Problem: The installed torch is a CPU-only build."),
        (FIT, 0, "Everything that decides fits together: torch 2.0.1 can use the GPU."),
        ("Driver Version: 550.1", 0, "Not enough is known"),
    ],
    ids=["problem", "ok", "unknown"],
)
def test_answer_starts_with_one_verdict_line_and_the_status_says_it(text, status, start):
    done = torchguide("doctor", "--from", "-", text=text)
    assert done.returncode == status
    assert done.stdout.decode().startswith(start)
    assert b"\x1b[" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "text", "message"),
    [
        (("doctor", "--from", "-"), "", "nothing to read"),
        (("doctor", "--from", "-"), "the weather is fine", "says nothing about torch"),
        (("doctor", "--from", "no/such/file"), "", "Cannot read no/such/file"),
        (("doctor", "--from", "."), "", "Cannot read ."),
        (("install", "--gpu", "RTX 9999"), "", "no GPU called 'RTX 9999'. Did you mean: "),
        (("install", "--driver", "new", "--os", "linux"), "", "'new' is no driver version"),
        (("install", "--python", "2.7"), "", "'2.7' is no Python version"),
        (("install", "--torch", "latest"), "", "'latest' is no version of torch"),
        (("install", "--manager", "poetry"), "", "invalid choice: 'poetry'"),
        (("doctor", "--json", "--report"), "", "not allowed with"),
        (("cure",), "", "invalid choice: 'cure'"),
    ],
)
def test_unusable_input_ends_with_status_2_and_says_why(arguments, text, message):
    done = torchguide(*arguments, text=text)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert done.stdout == b""


def test_without_a_command_the_help_is_shown():
    done = torchguide()
    assert done.returncode == 2
    assert b"doctor" in done.stdout
    assert torchguide("--version").stdout.startswith(b"torchguide ")


@pytest.mark.parametrize(
    ("env", "arguments", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, (), "zh"),
        ({"LANG": "en_US.UTF-8", "LC_ALL": "zh_TW.UTF-8"}, (), "zh"),
        ({"LANG": "zh_CN.UTF-8"}, ("--lang", "en"), "en"),
        ({"LANG": "de_DE.UTF-8"}, (), "en"),
        ({"LANG": "C"}, ("--lang", "zh"), "zh"),
    ],
)
def test_language_is_asked_for_or_the_systems(env, arguments, language):
    done = torchguide("doctor", "--json", "--from", "-", *arguments, text=REPORT, env=env)
    assert json.loads(done.stdout)["language"] == language


def test_chinese_answer_is_chinese():
    done = torchguide("doctor", "--from", "-", "--lang", "zh", text=REPORT)
    assert done.stdout.decode().startswith("发现问题：装的是 CPU 版的 torch。")


def test_console_that_cannot_show_a_character_is_no_error():
    env = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = torchguide("doctor", "--from", "-", "--lang", "zh", text=REPORT, env=env)
    assert done.returncode == 1
    assert done.stderr == b""


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
def test_file_is_read_in_the_encodings_that_terminals_write(tmp_path, encoding):
    path = tmp_path / "环境.txt"
    path.write_bytes(("显卡环境：\n" + REPORT.replace(": ", "：")).encode(encoding))
    done = torchguide("doctor", "--json", "--from", str(path))
    assert json.loads(done.stdout)["facts"]["driver"] == "537.13"


def test_colour_comes_when_forced_and_never_with_no_color():
    forced = torchguide("doctor", "--from", "-", text=REPORT, env={"FORCE_COLOR": "1"})
    assert b"\x1b[1;31m" in forced.stdout
    refused = {"FORCE_COLOR": "1", "NO_COLOR": "1"}
    assert b"\x1b[" not in torchguide("doctor", "--from", "-", text=REPORT, env=refused).stdout


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of a POSIX shell")
def test_closed_pipe_is_no_error(tmp_path):
    (tmp_path / "report.txt").write_text(REPORT)
    program = f'"{sys.executable}" -m torchguide doctor --from report.txt'
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {program} | head -c 1"],
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"},
        check=False,
        timeout=60,
    )
    assert len(done.stdout) == 1
    assert done.stderr == b""


def test_report_is_short_and_holds_nothing_personal():
    text = (
        "(torch) alice@workstation-7:~/secret$ python -m torch.utils.collect_env\n"
        'File "/home/alice/project/train.py" connected to 192.168.1.20\n'
        + REPORT
        + "AssertionError: /home/alice/x.py: Torch not compiled with CUDA enabled\n"
    )
    done = torchguide("doctor", "--report", "--from", "-", text=text)
    out = done.stdout.decode()
    assert done.returncode == 1
    assert re.match(r"### Environment, by torchguide doctor \S+\n\n<!-- .* -->\n\n```text\n", out)
    assert out.endswith("```\n")
    assert out.count("```") == 2
    assert "error cpu-only-wheel: The installed torch is a CPU-only build" in out
    assert len(out.splitlines()) < 35
    for private in ("alice", "workstation-7", "192.168"):
        assert private not in out


def test_report_is_titled_in_the_readers_language_with_labels_that_others_know():
    done = torchguide("doctor", "--report", "--from", "-", "--lang", "zh", text=REPORT)
    out = done.stdout.decode()
    assert out.startswith("### 运行环境（torchguide doctor ")
    assert "PyTorch version: 2.0.1" in out


SNAPSHOT = Snapshot(
    torch="2.14.1+cu130",
    torch_cuda="13.0",
    cuda_available=True,
    driver="580.95.05",
    gpus=(Device("NVIDIA A100-SXM4-80GB"), Device("NVIDIA A100-SXM4-80GB")),
    python="3.12.3",
    os="Ubuntu 24.04.3 LTS",
    pip_packages={"torchvision": Package("0.28.0"), "nvidia-cublas": Package("12.1.3.1")},
)


def test_the_doctor_reads_its_own_report_and_says_the_same():
    first = diagnose(SNAPSHOT)
    again = diagnose(parse(report(first, Texts("en"), "Problem")))
    assert again.snapshot.facts() == first.snapshot.facts()
    found = [[finding.id for finding in each.findings] for each in (first, again)]
    assert found[0] == found[1] == ["torchvision-mismatch"]


def test_settings_are_chosen_by_name_and_their_secrets_hidden(monkeypatch):
    chosen = settings(
        {"OMP_NUM_THREADS": "4", "HOME": "/home/alice", "AWS_SECRET": "x", "RANK": "0"}
    )
    assert chosen == {"OMP_NUM_THREADS": "4", "RANK": "0"}
    monkeypatch.setenv("TORCH_HUB_TOKEN", "abc-def-ghi")
    monkeypatch.setenv("MASTER_ADDR", "gpu01.example.org")
    machine = diagnose(Snapshot(source="machine", torch="2.13.0"))
    shown = report(machine, Texts("en"), "verdict")
    assert "TORCH_HUB_TOKEN=<hidden>\n" in shown
    assert "MASTER_ADDR=<host>\n" in shown
    pasted = diagnose(Snapshot(source="text", torch="2.13.0"))
    assert "MASTER_ADDR" not in report(pasted, Texts("en"), "verdict")


@pytest.mark.parametrize(
    "done",
    [
        Completed(1, err="OSError: libtorch_cuda.so: cannot open shared object file"),
        Completed(-11, err=""),
        Completed(None, err="timeout"),
    ],
    ids=["raises", "crashes", "hangs"],
)
def test_report_is_written_where_torch_is_broken(done):
    class Broken(Probes):
        def load_torch(self, folder, timeout):  # noqa: ARG002 -- as the real one
            return done

        def torch_folder(self):
            return "/opt/venv/torch"

    diagnosis = diagnose(collect(Broken()))
    shown = report(diagnosis, Texts("en"), "verdict")
    assert diagnosis.verdict == "problem"
    assert re.search(r"^torch does not load: \S", shown, re.MULTILINE)
    assert "error torch-broken: " in shown


def test_each_text_stands_once():
    for name in ("messages.csv", "findings.csv"):
        keys = [row[0] for row in csv.reader(io.StringIO(read_text(name), newline=""))]
        assert len(keys) == len(set(keys)), name


def test_help_says_what_the_exit_status_means():
    shown = torchguide("doctor", "--help").stdout.decode()
    assert "exit status: 0 no problem was found" in " ".join(shown.split())


def test_install_prints_the_command_first_with_reason_source_and_check():
    done = torchguide("install", "--gpu", "GTX 1080", "--driver", "580.95", "--python", "3.12")
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0
    assert lines[0].startswith(
        "python -m pip install torch==2.14.1 torchvision==0.29.1 --index-url"
    )
    assert "compute capability 6.1" in done.stdout.decode()
    assert "source:" in done.stdout.decode()
    assert "torchguide doctor" in lines[-1]


def test_install_says_what_is_impossible_and_what_comes_nearest():
    done = torchguide("install", "--gpu", "RTX 5090", "--torch", "2.6", "--json")
    data = json.loads(done.stdout)
    assert done.returncode == 1
    assert data["possible"] is False
    assert data["why"][0]["id"] == "obstacle.architecture"
    assert data["nearest"]["command"] == "python -m pip install torch torchvision"
    human = torchguide("install", "--gpu", "RTX 5090", "--torch", "2.6", "--lang", "zh")
    assert human.stdout.decode().startswith("没有这样的组合：")


@pytest.mark.parametrize(
    ("short", "name"),
    [("4090", "RTX 4090"), ("3060 ti", "RTX 3060 Ti"), ("1080", "GTX 1080"), ("a100", "A100")],
)
def test_install_knows_a_gpu_by_its_number_alone(short, name):
    driver = ("--driver", "580.65")
    asked = [torchguide("install", "--gpu", gpu, *driver).stdout for gpu in (short, name)]
    assert b"pip install torch" in asked[0]
    assert asked[0].splitlines()[0] == asked[1].splitlines()[0]


def test_install_names_the_nearest_where_it_knows_no_such_gpu():
    answer = torchguide("install", "--gpu", "9999")
    assert answer.returncode == 2
    assert re.search(rb"no GPU called '9999'\. Did you mean: \w+", answer.stderr)


def test_install_without_options_looks_at_this_machine():
    done = torchguide("install", "--json")
    assert json.loads(done.stdout)["language"] == "en"


def test_doctor_judges_this_machine():
    done = torchguide("doctor", "--json")
    data = json.loads(done.stdout)
    assert done.returncode in (0, 1)
    assert data["environment"]["source"] == "machine"
    assert data["facts"]["python"] == ".".join(map(str, sys.version_info[:3]))
