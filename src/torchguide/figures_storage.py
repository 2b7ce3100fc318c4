"""Draw tensors as they lie in memory."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import torch

from torchguide.drawing import (
    BACKGROUND,
    FAINT,
    INK,
    UNUSED,
    USED,
    draw_box,
    new_axes,
    write,
)
from torchguide.tensors import expect_tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

__all__ = ["draw_shared_storage", "draw_storage", "storage_cells"]

MOST_CELLS = 64  # more cannot be read on a phone
LINE = 0.55  # height of a line of text, in widths of a cell
NUMBER = 0.4  # height of the row of numbers under the cells
GAP = 0.45  # between the drawings of two views


def storage_cells(tensor: torch.Tensor) -> dict[int, list[tuple[int, ...]]]:
    """Map each storage cell that a tensor uses to the indices of the elements in it.

    A cell is as wide as an element of the tensor's dtype, and cells are counted from
    the start of the storage. An expanded tensor has several elements in one cell.

    Raises:
        ValueError: If the tensor is not laid out by strides (a sparse one, for example).
    """
    if tensor.layout is not torch.strided:
        raise ValueError(
            f"a tensor with the layout {tensor.layout} has no strides; it can't be drawn"
        )
    cells: dict[int, list[tuple[int, ...]]] = {}
    for index in itertools.product(*map(range, tensor.shape)):
        steps = (i * stride for i, stride in zip(index, tensor.stride(), strict=True))
        cells.setdefault(int(tensor.storage_offset()) + sum(steps), []).append(index)
    return cells


def draw_storage(
    tensor: torch.Tensor, *, name: str = "x", columns: int = 8, ax: Axes | None = None
) -> Axes:
    """Draw the storage of a tensor, with the cells that the tensor uses marked.

    A used cell shows its value and, above it, the index of the element that lies there,
    or ``×3`` if three elements do. The number under a cell counts from the start of the
    storage. Shape, strides and storage offset stand above the cells.

    Args:
        tensor: A tensor on any device, of any shape, with at most 64 cells of storage.
        name: What to call the tensor.
        columns: Cells in a row; a longer storage goes on in the next row.
        ax: Where to draw; a new figure if not given.

    Raises:
        ValueError: If the tensor has no storage with values, or too large a one.
    """
    return draw_shared_storage({name: tensor}, columns=columns, ax=ax)


def draw_shared_storage(
    views: Mapping[str, torch.Tensor], *, columns: int = 8, ax: Axes | None = None
) -> Axes:
    """Draw several views of one storage below each other, each with the cells it uses.

    Args:
        views: The tensors by their names, in the order to draw them; see `draw_storage`.
        columns: Cells in a row; a longer storage goes on in the next row.
        ax: Where to draw; a new figure if not given.

    Raises:
        ValueError: If there is no view, two do not share their storage, or one cannot
            be drawn.
    """
    if not views or columns < 1:
        raise ValueError("a drawing needs at least one view and one column")
    first = next(iter(views.values()))
    for name, view in views.items():
        _check_drawable(name, view)
        if view.untyped_storage().data_ptr() != first.untyped_storage().data_ptr():
            raise ValueError(
                f"{name!r} does not share its storage with {next(iter(views))!r}; draw it on its own"
            )
    columns = min(columns, max(len(_storage_values(view)) for view in views.values()))
    width = float(max(columns, 6))  # the line of shape and strides needs some room
    height = sum(_height(view, columns) for view in views.values()) + GAP * (len(views) - 1)
    title = "; ".join(f"{name}: {_layout(view)}" for name, view in views.items())
    ax = new_axes(width, height, ax, title)
    top = 0.0
    for name, view in views.items():
        _draw_view(ax, name, view, top=top, width=width, columns=columns)
        top -= _height(view, columns) + GAP
    return ax


def check_values(name: str, tensor: torch.Tensor) -> None:
    """Raise an error for what has no values to draw, with the reason."""
    expect_tensor(tensor, repr(name))
    if tensor.layout is not torch.strided:
        raise ValueError(
            f"{name!r} with the layout {tensor.layout} has no strides; draw its to_dense()"
        )
    if tensor.is_meta:
        raise ValueError(f"{name!r} is on the meta device and has no values to draw")
    try:
        tensor.detach().as_strided((min(tensor.numel(), 1),), (1,)).tolist()
    except RuntimeError:
        raise ValueError(f"the values of {name!r}, {tensor.dtype}, cannot be read") from None


def _check_drawable(name: str, tensor: torch.Tensor) -> None:
    """Raise a ValueError for a tensor whose storage can't be drawn."""
    check_values(name, tensor)
    cells = tensor.untyped_storage().nbytes() // tensor.element_size()
    if not 0 < cells <= MOST_CELLS:
        raise ValueError(
            f"the storage of {name!r} has {cells} cells; draw one of 1 to {MOST_CELLS}"
        )


def _storage_values(tensor: torch.Tensor) -> list[bool | int | float | complex]:
    """Read all cells of a tensor's storage, used or not."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    values: list[bool | int | float | complex] = (
        tensor.detach().as_strided((count,), (1,), 0).tolist()
    )
    return values


def _layout(tensor: torch.Tensor) -> str:
    """Write shape, strides and storage offset in one line."""
    shape, stride, offset = tuple(tensor.shape), tensor.stride(), tensor.storage_offset()
    return f"shape {shape}, stride {stride}, storage_offset {offset}"


def _height(tensor: torch.Tensor, columns: int) -> float:
    """Compute how high the drawing of one view is."""
    rows = -(-len(_storage_values(tensor)) // columns)
    return 2 * LINE + rows * (1 + NUMBER)


def _draw_view(  # noqa: PLR0913 - where to draw takes four numbers
    ax: Axes, name: str, view: torch.Tensor, *, top: float, width: float, columns: int
) -> None:
    """Draw one view from `top` downwards."""
    write(ax, {(0.0, top - LINE / 2): name}, width, INK, size=0.42, left=True)
    write(ax, {(0.0, top - LINE * 3 / 2): _layout(view)}, width, INK, size=0.36, left=True)
    used = storage_cells(view)
    values: dict[tuple[float, float], str] = {}
    indices: dict[tuple[float, float], str] = {}
    numbers: dict[tuple[float, float], str] = {}
    unused: dict[tuple[float, float], str] = {}
    for number, value in enumerate(_storage_values(view)):
        row, column = divmod(number, columns)
        x, y = column + 0.5, top - 2 * LINE - row * (1 + NUMBER) - 0.5
        text = f"{value:.3g}" if isinstance(value, float | complex) else str(value)
        (values if number in used else unused)[x, y - 0.1] = text
        numbers[x, y - 0.5 - NUMBER / 2] = str(number)
        if number in used:
            elements = used[number]
            index = ",".join(map(str, elements[0])) if len(elements) == 1 else f"×{len(elements)}"
            indices[x, y + 0.28] = index
        colour, edge, line = (USED, INK, 1.8) if number in used else (UNUSED, FAINT, 0.6)
        box = draw_box(ax, (x - 0.5, y - 0.5), (1, 1), colour, edge=edge, line=line)
        box.set_gid(f"{name}:{'used' if number in used else 'unused'}:{number}")
    write(ax, {**values, **unused}, 0.84, INK, size=0.4, colours=dict.fromkeys(values, BACKGROUND))
    write(ax, indices, 0.84, BACKGROUND, size=0.26)
    write(ax, numbers, 0.84, FAINT, size=0.28)
