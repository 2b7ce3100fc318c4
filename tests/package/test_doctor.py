"""The doctor's rules, on snapshots made by hand."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchguide.doctor import diagnose
from torchguide.environment import Device, Package, Sign, Snapshot
from torchguide.environment_text import parse
from torchguide.texts import Texts

FIT = Snapshot(
    source="machine",
    torch="2.14.1+cu130",
    torch_cuda="13.0",
    cuda_available=True,
    driver="580.95.05",
    gpus=(Device("NVIDIA A100-SXM4-80GB"),),
    python="3.12.3",
    system="linux",
    machine="x86_64",
    os="Ubuntu 24.04.3 LTS",
    pip_packages={"torch": Package("2.14.1"), "torchvision": Package("0.29.1")},
)


def ids(**changes) -> list[str]:
    found = diagnose(dataclasses.replace(FIT, **changes)).findings
    return [finding.id for finding in found]


def test_fitting_machine_is_ok():
    assert diagnose(FIT).verdict == "ok"
    assert ids() == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"driver": "550.90", "cuda_available": False}, "driver-too-old"),
        ({"driver": "550.90"}, "driver-compat"),
        ({"torch": "2.14.1+cpu", "torch_cuda": "cpu", "cuda_available": False}, "cpu-only-wheel"),
        ({"gpus": (Device("NVIDIA GeForce GTX 1080"),)}, "arch-not-supported"),
        ({"gpus": (Device("unnamed", "6.1"),)}, "arch-not-supported"),
        ({"pip_packages": {"torchvision": Package("0.28.0")}}, "torchvision-mismatch"),
        ({"pip_packages": {"torchaudio": Package("2.8.0")}}, "torchaudio-mismatch"),
        ({"pip_packages": {"torchvision": Package("0.29.1+cu126")}}, "mixed-builds"),
        ({"torch": None, "absent": frozenset({"torch"}), "cuda_available": None}, "torch-missing"),
        ({"torch_error": "undefined symbol: x", "cuda_available": None}, "torch-broken"),
        ({"shadowed_by": "torch.py"}, "torch-shadowed"),
        ({"visible_devices": "", "cuda_available": False}, "devices-hidden"),
        ({"visible_devices": "[0]", "cuda_available": False}, "devices-hidden"),
        ({"cuda_available": False}, "cuda-unavailable"),
        (
            {"cuda_available": False, "driver": None, "gpus": (), "absent": frozenset({"driver"})},
            "no-nvidia-driver",
        ),
        ({"toolkit": "11.5"}, "toolkit-differs"),
        ({"container": True, "shm_bytes": 64 << 20}, "small-shm"),
        ({"cjk_font": False}, "no-cjk-font"),
        ({"signs": (Sign("bits32", "32-bit Python"),)}, "python-unsupported"),
        ({"launcher": {"use_cpu": "True"}}, "launcher-uses-cpu"),
        (
            {
                "pip_packages": {},
                "torch_cuda": "rocm",
                "torch": "2.13.0+rocm7.2",
                "cuda_available": False,
                "gpus": (),
            },
            "rocm-unavailable",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_a_change_is_found(changes, expected):
    assert expected in ids(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"visible_devices": "0"},
        {"visible_devices": "GPU-1234abcd"},
        {"torch": "2.0.0a0+ec3941a.nv23.02", "pip_packages": {"torchvision": Package("0.1.0")}},
        {"pip_packages": {"torchvision": Package("0.30.0"), "torchaudio": Package("2.11.1")}},
        {
            "system": "macos",
            "torch": "2.14.1",
            "torch_cuda": "cpu",
            "cuda_available": False,
            "gpus": (),
        },
        {"jetson": True, "driver": None, "gpus": (Device("Orin (nvgpu)"),), "torch_cuda": "12.6"},
    ],
    ids="-".join,
)
def test_what_is_normal_raises_no_alarm(changes):
    assert ids(**changes) == []


def test_one_gpu_of_two_without_code_is_a_warning():
    two = (Device("NVIDIA A100"), Device("GeForce GTX 1080"))
    finding = diagnose(dataclasses.replace(FIT, gpus=two)).findings[0]
    assert (finding.id, finding.severity) == ("arch-not-supported", "warning")


def test_fix_uses_the_manager_of_the_environment():
    cpu = {"torch": "2.14.1+cpu", "torch_cuda": "cpu", "cuda_available": False}
    for manager, start in (("uv", "uv pip"), ("conda", "conda"), ("pip", "python -m pip")):
        fix = diagnose(dataclasses.replace(FIT, manager=manager, **cpu)).findings[0].fix
        assert fix[0].startswith(start)
        assert fix[1].startswith(start)


def test_evidence_names_the_value_and_where_it_was_read():
    changes = {"driver": "550.90", "cuda_available": False, "where": {"driver": "nvidia-smi"}}
    finding = diagnose(dataclasses.replace(FIT, **changes)).findings[0]
    assert "driver = 550.90  [nvidia-smi]" in finding.evidence
    assert any("driver >= 580" in line for line in finding.evidence)


_words = st.sampled_from(
    ["", "1", "2.1.0+cu121", "cpu", "rocm", "[0]", "-1", "N/A", "GPU", "None", "3.12"]
)
_maybe = st.none() | _words
_packages = st.dictionaries(
    st.sampled_from(["torch", "pytorch", "torchvision", "torchaudio", "numpy"]),
    st.builds(Package, _words, _words, _words),
)
_signs = st.lists(
    st.builds(
        Sign,
        st.sampled_from(
            ["driver-old", "no-driver", "arch-found", "numpy2", "container", "libcuda"]
        ),
        _words,
        st.integers(0, 9),
        st.tuples(_words, _words),
    )
).map(tuple)


@settings(max_examples=150, deadline=None)
@given(
    st.builds(
        Snapshot,
        torch=_maybe,
        torch_cuda=st.none() | st.sampled_from(["cpu", "rocm", "xpu", "12.1", "10.2", "99.9"]),
        cuda_available=st.none() | st.booleans(),
        driver=_maybe,
        driver_cuda=_maybe,
        gpus=st.lists(st.builds(Device, _words, _maybe), max_size=3).map(tuple),
        python=_maybe,
        os=_maybe,
        kernel=_maybe,
        system=st.none() | st.sampled_from(["linux", "windows", "macos"]),
        machine=st.none() | st.sampled_from(["x86_64", "aarch64", "arm64"]),
        wsl=st.sampled_from([None, 1, 2]),
        visible_devices=_maybe,
        torch_error=_maybe,
        pip_packages=_packages,
        conda_packages=_packages,
        signs=_signs,
        absent=st.frozensets(st.sampled_from(["torch", "driver", "gpus"])),
    )
)
def test_any_snapshot_gets_a_verdict_that_can_be_said(snapshot):
    diagnosis = diagnose(snapshot)
    assert diagnosis.verdict in ("ok", "problem", "unknown")
    for texts in (Texts("en"), Texts("zh")):
        for finding in diagnosis.findings:
            assert texts.title(finding.id, **finding.values)
            assert texts.advice(finding.id, **finding.values)
            assert texts.page(finding.id)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_advice_shows_no_question_marks_where_values_are_not_known(language):
    texts = Texts(language)
    for text in (
        "The NVIDIA driver on your system is too old (found version 11040).",
        "CUDA error: no kernel image is available for execution on the device",
        "torchaudio/lib/libtorchaudio.so: undefined symbol: _ZN2at4_ops",
    ):
        finding = diagnose(parse(text)).findings[0]
        assert "?" not in texts.advice(finding.id, **finding.values)
