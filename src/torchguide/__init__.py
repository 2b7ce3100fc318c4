"""Diagnose PyTorch environments, draw tensors and measure honestly.

Importing this package imports no submodule, no torch and no matplotlib:
each submodule is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchguide import autograd as autograd
    from torchguide import checks as checks
    from torchguide import compat as compat
    from torchguide import devices as devices
    from torchguide import doctor as doctor
    from torchguide import environment as environment
    from torchguide import figures as figures
    from torchguide import install as install
    from torchguide import loading as loading
    from torchguide import memory as memory
    from torchguide import records as records
    from torchguide import roofline as roofline
    from torchguide import tensors as tensors
    from torchguide import timing as timing
    from torchguide.autograd import walk_graph as walk_graph
    from torchguide.tensors import describe as describe
    from torchguide.tensors import explain_broadcast as explain_broadcast
    from torchguide.tensors import explain_view as explain_view

    __version__: str

SUBMODULES = (
    "autograd",
    "checks",
    "compat",
    "devices",
    "doctor",
    "environment",
    "figures",
    "install",
    "loading",
    "memory",
    "records",
    "roofline",
    "tensors",
    "timing",
)
FUNCTIONS = {
    "describe": "tensors",
    "explain_broadcast": "tensors",
    "explain_view": "tensors",
    "walk_graph": "autograd",
}
__all__ = [  # noqa: PLE0604 -- names, though not written out twice
    "__version__",
    *SUBMODULES,
    *FUNCTIONS,
]


def __getattr__(name: str) -> Any:
    """Load a submodule, a function of one, or the version, at its first use (PEP 562)."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 -- slow, and rarely wanted

        return version("torchguide")
    if name in SUBMODULES:
        return importlib.import_module(f"torchguide.{name}")
    if name in FUNCTIONS:
        return getattr(importlib.import_module(f"torchguide.{FUNCTIONS[name]}"), name)
    raise AttributeError(f"module 'torchguide' has no attribute {name!r}; it has {__all__}")


def __dir__() -> list[str]:
    """List the names that `__getattr__` can load, too."""
    return sorted({*globals(), *__all__})
