"""Measure how long a function takes, honestly, on any device.

An accelerator works on its own: a call returns when the work is queued, not when it
is done. `measure` waits for the device at both ends of every sample, throws away the
first calls, in which torch loads kernels and fills caches, and reports the median and
the spread instead of one lucky number.
"""

from __future__ import annotations

import gc
import itertools
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from torchguide.devices import check_device

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Measurement", "format_seconds", "measure"]

# Shorter samples would mostly measure the clock and the synchronisation.
SHORTEST_SAMPLE = 1e-3  # seconds

UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}  # in seconds


@dataclass(frozen=True)
class Measurement:
    """The times that `measure` took.

    Attributes:
        samples: Seconds per call, one number for each sample, in the order taken.
        calls: How many calls were timed together in each sample.
        device: The device that was waited for.
    """

    samples: tuple[float, ...]
    calls: int
    device: str

    @property
    def median(self) -> float:
        """Seconds per call in the middle sample."""
        return statistics.median(self.samples)

    @property
    def best(self) -> float:
        """Seconds per call in the fastest sample, which other programs disturbed least."""
        return min(self.samples)

    @property
    def iqr(self) -> float:
        """Seconds between the first and the third quartile: the spread of the middle half."""
        if len(self.samples) == 1:
            return 0.0
        first, _, third = statistics.quantiles(self.samples, n=4, method="inclusive")
        return third - first

    def __str__(self) -> str:
        """Show the median, the spread and how they were taken."""
        return (
            f"{format_seconds(self.median)} (IQR {format_seconds(self.iqr)}, "
            f"{len(self.samples)} samples of {self.calls} on {self.device})"
        )


def format_seconds(seconds: float) -> str:
    """Write a time with three digits and a fitting unit, such as ``12.3 ms``."""
    # What would be rounded up to one of a unit is written in that unit.
    fitting = (unit for unit, size in UNITS.items() if seconds >= 0.9995 * size)
    unit = next(fitting, "ns")
    value = seconds / UNITS[unit]
    return f"{value:.0f} {unit}" if value >= 99.95 else f"{value:#.3g} {unit}"


def measure(
    function: Callable[[], object],
    *,
    device: str | torch.device = "cpu",
    warmup: int = 3,
    repeats: int = 20,
    calls: int | None = None,
) -> Measurement:
    """Measure the time of one call of a function that takes no argument.

    On CUDA and ROCm each sample lies between two events in the device's current
    stream; elsewhere between two readings of the clock, each after waiting for the
    device. The garbage collector rests meanwhile. The threads are torch's own, while
    `torch.utils.benchmark.Timer` measures with one thread unless told otherwise.

    Args:
        function: What to measure; its result is thrown away.
        device: The device that the function works on, and that is waited for.
        warmup: Calls that are made first and not counted.
        repeats: Number of samples.
        calls: Calls per sample; if not given, as many as fill a millisecond.

    Raises:
        TypeError: If the function cannot be called.
        ValueError: If a number is too small, or the device is not available here.
    """
    if not callable(function):
        raise TypeError(f"measure needs a function, not {function!r}; write lambda: ...")
    for name, number, least in (("warmup", warmup, 0), ("repeats", repeats, 1)):
        if number < least:
            raise ValueError(f"{name} is {number}; it must be at least {least}")
    if calls is not None and calls < 1:
        raise ValueError(f"calls is {calls}; it must be at least 1, or None to choose it")
    checked = check_device(device)
    sample = _sample_events if checked.type == "cuda" else _sample_clock
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(warmup):
            function()
        if calls is None:
            calls = 1
            while sample(function, calls, checked) * calls < SHORTEST_SAMPLE:
                calls *= 2
        samples = tuple(sample(function, calls, checked) for _ in range(repeats))
    finally:
        if collecting:
            gc.enable()
    return Measurement(samples=samples, calls=calls, device=str(checked))


def _sample_clock(function: Callable[[], object], calls: int, device: torch.device) -> float:
    """Return the seconds per call, by the clock, from an idle device to an idle device."""
    wait = torch.accelerator.synchronize if device.type != "cpu" else _ready
    wait(device)
    start = time.perf_counter()
    for _ in itertools.repeat(None, calls):
        function()
    wait(device)
    return (time.perf_counter() - start) / calls


def _ready(_: torch.device) -> None:
    """Wait for a CPU: its calls return when the work is done."""


def _sample_events(function: Callable[[], object], calls: int, device: torch.device) -> float:
    """Return the seconds per call between two events in the device's current stream."""
    with torch.cuda.device(device):
        start, end = (torch.Event(device, enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        for _ in itertools.repeat(None, calls):
            function()
        end.record()
        end.synchronize()
        return float(start.elapsed_time(end)) / 1e3 / calls  # milliseconds to seconds
