"""Check what goes into a loss: shapes that broadcast, and scores of the wrong kind."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import torch

from torchguide.checks.results import Finding, Findings, finding

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["check_loss", "check_loss_shapes", "check_probabilities"]

# Losses that compare element by element and broadcast. binary_cross_entropy and
# binary_cross_entropy_with_logits refuse unequal shapes themselves.
ELEMENTWISE = frozenset(
    ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss", "kl_div")
)
MODULES = {
    "MSELoss": "mse_loss",
    "L1Loss": "l1_loss",
    "SmoothL1Loss": "smooth_l1_loss",
    "HuberLoss": "huber_loss",
    "PoissonNLLLoss": "poisson_nll_loss",
    "KLDivLoss": "kl_div",
    "CrossEntropyLoss": "cross_entropy",
    "NLLLoss": "nll_loss",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
}
KNOWN = frozenset(MODULES.values())

# Steps of the graph that move or convert numbers without changing what they mean.
_MOVES = (
    *("Clone", "Permute", "ReshapeAlias", "Select", "Slice", "Squeeze", "T", "Transpose", "ToCopy"),
    *("UnsafeView", "Unsqueeze", "View"),
)


def loss_name(loss: object) -> str:
    """Name a loss as torch.nn.functional does; others by their own name."""
    own = getattr(loss, "__name__", "") or type(loss).__name__
    return MODULES.get(own, own)


def _broadcasts(prediction: torch.Tensor, target: torch.Tensor) -> tuple[int, ...] | None:
    """Give the shape that the two broadcast to, if it has more elements than either."""
    sizes = []
    for left, right in itertools.zip_longest(
        prediction.shape[::-1], target.shape[::-1], fillvalue=1
    ):
        if left != right and 1 not in (left, right):
            return None  # torch refuses them with an error of its own
        sizes.append(right if left == 1 else left)
    larger = math.prod(sizes) > max(prediction.numel(), target.numel())
    return tuple(reversed(sizes)) if larger else None


def check_loss_shapes(
    prediction: torch.Tensor, target: torch.Tensor, *, where: str = ""
) -> Findings:
    """Find a prediction and a target that broadcast against each other, as (N, 1) and (N,) do.

    Scores (N, C) with class indices (N,) are fine, and so is a target that is one number.
    """
    result = _broadcasts(prediction, target)
    if result is None:
        return Findings()
    left, right = tuple(prediction.shape), tuple(target.shape)
    return Findings(
        (finding("loss-broadcast", where, prediction=left, target=right, result=result),)
    )


def _sums_to_one(values: torch.Tensor, dim: int) -> bool:
    if values.shape[dim] < 2:
        return False
    tolerance = 1e-3 if values.element_size() >= 4 else 2e-2
    return bool(((values.sum(dim, dtype=torch.float32) - 1).abs() < tolerance).all())


def _probability_dimension(values: torch.Tensor, expected: int) -> int | None:
    """Give the dimension over which numbers are probabilities, the expected one first."""
    if values.numel() < 4 or not bool((values >= 0).all()):
        return None
    others = (dim for dim in range(values.ndim) if dim != expected)
    return next((dim for dim in (expected, *others) if _sums_to_one(values, dim)), None)


def check_probabilities(probabilities: torch.Tensor, dim: int, *, where: str = "") -> Findings:
    """Find probabilities that sum to 1 over another dimension than `dim`, that of the classes.

    Raises:
        IndexError: If the tensor has no such dimension.
    """
    expected = range(probabilities.ndim)[dim]
    with torch.no_grad():
        found = _probability_dimension(probabilities.detach(), expected)
    if found in (None, expected):
        return Findings()
    return Findings((finding("softmax-dimension", where, found=found, expected=expected),))


def _activation(scores: torch.Tensor) -> str | None:
    """Name the activation that made the scores, as the graph tells it."""
    node = scores.grad_fn
    while node is not None:
        name = type(node).__name__
        if name.startswith(("Sigmoid", "Softmax")):
            return name.removesuffix("Backward0").lower()
        if name.partition("Backward")[0] not in _MOVES:
            return None
        node = node.next_functions[0][0] if node.next_functions else None
    return None


def _check_scores(name: str, scores: torch.Tensor, classes: int) -> list[Finding]:
    """Check the scores of cross_entropy; `classes` is the dimension of the classes."""
    if scores.shape[classes] == 1:
        return [finding("one-class", name, loss=name, prediction=tuple(scores.shape))]
    found = _probability_dimension(scores.detach(), classes)
    activation = "softmax" if found is not None else _activation(scores)
    if activation is None:
        return []
    findings = [finding("softmax-before-loss", name, loss=name, activation=activation)]
    if found not in (None, classes):
        findings.append(finding("softmax-dimension", name, found=found, expected=classes))
    return findings


def _check_logarithms(name: str, scores: torch.Tensor, classes: int) -> list[Finding]:
    """Check the logarithms of probabilities that nll_loss and kl_div expect."""
    values = scores.detach()
    if _probability_dimension(values, classes) is not None:
        return [finding("log-probabilities", name, loss=name, kind="probabilities")]
    if name == "nll_loss" and bool((values > 1e-4).any()):  # above rounding: no logarithm of p
        return [finding("log-probabilities", name, loss=name, kind="raw")]
    found = _probability_dimension(values.exp(), classes)
    if name == "kl_div" or found in (None, classes):  # kl_div knows no dimension of classes
        return []
    return [finding("softmax-dimension", name, found=found, expected=classes)]


def check_loss(
    loss: Callable[..., torch.Tensor], prediction: torch.Tensor, target: torch.Tensor
) -> Findings:
    """Check the prediction and the target that a loss is about to compare.

    Finds shapes that broadcast, softmax or sigmoid before a loss that applies its own, softmax
    over the wrong dimension, nll_loss without logarithms, and cross-entropy of a single class.

    Args:
        loss: The loss: a function of torch.nn.functional, a module such as
            ``nn.CrossEntropyLoss()``, or one of your own, of which only the shapes are checked.
        prediction: What the model returned.
        target: What it is compared with.
    """
    name = loss_name(loss)
    if name not in KNOWN or name in ELEMENTWISE:
        findings = list(check_loss_shapes(prediction, target, where=name))
    else:
        findings = []
    if not prediction.ndim or not prediction.is_floating_point():
        return Findings(findings)
    classes = 0 if prediction.ndim == 1 else 1  # as cross_entropy and nll_loss count
    with torch.no_grad():
        if name == "cross_entropy":
            findings += _check_scores(name, prediction, classes)
        elif name == "nll_loss":
            findings += _check_logarithms(name, prediction, classes)
        elif name == "kl_div":
            findings += _check_logarithms(name, prediction, prediction.ndim - 1)
        elif name == "binary_cross_entropy_with_logits" and (kind := _activation(prediction)):
            findings.append(finding("softmax-before-loss", name, loss=name, activation=kind))
    return Findings(findings)
