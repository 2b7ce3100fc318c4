"""Describe a tensor, and explain step by step what broadcasting and `view` make of shapes.

The explanations follow the rules that PyTorch's own code has, and are data first: the text in
English or Chinese, and the drawings, are made from it. `explain_broadcast` needs no torch.
"""

from __future__ import annotations

import contextlib
import html
import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchguide.texts import Texts, system_language

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch

__all__ = [
    "Block",
    "BroadcastExplanation",
    "Description",
    "ViewExplanation",
    "describe",
    "explain_broadcast",
    "explain_view",
]


def expect_tensor(value: Any, name: str = "the argument") -> None:
    """Refuse what is no tensor, and a tensor that has no shape of its own, with the reason."""
    if not hasattr(value, "untyped_storage"):
        raise TypeError(f"{name} is of type {type(value).__name__}; expected a torch.Tensor")
    if value.is_nested and str(value.layout) == "torch.strided":
        raise ValueError(f"{name} is a nested tensor without one shape; give one of its unbind()")


def _sizes(shape: Sequence[int] | int, what: str) -> tuple[int, ...]:
    """Read a shape, a torch.Size or a number."""
    if hasattr(shape, "shape"):  # the numbers in a tensor would pass for sizes
        raise TypeError(f"{what} is of type {type(shape).__name__}; give its .shape")
    try:
        sizes = tuple(map(operator.index, [shape] if isinstance(shape, int) else shape))
    except TypeError:
        raise TypeError(f"{what} is {shape!r}; expected whole numbers, such as (3, 1)") from None
    return sizes


# -- Broadcasting ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class BroadcastExplanation:
    """What broadcasting makes of shapes; `str()` shows it as a table."""

    shapes: tuple[tuple[int, ...], ...]
    shape: tuple[int, ...] | None
    """The shape of the result; None if they do not fit."""
    aligned: tuple[int | None, ...]
    """The size of each axis of the result, from the first; None where the sizes do not fit."""
    wrong_axes: tuple[int, ...]
    """The axes that do not fit, counted from the end: -1 is the last."""
    language: str

    def __str__(self) -> str:
        """Align the shapes at their last axis, and say what becomes of each axis."""
        axes = len(self.aligned)
        names = [*map(str, self.shapes), "→"]
        cells = [["" if size is None else str(size) for size in _right(shape, axes)]
                 for shape in self.shapes]  # fmt: skip
        cells.append([("≠" if size is None else str(size)) for size in self.aligned])
        wide = max([2, *(len(cell) for row in cells for cell in row)])
        first = max(map(len, names))
        lines = [
            f"{name:{first}}  {'  '.join(f'{cell:>{wide}}' for cell in row)}".rstrip()
            for name, row in zip(names, cells, strict=True)
        ]
        return "\n".join([*lines, self.conclusion])

    @property
    def conclusion(self) -> str:
        """Say the result in one sentence."""
        texts = Texts(self.language)
        if self.shape is not None:
            return texts.say("broadcast.fits", shape=self.shape)
        axis = self.wrong_axes[-1]
        sizes = [shape[axis] for shape in self.shapes if len(shape) >= -axis and shape[axis] != 1]
        different = list(dict.fromkeys(sizes))
        return texts.say("broadcast.wrong", axis=axis, a=different[0], b=different[1])


def _right(shape: tuple[int, ...], axes: int) -> tuple[int | None, ...]:
    return (None,) * (axes - len(shape)) + shape


def explain_broadcast(
    *shapes: Sequence[int] | int, language: str | None = None
) -> BroadcastExplanation:
    """Explain how shapes are broadcast: aligned at their last axis, sizes equal or 1.

    Args:
        shapes: Any number of shapes, such as ``(3, 1), (4,)``; a number stands for one axis.
        language: ``"en"`` or ``"zh"``; that of the system if not given.

    Raises:
        TypeError: If a shape is no sequence of whole numbers.
        ValueError: If a size is negative.

    The rule: https://docs.pytorch.org/docs/stable/notes/broadcasting.html
    """
    read = tuple(_sizes(shape, f"shape {n}") for n, shape in enumerate(shapes, start=1))
    for shape in read:
        if any(size < 0 for size in shape):
            raise ValueError(f"the shape {shape} has a negative size")
    axes = max(map(len, read), default=0)
    aligned: list[int | None] = []
    wrong: list[int] = []
    for axis in range(-axes, 0):
        sizes = {shape[axis] for shape in read if len(shape) >= -axis} - {1}
        aligned.append(None if len(sizes) > 1 else sizes.pop() if sizes else 1)
        wrong += [axis] if aligned[-1] is None else []
    result = None if wrong else tuple(size for size in aligned if size is not None)
    return BroadcastExplanation(
        read, result, tuple(aligned), tuple(wrong), language or system_language()
    )


