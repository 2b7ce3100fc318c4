"""`install` knows the exact command, and the doctor agrees with it over the whole grid."""

from __future__ import annotations

import itertools

import pytest

from torchguide import compat
from torchguide.compat import Machine, find_gpu
from torchguide.doctor import diagnose
from torchguide.environment import Device, Package, Snapshot
from torchguide.facts import Gpu, Wheel, table
from torchguide.install import (
    MANAGERS,
    Choices,
    ImpossibleError,
    Reason,
    mirrors,
    recommend,
)
from torchguide.texts import Texts


def choose(platform="linux_x86_64", python="3.12", gpu=None, driver=None, **more):
    found = find_gpu(gpu) if gpu else None
    machine = Machine(platform, python, driver, (found.capability,) if found else ())
    machine = Machine(**{**machine.__dict__, **more.pop("machine", {})})
    return Choices(machine, (gpu,) if gpu else (), **more)


PIP = "python -m pip install"
OWN = "--index-url https://download.pytorch.org/whl"
OWN_TOO = "--extra-index-url https://download.pytorch.org/whl"
TUNA = "-i https://pypi.tuna.tsinghua.edu.cn/simple"
NJU = "https://mirror.nju.edu.cn/pytorch/whl"
ALIYUN = (
    "-f https://mirrors.aliyun.com/pytorch-wheels/cu126/ -i https://mirrors.aliyun.com/pypi/simple/"
)


@pytest.mark.parametrize(
    ("choices", "command"),
    [
        (choose(gpu="RTX 4090", driver="580.65.06"), f"{PIP} torch torchvision"),
        (
            choose(gpu="RTX 4090", driver="535.183"),
            f"{PIP} torch==2.14.1 torchvision==0.29.1 {OWN}/cu126",
        ),
        (
            choose(gpu="RTX 5090", driver="570.86"),
            f"{PIP} torch==2.13.0 torchvision==0.28.0 {OWN}/cu129",
        ),
        (
            choose("windows", gpu="RTX 5090", driver="572.83"),
            f"{PIP} torch==2.11.0 torchvision==0.26.0 {OWN}/cu128",
        ),
        (
            choose("windows", gpu="RTX 4090", driver="581.57"),
            f"{PIP} torch==2.14.1 torchvision==0.29.1 {OWN}/cu130",
        ),
        (
            choose(gpu="GTX 1080", driver="580.95"),
            f"{PIP} torch==2.14.1 torchvision==0.29.1 {OWN}/cu126",
        ),
        (
            choose(gpu="K80", driver="470.82.01"),
            f"{PIP} torch==2.6.0 torchvision==0.21.0 {OWN}/cu118",
        ),
        (
            choose(gpu="GTX 1080", driver="460.39"),
            f"{PIP} torch==2.7.1 torchvision==0.22.1 {OWN}/cu118",
        ),
        (
            choose(python="3.9", gpu="V100", driver="535.1"),
            f"{PIP} torch==2.8.0 torchvision==0.23.0",
        ),
        (
            choose(python="3.10", gpu="A100", driver="580.1"),
            f"{PIP} torch==2.14.1 torchvision==0.29.1",
        ),
        (
            choose(gpu="A100", driver="580.1", machine={"glibc": "2.17"}),
            f"{PIP} torch==2.6.0 torchvision==0.21.0",
        ),
        (choose("linux_aarch64", gpu="GB10", driver="580.95"), f"{PIP} torch torchvision"),
        (choose(), f"{PIP} torch==2.15.0 torchvision==0.29.2 {OWN}/cpu"),
        (choose("windows"), f"{PIP} torch torchvision"),
        (choose("macos_arm64"), f"{PIP} torch torchvision"),
        (
            choose("macos_arm64", machine={"macos": "13"}),
            f"{PIP} torch==2.11.0 torchvision==0.26.0",
        ),
        (choose("macos_x86_64"), f'{PIP} torch==2.2.2 torchvision==0.17.2 "numpy<2"'),
        (
            choose(gpu="AMD Radeon RX 7900 XT"),
            f"{PIP} torch==2.13.0 torchvision==0.28.0 {OWN}/rocm7.2",
        ),
        (choose("windows", gpu="Intel Arc A770"), f"{PIP} torch torchvision {OWN}/xpu"),
        (
            choose(gpu="GTX 1080", driver="580.95", manager="uv"),
            "uv pip install torch==2.14.1 torchvision==0.29.1 --torch-backend=cu126",
        ),
        (
            choose(gpu="V100", driver="580.95", manager="conda"),
            "conda install -c conda-forge pytorch-gpu torchvision cuda-version=12.9",
        ),
        (
            choose(gpu="RTX 4090", driver="580.65", mirror="tuna"),
            f"{PIP} torch torchvision {TUNA}",
        ),
        (
            choose(gpu="GTX 1080", driver="580.95", mirror="tuna"),
            f"{PIP} torch==2.14.1+cu126 torchvision==0.29.1+cu126 {TUNA} {OWN_TOO}/cu126",
        ),
        (
            choose(gpu="GTX 1080", driver="580.95", mirror="nju"),
            f"{PIP} torch==2.14.1 torchvision==0.29.1 --index-url {NJU}/cu126",
        ),
        (
            choose(gpu="GTX 1080", driver="580.95", mirror="aliyun"),
            f"{PIP} torch==2.14.1+cu126 torchvision==0.29.1+cu126 {ALIYUN}",
        ),
        (
            choose(gpu="A100", driver="580.1", torch="2.9"),
            f"{PIP} torch==2.9.1 torchvision==0.24.1",
        ),
    ],
)
def test_command_is_the_one_for_these_choices(choices, command):
    assert recommend(choices).command == command


