"""Say how fast an operation could be on this machine: measured limits and counted work.

A device has two limits, the rate of its arithmetic and the rate at which memory delivers. An
operation that does few computations for each byte waits for memory, whatever the arithmetic could
do. The model, and its drawing, are the roofline of Williams, Waterman and Patterson, "Roofline: an
insightful visual performance model for multicore architectures", CACM 52(4), 2009.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from torchguide.devices import check_device
from torchguide.timing import format_seconds, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from matplotlib.axes import Axes

__all__ = ["Roofline", "Work", "count_work", "draw_roofline", "matmul_work", "measure_roofline"]

# Larger than the caches: 128 MiB on a CPU, 1 GiB on an accelerator.
STREAM_BYTES = {"cpu": 2**27}
ACCELERATOR_STREAM_BYTES = 2**30
PRODUCT_SIZES = {"cpu": (512, 1024, 1536)}
ACCELERATOR_PRODUCT_SIZES = (2048, 4096, 8192)


@dataclass(frozen=True)
class Work:
    """What an operation has to do at least.

    Attributes:
        flop: Floating-point operations.
        bytes: Bytes read and written, if each operand is read and each result written once.
    """

    flop: float
    bytes: float

    @property
    def intensity(self) -> float:
        """FLOP for each byte that is moved: the arithmetic intensity."""
        return self.flop / self.bytes

    def __str__(self) -> str:
        """Show both amounts and their quotient."""
        return (
            f"{self.flop:.3g} FLOP, {self.bytes:.3g} bytes, {self.flop / self.bytes:.3g} FLOP/byte"
            if self.bytes
            else f"{self.flop:.3g} FLOP, 0 bytes"
        )


@dataclass(frozen=True)
class Roofline:
    """The limits of a device for one dtype, as measured here.

    Attributes:
        device: The device.
        dtype: The dtype of the matrix product that gave the peak.
        peak: FLOP per second in the fastest matrix product.
        bandwidth: Bytes per second, read and written, in a copy within the device's memory.
    """

    device: str
    dtype: str
    peak: float
    bandwidth: float

    @property
    def ridge(self) -> float:
        """The intensity, in FLOP per byte, from which arithmetic is the limit."""
        return self.peak / self.bandwidth

    def attainable(self, intensity: float) -> float:
        """Return the FLOP per second that an operation of this intensity can reach at most."""
        return min(self.peak, intensity * self.bandwidth)

    def expected_seconds(self, work: Work) -> float:
        """Return the least time for some work: that of its arithmetic or of its memory traffic."""
        return max(work.flop / self.peak, work.bytes / self.bandwidth)

    def bound(self, work: Work) -> str:
        """Name what limits some work: ``"compute"`` or ``"memory"``."""
        return "compute" if work.flop / self.peak >= work.bytes / self.bandwidth else "memory"

    def __str__(self) -> str:
        """Show the two limits and where they meet."""
        return (
            f"{self.device}, {self.dtype}: {self.peak / 1e9:.3g} GFLOP/s, "
            f"{self.bandwidth / 1e9:.3g} GB/s, ridge at {self.ridge:.3g} FLOP/byte"
        )


def matmul_work(n: int, k: int | None = None, m: int | None = None, *, itemsize: int = 4) -> Work:
    """Count the work of a matrix product of shapes (n, k) and (k, m).

    Args:
        n: Rows of the first matrix.
        k: Size of the axis that is summed over; n if not given.
        m: Columns of the second matrix; n if not given.
        itemsize: Bytes of an element, 4 for float32.

    Raises:
        ValueError: If a size is not positive.
    """
    k = n if k is None else k
    m = n if m is None else m
    if min(n, k, m, itemsize) < 1:
        raise ValueError(f"sizes are {(n, k, m)} of {itemsize} bytes; all must be at least 1")
    return Work(flop=2.0 * n * k * m, bytes=float(itemsize * (n * k + k * m + n * m)))


class _Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch has no types here
    """Add up what every operation reads and writes, and the pointwise operations' FLOP."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # nor here
        self.bytes = 0
        self.flop = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        del types
        result = func(*args, **(kwargs or {}))
        if func.is_view:
            return result
        read = [x for x in _flat((args, kwargs or {})) if isinstance(x, torch.Tensor)]
        written = [x for x in _flat(result) if isinstance(x, torch.Tensor)]
        # An operand that is an expanded view is stored, and so read, once.
        self.bytes += sum(_stored_bytes(x) for x in {id(x): x for x in read}.values())
        self.bytes += sum(_stored_bytes(x) for x in written)
        if torch.Tag.pointwise in func.tags:
            self.flop += sum(x.numel() for x in written)
        elif getattr(torch.Tag, "reduction", None) in func.tags:  # torch 2.9 has no such tag
            self.flop += sum(x.numel() for x in read)
        return result


