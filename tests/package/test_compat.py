"""Which wheel runs where."""

from __future__ import annotations

import pytest

from torchguide import compat
from torchguide.compat import Machine, code_runs, driver_runs, find_gpu
from torchguide.facts import Gpu, table


@pytest.mark.parametrize(
    ("name", "gpu", "capability"),
    [
        ("NVIDIA GeForce RTX 3060 Laptop GPU", "GeForce RTX 3060", "8.6"),
        ("Tesla V100-SXM2-16GB", "Tesla V100", "7.0"),
        ("NVIDIA A100 80GB PCIe", "A100", "8.0"),
        ("A100-SXM4-40GB MIG 1g.5gb", "A100", "8.0"),
        ("Quadro RTX 6000", "Quadro RTX 6000", "7.5"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada", "8.9"),
        ("TITAN X (Pascal)", "TITAN X", "6.1"),
        ("GeForce GTX TITAN X", "GeForce GTX TITAN X", "5.2"),
        ("rtx4090", "GeForce RTX 4090", "8.9"),
        ("GTX1080Ti", "GeForce GTX 1080 Ti", "6.1"),
        ("GeForce 940MX", "GeForce 940MX", "5.0"),
        ("Orin (nvgpu)", "Orin", "8.7"),
        ("NVIDIA GeForce RTX 3060 ...", "GeForce RTX 3060", "8.6"),
    ],
)
def test_gpu_is_found_by_the_names_it_goes_by(name, gpu, capability):
    found = find_gpu(name)
    assert (found.gpu, found.capability) == (gpu, capability)


@pytest.mark.parametrize(
    "name",
    [
        "GeForce GTX 108...",
        "AMD Radeon RX 7900 XT (gfx1100)",
        "Intel(R) Arc(TM) A770",
        "GPU",
        "",
        "-",
    ],
)
def test_gpu_of_another_maker_or_a_cut_name_is_not_guessed(name):
    assert find_gpu(name) is None


def test_each_gpu_of_the_table_finds_itself():
    for gpu in table(Gpu):
        assert find_gpu(gpu.gpu) == gpu


@pytest.mark.parametrize(
    ("capability", "codes", "runs"),
    [
        ("6.1", "sm_60", True),
        ("8.9", "86", True),
        ("12.1", "120", True),
        ("8.0", "86", False),
        ("6.1", "70 75", False),
        ("12.0", "90", False),
        ("9.0", "90a", True),
        ("10.3", "100a", False),
        ("7.2", "70", False),
        ("11.0", "100", False),
        ("11.0", "101", True),
        ("8.0", "", None),
        ("?", "80", None),
    ],
)
def test_code_runs_on_the_same_major_from_its_minor_on(capability, codes, runs):
    assert code_runs(capability, tuple(codes.split())) is runs


def test_ptx_runs_on_newer_gpus_only():
    assert code_runs("12.0", ("90",), ("compute_90",)) is True
    assert code_runs("8.0", ("90",), ("90",)) is False


def test_ptx_older_than_the_newest_code_carries_no_build_forward():
    assert code_runs("12.0", ("37", "86", "90"), ("37",)) is False


def test_orin_runs_server_code_from_cuda_13_2_on():
    assert code_runs("8.7", ("80", "86"), (), "13.2") is True
    assert code_runs("8.7", ("80", "86"), (), "12.6") is None


@pytest.mark.parametrize(
    ("driver", "cuda", "system", "runs"),
    [
        ("535.183.01", "12.8", "linux", True),
        ("525.60.13", "12.9", "linux", True),
        ("525.60.11", "12.1", "linux", False),
        ("528.24", "12.1", "windows", False),
        ("580.65.06", "13.2", "linux", True),
        ("575.64", "13.0", "linux", False),
        ("450.51.06", "11.0", "linux", True),
        ("418.67", "10.2", "linux", False),
        ("418.67", "10.1", "linux", True),
        ("600", "15.0", "linux", None),
    ],
)
def test_driver_runs_every_minor_of_its_major(driver, cuda, system, runs):
    assert driver_runs(driver, cuda, system) is runs


def test_windows_drivers_of_a_branch_have_higher_numbers():
    assert compat.driver_branch("581.57") == 580
    assert compat.driver_serves("581.57", "6.1") == (None, None)
    assert compat.driver_serves("591.10", "6.1") == (None, 580)
    assert compat.driver_serves("566.03", "12.0") == (570, None)


def test_wheel_lists_every_obstacle():
    wheel = compat.wheel_of("2.14.1", "cu130", "linux_x86_64")
    machine = Machine("linux_x86_64", "3.9", "550.90", ("6.1",), "2.17")
    kinds = [obstacle.kind for obstacle in compat.wheel_obstacles(wheel, "2.14.1", machine)]
    assert kinds == ["glibc", "python", "driver", "architecture"]


def test_wheel_outside_of_its_releases_does_not_exist():
    assert compat.wheel_of("2.9.0", "cu129", "windows")
    assert compat.wheel_of("2.9.1", "cu129", "windows") is None
    assert compat.wheel_of("2.12.0", "cu129", "linux_x86_64") is None


@pytest.mark.parametrize(
    ("torch", "platform", "variant"),
    [
        ("2.10.0", "linux_x86_64", "cu128"),
        ("2.11.0", "linux_aarch64", "cu130"),
        ("2.10.0", "linux_aarch64", "cpu"),
        ("2.15.0", "windows", "cpu"),
        ("2.15", "linux_x86_64", "cu132"),
        ("9.9.9", "windows", None),
    ],
)
def test_pypi_gives_the_build_that_the_facts_say(torch, platform, variant):
    assert compat.pypi_variant(torch, platform) == variant