@pytest.mark.parametrize(
    ("choices", "reason", "nearest"),
    [
        (choose(gpu="RTX 5090", driver="535.1"), "impossible.driver-before-gpu", "cu132"),
        (choose(gpu="GTX 1080", driver="590.44"), "impossible.driver-after-gpu", "cu126"),
        (choose(gpu="RTX 5090", torch="2.6"), "obstacle.architecture", "cu132"),
        (choose(gpu="A100", driver="440.33"), "obstacle.driver", "cu132"),
        (choose(python="3.6"), "obstacle.python", "cpu"),
        (choose(torch="2.9.7"), "impossible.no-release", "cpu"),
        (choose("windows", gpu="AMD RX 7900"), "impossible.accelerator", "cpu"),
        (choose("macos_arm64", accelerator="cuda"), "impossible.accelerator", "cpu"),
        (choose("linux_aarch64", gpu="Xavier"), "impossible.jetson", "cpu"),
        (choose(gpu="A100", manager="conda", torch="2.6"), "impossible.conda-version", "cu130"),
        (choose(gpu="A100", manager="docker", mirror="tuna"), "impossible.docker-mirror", "cu132"),
        (choose(gpu="K80", driver="470.82", manager="docker"), "impossible.docker-image", "cu118"),
        (choose(mirror="nowhere"), "impossible.mirror", None),
    ],
)
def test_impossible_says_why_and_names_the_nearest(choices, reason, nearest):
    with pytest.raises(ImpossibleError) as caught:
        recommend(choices)
    assert reason in [given.key for given in caught.value.reasons]
    assert (caught.value.nearest.variant if caught.value.nearest else None) == nearest


GPUS = [gpu.gpu for gpu in table(Gpu)]
PLATFORMS = ("linux_x86_64", "linux_aarch64", "windows", "wsl")
DRIVERS = (
    "450.80.02",
    "470.82.01",
    "516.94",
    "528.33",
    "535.183.01",
    "560.94",
    "572.83",
    "580.95.05",
    "591.44",
    "610.62",
    None,
)
PYTHONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")


def snapshot_after(choices: Choices, answer) -> Snapshot:
    """Describe the machine after it has followed the answer, as collect_env would."""
    machine = choices.machine
    cuda = answer.variant
    packages = {"torch": Package(answer.torch)} if answer.torch else {}
    pair = compat.pair_of(answer.torch) if answer.torch else None
    tag = "" if cuda == compat.pypi_variant(answer.torch or "", machine.platform) else f"+{cuda}"
    if pair and answer.torchvision:
        packages["torchvision"] = Package(answer.torchvision + tag)
    return Snapshot(
        source="machine",
        torch=f"{answer.torch}+{cuda}" if answer.torch else None,
        torch_cuda=f"{cuda[2:-1]}.{cuda[-1]}" if cuda.startswith("cu") else cuda[:4],
        driver=machine.driver,
        gpus=tuple(Device(name) for name in choices.gpus),
        python=machine.python,
        system="windows" if machine.platform == "windows" else "linux",
        machine="aarch64" if machine.platform == "linux_aarch64" else "x86_64",
        wsl=2 if machine.wsl else None,
        glibc=machine.glibc,
        pip_packages=packages,
    )


