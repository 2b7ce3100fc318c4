from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from torchguide.devices import (
    available_devices,
    best_device,
    check_device,
    describe_device,
    synchronize,
)


def pretend(monkeypatch, kind, count=1, **module):
    """Let torch report accelerators that this machine need not have."""
    device = torch.device(kind) if kind else None
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: device)
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: count > 0)
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: count)
    if module:
        monkeypatch.setattr(torch, "get_device_module", lambda _: SimpleNamespace(**module))


@pytest.mark.parametrize(
    ("kind", "count", "devices", "best"),
    [
        (None, 0, ["cpu"], "cpu"),
        ("cuda", 0, ["cpu"], "cpu"),  # built for CUDA, but no driver or no card
        ("cuda", 1, ["cpu", "cuda:0"], "cuda:0"),
        ("cuda", 2, ["cpu", "cuda:0", "cuda:1"], "cuda:0"),
        ("xpu", 1, ["cpu", "xpu:0"], "xpu:0"),
        ("mps", 1, ["cpu", "mps"], "mps"),
    ],
)
def test_devices_are_those_that_torch_can_use_now(monkeypatch, kind, count, devices, best):
    pretend(monkeypatch, kind, count)
    assert available_devices() == devices
    assert best_device() == best


def test_every_available_device_can_compute():
    for device in available_devices():
        assert torch.ones(2, device=device).sum().item() == 2


@pytest.mark.parametrize("device", ["cuda", "cuda:1", torch.device("cuda", 1), "cpu", "cpu:0"])
def test_a_device_that_is_here_passes_the_check(monkeypatch, device):
    pretend(monkeypatch, "cuda", 2)
    assert check_device(device) == torch.device(device)


@pytest.mark.parametrize("device", ["cuda:2", "mps", "meta", torch.device("xpu")])
def test_a_device_that_is_not_here_is_answered_with_those_that_are(monkeypatch, device):
    pretend(monkeypatch, "cuda", 2)
    with pytest.raises(ValueError, match=r"not available here; available: \['cpu', 'cuda:0', 'cud"):
        check_device(device)


def test_a_word_that_is_no_device_is_answered_with_devices(monkeypatch):
    pretend(monkeypatch, None, 0)
    with pytest.raises(ValueError, match=r"'gpu' is no device of torch; available here: \['cpu'\]"):
        check_device("gpu")


def test_synchronize_waits_for_accelerators_only(monkeypatch):
    pretend(monkeypatch, "cuda", 1)
    waited = []
    monkeypatch.setattr(torch.accelerator, "synchronize", waited.append)
    synchronize("cpu")
    synchronize("cuda:0")
    assert waited == [torch.device("cuda:0")]


def test_the_cpu_is_described_by_its_threads(monkeypatch):
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    assert describe_device("cpu") == "cpu (x86_64, 2 threads)"
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    assert describe_device("cpu") == "cpu (x86_64, 1 thread)"


@pytest.mark.parametrize(
    ("kind", "name", "properties", "description"),
    [
        ("cuda", "NVIDIA H200", {"major": 9, "minor": 0}, "NVIDIA H200, capability 9.0, 140 GiB"),
        # A ROCm build fills the capability in as well, with numbers that mean nothing to a reader.
        (
            "cuda",
            "AMD Radeon PRO W7900",
            {"gcnArchName": "gfx1100", "major": 11, "minor": 0},
            "AMD Radeon PRO W7900, gfx1100, 140 GiB",
        ),
        ("xpu", "Intel Arc B580", {}, "Intel Arc B580, 140 GiB"),
    ],
)
def test_an_accelerator_is_described_in_one_line(monkeypatch, kind, name, properties, description):
    pretend(
        monkeypatch,
        kind,
        get_device_name=lambda _: name,
        get_device_properties=lambda _: SimpleNamespace(total_memory=140 * 2**30, **properties),
    )
    assert describe_device(f"{kind}:0") == f"{kind}:0 ({description})"


def test_a_mac_has_no_properties_to_read(monkeypatch):
    pretend(monkeypatch, "mps")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    assert describe_device("mps") == "mps (Apple GPU, arm64)"
