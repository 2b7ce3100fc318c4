"""`torchguide explain` and `torchguide doctor` name the same cause for the same message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from torchguide.doctor import diagnose
from torchguide.environment_text import UnusableTextError, parse
from torchguide.errors import explain, load

REPORTS = Path(__file__).parent / "data" / "errors.jsonl"
# what the doctor may find first where this entry is the first answer
SAME = {
    "conda-solve": {"mac-no-cuda"},
    "container-no-gpu": {"container-no-gpu"},
    "cuda-unavailable-cpu-wheel": {"cpu-only-wheel", "cuda-unavailable"},
    "cuda-unavailable-other": {
        "container-no-gpu",
        "cuda-init-failed",
        "cuda-unavailable",
        "no-nvidia-driver",
        "wsl-driver",
    },
    "cuda-unknown-error": {"cuda-init-failed", "nvml-mismatch"},
    "docker-gpu-runtime": {"container-no-gpu"},
    "driver-insufficient": {"driver-too-old"},
    "driver-too-old": {"driver-too-old"},
    "glibc-too-old": {"glibc-too-old"},
    "invalid-device-ordinal": {"devices-hidden"},
    "jetson-wheel": {"jetson-wheel"},
    "neg-nvidia-driver": {"no-nvidia-driver", "nvml-mismatch"},
    "no-kernel-image": {"arch-not-supported", "extension-arch"},
    "torch-not-compiled-with-cuda": {"cpu-only-wheel", "mac-no-cuda"},
    "windows-paging-file": {"windows-paging-file"},
}
CONTAINER = {
    'Error response from daemon: could not select device driver "" with capabilities: [[gpu]]': (
        "docker-gpu-runtime"
    ),
    "Error response from daemon: unknown or invalid runtime name: nvidia": "docker-gpu-runtime",
    "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot "
    "open shared object file: no such file or directory": "docker-gpu-runtime",
    "nvidia-container-cli: requirement error: unsatisfied condition: cuda>=13.2, please update "
    "your driver to a newer version": "driver-insufficient",
    "nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown": (
        "neg-nvidia-driver"
    ),
    "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch": (
        "neg-nvidia-driver"
    ),
    "Failed to initialize NVML: Unknown Error": "container-no-gpu",
    "Failed to initialize NVML: Driver/library version mismatch": "neg-nvidia-driver",
    "Failed to initialize NVML: GPU access blocked by the operating system": (
        "cuda-unavailable-other"
    ),
    "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.": (
        "container-no-gpu"
    ),
    "ERROR: This container was built for NVIDIA Driver Release 560.35 or later, but\n"
    "       version 535.183.01 was detected and compatibility mode is UNAVAILABLE.": (
        "driver-insufficient"
    ),
}


def first_of_both(text: str) -> tuple[str, str | None]:
    entry = explain(text)[0].id
    try:
        findings = diagnose(parse(text)).findings
    except UnusableTextError:
        return entry, None
    return entry, findings[0].id if findings else None


@pytest.mark.parametrize("message", CONTAINER, ids=lambda message: message[-40:])
def test_a_message_around_a_container_has_one_cause(message):
    entry, finding = first_of_both(message)
    assert entry == CONTAINER[message]
    assert finding in SAME[entry]


def environment_messages():
    for entry in load().entries:
        if entry.family == "environment":
            for number, text in enumerate(entry.data["test"]):
                yield pytest.param(text, id=f"{entry.id}-{number}")
    for line in REPORTS.read_text(encoding="utf-8").splitlines():
        report = json.loads(line)
        if report["kind"] in SAME:
            yield pytest.param(report["text"], id=report["id"])


@pytest.mark.parametrize("text", [*environment_messages()])
def test_the_doctor_contradicts_no_answer(text):
    entry, finding = first_of_both(text)
    assert finding is None or finding in SAME[entry]
