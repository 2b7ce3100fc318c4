"""Diagnose PyTorch environments, draw tensors and measure honestly.

Importing this package imports no submodule, no torch and no matplotlib:
each submodule is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchguide import checks as checks
    from torchguide import compat as compat
    from torchguide import devices as devices
    from torchguide import doctor as doctor
    from torchguide import environment as environment
    from torchguide import figures as figures
    from torchguide import install as install
    from torchguide import timing as timing

    __version__: str

__all__ = [
    "__version__",
    "checks",
    "compat",
    "devices",
    "doctor",
    "environment",
    "figures",
    "install",
    "timing",
]


def __getattr__(name: str) -> Any:
    """Load a submodule, or the version, at its first use (PEP 562)."""
    if name == "__version__":
        from importlib.metadata import version  # noqa: PLC0415 -- slow, and rarely wanted

        return version("torchguide")
    if name in __all__:
        return importlib.import_module(f"torchguide.{name}")
    raise AttributeError(f"module 'torchguide' has no attribute {name!r}; it has {__all__}")


def __dir__() -> list[str]:
    """List the names that `__getattr__` can load, too."""
    return sorted({*globals(), *__all__})
