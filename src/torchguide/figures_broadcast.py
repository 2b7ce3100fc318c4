"""Draw how shapes are broadcast, or which axis keeps them from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchguide.drawing import (
    BACKGROUND,
    FAINT,
    INK,
    UNUSED,
    USED,
    WRONG,
    draw_box,
    new_axes,
    write,
)
from torchguide.tensors import explain_broadcast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["draw_broadcast"]

LINE = 0.6  # height of a line of text, in widths of a cell
NAMES = 2.2  # width of the column of names


def draw_broadcast(
    *shapes: Sequence[int], names: Sequence[str] = (), ax: Axes | None = None
) -> Axes:
    """Draw shapes below each other, aligned at their last axis, and the shape of the result.

    A size of 1 that is stretched shows the size it takes (``1→4``), an axis that a shape lacks is
    empty, and sizes that do not fit stand on a dark red ground with a thick frame and ``≠``.

    Args:
        shapes: One to six shapes of at most eight axes, such as ``(3, 1), (4,)``.
        names: What to call the shapes; ``a``, ``b``, … if not given.
        ax: Where to draw; a new figure if not given.

    Raises:
        ValueError: If there are none or too many of shapes, axes or names.
    """
    if not 1 <= len(shapes) <= 6:
        raise ValueError(f"{len(shapes)} shapes; draw one to six")
    if names and len(names) != len(shapes):
        raise ValueError(f"{len(names)} names for {len(shapes)} shapes")
    explained = explain_broadcast(*shapes)
    axes = max((len(shape) for shape in explained.shapes), default=0)
    if axes > 8:
        raise ValueError(f"{axes} axes; draw at most eight")
    names = tuple(names) or tuple("abcdef"[: len(shapes)])
    rows = [*zip(names, explained.shapes, strict=True)]
    width, height = NAMES + max(axes, 1) * 1.25, LINE + (len(rows) + 1) * 1.2
    ax = new_axes(width, height, ax, str(explained).replace("\n", "; "))
    heads = {(NAMES + (k + 0.5) * 1.25, -LINE / 2): str(k - axes) for k in range(axes)}
    write(ax, heads, 1.0, FAINT, size=0.3)
    for number, (name, shape) in enumerate(rows):
        _row(ax, name, shape, explained.aligned, number=number, wrong=explained.wrong_axes)
    _result(ax, explained.shape, axes=axes, number=len(rows), wrong=explained.wrong_axes)
    return ax


def _row(  # noqa: PLR0913 - a row has a name, sizes and a place
    ax: Axes,
    name: str,
    shape: tuple[int, ...],
    result: tuple[int | None, ...],
    *,
    number: int,
    wrong: tuple[int, ...],
) -> None:
    top, axes = -LINE - number * 1.2, len(result)
    label = f"{name} {shape}"
    write(ax, {(0.0, top - 0.5): label}, NAMES - 0.3, INK, size=0.4, left=True)
    for axis in range(-len(shape), 0):
        size, whole = shape[axis], result[axis]
        corner = NAMES + (axes + axis) * 1.25 + 0.05, top - 1
        bad = axis in wrong and size != 1
        stretched = size == 1 and whole not in (1, None)
        ground, ink = (WRONG, BACKGROUND) if bad else (UNUSED, INK)
        line = 2.2 if bad else 0.8
        box = draw_box(ax, corner, (1.15, 1), ground, edge=INK if bad else FAINT, line=line)
        box.set_linestyle("--" if stretched else "-")
        state = "wrong" if bad else "stretched" if stretched else "kept"
        box.set_gid(f"{number}:{state}:{axis}")
        text = f"1→{whole}" if stretched else str(size)
        write(ax, {(corner[0] + 0.575, top - 0.5): text}, 0.95, ink, size=0.42)


def _result(
    ax: Axes, shape: tuple[int, ...] | None, *, axes: int, number: int, wrong: tuple[int, ...]
) -> None:
    top = -LINE - number * 1.2
    label = f"→ {shape}" if shape is not None else "→ ✗"
    write(ax, {(0.0, top - 0.5): label}, NAMES - 0.3, INK, size=0.4, left=True)
    for axis in range(-axes, 0):
        corner = NAMES + (axes + axis) * 1.25 + 0.05, top - 1
        bad = axis in wrong
        if shape is None and not bad:
            continue
        ground = WRONG if bad else USED
        box = draw_box(ax, corner, (1.15, 1), ground, edge=INK, line=2.2 if bad else 1.8)
        box.set_gid(f"result:{'wrong' if bad else 'kept'}:{axis}")
        text = "≠" if shape is None else str(shape[axis])
        write(ax, {(corner[0] + 0.575, top - 0.5): text}, 0.95, BACKGROUND, size=0.42)
