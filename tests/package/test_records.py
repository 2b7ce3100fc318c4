from __future__ import annotations

import dataclasses
import io
import json

import pytest
import torch

from torchguide import measurements, records
from torchguide.cli import main
from torchguide.measurements import MEASUREMENTS
from torchguide.progress import show_progress
from torchguide.records import Record, RecordError, find_record, read_record, write_record

RECORD = Record(
    measurement="launch", device="cuda:0", hardware="cuda:0 (A GPU, capability 9.0, 80 GiB)",
    driver="580.65", torch="2.13.0+cu130", cuda="13.0", python="3.12.1", system="Linux",
    date="2026-12-01", command="torchguide record launch --device cuda:0",
    samples={"returned": [1e-5, 2e-5, 3e-5], "done": [1e-3, 2e-3, 9e-3]},
)  # fmt: skip


def test_a_record_is_the_same_after_writing_and_reading(tmp_path):
    path = write_record(RECORD, tmp_path / "new")
    assert path.name == "launch-cuda-0-a-gpu-capability-9-0-80-gib.json"
    assert read_record(path) == RECORD
    assert [each.name for each in path.parent.iterdir()] == [path.name], "nothing else is left"
    assert RECORD.medians == {"returned": 2e-5, "done": 2e-3}


def test_the_origin_is_named_in_both_languages():
    for language in ("en", "zh"):
        line = RECORD.provenance(language)
        assert all(
            word in line for word in ("A GPU", "580.65", "2.13.0+cu130", "13.0", "2026-12-01")
        )


def test_the_newest_record_of_an_accelerator_is_found(tmp_path):
    assert find_record("launch", tmp_path) is None
    assert find_record("launch", tmp_path / "absent") is None
    newer = dataclasses.replace(RECORD, date="2026-12-02", hardware="other")
    on_cpu = dataclasses.replace(RECORD, date="2026-12-03", device="cpu", hardware="cpu")
    for record in (newer, RECORD, on_cpu):
        write_record(record, tmp_path)
    assert find_record("launch", tmp_path) == newer
    assert find_record("matmul", tmp_path) is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 2}, "not a record of format 1"),
        ({"samples": {}}, "expected lists of seconds"),
        ({"samples": {"done": []}}, "expected lists of seconds"),
        ({"samples": {"done": [-1]}}, "expected lists of seconds"),
        ({"samples": {"done": [True]}}, "expected lists of seconds"),
        ({"driver": None}, "driver is None"),
        ({"extra": ""}, "missing or unknown: extra"),
    ],
)
def test_a_file_that_is_no_record_is_named_with_the_reason(tmp_path, change, message):
    path = tmp_path / "launch-x.json"
    path.write_text(json.dumps({"format": 1, **dataclasses.asdict(RECORD), **change}))
    with pytest.raises(RecordError, match=message) as raised:
        read_record(path)
    assert str(path) in str(raised.value)
    path.write_text("[1,")
    with pytest.raises(RecordError, match="not JSON"):
        find_record("launch", tmp_path)


def test_a_symbolic_link_is_not_followed(tmp_path):
    target = tmp_path / "precious"
    target.write_text("mine")
    path = write_record(RECORD, tmp_path)
    path.unlink()
    path.symlink_to(target)
    with pytest.raises(OSError, match="symbolic link"):
        write_record(RECORD, tmp_path)
    assert target.read_text() == "mine"


def test_the_records_in_the_package_can_be_read():
    for path in records.FOLDER.glob("*.json"):
        assert read_record(path).measurement in MEASUREMENTS


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_every_measurement_gives_times_on_this_machine(name):
    samples = MEASUREMENTS[name][0]("cpu")
    assert samples
    assert all(each and min(each) > 0 for each in samples.values())


def test_the_command_writes_a_record_of_this_machine(tmp_path, capsys):
    assert (
        main(["record", "launch", "--device", "cpu", "--out", str(tmp_path), "--lang", "en"]) == 0
    )
    (path,) = tmp_path.iterdir()
    assert str(path) in capsys.readouterr().out
    record = read_record(path)
    assert (record.device, record.driver, record.torch) == ("cpu", "", torch.__version__)
    assert not record.from_accelerator
    assert len(record.samples["done"]) == measurements.REPEATS


def test_the_command_prints_json_and_lists(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["record", "launch", "--device", "cpu", "--json"]) == 0
    (data,) = json.loads(capsys.readouterr().out)
    assert data["measurement"] == "launch"
    assert not list(tmp_path.iterdir())
    assert main(["record", "--list"]) == 0
    listed = capsys.readouterr().out
    assert all(name in listed for name in MEASUREMENTS)


def test_what_cannot_be_recorded_is_refused(capsys, tmp_path):
    assert main(["record", "speed", "--lang", "en"]) == 2
    assert "unknown measurement speed; there are: matmul" in capsys.readouterr().err
    assert main(["record", "launch", "--device", "gpu", "--lang", "zh"]) == 2
    assert "设备不可用" in capsys.readouterr().err
    occupied = tmp_path / "file"
    occupied.write_text("")
    assert (
        main(["record", "launch", "--device", "cpu", "--out", str(occupied), "--lang", "en"]) == 2
    )
    assert "cannot write into" in capsys.readouterr().err


def test_one_that_fails_does_not_lose_the_others(monkeypatch, capsys, tmp_path):
    def explode(_device):
        raise RuntimeError("out of memory")

    monkeypatch.setitem(MEASUREMENTS, "matmul", (explode, ""))
    code = main(
        ["record", "matmul", "launch", "--device", "cpu", "--out", str(tmp_path), "--lang", "en"]
    )
    assert code == 1
    assert "matmul failed: out of memory" in capsys.readouterr().err
    assert len(list(tmp_path.iterdir())) == 1


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_for_terminals_and_for_what_takes_long(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    for stream, patience, seen in (
        (Terminal(), 0, True),
        (io.StringIO(), 0, False),
        (Terminal(), 60, False),
    ):
        monkeypatch.setattr("torchguide.progress.PATIENCE", patience)
        with show_progress("steps", 3, stream) as show:
            show(2)
        assert ("2/3 steps" in stream.getvalue()) is seen
        assert not seen or stream.getvalue().endswith("\r"), "the line is deleted at the end"
