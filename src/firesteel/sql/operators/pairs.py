"""Pairs of rows: what a join makes of those that belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.sql.expressions import Expression
from firesteel.sql.operators.evaluation import Evaluation
from firesteel.sql.types import RowType

__all__ = ["NO_ROW", "PADS_LEFT", "PADS_RIGHT", "Pairs", "null_keys", "paired", "taken"]

Array = np.ndarray[Any, Any]
NO_ROW: Final = -1
#: Kinds of joins whose left (right) rows without a partner are in the result, beside nulls.
PADS_LEFT: Final = ("LEFT", "FULL")
PADS_RIGHT: Final = ("RIGHT", "FULL")


def paired(left: Columns, right: Columns, at: Array, of: Array) -> list[pa.Array]:
    """The columns of rows *at* of left beside rows *of* of right; ``NO_ROW`` gives nulls."""
    return [*taken(left.arrays, at), *taken(right.arrays, of)]


def taken(arrays: Sequence[pa.Array], rows: Array) -> list[pa.Array]:
    """Rows of columns; ``NO_ROW`` gives nulls."""
    missing = rows == NO_ROW
    if missing.all():
        return [pa.nulls(len(rows), a.type) for a in arrays]
    places = pa.array(rows, pa.int64(), mask=missing) if missing.any() else pa.array(rows, pa.int64())
    return [a.take(places) for a in arrays]


def null_keys(columns: Columns, keys: tuple[int, ...], null_safe: tuple[bool, ...]) -> Array:
    """Which rows have a null in their key where that equals nothing."""
    found = np.zeros(len(columns), bool)
    for position, key in enumerate(keys):
        array = columns.arrays[key]
        if array.null_count and not (null_safe and null_safe[position]):
            found |= array.is_null().to_numpy(zero_copy_only=False)
    return found


class Pairs:
    """The condition of a join beside the equality of keys.

    :param condition: over the columns of left, then right.
    """

    def __init__(
        self, left: RowType, right: RowType, condition: Expression | None, functions: Mapping[str, Any]
    ) -> None:
        both = RowType(nullable=False, fields=(*left.fields, *right.fields))
        self._condition = None if condition is None else Evaluation((condition,), both, functions)

    def open(self, context: SubtaskContext) -> None:
        if self._condition is not None:
            self._condition.open(context)

    def matching(self, left: Columns, right: Columns, at: Array, of: Array) -> Array:
        """Which of the pairs fulfil the condition."""
        if self._condition is None:
            return np.ones(len(at), bool)
        return self.fulfilled(paired(left, right, at, of), len(at))

    def fulfilled(self, arrays: Sequence[pa.Array], count: int) -> Array:
        """The same of pairs whose columns are side by side."""
        if self._condition is None or not count:
            return np.ones(count, bool)
        return self._condition.mask(Columns(arrays, count))
