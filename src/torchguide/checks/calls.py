"""See the calls of torch inside a watched loop: losses, comparisons and backward()."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from torchguide.checks.losses import KNOWN, check_loss, check_loss_shapes
from torchguide.checks.marks import Marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from torchguide.checks.watching import Watch

__all__ = ["Calls"]

SUBTRACTIONS = frozenset(("sub", "subtract", "rsub", "__sub__", "__rsub__"))
KEEPS_ERROR = frozenset(("pow", "__pow__", "square", "abs", "absolute", "mul", "__mul__"))
REDUCTIONS = frozenset(("mean", "sum"))
COMPARISONS = frozenset(("eq", "__eq__", "equal"))

WRITES = frozenset(("__setitem__",))  # returns nothing, and changes its first argument

# A loss is looked at in its first calls, then now and then: looking waits for the device.
FIRST_CALLS, EVERY = 8, 64


class Calls(TorchFunctionMode):
    """Tell a watch about the calls that it has to know of; changes no call and no result."""

    def __init__(self, watch: Watch) -> None:
        """Report to this watch."""
        super().__init__()
        self._watch = watch
        self._counts: Counter[str] = Counter()
        self._axis_added, self._outer = Marks(), Marks()
        self.reach = Marks()  # the parameters that a tensor was computed from
        self.evaluated = Marks()  # made under no_grad by a model in training mode

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Make the call, and look at its arguments before and at its result afterwards."""
        kwargs = kwargs or {}
        if self._watch.busy or torch.compiler.is_compiling():
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name == "backward" and args and isinstance(args[0], torch.Tensor):
            self._watch.on_loss(args[0])
        if name in KNOWN:
            self._look_at_loss(func, name, args, kwargs)
        result = func(*args, **kwargs)
        self._follow_parameters(name, (*args, *kwargs.values()), result)
        if not torch.is_grad_enabled():
            self._follow_evaluation(name, (*args, *kwargs.values()), result)
        elif isinstance(result, torch.Tensor):
            self._follow_error(name, args, result)
        return result

    def _look_at_loss(
        self, func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._counts[name] += 1
        if self._counts[name] > FIRST_CALLS and self._counts[name] % EVERY:
            return
        prediction = args[0] if args else kwargs.get("input")
        target = args[1] if len(args) > 1 else kwargs.get("target")
        if isinstance(prediction, torch.Tensor) and isinstance(target, torch.Tensor):
            with self._watch.looking():
                self._watch.add(check_loss(func, prediction, target))

    def _follow_parameters(self, name: str, given: tuple[Any, ...], result: object) -> None:
        """Follow the parameters through every call, also where the graph is cut."""
        notes = set()
        for tensor in _tensors(given):
            if id(tensor) in self._watch.named:
                self._watch.order.setdefault(id(tensor), None)
                notes.add(frozenset((id(tensor),)))
            elif (note := self.reach.get([tensor])) is not None:
                notes.add(note)
        if notes:
            note = frozenset().union(*notes)
            self.reach.put(given[0] if name in WRITES else result, note)

    def _follow_error(self, name: str, args: tuple[Any, ...], result: torch.Tensor) -> None:
        """Follow prediction - target of a loss written by hand to its mean."""
        if name in SUBTRACTIONS and len(args) == 2:
            self._mark_outer(args, result)
        elif name == "unsqueeze" or (name == "__getitem__" and _adds_axis(args[1])):
            self._axis_added.put(result, True)  # (N, 1) on purpose: all pairs are wanted
        elif (error := self._outer.get(args)) is not None:
            if name in KEEPS_ERROR:
                self._outer.put(result, error)
            elif name in REDUCTIONS and not result.ndim:
                self._watch.add(error)

    def _mark_outer(self, args: tuple[Any, ...], result: torch.Tensor) -> None:
        if not all(isinstance(arg, torch.Tensor) for arg in args) or self._axis_added.get(args):
            return
        prediction, target = args if args[0].requires_grad else args[::-1]
        if not prediction.requires_grad or target.requires_grad:
            return
        if prediction.numel() != target.numel() or prediction.ndim == target.ndim:
            return
        with self._watch.looking():
            if found := check_loss_shapes(prediction, target, where="prediction - target"):
                self._outer.put(result, found)

    def _follow_evaluation(self, name: str, given: tuple[Any, ...], result: object) -> None:
        """Follow the output of a model in training mode, under no_grad, to a loss or metric."""
        if (found := self.evaluated.get(given)) is None:
            return
        if name in KNOWN or name in COMPARISONS:
            self._watch.add(found)
        self.evaluated.put(result, found)


def _adds_axis(index: object) -> bool:
    return index is None or (isinstance(index, tuple) and any(part is None for part in index))


def _tensors(values: Iterable[Any]) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)
