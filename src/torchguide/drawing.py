"""Boxes and letters that the drawings of `torchguide.figures` are made of.

Each letter is an outline in the units of the drawing: it grows and shrinks with its box and
cannot leave it, whatever the size of the figure. A drawing brings its own background, so that it
reads on a dark page too, and what it marks by colour it also marks by a frame or a label.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
from matplotlib.font_manager import FontProperties
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

__all__ = [
    "BACKGROUND",
    "FAINT",
    "INK",
    "MARGIN",
    "UNUSED",
    "USED",
    "WIDTH",
    "WRONG",
    "draw_box",
    "new_axes",
    "write",
]

WIDTH = 4.8  # inches; scaled down to a phone's screen, the letters stay legible
MARGIN = 0.25  # in widths of a cell

BACKGROUND = "#ffffff"
INK = "#1a1a1a"
FAINT = "#595959"  # contrast 7:1 on the background
USED = "#0072b2"  # of Okabe and Ito's palette for all kinds of colour vision; 5:1 under white
WRONG = "#a63d00"  # a darker one of its vermilion; 6:1 under white
UNUSED = "#f0f0f0"

FONT = FontProperties(family="DejaVu Sans")  # comes with matplotlib, on every system


def new_axes(width: float, height: float, ax: Axes | None, label: str) -> Axes:
    """Prepare axes for a drawing from (0, 0) to (width, -height), with a margin around it.

    Args:
        width: In widths of a cell, as the height.
        height: Downwards from 0.
        ax: Where to draw; a new figure of the right form if not given.
        label: What the drawing says, in one line; the name of a new figure.
    """
    outer_width, outer_height = width + 2 * MARGIN, height + 2 * MARGIN
    if ax is None:
        inches = min(WIDTH, 0.8 * outer_width)  # no giant cells
        size = (inches, inches * outer_height / outer_width)
        ax = plt.figure(figsize=size, facecolor=BACKGROUND).add_axes((0, 0, 1, 1))
        ax.figure.set_label(label)
    ax.set(xlim=(-MARGIN, width + MARGIN), ylim=(-height - MARGIN, MARGIN), aspect="equal")
    ax.set_axis_off()
    draw_box(ax, (-MARGIN, -height - MARGIN), (outer_width, outer_height), BACKGROUND)
    return ax


def draw_box(  # noqa: PLR0913 - a box has a place, a size and three looks
    ax: Axes,
    corner: tuple[float, float],
    size: tuple[float, float],
    colour: str,
    *,
    edge: str = "none",
    line: float = 0.0,
) -> Rectangle:
    """Draw a box from its lower left corner; those with thicker frames lie above."""
    box = Rectangle(corner, *size, facecolor=colour, edgecolor=edge, linewidth=line)
    box.set_zorder(1 + line)
    ax.add_artist(box)
    return box


def write(  # noqa: PLR0913 - texts have a place, a room and a look
    ax: Axes,
    texts: Mapping[tuple[float, float], str],
    room: float,
    colour: str,
    *,
    size: float,
    left: bool = False,
    colours: Mapping[tuple[float, float], str] | None = None,
) -> None:
    """Write texts around their centres (or to the right of them), all in one size.

    The size is at most `size` and so small that each text is at most `room` wide.
    """
    size = min([size, *(room / _outline(text)[1] for text in texts.values() if text.strip())])
    for (x, y), text in texts.items():
        if not text.strip():
            continue
        outline, extent = _outline(text)
        start = x if left else x - extent * size / 2
        # A capital letter of DejaVu Sans is 0.73 high.
        place = Affine2D().scale(size).translate(start, y - 0.365 * size)
        look = (colours or {}).get((x, y), colour)
        patch = PathPatch(place.transform_path(outline), facecolor=look, linewidth=0, zorder=4)
        patch.set_label(text)
        ax.add_artist(patch)


@functools.lru_cache(maxsize=4096)  # the same numbers come again and again
def _outline(text: str) -> tuple[TextPath, float]:
    """Return the outline of a text of size one, and its width."""
    outline = TextPath((0, 0), text, size=1, prop=FONT)
    return outline, float(outline.get_extents().x1)
