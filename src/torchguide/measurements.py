"""The measurements that `torchguide record` can take, each a table of raw samples.

Each is a function of a device that returns seconds per call, the samples of each case under the
case's name. They run on any device and finish within seconds, so that a page can take them itself
where nobody has recorded them.
"""

from __future__ import annotations

import functools
import statistics
import time
from typing import TYPE_CHECKING

import torch

from torchguide.devices import check_device, synchronize
from torchguide.progress import show_progress
from torchguide.timing import measure

if TYPE_CHECKING:
    from collections.abc import Callable

    Samples = dict[str, list[float]]

__all__ = ["MEASUREMENTS", "launch", "matmul", "median_of", "training_step", "transfer"]

REPEATS = 7


def _dtypes(device: torch.device) -> list[torch.dtype]:
    # bfloat16 on a CPU without instructions for it is emulated, and would take minutes
    return [torch.float32] if device.type == "cpu" else [torch.float32, torch.bfloat16]


def matmul(device: str | torch.device) -> Samples:
    """Measure products of square matrices; a case is ``"float32 n=1024"``."""
    checked = check_device(device)
    largest = 1024 if checked.type == "cpu" else 8192
    sizes = [2**power for power in range(6, largest.bit_length())]
    cases = [(dtype, n) for dtype in _dtypes(checked) for n in sizes]
    samples: Samples = {}
    with show_progress("matmul", len(cases)) as show:
        for number, (dtype, n) in enumerate(cases):
            name = f"{str(dtype).removeprefix('torch.')} n={n}"
            show(number)
            a, b = (torch.randn(n, n, device=checked).to(dtype) for _ in range(2))
            product = functools.partial(torch.matmul, a, b)
            samples[name] = list(measure(product, device=checked, repeats=REPEATS).samples)
    return samples


def transfer(device: str | torch.device) -> Samples:
    """Measure copies from the CPU's memory to the device's; a case is ``"pinned 64 MiB"``.

    On the CPU itself the copy stays in its memory, and nothing can be pinned.
    """
    checked = check_device(device)
    kinds = ("pageable", "pinned") if checked.type == "cuda" else ("pageable",)
    cases = [(kind, mebibytes) for kind in kinds for mebibytes in (1, 4, 16, 64)]
    samples: Samples = {}
    with show_progress("copies", len(cases)) as show:
        for number, (kind, mebibytes) in enumerate(cases):
            show(number)
            source = torch.ones(mebibytes << 18, pin_memory=kind == "pinned")
            target = torch.empty_like(source, device=checked, pin_memory=False)
            copy = functools.partial(target.copy_, source, non_blocking=kind == "pinned")
            measured = measure(copy, device=checked, repeats=REPEATS, calls=1)
            samples[f"{kind} {mebibytes} MiB"] = list(measured.samples)
    return samples


def launch(device: str | torch.device) -> Samples:
    """Measure when a matrix product's call returns, and when the product is done.

    The cases are ``"returned"`` and ``"done"``; on a CPU they are the same.
    """
    checked = check_device(device)
    n = 512 if checked.type == "cpu" else 4096
    a = torch.randn(n, n, device=checked)
    samples: Samples = {"returned": [], "done": []}
    for number in range(REPEATS + 2):
        synchronize(checked)
        start = time.perf_counter()
        product = a @ a
        returned = time.perf_counter() - start
        synchronize(checked)
        done = time.perf_counter() - start
        del product
        if number > 1:  # the first calls load kernels
            samples["returned"].append(returned)
            samples["done"].append(done)
    return samples


def training_step(device: str | torch.device) -> Samples:
    """Measure a training step of a small network with and without autocast.

    A case is the dtype that autocast computes in; ``"float32"`` is without.
    """
    checked = check_device(device)
    width, batch = (256, 64) if checked.type == "cpu" else (4096, 1024)
    names = ["float32", "bfloat16"] + (["float16"] if checked.type == "cuda" else [])
    samples: Samples = {}
    for name in names:
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width)
        ).to(checked)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        x = torch.randn(batch, width, device=checked)

        def step(
            model: torch.nn.Module = model,
            optimizer: torch.optim.Optimizer = optimizer,
            x: torch.Tensor = x,
            name: str = name,
        ) -> None:
            on = name != "float32"
            dtype = getattr(torch, name) if on else None
            with torch.autocast(checked.type, dtype=dtype, enabled=on):
                loss = (model(x) - x).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

        samples[name] = list(measure(step, device=checked, repeats=REPEATS).samples)
    return samples


# name -> what measures it, and a line for `torchguide record --list`
MEASUREMENTS: dict[str, tuple[Callable[[str | torch.device], Samples], str]] = {
    "matmul": (matmul, "products of square matrices over sizes and dtypes"),
    "transfer": (transfer, "copies to the device, from pageable and pinned memory"),
    "launch": (launch, "when a call returns, and when its work is done"),
    "training-step": (training_step, "a training step in float32 and with autocast"),
}


def median_of(samples: Samples) -> dict[str, float]:
    """Return the median seconds of each case."""
    return {name: statistics.median(each) for name, each in samples.items()}
