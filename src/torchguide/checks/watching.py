"""Watch a training or evaluation loop as it is, and collect what is wrong with it."""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from torchguide.checks.calls import Calls
from torchguide.checks.models import (
    check_mode,
    named_parameters,
    optimizer_findings,
    optimizer_parameters,
    sort_parts,
    tensors,
)
from torchguide.checks.results import Finding, Findings, finding, shorten
from torchguide.checks.steps import Steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from torch.utils.hooks import RemovableHandle
    from typing_extensions import Self

__all__ = ["Watch", "watch"]

GROWTH = 1e4  # of the outputs through the layers before the first step


def watch(*parts: torch.nn.Module | torch.optim.Optimizer) -> Watch:
    """Watch the training loop that runs in a block, and collect what is wrong with it.

    Write ``with watch(model, optimizer) as found:`` around the loop, then ``print(found)``.
    Give all models and all optimizers of the loop, in any order. The loop runs as before, only
    slower, and its numbers do not change. Ten steps are enough; what takes several steps to
    judge is found at the end of the block. Models that torch.compile has compiled are watched
    from outside only.

    Raises:
        TypeError: If a part is neither an nn.Module nor an Optimizer, or no model is given.
    """
    return Watch(*parts)


class _Root:
    """A watched model: how deep the call is, and the modes of its training calls."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model, self.depth = model, 0
        self.trained_in: set[bool] = set()


class Watch:
    """Collects findings while its block runs; see `watch`.

    Attributes:
        findings: What was found so far.
    """

    def __init__(self, *parts: torch.nn.Module | torch.optim.Optimizer) -> None:
        """Sort the parts; nothing is hooked before the block begins."""
        models, optimizers = sort_parts(parts)
        self.findings = Findings()
        self.busy = False  # looking at tensors: these calls are not the loop's
        self.named: dict[int, str] = {}
        self.order: dict[int, None] = {}  # parameters in the order of their first use
        self._roots = [_Root(model) for model in models]
        self._steps = [Steps(optimizer, self.add) for optimizer in optimizers]
        self._calls, self._stack = Calls(self), contextlib.ExitStack()
        self._handles: list[RemovableHandle] = []
        self._hooked: set[int] = set()
        self._accumulated: set[int] = set()  # parameters that ever got a gradient
        self._reached: set[int] = set()  # parameters that a loss was computed from
        self._sound: dict[str, torch.Tensor] = {}  # per layer: is its output free of NaN and Inf?
        self._sizes: dict[str, torch.Tensor] = {}  # per layer with weights: mean absolute output
        self._loss: float | None = None
        self._known: set[tuple[str, str]] = set()
        self._owners: dict[int, list[Steps]] = {}

    def __enter__(self) -> Self:
        """Begin to watch."""
        for steps in self._steps:
            optimizer = steps.optimizer
            self._handles += [
                optimizer.register_step_pre_hook(self._before_step(steps)),
                optimizer.register_step_post_hook(self._after_step(steps)),
            ]
        for root in self._roots:
            self._attach(root)
        self._stack.enter_context(self._calls)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop watching; after an error in the block only what was seen before it is kept."""
        self._stack.__exit__(kind, error, trace)
        for handle in self._handles:
            handle.remove()
        if error is None:
            with self.looking():
                self._judge()

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """Look at tensors without recording it, neither here nor in the graph."""
        before, self.busy = self.busy, True
        try:
            with torch.no_grad():
                yield
        finally:
            self.busy = before

    def add(self, found: Iterable[Finding], step: int | None = 0) -> None:
        """Keep findings, each mistake in each place once, and of NaN only where it came first."""
        if step == 0:  # before the step that is counted next
            step = 1 + max((steps.count for steps in self._steps), default=-1) or None
        for item in found:
            place = "" if item.id == "not-finite" else item.where
            if (item.id, place) not in self._known:
                self._known.add((item.id, place))
                self.findings += (replace(item, step=step),)

    def __str__(self) -> str:
        """Say what was found, in the system's language."""
        return str(self.findings)

    def text(self, language: str | None = None) -> str:
        """Say what was found, in ``"en"`` or ``"zh"``."""
        return self.findings.text(language)

    def raise_on_findings(self, least: str = "warning") -> None:
        """Raise `CheckError` if something was found that is at least as severe as `least`."""
        self.findings.raise_on_findings(least)

    # What the hooks call.

    def _attach(self, root: _Root) -> None:
        """Hook the layers and parameters that are new since the last call."""
        for name, layer in root.model.named_modules():
            if id(layer) in self._hooked:
                continue
            self._hooked.add(id(layer))
            before = layer.register_forward_pre_hook(self._before_layer(root))
            after = layer.register_forward_hook(self._after_layer(root, name), always_call=True)
            self._handles += [before, after]
        named = named_parameters(root.model for root in self._roots)
        self.named = {key: name for key, (name, _) in named.items()}
        self._owners = {}
        for steps in self._steps:
            for parameter in optimizer_parameters([steps.optimizer]):
                self._owners.setdefault(id(parameter), []).append(steps)
        held = optimizer_parameters(steps.optimizer for steps in self._steps)
        for parameter in [*(p for _, p in named.values()), *held]:
            lazy = isinstance(parameter, torch.nn.UninitializedParameter)
            if id(parameter) not in self._hooked and parameter.requires_grad and not lazy:
                self._hooked.add(id(parameter))
                hooked: Any = parameter  # torch leaves these two methods without types
                self._handles += [
                    hooked.register_hook(self._before_accumulation(parameter)),
                    hooked.register_post_accumulate_grad_hook(self._after_accumulation),
                ]

    def _before_layer(self, root: _Root) -> Any:
        def hook(*_: object) -> None:
            root.depth += 1
            if torch.is_grad_enabled():
                root.trained_in.add(root.model.training)

        return hook

    def _after_layer(self, root: _Root, name: str) -> Any:
        def hook(layer: torch.nn.Module, given: object, output: object) -> None:
            root.depth -= 1
            evaluating = not root.depth and not torch.is_grad_enabled()
            with self.looking():
                if not root.depth:
                    self._attach(root)
                    self._note_sound("input", given)
                if not any(layer.children()):
                    self._note_sound(f"{name or type(layer).__name__}(…)", output)
                    if any(p.ndim >= 2 for p in layer.parameters(recurse=False)):
                        self._note_size(name, output)
                if evaluating and (found := check_mode(root.model, training=False)):
                    self._calls.evaluated.put(output, found)

        return hook

    def _note_sound(self, name: str, value: object) -> None:
        """Note whether numbers are sound, without waiting for the device; -Inf masks are."""
        for _, tensor in tensors(name, value):
            if tensor.is_floating_point() and tensor.device.type != "meta":
                sound = (tensor < math.inf).all()
                self._sound[name] = self._sound.get(name, sound) & sound

    def _note_size(self, name: str, value: object) -> None:
        """Note how large the numbers are that a layer with weights puts out before any step."""
        if not any(steps.count for steps in self._steps):
            for _, tensor in itertools.islice(tensors(name, value), 1):
                if tensor.is_floating_point() and tensor.numel():
                    self._sizes[name] = tensor.abs().mean(dtype=torch.float32)

    def _grown(self) -> bool:
        """Tell whether outputs grow from layer to layer; the last layer's may fit its targets."""
        sizes = [size.item() for size in self._sizes.values()][:-1]
        self._sizes.clear()
        return bool(sizes) and max(sizes) > GROWTH * max(sizes[0], 1e-3)

    def on_loss(self, loss: torch.Tensor) -> None:
        """Look at the loss that backward() starts from."""
        if loss.numel() != 1:
            return
        with self.looking():
            self._reached |= self._calls.reach.get([loss]) or set()
            self._loss = float(loss.detach())
            if not math.isfinite(self._loss):
                kind = "NaN" if math.isnan(self._loss) else "Inf"
                given = self._sound.pop("input", None)
                unsound = [name for name, sound in self._sound.items() if not bool(sound)]
                if given is not None and not bool(given):
                    unsound = ["input"]
                self.add([finding("not-finite", [*unsound, "loss"][0], kind=kind)])
            self._sound.clear()

    def _before_accumulation(self, parameter: torch.Tensor) -> Any:
        def hook(_: torch.Tensor) -> None:
            with self.looking():
                for steps in self._owners.get(id(parameter), []):
                    steps.before_accumulation(parameter)

        return hook

    def _after_accumulation(self, parameter: torch.Tensor) -> None:
        self._accumulated.add(id(parameter))
        for steps in self._owners.get(id(parameter), []):
            steps.accumulated.add(id(parameter))

    def _before_step(self, steps: Steps) -> Any:
        def hook(_: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            with self.looking():
                steps.start()
                if not _closure(args, kwargs):
                    self._judge_step(steps)
            self.busy = not _closure(args, kwargs)  # the optimizer's own arithmetic

        return hook

    def _after_step(self, steps: Steps) -> Any:
        def hook(_: object, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            self.busy = False
            with self.looking():
                if _closure(args, kwargs):  # its gradients came during the step
                    self._judge_step(steps)
                steps.after_step()

        return hook

    def _judge_step(self, steps: Steps) -> None:
        used = {key: self.named[key] for key in self.order if key in self.named}
        steps.before_step({**used, **self.named}, self._loss, grown=self._grown())
        held = {id(parameter) for parameter in steps.parameters()}
        for root in self._roots:
            if held.isdisjoint(map(id, root.model.parameters())):
                continue
            if root.trained_in == {False}:
                self.add(check_mode(root.model, training=True), steps.count)
            root.trained_in.clear()

    def _judge(self) -> None:
        """Judge at the end what takes the whole block to see, causes before consequences."""
        stepped = [steps for steps in self._steps if steps.count]
        if stepped:
            self._judge_parameters()
        for steps in stepped:
            self._judge_missing(steps)
        causes = {"optimizer-stale", "gradient-cleared", "one-class"}
        caused = any(item.id in causes for item in self.findings)
        for item in (item for steps in self._steps for item in steps.at_end()):
            consequence = item.id in {"parameters-unchanged", "loss-constant"}
            if not (consequence and caused):
                self.add([item], None)
            caused = caused or item.id == "parameters-unchanged"

    def _judge_parameters(self) -> None:
        named = named_parameters(root.model for root in self._roots)
        held = {id(p) for p in optimizer_parameters(steps.optimizer for steps in self._steps)}
        missing = (self._accumulated & set(named)) - held
        foreign = held - set(named) - self._accumulated
        self.add(optimizer_findings(named, missing, len(foreign)), None)

    def _judge_missing(self, steps: Steps) -> None:
        """Find parameters that the loss was computed from, yet that never got a gradient."""
        if any(item.id in {"optimizer-stale", "gradient-cleared"} for item in self.findings):
            return
        held = {id(parameter): f"#{n}" for n, parameter in enumerate(steps.parameters())}
        missing = set(held) & self._reached - self._accumulated if steps.used else set(held)
        if missing:
            names = [self.named.get(key, held[key]) for key in held if key in missing]
            self.add([finding("gradient-missing", shorten(names), count=len(missing))], None)


def _closure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Tell whether step() was given a closure; its first argument is the optimizer."""
    return (args[1] if len(args) > 1 else kwargs.get("closure")) is not None
