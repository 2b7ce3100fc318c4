"""Walk the graph that autograd recorded, from a result back to the leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["GraphNode", "walk_graph"]

SAVED = "_saved_"  # PyTorch's prefix of what an operation keeps for backward


@dataclass(frozen=True)
class GraphNode:
    """A node of the graph: an operation, or a leaf, for which backward accumulates `.grad`."""

    number: int
    """Counted from 0, the result; a node comes after all that were computed from it."""
    name: str
    """The operation as PyTorch names its gradient, such as ``MulBackward0``, or the leaf."""
    kind: str
    """``"operation"``, ``"leaf"`` or ``"result"``, which is an operation, too."""
    inputs: tuple[int, ...]
    """The numbers of the nodes that the operation was computed from; only those that need a
    gradient have one."""
    saved: Mapping[str, tuple[int, ...] | None] = field(default_factory=dict)
    """The shapes of the tensors that are kept for backward; None if they were freed."""
    tensor: torch.Tensor | None = None
    """The leaf itself."""


def walk_graph(
    result: torch.Tensor, names: Mapping[str, torch.Tensor] | None = None
) -> Iterator[GraphNode]:
    """Give the nodes of the graph behind a result, each once, the result's first.

    Args:
        result: A tensor that autograd recorded.
        names: What to call leaves, such as ``{"w": w}`` or ``dict(model.named_parameters())``;
            others are called by their shapes.

    Raises:
        TypeError: If the result is no tensor.
        ValueError: If nothing was recorded for the tensor.

    The graph is that of https://docs.pytorch.org/docs/stable/notes/autograd.html; it is read,
    not run, and no hook is called.
    """
    if not isinstance(result, torch.Tensor):
        raise TypeError(f"the result is of type {type(result).__name__}; expected a torch.Tensor")
    if result.grad_fn is None:
        why = "is a leaf itself" if result.requires_grad else "does not require gradients"
        raise ValueError(f"no graph stands behind this tensor: it {why}")
    called = {id(tensor): name for name, tensor in (names or {}).items()}
    order = _sorted(result.grad_fn)
    numbers = {node: number for number, node in enumerate(order)}
    for number, node in enumerate(order):
        leaf = getattr(node, "variable", None)
        yield GraphNode(
            number=number,
            name=_leaf_name(leaf, called) if leaf is not None else _operation(node),
            kind="leaf" if leaf is not None else "operation" if number else "result",
            inputs=tuple(numbers[each] for each, _ in node.next_functions if each is not None),
            saved={} if leaf is not None else _saved(node),
            tensor=leaf,
        )


def _sorted(start: Any) -> list[Any]:
    """Order the nodes so that each comes after all that use it, without recursion."""
    uses: dict[Any, int] = {start: 0}
    found = [start]
    while found:
        for node, _ in found.pop().next_functions:
            if node is None:
                continue
            if node not in uses:
                uses[node] = 0
                found.append(node)
            uses[node] += 1
    ready, order = [start], []
    while ready:
        order.append(node := ready.pop(0))
        for each, _ in node.next_functions:
            if each is not None:
                uses[each] -= 1
                if not uses[each]:
                    ready.append(each)
    return order


def _operation(node: Any) -> str:
    return str(node.name()).rpartition("::")[2]


def _leaf_name(leaf: torch.Tensor, called: Mapping[int, str]) -> str:
    return called.get(id(leaf), f"leaf {tuple(leaf.shape)}")


def _saved(node: Any) -> dict[str, tuple[int, ...] | None]:
    """Read which tensors an operation keeps; after backward they are freed."""
    saved: dict[str, tuple[int, ...] | None] = {}
    for attribute in dir(node):
        if not attribute.startswith(SAVED):
            continue
        name = attribute.removeprefix(SAVED)
        try:
            value = getattr(node, attribute)
        except RuntimeError:  # "… after they have already been freed"
            saved[name] = None
            continue
        if isinstance(value, torch.Tensor):
            saved[name] = tuple(value.shape)
    return saved
