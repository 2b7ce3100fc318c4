"""Draw a tensor of any number of axes as panels of rows and columns."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from torchguide.drawing import BACKGROUND, FAINT, INK, UNUSED, USED, draw_box, new_axes, write
from torchguide.figures_storage import check_values

if TYPE_CHECKING:
    import torch
    from matplotlib.axes import Axes

__all__ = ["draw_panels"]

MOST_CELLS = 96  # more cannot be read on a phone
LINE = 0.6  # height of a line of text, in widths of a cell
GAP = 0.5  # between panels


def draw_panels(
    tensor: torch.Tensor, *, name: str = "x", columns: int = 3, ax: Axes | None = None
) -> Axes:
    """Draw the last two axes of a tensor as rows and columns, and the axes before as panels.

    A panel is named by its index, such as ``x[1, 0]``. A vector is one row, a number one cell.

    Args:
        tensor: A dense tensor on any device, with 1 to 96 elements.
        name: What to call the tensor.
        columns: Panels beside each other; for more than one axis of panels, the last of them
            runs across, whatever its size.
        ax: Where to draw; a new figure if not given.

    Raises:
        ValueError: If the tensor has no values to draw, or too many.
    """
    if columns < 1:
        raise ValueError("a drawing needs at least one column of panels")
    check_values(name, tensor)
    if not 0 < tensor.numel() <= MOST_CELLS:
        raise ValueError(
            f"{name!r} has {tensor.numel()} elements; draw one of 1 to {MOST_CELLS}, or a slice"
        )
    outer, (rows, across) = tuple(tensor.shape[:-2]), (1, 1, *tensor.shape)[-2:]
    beside = outer[-1] if len(outer) > 1 else min(columns, math.prod(outer))
    below = -(-math.prod(outer) // beside)
    head = LINE if outer else 0.0
    step = across + GAP, rows + head + GAP
    width = max(beside * step[0] - GAP, 4.0)
    height = LINE + below * step[1] - GAP + 0.1
    title = f"{name}  shape {tuple(tensor.shape)}"
    ax = new_axes(width, height, ax, title)
    write(ax, {(0.0, -LINE / 2): title}, width, INK, size=0.42, left=True)
    values: dict[tuple[float, float], str] = {}
    colours: dict[tuple[float, float], str] = {}
    dense = tensor.detach()
    for number, index in enumerate(itertools.product(*map(range, outer))):
        left = (number % beside) * step[0]
        top = -LINE - (number // beside) * step[1]
        if outer:
            text = f"{name}[{', '.join(map(str, index))}]"
            write(ax, {(left, top - head / 2): text}, across, FAINT, size=0.34, left=True)
        panel = dense[index].reshape(rows, across).tolist()
        for row, column in itertools.product(range(rows), range(across)):
            value = panel[row][column]
            true = value is True
            corner = left + column, top - head - row - 1
            box = draw_box(ax, corner, (1, 1), USED if true else UNUSED, edge=FAINT, line=0.6)
            box.set_gid(f"{name}:{','.join(map(str, (*index, row, column)))}")
            place = corner[0] + 0.5, corner[1] + 0.5
            values[place] = _short(value)
            colours[place] = BACKGROUND if true else INK
    write(ax, values, 0.84, INK, size=0.38, colours=colours)
    return ax


def _short(value: complex | bool) -> str:
    return f"{value:.3g}" if isinstance(value, float | complex) else str(value)
