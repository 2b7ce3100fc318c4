"""Find out where the time of a training step goes: waiting for data, copying, computing."""

from __future__ import annotations

import itertools
import math
import os
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_map

from torchguide.devices import check_device, synchronize
from torchguide.progress import show_progress
from torchguide.texts import Texts, system_language
from torchguide.timing import format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["StepTimes", "advise", "measure_steps"]

# Below this share of a step, waiting is not worth a change.
TOLERABLE = 0.1


@dataclass(frozen=True)
class StepTimes:
    """Where the time of training steps went, in seconds, a number for each step.

    Attributes:
        waiting: Until the loader gave the batch.
        copying: Until the batch was on the device.
        computing: Until the step was done there.
        device: The device that computed and was waited for.
        workers: The loader's worker processes; 0 if the main process loads.
        pinned: Whether the loader pins memory.
        cores: Processor cores that this process may use.
    """

    waiting: tuple[float, ...]
    copying: tuple[float, ...]
    computing: tuple[float, ...]
    device: str
    workers: int
    pinned: bool
    cores: int

    @property
    def shares(self) -> dict[str, float]:
        """The share of each part in the total time, from 0 to 1."""
        parts = {name: sum(getattr(self, name)) for name in ("waiting", "copying", "computing")}
        total = sum(parts.values()) or 1.0
        return {name: seconds / total for name, seconds in parts.items()}

    def __str__(self) -> str:
        """Show the share and the median of each part."""
        lines = [
            f"{name:9} {share:6.1%}  median {format_seconds(statistics.median(getattr(self, name)))}"
            for name, share in self.shares.items()
        ]
        return "\n".join(
            [f"{len(self.waiting)} steps on {self.device}, {self.workers} workers", *lines]
        )


def measure_steps(
    loader: Iterable[Any],
    step: Callable[[Any], object],
    *,
    device: str | torch.device = "cpu",
    steps: int = 20,
    warmup: int = 2,
) -> StepTimes:
    """Run training steps and measure where their time goes.

    Every part ends with an idle device, so that nothing is charged to the part after it. A real
    loop that does not wait may overlap computing with loading: what is shown as waiting here is
    the most that better loading can gain.

    Args:
        loader: Gives batches: tensors, or tuples, lists and dicts of them.
        step: What to do with a batch on the device: forward, backward, optimizer.
        device: Where batches are copied to.
        steps: Steps to measure, fewer if the loader ends before.
        warmup: Steps before them that do not count: workers start in the first.

    Raises:
        TypeError: If `step` cannot be called.
        ValueError: If the loader gives no batch after the warm-up, or a number is too small.
    """
    if not callable(step):
        raise TypeError(f"step is {step!r}; expected a function of a batch")
    if steps < 1 or warmup < 0:
        raise ValueError(f"steps is {steps}, warmup {warmup}; at least 1 and 0 are needed")
    checked = check_device(device)
    pinned = bool(getattr(loader, "pin_memory", False))

    def move(value: Any) -> Any:
        tensor = isinstance(value, torch.Tensor)
        return value.to(checked, non_blocking=pinned) if tensor else value

    times: list[tuple[float, float, float]] = []
    batches = iter(loader)
    with show_progress("steps", warmup + steps) as show:
        for number in itertools.count(1):
            if number > warmup + steps:
                break
            start = time.perf_counter()
            try:
                batch = next(batches)
            except StopIteration:
                break
            loaded = time.perf_counter()
            batch = tree_map(move, batch)
            synchronize(checked)
            copied = time.perf_counter()
            step(batch)
            synchronize(checked)
            times.append((loaded - start, copied - loaded, time.perf_counter() - copied))
            show(number)
    measured = times[warmup:]
    if not measured:
        raise ValueError(
            f"the loader gave {len(times)} batches, {warmup} of them for the warm-up; "
            "nothing is left to measure: lower warmup or give more data"
        )
    waiting, copying, computing = zip(*measured, strict=True)
    return StepTimes(
        waiting=waiting,
        copying=copying,
        computing=computing,
        device=str(checked),
        workers=int(getattr(loader, "num_workers", 0)),
        pinned=pinned,
        cores=_cores(),
    )


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def advise(times: StepTimes, language: str | None = None) -> list[str]:
    """Say what to change, with the measured numbers, the most important first.

    Args:
        times: From `measure_steps`.
        language: ``"en"`` or ``"zh"``; the system's if not given.
    """
    texts = Texts(language or system_language())
    shares = times.shares
    waiting, copying, computing = (
        statistics.median(getattr(times, name)) for name in ("waiting", "copying", "computing")
    )
    said = []
    if shares["waiting"] > TOLERABLE:
        values = {"share": f"{shares['waiting']:.0%}", "time": format_seconds(waiting)}
        if times.workers == 0:
            # What one process loads in `waiting`, several have to load in the rest of the step.
            wanted = math.ceil(waiting / max(copying + computing, 1e-9))
            few = max(1, min(wanted, times.cores))
            said.append(texts.say("loading.no_workers", workers=few, **values))
            if wanted > times.cores:
                said.append(texts.say("loading.few_cores", cores=times.cores, wanted=wanted))
        elif times.workers < times.cores:
            values |= {"workers": str(times.workers), "cores": str(times.cores)}
            said.append(texts.say("loading.more_workers", **values))
        else:
            said.append(texts.say("loading.dataset", workers=times.workers, **values))
    if shares["copying"] > TOLERABLE:
        values = {"share": f"{shares['copying']:.0%}", "time": format_seconds(copying)}
        key = "loading.pinned" if times.pinned else "loading.pin"
        said.append(texts.say(key, **values))
    if not said:
        values = {"share": f"{shares['computing']:.0%}", "time": format_seconds(computing)}
        said.append(texts.say("loading.fine", **values))
    return said
