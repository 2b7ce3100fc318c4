"""Note things about tensors without touching them: a note goes when its tensor goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Marks"]


class Marks:
    """Notes of one kind."""

    def __init__(self) -> None:
        """Start without notes."""
        self._notes: Any = WeakIdKeyDictionary()

    def put(self, value: object, note: object) -> None:
        """Note something on a tensor, or on the tensors in a list or dictionary."""
        if isinstance(value, torch.Tensor):
            self._notes[value] = note
        elif isinstance(value, dict):
            self.put(list(value.values()), note)
        elif isinstance(value, list | tuple):
            for item in value:
                self.put(item, note)

    def get(self, values: Iterable[object]) -> Any:
        """Give the first note on one of these tensors, or None."""
        if not self._notes:
            return None
        notes = (self._notes.get(value) for value in values if isinstance(value, torch.Tensor))
        return next((note for note in notes if note is not None), None)

    def drop(self, tensor: torch.Tensor) -> None:
        """Forget what was noted on a tensor."""
        self._notes.pop(tensor, None)