# -- view -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block:
    """Axes that lie in memory like one, and the new axes that are cut from them."""

    axes: tuple[int, ...]
    elements: int
    stride: int
    """The step from one element to the next, in elements."""
    new_axes: tuple[int, ...]
    """Empty, too, for all blocks before one that does not fit."""
    fits: bool
    """Whether the new axes have as many elements as the old ones."""


@dataclass(frozen=True)
class ViewExplanation:
    """Whether a tensor can be seen in another shape without a copy; `str()` says why."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    new_shape: tuple[int, ...]
    """Without -1, if it could be computed."""
    new_stride: tuple[int, ...] | None
    """The strides of the view; None if there is no view."""
    blocks: tuple[Block, ...]
    """From the first axis to the last; empty where counting elements decides."""
    problem: str
    """``""``, ``"count"`` (the elements are not as many), ``"negative"``, ``"infer"`` (several
    -1, or -1 beside a size of 0) or ``"merge"`` (axes that do not lie in memory like one)."""
    language: str

    @property
    def possible(self) -> bool:
        """Say whether `view` succeeds."""
        return self.new_stride is not None

    def __str__(self) -> str:
        """Say what can be merged, what cannot, and the result."""
        texts = Texts(self.language)
        lines = [f"{self.shape} stride {self.stride} → {self.new_shape}"]
        for before, block in zip((None, *self.blocks), self.blocks, strict=False):
            if before is not None:
                k = before.axes[-1]
                inner = math.prod(self.shape[a] for a in block.axes) * block.stride
                lines.append(
                    texts.say("view.apart", k=k, next=k + 1, stride=self.stride[k], inner=inner)
                )
            new = [f"{axis}: {self.new_shape[axis]}" for axis in block.new_axes]
            open_key = "view.block.wrong" if block.new_axes else "view.block.open"
            lines.append(
                texts.say(
                    "view.block" if block.fits else open_key,
                    axes=", ".join(map(str, block.axes)),
                    elements=block.elements,
                    stride=block.stride,
                    new=", ".join(new) or "–",
                    wrong=new[0] if new else "",
                )
            )
        key = f"view.{self.problem or 'possible'}"
        return "\n".join(
            [*lines, texts.say(key, stride=self.new_stride, old=math.prod(self.shape),
                               new=math.prod(self.new_shape))]
        )  # fmt: skip


def explain_view(
    tensor: torch.Tensor, *shape: int | Sequence[int], language: str | None = None
) -> ViewExplanation:
    """Explain why `tensor.view(shape)` is or is not possible.

    Neighbouring axes ``k`` and ``k + 1`` lie in memory like one when ``stride[k] == stride[k + 1]
    * size[k + 1]``. Such axes form a block, and each block must hold a run of the new axes.

    Args:
        tensor: Any tensor with strides.
        shape: The new shape as for `torch.Tensor.view`; one size may be -1.
        language: ``"en"`` or ``"zh"``; that of the system if not given.

    Raises:
        TypeError: If the tensor is none, or the shape is no sequence of whole numbers.
        ValueError: If the tensor has no strides, a sparse one for example.

    Follows `computeStride` in PyTorch's aten/src/ATen/TensorUtils.cpp.
    """
    expect_tensor(tensor)
    if str(tensor.layout) != "torch.strided":
        raise ValueError(f"a tensor with the layout {tensor.layout} has no strides")
    given: Any = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
    return view_of(
        tuple(tensor.shape), tuple(tensor.stride()), _sizes(given, "the shape"), language
    )


def view_of(
    size: tuple[int, ...],
    stride: tuple[int, ...],
    wanted: tuple[int, ...],
    language: str | None = None,
) -> ViewExplanation:
    """Explain a view of sizes and strides alone; see `explain_view`."""
    language = language or system_language()
    elements = math.prod(size)
    new, problem = _inferred(elements, wanted)
    if problem:
        return ViewExplanation(size, stride, new, None, (), problem, language)
    if not size or elements == 0:
        kept = stride if elements == 0 and size == new else _row_by_row(new)
        return ViewExplanation(size, stride, new, kept, (), "", language)
    blocks, strides = _blocks(size, stride, new)
    problem = "" if strides is not None else "merge"
    return ViewExplanation(size, stride, new, strides, tuple(blocks), problem, language)


def _inferred(elements: int, wanted: tuple[int, ...]) -> tuple[tuple[int, ...], str]:
    """Compute the size for -1; name the problem if there is one."""
    if any(size < -1 for size in wanted):
        return wanted, "negative"
    if wanted.count(-1) > 1:
        return wanted, "infer"
    known = math.prod(size for size in wanted if size != -1)
    if -1 in wanted:
        if known == 0:
            return wanted, "infer" if elements == 0 else "count"
        if elements % known:
            return wanted, "count"
        return tuple(elements // known if size == -1 else size for size in wanted), ""
    return wanted, "" if known == elements else "count"


def _row_by_row(shape: tuple[int, ...]) -> tuple[int, ...]:
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= max(size, 1)
    return tuple(strides)


def _blocks(
    size: tuple[int, ...], stride: tuple[int, ...], new: tuple[int, ...]
) -> tuple[list[Block], tuple[int, ...] | None]:
    """Cut the axes into blocks from the last to the first, and the new axes from the blocks."""
    blocks: list[Block] = []
    strides = [0] * len(new)
    at = len(new) - 1
    axes: list[int] = []
    elements, step = 1, stride[-1]
    possible = True
    for axis in reversed(range(len(size))):
        axes.insert(0, axis)
        elements *= size[axis]
        if axis and (size[axis - 1] == 1 or stride[axis - 1] == elements * step):
            continue  # the next axis lies in memory like one with these
        taken = 1
        mine: list[int] = []
        while possible and at >= 0 and (taken < elements or new[at] == 1):
            strides[at] = taken * step
            taken *= new[at]
            mine.insert(0, at)
            at -= 1
        blocks.insert(0, Block(tuple(axes), elements, step, tuple(mine), taken == elements))
        possible = possible and taken == elements
        if axis:
            axes, elements, step = [], 1, stride[axis - 1]
    possible = possible and at == -1
    return blocks, tuple(strides) if possible else None


# -- describe -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Description:
    """What there is to know of a tensor besides its values; `str()` and notebooks show a table."""

    name: str
    facts: Mapping[str, object]
    """In the order of showing; the keys are torch's own names where it has one."""

    def __str__(self) -> str:
        """Write one fact in a line."""
        wide = max(map(len, self.facts))
        return "\n".join(
            [self.name, *(f"  {key:{wide}}  {value}" for key, value in self.facts.items())]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(key)}</th>"
            f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
            for key, value in self.facts.items()
        )
        return f"<table><caption>{html.escape(self.name)}</caption><tbody>{rows}</tbody></table>"


