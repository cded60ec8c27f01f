"""The order of single rows that are compared one by one; of whole columns: ``ordering``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import total_ordering
from typing import Any

from firesteel.sql.expressions import Ordering

__all__ = ["sort_key"]


@total_ordering
class _Backwards:
    """A value in descending order."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Backwards) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Backwards) and bool(other.value == self.value)

    def __hash__(self) -> int:
        return hash(self.value)


def sort_key(order: Sequence[Ordering]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """What the physical values of a row are compared by."""

    def key(values: Sequence[Any]) -> tuple[Any, ...]:
        parts: list[Any] = []
        for o in order:
            value = values[o.index]
            if value is None:
                parts.append((0 if o.nulls_first else 2,))
            elif o.ascending:
                parts.append((1, value))
            elif isinstance(value, (int, float)):
                parts.append((1, -value))
            else:
                parts.append((1, _Backwards(value)))
        return tuple(parts)

    return key
