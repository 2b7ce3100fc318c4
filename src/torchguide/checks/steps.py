"""Follow the optimizers of a watched loop from step to step."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

import torch

from torchguide.checks import gradients
from torchguide.checks.marks import Marks
from torchguide.checks.results import Finding, finding, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = ["Steps"]

FEWEST_STEPS = 3  # before a gradient is said to vanish: the first steps of LoRA are special
CONSTANT_STEPS = 10  # losses from the first step on that must not all be equal
CLEARED = 5  # times that gradients were cleared without a step


def checksum(parameter: torch.Tensor) -> float:
    """Sum a parameter so exactly that a change of one element shows."""
    wide = torch.float32 if parameter.device.type == "mps" else torch.float64
    kept = parameter.detach()
    kept = torch.view_as_real(kept) if kept.is_complex() else kept
    return float(kept.abs().sum(dtype=wide))


def version(tensor: torch.Tensor) -> int:
    """Count the changes made to a tensor in place, as autograd does."""
    return int(tensor._version)  # noqa: SLF001 -- documented in "Extending PyTorch", without a public name


class Steps:
    """What one optimizer did with the gradients it was given."""

    def __init__(
        self, optimizer: torch.optim.Optimizer, report: Callable[[Iterable[Finding], int], None]
    ) -> None:
        """Follow an optimizer; findings go to `report`."""
        self.optimizer, self._report = optimizer, report
        self.count = 0
        self.losses: list[float] = []
        self.accumulated: set[int] = set()  # parameters that got a gradient since the last step
        self.used = False  # some step had a gradient
        self.cleared: Counter[int] = Counter()
        self._spent, self._stale = Marks(), Marks()  # notes on gradients
        self._before: dict[int, float] = {}
        self._ratios: dict[str, float] | None = None  # largest seen of each layer
        self._largest = ""

    def parameters(self) -> Iterator[torch.Tensor]:
        """List the tensors of the optimizer that are trained now."""
        for group in self.optimizer.param_groups:
            yield from (p for p in group["params"] if p.requires_grad)

    def before_accumulation(self, parameter: torch.Tensor) -> None:
        """Look at the gradient that backward() is about to add to."""
        held = parameter.grad
        spent, stale = self._spent.get([held]), self._stale.get([held])
        empty = held is None
        if held is not None and (spent is not None or stale or not self.count):
            empty = not bool(gradients.norm(held).item())  # waits for the device
        if empty and id(parameter) in self.accumulated:
            self.cleared[id(parameter)] += 1
        if held is None:
            return
        if empty:
            self._stale.drop(held)
        elif spent == version(held):
            self._stale.put(held, True)
        self._spent.drop(held)

    def start(self) -> None:
        """Remember the parameters before the first step."""
        self._before = self._before or self.checksums()

    def before_step(self, named: Mapping[int, str], loss: float | None, *, grown: bool) -> None:
        """Judge the gradients that the step is about to use.

        Args:
            named: The parameters by identity, those of the first layer first.
            loss: The loss that they came from, if it is known.
            grown: Whether the outputs of the layers grow out of proportion.
        """
        self.count += 1
        if loss is not None:
            self.losses.append(loss)
        trained = [(named.get(id(p), f"#{n}"), p) for n, p in enumerate(self.parameters())]
        held = [(name, p) for name, p in trained if p.grad is not None]
        self.used = self.used or bool(held)
        if stale := [name for name, p in held if self._stale.get([p.grad])]:
            self._report([finding("zero-grad-missing", shorten(stale))], self.count)
        if not held and self.accumulated:
            self._report([finding("gradient-cleared")], self.count)
        if getattr(self.optimizer, "grad_scale", None) is None:  # a scaler has not divided yet
            self._judge_sizes(held, named, loss or 0.0, 1.0 if grown else gradients.EXPLODING)

    def _judge_sizes(
        self, held: list[gradients.Named], named: Mapping[int, str], loss: float, most: float
    ) -> None:
        values = [gradients.norm(p.grad) for _, p in held if p.grad is not None]
        norms = {name: v.item() for (name, _), v in zip(held, values, strict=True)}
        if broken := [name for name, value in norms.items() if not math.isfinite(value)]:
            where = [f"{name}.grad" for name in broken]
            self._report(
                [gradients.not_finite(where, (norms[name] for name in broken))], self.count
            )
            return
        # Targets without scaling make a large loss, and large gradients with it, by right.
        if most < gradients.EXPLODING or math.hypot(*norms.values()) > most * abs(loss):
            self._report(gradients.exploding(held, norms, most), self.count)
        order = {name: place for place, name in enumerate(named.values())}
        layers = sorted(gradients.weights(held), key=lambda pair: order.get(pair[0], -1))
        sizes = gradients.layer_sizes(norms, layers)
        ratios = gradients.vanishing_ratios(sizes, gradients.VANISHING)
        previous = ratios if self._ratios is None else self._ratios
        self._ratios = {n: max(r, previous[n]) for n, r in ratios.items() if n in previous}
        self._largest = max(sizes, key=lambda name: sizes[name], default="")

    def after_step(self) -> None:
        """Note which gradients are used up."""
        for parameter in self.parameters():
            if parameter.grad is not None:
                self._spent.put(parameter.grad, version(parameter.grad))
        self.accumulated.clear()
        self.cleared.clear()

    def checksums(self) -> dict[int, float]:
        """Give the checksum of each parameter."""
        return {id(p): checksum(p) for p in self.parameters()}

    def at_end(self) -> Iterator[Finding]:
        """Judge what takes several steps to see."""
        if not self.count and (most := max(self.cleared.values(), default=0)) >= CLEARED:
            yield finding("step-missing", count=most)
        if self.count >= 2 and self._before == self.checksums():
            yield finding("parameters-unchanged", steps=self.count)
        if self.count >= FEWEST_STEPS and self._ratios:
            yield gradients.vanishing(self._ratios, self._largest)
        first = self.losses[:CONSTANT_STEPS]
        if len(first) == CONSTANT_STEPS and len(set(first)) == 1 and first[0]:
            yield finding("loss-constant", steps=CONSTANT_STEPS)
