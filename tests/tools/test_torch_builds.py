from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import torch_builds

ROOT = Path(__file__).parents[2]


def test_ids_have_no_dots_and_name_version_and_backend():
    for name, build in torch_builds.BUILDS.items():
        assert "." not in name
        assert name == f"torch-{build.version.replace('.', '_')}-{build.backend}"
        assert build.tags[0] == "matrix"
        assert build.tags[1] in {"cpu", "gpu"}


def test_every_asked_backend_is_in_the_table():
    assert {build.backend for build in torch_builds.BUILDS.values()} == {
        "cpu", "cu126", "cu128", "cu130", "cu132",
    }  # fmt: skip


def test_cuda_version_is_written_as_torch_writes_it():
    assert torch_builds.TorchBuild("2.9.1", "cu126").cuda == "12.6"
    assert torch_builds.TorchBuild("2.14.1", "cu132").cuda == "13.2"
    assert torch_builds.TorchBuild("2.13.0", "cpu").cuda is None


def fake_torch(folder: Path, version: str, cuda: str) -> dict[str, str]:
    (folder / "torch").mkdir()
    text = f"__version__ = {version!r}\nclass version:\n    cuda = {cuda}\n"
    (folder / "torch" / "__init__.py").write_text(text)
    return {"PYTHONPATH": str(folder), "PATH": ""}


def run_check(env: dict[str, str], build: str) -> subprocess.CompletedProcess[str]:
    tool = ROOT / "tools" / "torch_builds.py"
    return subprocess.run(
        [sys.executable, tool, "check", build], env=env, capture_output=True, text=True, check=False
    )


def test_check_accepts_the_build_and_prints_it(tmp_path):
    shown = run_check(fake_torch(tmp_path, "2.9.1+cu126", "'12.6'"), "torch-2_9_1-cu126")
    assert shown.returncode == 0
    assert shown.stdout.startswith("torch 2.9.1+cu126, CUDA 12.6, Python ")


@pytest.mark.parametrize("build", ["torch-2_9_1-cu128", "torch-2_9_1-cpu", "torch-2_11_0-cu126"])
def test_check_refuses_another_build_and_says_which_is_there(tmp_path, build):
    shown = run_check(fake_torch(tmp_path, "2.9.1+cu126", "'12.6'"), build)
    assert shown.returncode == 1
    assert f"{build} was asked for, torch 2.9.1+cu126 with CUDA 12.6 is installed" in shown.stderr


def test_check_says_when_torch_cannot_be_imported(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('libcudart.so.12: cannot open')")
    shown = run_check({"PYTHONPATH": str(tmp_path), "PATH": ""}, "torch-2_13_0-cpu")
    assert shown.returncode == 1
    assert "libcudart.so.12" in shown.stderr


def record_pip(monkeypatch, works):
    calls: list[tuple[str, ...]] = []

    def pip(*arguments: str, silent: bool = False) -> bool:
        del silent
        calls.append(arguments)
        return works(arguments)

    monkeypatch.setattr(torch_builds, "pip", pip)
    monkeypatch.setattr(torch_builds, "installed", lambda: None)
    monkeypatch.setattr(torch_builds.sys, "platform", "linux")
    return calls


DOCS = torch_builds.BUILDS[torch_builds.DOCS]


def test_a_local_wheel_folder_is_tried_first_and_no_index_is_asked(monkeypatch):
    calls = record_pip(monkeypatch, lambda _: True)
    torch_builds.install(DOCS)
    assert "--no-index" in calls[0]
    assert not any("--extra-index-url" in call for call in calls)


def test_a_local_wheel_whose_needs_cannot_be_installed_is_an_error(monkeypatch):
    record_pip(monkeypatch, lambda arguments: "--no-index" in arguments)
    with pytest.raises(SystemExit, match="could not install what torch-2_13_0-cpu needs"):
        torch_builds.install(DOCS)


def test_no_local_wheel_is_no_error_that_pip_prints(capfd):
    arguments = ("--no-index", "--no-deps", "torch==0.0.1")
    assert not torch_builds.pip(*arguments, silent=True)
    assert capfd.readouterr() == ("", "")
    assert not torch_builds.pip(*arguments)
    assert "ERROR" in capfd.readouterr().err


def test_the_index_of_pytorch_is_given_up_after_seconds(monkeypatch):
    calls = record_pip(monkeypatch, lambda arguments: "--no-index" not in arguments)
    torch_builds.install(DOCS)
    asked = calls[1]
    assert asked[asked.index("--retries") + 1] == "1"
    assert asked[asked.index("--timeout") + 1] == "10"
    assert asked[asked.index("--extra-index-url") + 1].endswith("/cpu")
    assert asked[-1] == "torch==2.13.0+cpu"


def test_pypi_is_the_last_way_and_its_size_is_said(monkeypatch, capsys):
    calls = record_pip(monkeypatch, lambda arguments: arguments == ("torch==2.13.0",))
    torch_builds.install(DOCS)
    assert calls[-1] == ("torch==2.13.0",)
    assert "several gigabytes" in capsys.readouterr().err


def test_nothing_is_installed_when_the_version_is_there(monkeypatch):
    calls = record_pip(monkeypatch, lambda _: True)
    monkeypatch.setattr(torch_builds, "installed", lambda: "2.13.0+cpu")
    torch_builds.install(DOCS)
    assert calls == []


def test_a_cuda_build_never_falls_back_to_another_one(monkeypatch):
    record_pip(monkeypatch, lambda arguments: arguments == ("torch==2.9.1",))
    with pytest.raises(SystemExit, match="could not install torch-2_9_1-cu126"):
        torch_builds.install(torch_builds.BUILDS["torch-2_9_1-cu126"])