def describe(
    tensor: torch.Tensor, name: str = "tensor", *, language: str | None = None
) -> Description:
    """Describe a tensor: type, place, layout, memory, and what autograd knows of it.

    Args:
        tensor: Any tensor, also on the meta device, sparse or quantised.
        name: What to call it.
        language: ``"en"`` or ``"zh"``, for the few words that torch has no name for; that of the
            system if not given.

    Raises:
        TypeError: If it is no tensor.
        ValueError: If it is a nested tensor of the old layout, which has no shape.

    Nothing is computed and nothing copied: the values are not looked at. Memory is in bytes.
    """
    expect_tensor(tensor)
    texts = Texts(language or system_language())
    facts: dict[str, object] = {
        "dtype": tensor.dtype,
        "device": tensor.device,
        "shape": tuple(tensor.shape),
    }
    if str(tensor.layout) == "torch.strided":
        # an expanded axis has a stride of 0 and uses no memory; windows share their cells
        steps = [*zip(tensor.shape, tensor.stride(), strict=True)]
        cells = math.prod(size for size, stride in steps if stride or size == 0)
        span = 1 + sum((size - 1) * stride for size, stride in steps)
        used = min(cells, span) * tensor.element_size() if cells else 0
        facts |= {
            "stride()": tensor.stride(),
            "storage_offset()": tensor.storage_offset(),
            "is_contiguous()": tensor.is_contiguous(),
            "nbytes": texts.say("describe.bytes", count=tensor.numel() * tensor.element_size()),
        }
        with contextlib.suppress(NotImplementedError):  # inside torch.func there is none
            held = tensor.untyped_storage().nbytes()
            facts["untyped_storage()"] = texts.say("describe.storage", count=held, used=used)
    else:
        facts |= {"layout": tensor.layout}
    facts |= {
        "requires_grad": tensor.requires_grad,
        "is_leaf": tensor.is_leaf,
        "grad_fn": type(tensor.grad_fn).__name__ if tensor.grad_fn is not None else None,
        "grad": tuple(tensor.grad.shape) if tensor.is_leaf and tensor.grad is not None else None,
        "_version": None if tensor.is_inference() else tensor._version,  # noqa: SLF001 - no public name
    }
    return Description(name, facts)
