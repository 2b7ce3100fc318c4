"""Read the facts of a message, derive further ones, and choose an entry's case by them.

The rules are data, and few: `OPERATIONS` derive a fact, `CONDITIONS` compare two.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["CONDITIONS", "OPERATIONS", "Facts"]

_UNITS = {"bytes": 2**-20, "K": 2**-10, "M": 1.0, "G": 2.0**10, "T": 2.0**20}  # to MiB


def _numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else 0,
}
_SHAPES: dict[str, Callable[[list[int]], int]] = {
    "first": lambda shape: shape[0] if shape else 0,
    "last": lambda shape: shape[-1] if shape else 0,
    "rank": len,
}
OPERATIONS = (*_ARITHMETIC, *_SHAPES, "lookup", "cuda")
CONDITIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda value, choices: value in choices,
    "not in": lambda value, choices: value not in choices,
}


class Facts:
    """The facts of one match; sizes are numbers of MiB, shapes are texts."""

    def __init__(self, captured: Mapping[str, str | None], types: Mapping[str, str]) -> None:
        """Take what a pattern captured."""
        self.values: dict[str, Any] = {}
        self._sizes: set[str] = set()
        self._shown: dict[str, str] = {}
        for name, text in captured.items():
            if text is None:
                continue
            kind = types[name]
            if kind == "int":
                self.values[name] = int(text)
            elif kind == "num":
                self.values[name] = float(text) if "." in text else int(text)
            elif kind == "size":
                self._sizes.add(name)
                unit = "bytes" if text.endswith("bytes") else re.sub(r"[\d. ]", "", text)[0]
                number = re.match(r"[\d.]+", text)
                self.values[name] = float(number[0] if number else 0) * _UNITS[unit]
            else:
                self.values[name] = text.strip()
            self._shown[name] = text.strip()

    def derive(
        self, rules: Mapping[str, list[Any]], tables: Mapping[str, Mapping[str, Any]], language: str
    ) -> None:
        """Add the facts that an entry derives; one that lacks an operand is left out."""
        for name, (operation, *operands) in rules.items():
            if operation == "lookup":
                table, key = operands
                row = tables[table].get(self._shown.get(key, ""))
                if row:
                    self.values[name] = self._shown[name] = row[language]
                continue
            if any(isinstance(o, str) and o not in self.values for o in operands):
                continue
            numbers: list[Any] = [self.values[o] if isinstance(o, str) else o for o in operands]
            if operation not in _SHAPES and not all(isinstance(n, int | float) for n in numbers):
                continue  # this wording gives the fact as text
            if operation == "cuda":  # 11040 is CUDA 11.4
                value: Any = f"{numbers[0] // 1000}.{numbers[0] % 1000 // 10}"
            elif operation in _SHAPES:
                value = _SHAPES[operation](_numbers(str(numbers[0])))
            else:
                value = _ARITHMETIC[operation](numbers[0], numbers[1])
            self.values[name] = value
            if self._sizes.intersection(o for o in operands if isinstance(o, str)):
                self._sizes.add(name)
                self._shown[name] = f"{value / 1024:.2f} GiB"
            else:
                self._shown[name] = str(value)

    def holds(self, condition: list[Any]) -> bool:
        """Tell whether a condition `[fact, comparison, fact or value]` holds."""
        name, comparison, other = condition
        if name not in self.values:
            return False
        if isinstance(other, dict):  # {"fact": "b"}: another fact
            if other["fact"] not in self.values:
                return False
            other = self.values[other["fact"]]
        try:
            return CONDITIONS[comparison](self.values[name], other)
        except TypeError:
            return False

    def fill(self, text: str) -> str | None:
        """Put facts into a text; None where one is not known."""
        missing = False

        def value(match: re.Match[str]) -> str:
            nonlocal missing
            missing = missing or match[1] not in self._shown
            return self._shown.get(match[1], "")

        filled = re.sub(r"\{([a-z][a-z0-9_]*)\}", value, text)
        return None if missing else filled

    def shown(self) -> dict[str, Any]:
        """Give the facts for people and JSON: whole numbers as such, all else as text."""
        return {
            name: value if isinstance(value, int) else self._shown[name]
            for name, value in self.values.items()
        }
