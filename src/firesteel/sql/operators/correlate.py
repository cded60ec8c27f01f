"""Table functions and UNNEST beside the rows that they are called for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql import types as t
from firesteel.sql.operators.base import RowwiseOperator
from firesteel.sql.operators.evaluation import Evaluation
from firesteel.sql.operators.objects import column_of_results, objects_of, row_fields
from firesteel.sql.operators.specs import Correlate
from firesteel.sql.types import RowType
from firesteel.sql.values import array_of, values_of
from firesteel.state.backend import OperatorState

__all__ = ["CorrelateOperator", "bare"]

Array = np.ndarray[Any, Any]
UNNEST: Final = "UNNEST"
UNNEST_WITH_ORDINALITY: Final = "UNNEST_WITH_ORDINALITY"
#: Its other arguments as often as the first one says: INTERSECT ALL and EXCEPT ALL.
REPLICATE_ROWS: Final = "REPLICATE_ROWS"


class CorrelateOperator(RowwiseOperator):
    spec: Correlate

    def __init__(self, program: OperatorProgram, spec: Correlate) -> None:
        super().__init__(program, spec)
        self._arguments = Evaluation(spec.arguments, spec.input, spec.functions)
        self._condition = (
            None if spec.condition is None else Evaluation((spec.condition,), spec.output, spec.functions)
        )
        fields = spec.output.fields[len(spec.input.fields) :]
        self._made = RowType(nullable=False, fields=fields)
        self._argument_types = tuple(a.type for a in spec.arguments)
        self._function: Any = None

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        self._arguments.open(context)
        if self._condition is not None:
            self._condition.open(context)
        definition = self.spec.functions.get(self.spec.function)
        if definition is not None:
            self._function = getattr(definition, "value", None) or definition

    def convert(self, columns: Columns) -> tuple[Columns, Array | None]:
        arguments = self._arguments.run(columns, self.watermark)
        if self._function is None and self.spec.function in (UNNEST, UNNEST_WITH_ORDINALITY):
            counts, made = self._unnested(arguments)
        elif self._function is None and self.spec.function == REPLICATE_ROWS:
            times = arguments[0].fill_null(0).to_numpy(zero_copy_only=False)
            counts = np.maximum(times, 0).astype(np.int64)
            repeated = pa.array(np.repeat(np.arange(len(columns)), counts))
            made = [a.take(repeated) for a in arguments[1:]]
        else:
            counts, made = self._called(columns, arguments)
        rows = np.repeat(np.arange(len(columns)), counts)
        if self._condition is not None and len(rows):
            pairs = Columns([*(a.take(pa.array(rows)) for a in columns.arrays), *made], len(rows))
            kept = np.flatnonzero(self._condition.mask(pairs, self.watermark))
            rows, made = rows[kept], [a.take(pa.array(kept)) for a in made]
        if self.spec.outer:
            rows, made = _with_the_lonely(rows, made, len(columns))
        left = columns.take(rows)
        return Columns([*left.arrays, *made], len(rows), left.kinds), rows

    # ---- UNNEST

    def _unnested(self, arguments: list[pa.Array]) -> tuple[Array, list[pa.Array]]:
        """The elements of collections side by side; of a shorter one nulls follow."""
        every = [
            [_elements(v, kind) for v in values_of(array, kind)]
            for array, kind in zip(arguments, self._argument_types, strict=True)
        ]
        counts = [max(map(len, lists)) for lists in zip(*every, strict=True)]
        made: list[pa.Array] = []
        for lists, kind in zip(every, self._argument_types, strict=True):
            flat: list[Any] = []
            for elements, count in zip(lists, counts, strict=True):
                flat += elements
                flat += [None] * (count - len(elements))
            width = _width(kind)
            types = self._made.types[len(made) : len(made) + (width or 1)]
            if width is None:
                made.append(array_of(flat, types[0]))
                continue
            none = (None,) * width
            fields: Any = (
                zip(*(none if e is None else e for e in flat), strict=True) if flat else ((),) * width
            )
            made += [array_of(list(c), d) for c, d in zip(fields, types, strict=True)]
        if self.spec.function == UNNEST_WITH_ORDINALITY:
            numbers = [i + 1 for count in counts for i in range(count)]
            made.append(array_of(numbers, self._made.types[-1]))
        return np.array(counts, np.int64), made

    # ---- functions

    def _called(self, columns: Columns, arguments: list[pa.Array]) -> tuple[Array, list[pa.Array]]:
        call = self._callable()
        lists = [objects_of(a, d) for a, d in zip(arguments, self._argument_types, strict=True)]
        each: Iterable[Any] = zip(*lists, strict=True) if lists else [()] * len(columns)
        counts: list[int] = []
        made: list[Any] = []
        for values in each:
            found = _rows_of(call(*values))
            counts.append(len(found))
            made += found
        width = len(self._made.fields)
        names = self._made.names
        if width == 1:
            fields: list[list[Any]] = [[bare(row) for row in made]]
        else:
            rows = [row_fields(row, names) for row in made]
            fields = [list(c) for c in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
        arrays = [column_of_results(c, f.data_type) for c, f in zip(fields, self._made.fields, strict=True)]
        return np.array(counts, np.int64), arrays

    def _callable(self) -> Any:
        function = self._function
        if function is None:
            from firesteel.sql.functions import named

            function = named(self.spec.function).value
        evaluate = getattr(function, "eval", None)
        return evaluate if callable(evaluate) else function

    def close(self) -> None:
        closing = getattr(self._function, "close", None)
        if callable(closing):
            closing()


def _rows_of(result: Any) -> list[Any]:
    if result is None:
        return []
    if isinstance(result, (str, bytes, tuple, dict)) or not isinstance(result, Iterable):
        return [result]
    return list(result)


def bare(row: Any) -> Any:
    """The value of a row of one column."""
    if isinstance(row, (tuple, list)) and len(row) == 1:
        return row[0]
    values = getattr(row, "_values", None)
    return values[0] if values is not None and len(values) == 1 else row


def _elements(value: Any, data_type: t.DataType) -> list[Any]:
    if value is None:
        return []
    if isinstance(data_type, t.MultisetType):
        return [element for element, count in value for _ in range(count)]
    return list(value)


def _width(data_type: t.DataType) -> int | None:
    """How many columns the elements of a collection have; None: they are one value."""
    if isinstance(data_type, t.MapType):
        return 2
    element = getattr(data_type, "element_type", None)
    return len(element.fields) if isinstance(element, t.RowType) else None


def _with_the_lonely(rows: Array, made: list[pa.Array], count: int) -> tuple[Array, list[pa.Array]]:
    """Rows for which nothing was made come with nulls, in their place."""
    lonely = np.setdiff1d(np.arange(count), rows)
    if not len(lonely):
        return rows, made
    every = np.concatenate([rows, lonely])
    order = np.argsort(every, kind="stable")
    places = np.concatenate([np.arange(len(rows)), np.full(len(lonely), -1)])[order]
    at = pa.array(places, mask=places < 0)
    return every[order], [a.take(at) for a in made]