@pytest.mark.parametrize("platform", PLATFORMS)
def test_doctor_agrees_with_install_over_the_whole_grid(platform):
    texts = Texts("en"), Texts("zh")
    by_capability = {find_gpu(name).capability: name for name in GPUS}
    answered = refused = 0
    for name, driver, python in itertools.product(by_capability.values(), DRIVERS, PYTHONS):
        choices = choose(
            "linux_x86_64" if platform == "wsl" else platform,
            python,
            name,
            driver,
            machine={"wsl": platform == "wsl"},
            accelerator="cuda",
        )
        answer, reasons = outcome(choices)
        assert reasons
        said(reasons, texts)
        if answer is None:
            refused += 1
            continue
        answered += 1
        if answer.torch is None:
            continue
        wheel = compat.wheel_of(answer.torch, answer.variant, choices.machine.platform)
        assert compat.wheel_obstacles(wheel, answer.torch, choices.machine) == []
        diagnosis = diagnose(snapshot_after(choices, answer))
        assert diagnosis.verdict == "ok", (choices, answer, diagnosis.findings)
    assert answered > 100
    assert refused > 100


def outcome(choices: Choices):
    """Give the answer, or None, and the reasons for either."""
    try:
        answer = recommend(choices)
    except ImpossibleError as error:
        return None, error.reasons
    return answer, answer.reasons


def said(reasons: tuple[Reason, ...], texts) -> None:
    for language in texts:
        for reason in reasons:
            assert "?" not in language.say(reason.key, **reason.values)


@pytest.mark.parametrize("platform", ["linux_x86_64", "windows"])
def test_wheel_that_does_not_run_is_a_problem_for_the_doctor(platform):
    """A machine that has a wheel with an obstacle of driver or architecture is not called fit."""
    judged = 0
    for wheel in table(Wheel):
        if wheel.platform != platform or not wheel.architectures:
            continue
        for name, driver in itertools.product(("GTX 1080", "V100", "A100", "RTX 5090"), DRIVERS):
            machine = choose(platform, None, name, driver).machine
            obstacles = compat.wheel_obstacles(wheel, wheel.last, machine)
            after = Snapshot(
                source="machine",
                torch=f"{wheel.last}+{wheel.variant}",
                torch_cuda=wheel.cuda,
                driver=driver,
                gpus=(Device(name),),
                system="windows" if platform == "windows" else "linux",
                machine="x86_64",
            )
            assert (diagnose(after).verdict == "ok") is (obstacles == []), (wheel, obstacles)
            judged += 1
    assert judged > 1000


def test_an_intel_mac_is_checked_on_its_cpu():
    answer = recommend(choose("macos_x86_64"))
    assert "mps" not in answer.check
    assert answer.reasons[0].key == "reason.cpu"
    assert "device='mps'" in recommend(choose("macos_arm64")).check


def test_every_manager_and_mirror_gives_a_command_or_a_reason():
    for manager, mirror, platform in itertools.product(
        MANAGERS, mirrors(), ("linux_x86_64", "linux_aarch64", "windows", "macos_arm64")
    ):
        gpu = None if platform == "macos_arm64" else "A100"
        choices = choose(
            platform, gpu=gpu, driver="560.94" if gpu else None, manager=manager, mirror=mirror
        )
        answer, reasons = outcome(choices)
        if answer is None:
            assert reasons[0].key.startswith("impossible.")
        else:
            starts = ("python -m pip", "uv pip", "conda install", "docker run")
            assert answer.command.startswith(starts)
            assert ">" not in answer.command


def test_index_url_and_extra_index_never_stand_without_an_exact_pin():
    choices = choose(gpu="GTX 1080", driver="580.95", mirror="ustc")
    command = recommend(choices).command
    assert "--extra-index-url" in command
    assert "torch==2.14.1+cu126" in command


def test_unverified_answers_say_so():
    answer = recommend(choose("linux_aarch64", "3.10", "Jetson Orin NX"))
    assert not answer.verified
    answer = recommend(choose("windows", "3.15", "RTX 4090", "595.1"))
    assert not answer.verified
    assert "note.unverified" in [reason.key for reason in answer.reasons]
