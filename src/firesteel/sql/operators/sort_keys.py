"""The order of single rows that are compared one by one; of whole columns: ``ordering``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import total_ordering
from typing import Any, Final

import pyarrow as pa

from firesteel.sql import types as t
from firesteel.sql.expressions import Ordering
from firesteel.sql.operators.kernels.numbers import is_exact
from firesteel.sql.values import values_of

__all__ = ["SortKeys"]

_INFINITE: Final = float("inf")


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


def _part(ordering: Ordering, data_type: t.DataType) -> Callable[[Any], Any]:
    """What a value is compared by. Whole numbers, dates and times are compared as they are, for they are
    most."""
    if is_exact(data_type):
        null = -_INFINITE if ordering.nulls_first else _INFINITE
        if ordering.ascending:
            return lambda value: null if value is None else value
        return lambda value: null if value is None else -value
    first = (0 if ordering.nulls_first else 2,)
    if ordering.ascending:
        return lambda value: first if value is None else (1, value)
    return lambda value: first if value is None else (1, _Backwards(value))


class SortKeys:
    """What rows are compared by.

    :param types: of the columns of a row.
    """

    def __init__(self, order: Sequence[Ordering], types: Sequence[t.DataType]) -> None:
        self._parts = [(o.index, types[o.index], _part(o, types[o.index])) for o in order]

    def of_columns(self, arrays: Sequence[pa.Array], count: int) -> list[Any]:
        """Of all rows."""
        columns = [list(map(part, values_of(arrays[index], kind))) for index, kind, part in self._parts]
        if len(columns) == 1:
            return columns[0]
        return list(zip(*columns, strict=True)) if columns else [()] * count
