"""Say what a training step needs in memory, before and after it runs.

`estimate_training_memory` runs two steps of a copy on the meta device, where tensors have shapes
and no numbers, and watches every storage come and go: no data, no accelerator and hardly any
memory is needed. `largest_batch` searches with it. `read_allocator` explains the counters of the
caching allocator of an accelerator.
"""

from __future__ import annotations

import copy
import weakref
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "AllocatorState",
    "TrainingMemory",
    "allocator_state",
    "estimate_training_memory",
    "format_bytes",
    "largest_batch",
    "read_allocator",
]

UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def format_bytes(amount: float) -> str:
    """Write an amount of memory with three digits and a binary unit, such as ``1.50 MiB``."""
    value, unit = float(amount), UNITS[0]
    for unit in UNITS:
        if abs(value) < 999.5 or unit == UNITS[-1]:
            break
        value /= 1024
    return f"{value:.0f} {unit}" if unit == UNITS[0] or value >= 99.95 else f"{value:#.3g} {unit}"


@dataclass(frozen=True)
class TrainingMemory:
    """What a training step keeps in memory, in bytes.

    Attributes:
        parameters: The module's parameters.
        buffers: Its buffers.
        gradients: The gradients of its parameters after a step.
        optimizer: What the optimizer keeps between steps.
        inputs: The batch.
        activations: What the forward pass leaves for the backward pass, the loss among it.
        peak: The most that lives at one moment of a step in the steady state, of all together.
    """

    parameters: int
    buffers: int
    gradients: int
    optimizer: int
    inputs: int
    activations: int
    peak: int

    def __str__(self) -> str:
        """Show a line for each part."""
        rows = [(each.name, getattr(self, each.name)) for each in fields(self)]
        return "\n".join(f"{name:11} {format_bytes(amount):>10}" for name, amount in rows)


