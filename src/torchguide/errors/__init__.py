"""Find the cause of an error from its text: a catalogue of messages and a reader of logs."""

from __future__ import annotations

from torchguide.errors.catalogue import Catalogue, CatalogueError, Entry, load
from torchguide.errors.explain import Match, explain
from torchguide.errors.streaming import UnusableLogError, read_log

__all__ = [
    "Catalogue",
    "CatalogueError",
    "Entry",
    "Match",
    "UnusableLogError",
    "explain",
    "load",
    "read_log",
]
