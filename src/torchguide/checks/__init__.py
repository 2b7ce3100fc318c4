"""Find mistakes that raise no error: call a check in your own code, or watch a whole loop.

>>> from torchguide import checks
>>> with checks.watch(model, optimizer) as found:  # doctest: +SKIP
...     train_one_epoch(model, optimizer)
>>> print(found)  # doctest: +SKIP

Every check returns `Findings`, changes nothing that it looks at, and works with torch 2.7 and
newer. Importing this package does not import torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from torchguide.checks.results import CheckError, Finding, Findings

if TYPE_CHECKING:
    from torchguide.checks.aliases import check_aliases
    from torchguide.checks.gradients import check_gradients, gradient_norms
    from torchguide.checks.losses import check_loss, check_loss_shapes, check_probabilities
    from torchguide.checks.models import check_finite, check_mode, check_optimizer
    from torchguide.checks.watching import Watch, watch

__all__ = [
    "CheckError",
    "Finding",
    "Findings",
    "Watch",
    "check_aliases",
    "check_finite",
    "check_gradients",
    "check_loss",
    "check_loss_shapes",
    "check_mode",
    "check_optimizer",
    "check_probabilities",
    "gradient_norms",
    "watch",
]

_HOMES = {
    "check_aliases": "aliases",
    "check_gradients": "gradients",
    "gradient_norms": "gradients",
    "check_loss": "losses",
    "check_loss_shapes": "losses",
    "check_probabilities": "losses",
    "check_finite": "models",
    "check_mode": "models",
    "check_optimizer": "models",
    "Watch": "watching",
    "watch": "watching",
}


def __getattr__(name: str) -> Any:
    """Load a check, and torch with it, at its first use (PEP 562)."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"torchguide.checks.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'torchguide.checks' has no attribute {name!r}; it has {__all__}")


def __dir__() -> list[str]:
    """List the names that `__getattr__` can load, too."""
    return sorted({*globals(), *__all__})
