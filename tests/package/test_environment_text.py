"""Pasted text becomes facts, in every form that people paste it in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchguide.doctor import diagnose
from torchguide.environment import Snapshot
from torchguide.environment_lines import LABELS, lines_of
from torchguide.environment_text import UnusableTextError, parse

DATA = Path(__file__).parent / "data"
# the first file holds forms of reports made for these tests, the second what people posted
REPORTS = [
    json.loads(line)
    for name in ("environments.jsonl", "reported_environments.jsonl")
    for line in (DATA / name).read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report["id"])
def test_report_is_read_and_judged(report):
    diagnosis = diagnose(parse(report["text"]))
    facts = diagnosis.snapshot.facts()
    for name, value in report["facts"].items():
        if name == "gpus":
            assert len(facts["gpus"]) == len(value)
        else:
            assert facts[name] == value, name
    ids = {finding.id for finding in diagnosis.findings if finding.severity != "info"}
    assert diagnosis.verdict == report["verdict"], ids
    assert set(report["problems"]) <= ids


def test_reports_marked_ok_raise_no_alarm():
    for report in REPORTS:
        if report["verdict"] == "ok":
            findings = diagnose(parse(report["text"])).findings
            assert not [finding.id for finding in findings if finding.severity != "info"]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda line: f"> {line}",
        lambda line: f"[task 2025-07-01T05:06:30.004+00:00] [train] {line}",
        lambda line: f"2024-01-02 03:04:05,678 INFO {line}",
        lambda line: f"(EngineCore pid=12345) {line}",
        lambda line: f"\x1b[32m{line}\x1b[0m",
        lambda line: f"- **{line.replace(':', ':**', 1)}",
        lambda line: f"    {line}\r",
        lambda line: line.replace(": ", "：", 1).replace("(", "（").replace(")", "）"),
    ],
    ids=["quote", "log", "logging", "worker", "colour", "markdown", "crlf", "full-width"],
)
def test_wrapping_does_not_change_what_is_read(wrap):
    text = """PyTorch version: 2.1.2+cu121
CUDA used to build PyTorch: 12.1
OS: Ubuntu 22.04.4 LTS (x86_64)
Python version: 3.10.14 (main, Mar 21 2024) [GCC 11.2.0] (64-bit runtime)
Is CUDA available: False
GPU models and configuration: GPU 0: NVIDIA A10
Nvidia driver version: 450.80.02"""
    plain = parse(text).facts()
    wrapped = parse("\n".join(wrap(line) for line in text.split("\n"))).facts()
    assert wrapped == plain
    assert plain["driver"] == "450.80.02"


def test_report_in_one_line_is_read_like_the_same_in_lines():
    text = next(report["text"] for report in REPORTS if report["id"] == "volta-2.9")
    assert parse(text.replace("\n", " ")).facts() == parse(text).facts()


def test_own_json_is_read_back():
    snapshot = parse(next(r["text"] for r in REPORTS if r["id"] == "windows-mixed"))
    own = json.dumps({"verdict": "problem", "environment": snapshot.as_dict()})
    assert parse(own) == snapshot


def test_facts_alone_of_own_json_are_read_back():
    own = {
        "verdict": "ok",
        "facts": {"torch": "2.1.0+cu121", "gpus": ["NVIDIA A10"], "python": None},
    }
    snapshot = parse(json.dumps(own))
    assert (snapshot.torch, snapshot.gpus[0].name) == ("2.1.0+cu121", "NVIDIA A10")


def test_odd_entries_of_own_json_are_left_out():
    own = {
        "verdict": "ok",
        "facts": {"torch": 3, "gpus": [{"x": 1}], "wsl": "two", "driver": "550.1"},
    }
    assert parse(json.dumps(own)) == Snapshot(source="json", driver="550.1")


@pytest.mark.parametrize("text", ["", "  \n\t", "\x00"])
def test_empty_text_is_unusable(text):
    with pytest.raises(UnusableTextError, match="empty"):
        parse(text)


def test_unrelated_text_is_unusable():
    with pytest.raises(UnusableTextError, match="unrelated"):
        parse("Dear reader, the weather is fine.")


def test_first_of_two_values_stays():
    assert (
        parse("Nvidia driver version: 550.1.2\nNvidia driver version: 440.33").driver == "550.1.2"
    )


_pieces = st.one_of(
    st.sampled_from(
        [
            *(f"{label}: " for label in LABELS),
            "| NVIDIA-SMI 550.1  Driver Version: 550.1  CUDA Version: ERR! |",
            "|   0  NVIDIA A10  On | 00000000:01:00.0",
            "[pip3] torch==",
            "[conda] torchvision ",
            "torch.__version__",
            "torch.cuda.is_available()",
            ">>> ",
            "GPU 0: ",
            "gpu_ids: [",
            "CUDA_VISIBLE_DEVICES=",
            "which is of cuda capability 6.1",
            "with CUDA capability sm_ is not compatible",
            "with CUDA capability sm_1 is not compatible",
            "(found version 99999999999)",
            "Could not collect",
            "None",
            "2.1.0+cu",
            "1.",
            "：",
            "\n",
            "{",
            '"',
            "'",
        ]
    ),
    st.text(max_size=20),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_pieces, max_size=40).map("".join))
def test_no_text_crashes_the_parsers_and_each_gets_a_verdict(text):
    try:
        snapshot = parse(text)
    except UnusableTextError:
        return
    assert diagnose(snapshot).verdict in ("ok", "problem", "unknown")
    json.dumps(snapshot.as_dict())


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300))
def test_no_bytes_crash_the_parsers(data):
    try:
        parse(data.decode("utf-8", errors="replace"))
    except UnusableTextError:
        return


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*Snapshot.__dataclass_fields__, "verdict", "facts", "environment"]),
            inner,
        )
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(["verdict", "facts", "environment", "torch"]), _json))
def test_no_json_crashes_the_parsers(data):
    try:
        snapshot = parse(json.dumps(data))
    except UnusableTextError:
        return
    assert diagnose(snapshot).verdict in ("ok", "problem", "unknown")


@pytest.mark.parametrize(
    "line",
    [
        "-" * 50_000,
        "sm_80 " * 20_000,
        "GPU 0: " * 20_000,
        "a " * 100_000,
        "OrderedDict([" + "('a', '" * 10_000,
        "device=x " * 10_000,
        "| GPU: x" * 10_000,
        "docker run " * 10_000,
        "Python: " * 10_000,
    ],
)
def test_long_lines_take_no_long_time(line):
    import time

    started = time.perf_counter()
    lines_of(line)
    try:
        parse(f"torch\n{line}\nPyTorch version: {line}")
    except UnusableTextError:
        pytest.fail("the text names torch")
    assert time.perf_counter() - started < 5