class _LiveStorages(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch has no types here
    """Follow every storage from the operation that makes it until it is freed."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # nor here
        self.live = 0
        self.peak = 0
        self.known: dict[int, int] = {}

    def add(self, value: Any) -> None:
        """Count the storages of tensors that are not known yet."""
        for tensor in tree_leaves(value):
            if not isinstance(tensor, torch.Tensor):
                continue
            storage = tensor.untyped_storage()
            key = storage._cdata  # noqa: SLF001 -- the storage's identity; Python's may change
            if key not in self.known:
                self.known[key] = size = storage.nbytes()
                self.live += size
                weakref.finalize(storage, self._freed, key)
        self.peak = max(self.peak, self.live)

    def _freed(self, key: int) -> None:
        self.live -= self.known.pop(key, 0)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        del types
        result = func(*args, **(kwargs or {}))
        self.add(result)
        return result


def _on_meta(module: nn.Module) -> nn.Module:
    """Copy a module without its numbers."""
    memo: dict[int, Any] = {}
    for parameter in module.parameters():
        empty = torch.empty_like(parameter, device="meta")
        memo[id(parameter)] = nn.Parameter(empty, requires_grad=parameter.requires_grad)
    for buffer in module.buffers():
        memo[id(buffer)] = torch.empty_like(buffer, device="meta")
    return copy.deepcopy(module, memo)


def _bytes_of(tensors: Iterable[torch.Tensor]) -> int:
    """Add up storages, each once."""
    storages = {x.untyped_storage()._cdata: x.untyped_storage() for x in tensors}  # noqa: SLF001 -- as above
    return sum(storage.nbytes() for storage in storages.values())


def _sum(output: Any) -> torch.Tensor:
    """Make a number of whatever a module returns."""
    parts = [x.float().sum() for x in tree_leaves(output) if isinstance(x, torch.Tensor)]
    if not parts:
        raise TypeError(f"the module returned {type(output).__name__} without a tensor in it")
    return torch.stack(parts).sum()


def estimate_training_memory(
    module: nn.Module,
    *inputs: Any,
    loss: Callable[..., torch.Tensor] | None = None,
    optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] | None = None,
) -> TrainingMemory:
    """Work out what a training step of a module needs in memory, without running it for real.

    Two steps run on the meta device, the second in the steady state, in which the optimizer's
    state exists. The module itself is not changed. Workspaces of libraries such as cuBLAS and
    cuDNN, the context of CUDA, and the allocator's rounding come on top.

    Args:
        module: What is trained.
        *inputs: What its forward takes, tensors of any device with the shapes of a real batch.
        loss: Makes a number of the module's result; the sum of its elements if not given. Made of
            operations that do not look at values.
        optimizer: Makes the optimizer of parameters, for example ``torch.optim.AdamW``, or a
            lambda; none if not given.

    Raises:
        TypeError: If `module` is no module, or returns no tensor.
        ValueError: If the module has no parameter to train.
        RuntimeError: If the module's forward needs values, which the meta device does not have.
    """
    if not isinstance(module, nn.Module):
        raise TypeError(f"the module is of type {type(module).__name__}; expected torch.nn.Module")
    if not any(parameter.requires_grad for parameter in module.parameters()):
        raise ValueError("the module has no parameter with requires_grad; nothing is trained")
    replica = _on_meta(module)
    parameters = [each for each in replica.parameters() if each.requires_grad]
    stepper = None if optimizer is None else optimizer(parameters)
    batch = tree_map(_meta, inputs)
    watch = _LiveStorages()
    watch.add([*replica.parameters(), *replica.buffers(), batch])
    try:
        for _ in range(2):
            watch.peak, before = watch.live, watch.live
            with watch:
                result = (loss or _sum)(replica(*batch))
                activations = watch.live - before
                result.backward()  # type: ignore[no-untyped-call]  # torch has no types here
                del result
                gradients = _bytes_of(x.grad for x in parameters if x.grad is not None)
                if stepper is not None:
                    stepper.step()
                replica.zero_grad(set_to_none=True)
    except (RuntimeError, NotImplementedError) as error:
        if "meta" not in str(error).lower():
            raise
        raise RuntimeError(
            "the step looks at values (.item(), an if, nonzero, ...), which the meta device does "
            f"not have, so that it cannot be estimated: {error}"
        ) from error
    state = [] if stepper is None else tree_leaves(list(stepper.state.values()))
    return TrainingMemory(
        parameters=_bytes_of(replica.parameters()),
        buffers=_bytes_of(replica.buffers()),
        gradients=gradients,
        optimizer=_bytes_of(x for x in state if isinstance(x, torch.Tensor)),
        inputs=_bytes_of(x for x in tree_leaves(batch) if isinstance(x, torch.Tensor)),
        activations=activations,
        peak=watch.peak,
    )


def _meta(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    empty = torch.empty_like(value, device="meta", memory_format=torch.preserve_format)
    return empty.detach().requires_grad_(value.requires_grad)


def largest_batch(  # noqa: PLR0913 -- what is trained, how, and the two limits
    module: nn.Module,
    make_inputs: Callable[[int], tuple[Any, ...]],
    budget: int,
    *,
    loss: Callable[..., torch.Tensor] | None = None,
    optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] | None = None,
    most: int = 2**20,
) -> int:
    """Find the largest batch whose training step fits into a budget, by estimates alone.

    Leave room for what the estimate does not hold: about a tenth, and on CUDA the context.

    Args:
        module: What is trained.
        make_inputs: Makes the inputs of forward for a batch size, best with ``device="meta"``.
        budget: Bytes that the peak of a step may reach.
        loss: As for `estimate_training_memory`.
        optimizer: As for `estimate_training_memory`.
        most: The batch size at which the search ends.

    Raises:
        ValueError: If not even a batch of one fits, with what that one needs.
    """

    def peak(size: int) -> int:
        inputs = make_inputs(size)
        return estimate_training_memory(module, *inputs, loss=loss, optimizer=optimizer).peak

    least = peak(1)
    if least > budget:
        raise ValueError(
            f"a batch of 1 needs {format_bytes(least)}, the budget is {format_bytes(budget)}; "
            "a smaller model, a lower precision or checkpointing is needed, not a smaller batch"
        )
    fits, too_big = 1, most + 1
    while too_big - fits > 1:
        size = min(2 * fits, most) if too_big > most else (fits + too_big) // 2
        if size == fits:
            break
        if peak(size) <= budget:
            fits = size
        else:
            too_big = size
    return fits


@dataclass(frozen=True)
class AllocatorState:
    """What the caching allocator of an accelerator holds, in bytes and counts.

    Attributes:
        allocated: In living tensors.
        reserved: Taken from the driver; nvidia-smi shows this much and the context.
        split: Free inside blocks that are in use in part: cannot be given back, and a large
            tensor may not fit into it.
        peak_allocated: The most that tensors took.
        peak_reserved: The most that was taken from the driver.
        retries: How often cached blocks were freed because the driver had no more.
        ooms: How often that did not help.
    """

    allocated: int
    reserved: int
    split: int
    peak_allocated: int
    peak_reserved: int
    retries: int
    ooms: int

    @property
    def cached(self) -> int:
        """Bytes that were taken from the driver and hold no tensor now."""
        return self.reserved - self.allocated

    @property
    def fragmentation(self) -> float:
        """Share of the cached bytes that lie in partly used blocks, from 0 to 1."""
        return self.split / self.cached if self.cached else 0.0

    def __str__(self) -> str:
        """Show a line for each amount."""
        amounts = {
            "allocated": self.allocated,
            "reserved": self.reserved,
            "cached": self.cached,
            "  of it split": self.split,
            "peak allocated": self.peak_allocated,
            "peak reserved": self.peak_reserved,
        }
        lines = [f"{name:14} {format_bytes(amount):>10}" for name, amount in amounts.items()]
        return "\n".join(
            [*lines, f"{'retries':14} {self.retries:>10}", f"{'ooms':14} {self.ooms:>10}"]
        )


def read_allocator(statistics: Mapping[str, int]) -> AllocatorState:
    """Read what `torch.cuda.memory_stats` or `torch.accelerator.memory_stats` returns.

    Args:
        statistics: Counters by name; those that are missing count as 0, as on a device that was
            not used yet.
    """

    def get(name: str) -> int:
        return int(statistics.get(name, 0))

    return AllocatorState(
        allocated=get("allocated_bytes.all.current"),
        reserved=get("reserved_bytes.all.current"),
        split=get("inactive_split_bytes.all.current"),
        peak_allocated=get("allocated_bytes.all.peak"),
        peak_reserved=get("reserved_bytes.all.peak"),
        retries=get("num_alloc_retries"),
        ooms=get("num_ooms"),
    )


def allocator_state(device: str | torch.device) -> AllocatorState:
    """Return the state of a CUDA, ROCm or XPU device's caching allocator.

    Raises:
        ValueError: If the device is not available here, or has no such allocator, as a CPU.
    """
    from torchguide.devices import check_device  # noqa: PLC0415 -- estimates need no device

    checked = check_device(device)
    module: Any = None if checked.type == "cpu" else torch.get_device_module(checked)
    if not hasattr(module, "memory_stats"):
        raise ValueError(f"{checked} has no caching allocator that counts; try cuda or xpu")
    return read_allocator(module.memory_stats(checked))