def _flat(tree: Any) -> list[Any]:
    return torch.utils._pytree.tree_leaves(tree)  # noqa: SLF001 -- torch's own name for it


def _stored_bytes(tensor: torch.Tensor) -> int:
    """Return the bytes of the elements that a tensor really has in memory."""
    elements = 1
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        elements *= size if stride or not size else 1
    return elements * tensor.element_size()


def count_work(function: Callable[[], object]) -> Work:
    """Run a function once and count its work.

    Products, convolutions and attention are counted by `torch.utils.flop_counter`; an operation
    that works element by element counts one FLOP for each element of its result, also where, as
    for `exp`, it costs more; a reduction one for each element it reads, in versions of torch that
    mark reductions as such. Bytes are those of each operation's operands and results: what moves
    if nothing stays in a cache and no operations are fused.

    Raises:
        TypeError: If the function cannot be called.
    """
    if not callable(function):
        raise TypeError(f"count_work needs a function, not {function!r}; write lambda: ...")
    with FlopCounterMode(display=False) as products, _Counter() as counter:
        function()
    return Work(flop=float(products.get_total_flops() + counter.flop), bytes=float(counter.bytes))


def measure_roofline(
    device: str | torch.device = "cpu", dtype: torch.dtype = torch.float32, *, repeats: int = 5
) -> Roofline:
    """Measure a device's peak in matrix products and the bandwidth of its memory.

    The peak is the best rate of square products of three sizes, the bandwidth that of copying a
    tensor larger than the caches: each byte is read once and written once. Takes about a second.

    Args:
        device: Where to measure.
        dtype: A floating-point dtype that matrix products support there.
        repeats: Samples of each measurement; the best counts.

    Raises:
        ValueError: If the device is not available here, or the dtype is not floating-point.
    """
    checked = check_device(device)
    if not dtype.is_floating_point:
        raise ValueError(f"{dtype} is no floating-point dtype, so that it has no FLOP to count")
    sizes = PRODUCT_SIZES.get(checked.type, ACCELERATOR_PRODUCT_SIZES)
    peak = 0.0
    for n in sizes:
        a, b = (torch.randn(n, n, device=checked).to(dtype) for _ in range(2))
        product = functools.partial(torch.matmul, a, b)
        seconds = measure(product, device=checked, warmup=1, repeats=repeats, calls=1).best
        peak = max(peak, matmul_work(n).flop / seconds)
    amount = STREAM_BYTES.get(checked.type, ACCELERATOR_STREAM_BYTES)
    source = torch.ones(amount // dtype.itemsize, dtype=dtype, device=checked)
    target = torch.empty_like(source)
    copy = functools.partial(target.copy_, source)
    seconds = measure(copy, device=checked, warmup=1, repeats=repeats, calls=1).best
    name = str(dtype).removeprefix("torch.")
    return Roofline(str(checked), name, peak, 2 * amount / seconds)


def draw_roofline(
    roofline: Roofline, points: Mapping[str, tuple[Work, float]], *, ax: Axes | None = None
) -> Axes:
    """Draw the limits of a device, and how near to them measured operations come.

    Args:
        roofline: The limits.
        points: A name for each operation, with its work and its measured seconds.
        ax: Where to draw; a new figure, labelled with what it shows, if not given.

    Raises:
        ValueError: If a point has no bytes, no FLOP or no time.
    """
    import matplotlib.pyplot as plt  # noqa: PLC0415 -- slow, and only this function draws

    for name, (work, seconds) in points.items():
        if not (work.flop > 0 and work.bytes > 0 and seconds > 0):
            raise ValueError(f"{name!r} has {work} in {seconds} s; each must be more than 0")
    if ax is None:
        _, ax = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
        ax.figure.set_label(f"Roofline of {roofline}")
    intensities = [work.intensity for work, _ in points.values()]
    left = min([roofline.ridge / 100, *(each / 2 for each in intensities)])
    right = max([roofline.ridge * 100, *(each * 2 for each in intensities)])
    xs = [left, roofline.ridge, right]
    ax.loglog(xs, [roofline.attainable(x) for x in xs], color="#1a1a1a", label="limit")
    ax.axvline(roofline.ridge, color="#595959", linestyle=":", linewidth=1)
    for marker, (name, (work, seconds)) in zip("os^vDP*Xh<>" * 9, points.items(), strict=False):
        label = f"{name}  {format_seconds(seconds)}"
        ax.loglog(work.intensity, work.flop / seconds, marker=marker, linestyle="", label=label)
    ax.set(xlabel="FLOP/byte", ylabel="FLOP/s", title=f"{roofline.device}, {roofline.dtype}")
    ax.grid(visible=True, alpha=0.4)
    ax.legend(fontsize="small")
    return ax
