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
from firesteel.sql.operators.objects import column_of_objects, objects_of, row_fields
from firesteel.sql.operators.specs import Correlate
from firesteel.sql.types import RowType
from firesteel.sql.values import array_of, values_of
from firesteel.state.backend import OperatorState

__all__ = ["CorrelateOperator", "bare"]

Array = np.ndarray[Any, Any]
UNNEST: Final = "UNNEST"
UNNEST_WITH_ORDINALITY: Final = "UNNEST_WITH_ORDINALITY"


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
            counts, made = self._unnested(arguments[0])
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

    def _unnested(self, argument: pa.Array) -> tuple[Array, list[pa.Array]]:
        data_type = self._argument_types[0]
        values = values_of(argument, data_type)
        lists = [_elements(v, data_type) for v in values]
        counts = np.array([len(e) for e in lists], np.int64)
        flat: list[Any] = [e for elements in lists for e in elements]
        width = len(self._made.fields)
        ordinal: list[pa.Array] = []
        types = self._made.types
        if self.spec.function == UNNEST_WITH_ORDINALITY:
            numbers = [i + 1 for elements in lists for i in range(len(elements))]
            ordinal = [array_of(numbers, types[-1])]
            width, types = width - 1, types[:-1]
        if _are_rows(data_type):
            none = (None,) * width
            columns: Any = (
                zip(*(none if e is None else e for e in flat), strict=True) if flat else ((),) * width
            )
            return counts, [array_of(list(c), d) for c, d in zip(columns, types, strict=True)] + ordinal
        return counts, [array_of(flat, types[0]), *ordinal]

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
        arrays = [column_of_objects(c, f.data_type) for c, f in zip(fields, self._made.fields, strict=True)]
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


def _are_rows(data_type: t.DataType) -> bool:
    """Whether the elements of a collection have several columns."""
    if isinstance(data_type, t.MapType):
        return True
    element = getattr(data_type, "element_type", None)
    return isinstance(element, t.RowType)


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
