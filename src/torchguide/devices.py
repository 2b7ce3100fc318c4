"""Find the devices that torch can compute on, name them and wait for them.

Devices are plain strings such as ``"cpu"``, ``"cuda:0"`` or ``"mps"``, which torch
accepts wherever it wants a device. Works with torch 2.7 and newer, on CUDA, ROCm
(which torch calls ``cuda``), XPU and MPS alike.
"""

from __future__ import annotations

import platform

import torch

__all__ = ["available_devices", "best_device", "check_device", "describe_device", "synchronize"]


def available_devices() -> list[str]:
    """List the devices that can compute here and now: the CPU first, then accelerators.

    An accelerator that torch was built for but that this machine lacks, or whose
    driver does not work, is not in the list.
    """
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None or not torch.accelerator.is_available():
        return ["cpu"]
    if accelerator.type == "mps":  # a Mac has one, and nobody writes "mps:0"
        return ["cpu", "mps"]
    count = torch.accelerator.device_count()
    return ["cpu", *(f"{accelerator.type}:{index}" for index in range(count))]


def best_device() -> str:
    """Name the device to prefer: the first accelerator, or the CPU where there is none."""
    return available_devices()[:2][-1]


def check_device(device: str | torch.device) -> torch.device:
    """Turn a device's name into a `torch.device` that can compute here.

    ``"cuda"`` without a number is the current CUDA device.

    Raises:
        ValueError: If torch knows no such device, or this machine has none. The
            message lists the devices that are available.
    """
    available = available_devices()
    try:
        checked = torch.device(device)
    except RuntimeError as error:
        raise ValueError(
            f"{device!r} is no device of torch; available here: {available}"
        ) from error
    alike = [name for name in available if name.partition(":")[0] == checked.type]
    if (checked.index or 0) >= len(alike):
        raise ValueError(f"device {str(device)!r} is not available here; available: {available}")
    return checked


def synchronize(device: str | torch.device) -> None:
    """Wait until all work queued on a device is done; on the CPU there is nothing to wait for.

    Raises:
        ValueError: If the device is not available here.
    """
    checked = check_device(device)
    if checked.type != "cpu":
        torch.accelerator.synchronize(checked)


def describe_device(device: str | torch.device) -> str:
    """Describe a device in one line, such as ``cuda:0 (NVIDIA H200, capability 9.0, 140 GiB)``.

    The CPU is described by its architecture and the number of threads that torch uses.

    Raises:
        ValueError: If the device is not available here.
    """
    checked = check_device(device)
    if checked.type == "cpu":
        threads = torch.get_num_threads()
        return f"{checked} ({platform.machine()}, {threads} thread{'s' * (threads != 1)})"
    if checked.type == "mps":
        return f"{checked} (Apple GPU, {platform.machine()})"
    module = torch.get_device_module(checked)
    details = [str(module.get_device_name(checked))]
    properties = module.get_device_properties(checked)
    if hasattr(properties, "gcnArchName"):  # ROCm names an architecture, not a capability
        details.append(str(properties.gcnArchName))
    elif hasattr(properties, "major"):
        details.append(f"capability {properties.major}.{properties.minor}")
    details.append(f"{properties.total_memory / 2**30:.0f} GiB")
    return f"{checked} ({', '.join(details)})"
