"""Check the gradients after backward(): missing, not finite, vanishing, exploding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from torchguide.checks.results import Finding, Findings, finding, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["check_gradients", "gradient_norms"]

# A sigmoid network of eight layers falls below; attention and deep residual networks stay
# far above (tests/package/test_checks_loops.py).
VANISHING = 1e-6
# Sums over thousands of elements reach 1e3; an exploding network soon any number.
EXPLODING = 1e4

Named = tuple[str, torch.Tensor]


def norm(tensor: torch.Tensor) -> torch.Tensor:
    """Give the 2-norm in float64 where there is one, without waiting for the device."""
    values = tensor.detach()
    if values.is_sparse:
        values = values.coalesce().values()
    if values.is_complex():
        values = values.abs()
    wide = torch.float32 if values.device.type == "mps" else torch.float64  # 1e20 squared overflows
    result: torch.Tensor = torch.linalg.vector_norm(values, dtype=wide)
    return result


def gradient_norms(model: torch.nn.Module) -> dict[str, float]:
    """Give the 2-norm of each parameter's gradient after backward(), by name, in order."""
    norms = {n: norm(p.grad) for n, p in model.named_parameters() if p.grad is not None}
    return {name: value.item() for name, value in norms.items()}


def layer_sizes(norms: Mapping[str, float], layers: Iterable[Named]) -> dict[str, float]:
    """Give the root mean square of the layers' gradients, so that any widths compare."""
    return {name: norms[name] / math.sqrt(p.numel()) for name, p in layers}


def weights(named: Iterable[Named]) -> list[Named]:
    """Leave the weights of layers: a bias before a normalisation has a gradient of 0 by right."""
    return [(name, p) for name, p in named if p.ndim >= 2 and p.numel() > 1]


def vanishing_ratios(sizes: Mapping[str, float], least: float) -> dict[str, float]:
    """Find the layers before the one with the largest gradient that are smaller than `least`.

    Zero is no vanishing gradient: it belongs to dead units and to weights multiplied by zero.
    """
    if not sizes:
        return {}
    largest = max(sizes, key=lambda name: sizes[name])
    if not 0 < sizes[largest] < math.inf:
        return {}
    earlier = list(sizes)[: list(sizes).index(largest)]
    ratios = {name: sizes[name] / sizes[largest] for name in earlier}
    return {name: ratio for name, ratio in ratios.items() if 0 < ratio < least}


def not_finite(where: Iterable[str], values: Iterable[float]) -> Finding:
    """Make the finding for numbers of which some are NaN or infinite."""
    kind = "NaN" if any(math.isnan(value) for value in values) else "Inf"
    return finding("not-finite", shorten(where), kind=kind)


def exploding(named: Iterable[Named], norms: Mapping[str, float], most: float) -> list[Finding]:
    """Find gradients whose norm is `most` times that of the parameters."""
    parameters = math.hypot(*(norm(p).item() for name, p in named if name in norms))
    total = math.hypot(*norms.values())
    if not total > most * max(parameters, 1.0) or math.isinf(total):
        return []
    largest = max(norms, key=lambda name: norms[name])
    ratio = total / max(parameters, 1.0)
    return [finding("gradient-exploding", largest, norm=f"{total:.1e}", ratio=f"{ratio:.0e}")]


def vanishing(ratios: Mapping[str, float], largest: str) -> Finding:
    """Make the finding for layers whose gradients vanish."""
    ratio = f"{min(ratios.values()):.0e}"
    return finding("gradient-vanishing", shorten(ratios), ratio=ratio, largest=largest)


def check_gradients(
    model: torch.nn.Module, *, least: float = VANISHING, most: float = EXPLODING
) -> Findings:
    """Check a model's gradients; call it after backward() and before step().

    Finds trainable parameters without a gradient, NaN and infinite gradients, weights whose
    gradients vanish beside those of later layers, and gradients that explode. Layers are taken
    in the order in which the model defines them.

    Args:
        model: The model after backward().
        least: Gradients vanish if their root mean square is smaller than this times the largest.
        most: Gradients explode if their norm is larger than this times that of the parameters.
    """
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    missing = [name for name, p in named if p.grad is None]
    findings = []
    if missing:
        findings.append(finding("gradient-missing", shorten(missing), count=len(missing)))
    norms = gradient_norms(model)
    if broken := [name for name, value in norms.items() if not math.isfinite(value)]:
        grads = [name + ".grad" for name in broken]
        findings.append(not_finite(grads, (norms[name] for name in broken)))
        return Findings(findings)
    layers = weights((name, p) for name, p in named if name in norms)
    sizes = layer_sizes(norms, layers)
    if ratios := vanishing_ratios(sizes, least):
        findings.append(vanishing(ratios, max(sizes, key=lambda name: sizes[name])))
    return Findings(findings + exploding(named, norms, most))
