"""Find tensors that share memory, exactly: interleaved columns of one storage do not."""

from __future__ import annotations

import itertools

import torch

from torchguide.checks.models import name_values, tensors
from torchguide.checks.results import Findings, finding

__all__ = ["check_aliases"]


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    """Give the first byte of a tensor and the one behind its last."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    last = sum((size - 1) * stride for size, stride in steps)
    start = tensor.data_ptr()
    return start, start + (last + 1) * tensor.element_size()


def _bytes(tensor: torch.Tensor, start: int, length: int) -> torch.Tensor:
    """Mark the bytes that a tensor uses, from the address `start` on."""
    marks = torch.zeros(length, dtype=torch.bool)
    places = torch.zeros((), dtype=torch.int64)
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        places = places[..., None] + torch.arange(size) * (stride * tensor.element_size())
    inside = torch.arange(tensor.element_size())
    marks[(places.reshape(-1, 1) + inside + (tensor.data_ptr() - start)).reshape(-1)] = True
    return marks


def _overlap(one: torch.Tensor, two: torch.Tensor) -> bool:
    if one.device != two.device:
        return False
    spans = _span(one), _span(two)
    if max(span[0] for span in spans) >= min(span[1] for span in spans):
        return False
    if one.is_contiguous() and two.is_contiguous():
        return True  # without gaps, what lies in both ranges is used by both
    start = min(span[0] for span in spans)
    length = max(span[1] for span in spans) - start
    return bool((_bytes(one, start, length) & _bytes(two, start, length)).any())


def _has_memory(tensor: torch.Tensor) -> bool:
    return tensor.layout is torch.strided and tensor.numel() > 0 and tensor.device.type != "meta"


def check_aliases(*values: object, **named: object) -> Findings:
    """Find tensors that share memory, so that writing to one changes the other.

    With one value the tensors in it are compared with each other; with several, those of
    different values: ``check_aliases(model=model, best=saved_state)``. Each value is found once,
    with the first tensor before it that it overlaps.

    Args:
        values: Tensors, NumPy arrays, models, or lists and dictionaries of them.
        named: The same, with the names to show.
    """
    groups = [
        [(label, tensor) for label, tensor in tensors(*pair) if _has_memory(tensor)]
        for pair in name_values(values, named)
    ]
    if len(groups) == 1:
        groups = [[leaf] for leaf in groups[0]]
    findings = []
    for number, group in enumerate(groups):
        earlier = itertools.chain.from_iterable(groups[:number])
        both = next(
            ((a, b) for a, b in itertools.product(earlier, group) if _overlap(a[1], b[1])), None
        )
        if both:
            first, second = (label for label, _ in both)
            findings.append(finding("aliased", second, first=first, second=second))
    return Findings(findings)
