"""The order of single rows that are compared one by one; of whole columns: ``ordering``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import total_ordering
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.expressions import Ordering
from firesteel.sql.operators.kernels.numbers import is_exact
from firesteel.sql.values import values_of

__all__ = ["SortKeys"]

Array = np.ndarray[Any, Any]

_INFINITE: Final = float("inf")
_LEAST: Final = -(2**63)


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


def _is_whole(data_type: t.DataType) -> bool:
    """Whether the Arrow column of a type is of whole numbers, of no more than 64 bits."""
    return bool(pa.types.is_integer(arrow_type(data_type)))


def _numbers(array: pa.Array, ascending: bool) -> Array | None:
    """What the values of a column of whole numbers without nulls are compared by; None: one of them has no
    negative of 64 bits."""
    values: Array = array.to_numpy().astype(np.int64, copy=False)
    if ascending:
        return values
    return None if len(values) and values.min() == _LEAST else -values


def _whole_numbers(array: pa.Array, ascending: bool) -> list[int]:
    numbers = _numbers(array, ascending)
    found: list[int] = [-v for v in array.to_pylist()] if numbers is None else numbers.tolist()
    return found


class SortKeys:
    """What rows are compared by.

    :param types: of the columns of a row.
    """

    def __init__(self, order: Sequence[Ordering], types: Sequence[t.DataType]) -> None:
        self._parts = [
            (o.index, types[o.index], _part(o, types[o.index]), o.ascending, _is_whole(types[o.index]))
            for o in order
        ]

    def numbers(self, arrays: Sequence[pa.Array]) -> Array | None:
        """The same as ``of_columns`` where all rows are compared by one whole number of 64 bits each; None:
        they are not."""
        if len(self._parts) != 1:
            return None
        index, _, _, ascending, is_whole = self._parts[0]
        if not is_whole or arrays[index].null_count:
            return None
        return _numbers(arrays[index], ascending)

    def of_columns(self, arrays: Sequence[pa.Array], count: int) -> list[Any]:
        """Of all rows."""
        columns = [
            _whole_numbers(arrays[index], ascending)
            if is_whole and not arrays[index].null_count
            else list(map(part, values_of(arrays[index], kind)))
            for index, kind, part, ascending, is_whole in self._parts
        ]
        if len(columns) == 1:
            return columns[0]
        return list(zip(*columns, strict=True)) if columns else [()] * count
