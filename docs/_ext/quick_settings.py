"""Make docutils' default settings once for all translated messages.

MyST-Parser parses each translated message as a document of its own, and docutils builds an
option parser of seventy options for each: a tenth of the Chinese build.  The settings depend on
nothing but the parser's class, so they are made once and copied.
"""

from __future__ import annotations

import copy
import functools
from typing import TYPE_CHECKING, Any

from docutils.frontend import get_default_settings
from docutils.utils import DependencyList
from myst_parser.mdit_to_docutils import base

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata

__all__ = ["copied_settings", "setup"]


@functools.cache
def _settings(components: tuple[Any, ...]) -> Any:
    return get_default_settings(*components)


def copied_settings(*components: Any) -> Any:
    """Return settings like docutils.frontend.get_default_settings, free to be changed."""
    settings = copy.copy(_settings(components))
    for name, value in vars(settings).items():
        if isinstance(value, (list, dict, DependencyList)):  # what a parser may add to
            setattr(settings, name, copy.copy(value))
    settings.record_dependencies.list = []
    return settings


def setup(_app: Sphinx) -> ExtensionMetadata:
    """Put the quick function in the place of docutils' in MyST-Parser's module."""
    vars(base)["get_default_settings"] = copied_settings
    return {"parallel_read_safe": True, "parallel_write_safe": True}
