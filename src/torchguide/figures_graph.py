"""Draw the graph that autograd recorded behind a result."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx
import torch
from matplotlib.patches import FancyArrowPatch

from torchguide.autograd import walk_graph
from torchguide.drawing import BACKGROUND, FAINT, INK, UNUSED, USED, draw_box, new_axes, write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

    from torchguide.autograd import GraphNode

__all__ = ["draw_graph"]

MOST_NODES = 40  # more cannot be read on a phone
WIDE, LINE = 3.4, 0.46  # a box, and a line of text in it
BESIDE, BETWEEN = 0.4, 0.7  # gaps
RESULT = "#ffd9b3"  # under dark letters 13:1


def draw_graph(  # noqa: PLR0913 - what to show are switches
    result: torch.Tensor,
    names: Mapping[str, torch.Tensor] | None = None,
    *,
    values: bool = False,
    gradients: bool = False,
    saved: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the graph behind a result: leaves above, the result below, arrows as it was computed.

    Leaves are dark with a thick frame. Operations are named as PyTorch names their gradients and
    list, in square brackets, the tensors that they keep for backward, or ``freed``.

    Args:
        result: A tensor that autograd recorded, with at most 40 nodes behind it.
        names: What to call leaves, such as ``{"w": w}``; others are called by their shapes.
        values: Show the values of the leaves and of the result, of up to four elements.
        gradients: Show the gradients of the leaves, as far as there are any.
        saved: Show what operations keep.
        ax: Where to draw; a new figure if not given.

    Raises:
        ValueError: If nothing was recorded for the tensor, or too much.
    """
    nodes = list(walk_graph(result, names))
    if len(nodes) > MOST_NODES:
        raise ValueError(f"the graph has {len(nodes)} nodes; draw one of at most {MOST_NODES}")
    texts = [_lines(node, result, values=values, gradients=gradients, saved=saved)
             for node in nodes]  # fmt: skip
    graph = nx.DiGraph()
    graph.add_nodes_from(node.number for node in nodes)
    graph.add_edges_from((each, node.number) for node in nodes for each in node.inputs)
    layers = _layers(graph)
    heights = [max(len(texts[number]) for number in layer) * LINE + 0.2 for layer in layers]
    across = max(map(len, layers))
    width = across * (WIDE + BESIDE) - BESIDE
    height = sum(heights) + BETWEEN * (len(layers) - 1)
    label = " ".join(f"{node.name} ← {node.inputs}" if node.inputs else node.name for node in nodes)
    ax = new_axes(width, height, ax, label)
    places: dict[int, tuple[float, float, float]] = {}
    top = 0.0
    for layer, high in zip(layers, heights, strict=True):
        start = (width - len(layer) * (WIDE + BESIDE) + BESIDE) / 2
        for position, number in enumerate(layer):
            left = start + position * (WIDE + BESIDE)
            tall = len(texts[number]) * LINE + 0.2
            _node(ax, nodes[number], texts[number], (left, top - tall))
            places[number] = left + WIDE / 2, top, top - tall
        top -= high + BETWEEN
    for source, target in graph.edges:
        _arrow(ax, places[source], places[target])
    return ax


def _layers(graph: nx.DiGraph) -> list[list[int]]:
    """Put nodes into layers from the leaves on, near to what they are computed from."""
    layers = nx.topological_generations(graph)
    level = {number: depth for depth, layer in enumerate(layers) for number in layer}
    # a leaf stands directly above its first use, not at the very top
    for number in list(level):
        if not list(graph.predecessors(number)):
            level[number] = min(level[each] for each in graph.successors(number)) - 1
    rows: dict[int, list[int]] = {}
    for number, depth in level.items():
        rows.setdefault(depth, []).append(number)
    return [_row(graph, rows, depth) for depth in sorted(rows)]


def _row(graph: nx.DiGraph, rows: dict[int, list[int]], depth: int) -> list[int]:
    """Order a layer, and keep the order, by the mean place of what its nodes come from."""
    places = {
        number: place - len(row) / 2 for row in rows.values() for place, number in enumerate(row)
    }

    def wanted(number: int) -> tuple[float, int]:
        before = [places[each] for each in graph.predecessors(number)]
        return (sum(before) / len(before) if before else float(number % 2), -number)

    rows[depth].sort(key=wanted)
    return rows[depth]


def _lines(
    node: GraphNode, result: torch.Tensor, *, values: bool, gradients: bool, saved: bool
) -> list[str]:
    lines = [node.name]
    shown = node.tensor if node.kind == "leaf" else result if node.kind == "result" else None
    if values and shown is not None:
        lines.append(_short(shown.detach()))
    if gradients and node.tensor is not None and node.tensor.grad is not None:
        lines.append(f".grad {_short(node.tensor.grad)}")
    if saved:
        lines += [f"[{name} {'freed' if shape is None else shape}]"
                  for name, shape in node.saved.items()]  # fmt: skip
    return lines


def _short(tensor: torch.Tensor) -> str:
    if tensor.numel() > 4 or tensor.is_meta or tensor.layout is not torch.strided:
        return f"shape {tuple(tensor.shape)}"
    numbers = [f"{value:.4g}" for value in tensor.reshape(-1).tolist()]
    shown = numbers[0] if tensor.dim() == 0 else "[" + ", ".join(numbers) + "]"
    return f"= {shown}"


def _node(ax: Axes, node: GraphNode, lines: list[str], corner: tuple[float, float]) -> None:
    leaf = node.kind == "leaf"
    ground = USED if leaf else RESULT if node.kind == "result" else UNUSED
    tall = len(lines) * LINE + 0.2
    line = 2.2 if leaf else 1.6 if node.kind == "result" else 0.8
    box = draw_box(ax, corner, (WIDE, tall), ground, edge=INK, line=line)
    box.set_gid(f"{node.kind}:{node.number}")
    middle, top = corner[0] + WIDE / 2, corner[1] + tall - 0.1
    for row, text in enumerate(lines):
        ink = BACKGROUND if leaf else INK
        place = {(middle, top - (row + 0.5) * LINE): text}
        write(ax, place, WIDE - 0.3, ink, size=0.34 if row == 0 else 0.28)


def _arrow(
    ax: Axes, source: tuple[float, float, float], target: tuple[float, float, float]
) -> None:
    arrow = FancyArrowPatch(
        (source[0], source[2]), (target[0], target[1]),
        arrowstyle="-|>", mutation_scale=8, color=FAINT, linewidth=1, shrinkA=0, shrinkB=0,
    )  # fmt: skip
    arrow.set_zorder(1)
    ax.add_artist(arrow)
