"""The borders of a table program: objects to columns, and columns to rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.common.columns import INSERT, Columns
from firesteel.common.errors import TypeMismatchError
from firesteel.common.types import Row, RowKind, _make_rows
from firesteel.runtime.batch import NO_TIMESTAMP, Batch, Mark
from firesteel.runtime.operators.base import BaseOperator
from firesteel.runtime.program import OperatorProgram
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_schema, arrow_type
from firesteel.sql.operators.base import column_batch
from firesteel.sql.operators.objects import column_of_objects, objects_of, row_fields
from firesteel.sql.operators.specs import ToColumns, ToRows
from firesteel.sql.values import unit_of

__all__ = ["ToColumnsOperator", "ToRowsOperator", "columns_of"]

_KINDS: Final = tuple(RowKind)
_ROWS: Final = (Row, tuple, list, dict)


def columns_of(values: Sequence[Any], row: t.RowType, kinds: bool = False) -> Columns:
    """The columns of *row* for objects: rows, or, of one column, bare values."""
    whole = [value for value in values if _is_table(value)]
    if whole:
        if len(whole) < len(values):
            return Columns.concat([columns_of([value], row, kinds) for value in values])
        return Columns.concat([_of_table(value, row) for value in values])
    count = len(values)
    of_rows: np.ndarray[Any, Any] | None = None
    if kinds:
        found = [v._row_kind.value if isinstance(v, Row) else INSERT for v in values]
        of_rows = np.array(found, np.int8) if any(found) else None
    names = row.names
    if len(names) == 1 and _are_bare(values, row.fields[0]):
        fields: Any = [values]
    else:
        rows = [row_fields(v, names) for v in values]
        wrong = next((i for i, r in enumerate(rows) if len(r) != len(names)), None)
        if wrong is not None:
            raise TypeMismatchError(
                f"A row of {len(rows[wrong])} fields came where {len(names)} columns are declared.",
                detail=f"{values[wrong]!r:.200} for {row}",
            )
        fields = zip(*rows, strict=True) if rows else [()] * len(names)
    arrays = [_column(list(c), f) for c, f in zip(fields, row.fields, strict=True)]
    return Columns(arrays, count, of_rows)


def _are_bare(values: Sequence[Any], column: t.RowField) -> bool:
    """Whether the values of one column come without rows around them."""
    if isinstance(column.data_type, t.ArrayType) and all(isinstance(v, list) for v in values):
        return not all(len(v) == 1 and isinstance(v[0], list | None) for v in values)
    if isinstance(column.data_type, t.MapType) and all(isinstance(v, dict) for v in values):
        return True
    return not all(isinstance(v, _ROWS) or hasattr(v, column.name) for v in values)


def _column(values: list[Any], column: t.RowField) -> pa.Array:
    try:
        return column_of_objects(values, column.data_type)
    except (
        pa.ArrowInvalid,
        pa.ArrowTypeError,
        TypeError,
        ValueError,
        AttributeError,
        OverflowError,
    ) as error:
        raise TypeMismatchError(
            f"A value does not fit the column {column.name!r} of type {column.data_type}.",
            detail=f"{type(error).__name__}: {error}",
        ) from error


def _is_table(value: Any) -> bool:
    if isinstance(value, (Columns, pa.Table, pa.RecordBatch)):
        return True
    return type(value).__module__.startswith("pandas.") and type(value).__name__ == "DataFrame"


def _of_table(value: Any, row: t.RowType) -> Columns:
    if isinstance(value, Columns):
        return value
    if not isinstance(value, (pa.Table, pa.RecordBatch)):
        value = pa.Table.from_pandas(value, preserve_index=False)
    schema = arrow_schema(row)
    names = value.schema.names
    by_name = set(row.names) <= set(names)
    arrays = []
    for i, field in enumerate(schema):
        column = value.column(names.index(field.name) if by_name else i)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
            if isinstance(column, pa.ChunkedArray):
                column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        arrays.append(column if column.type == field.type else column.cast(field.type))
    return Columns(arrays, value.num_rows)


class ToColumnsOperator(BaseOperator):
    """Objects in, columns out."""

    def __init__(self, program: OperatorProgram, spec: ToColumns) -> None:
        super().__init__(program)
        self._spec = spec
        self._rowtime: tuple[pa.DataType, int] | None = None
        self._read = spec.output
        if spec.rowtime is not None:
            data_type = spec.output.fields[spec.rowtime].data_type
            self._rowtime = arrow_type(data_type), unit_of(data_type) // 1000
            fields = tuple(f for i, f in enumerate(spec.output.fields) if i != spec.rowtime)
            self._read = t.RowType(nullable=False, fields=fields)

    def process(self, batch: Batch, input_index: int = 0) -> None:
        values = batch.values
        self.records_in += len(values)
        columns, marks = None, batch.marks
        if len(values):
            columns = columns_of(values, self._read, self._spec.kinds)
            stamps: Any = batch.timestamps
            if len(columns) != len(values):  # tables in place of rows
                sizes = [len(columns_of([v], self._read)) for v in values]
                ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
                marks = [(int(ends[at]), mark) for at, mark in marks]
                stamps = None if stamps is None else np.repeat(np.asarray(stamps, np.int64), sizes)
            if self._rowtime is not None:
                columns = self._with_rowtime(columns, stamps)
        if columns is not None or marks:
            self.outputs.main.emit(column_batch(columns, marks))

    def _with_rowtime(self, columns: Columns, stamps: Any) -> Columns:
        assert self._rowtime is not None
        assert self._spec.rowtime is not None
        kind, per_ms = self._rowtime
        if stamps is None:
            raise TypeMismatchError(
                "A record without a timestamp came to a table with a rowtime column.",
                hint="assign timestamps and watermarks before the stream becomes a table",
            )
        instants = np.asarray(stamps, np.int64)
        none = instants == NO_TIMESTAMP
        ticks = np.where(none, 0, instants) * per_ms
        times = pa.array(ticks, pa.int64(), mask=none if none.any() else None).view(kind)
        at = self._spec.rowtime
        return columns.with_arrays((*columns.arrays[:at], times, *columns.arrays[at:]))


class ToRowsOperator(BaseOperator):
    """Columns in, Row objects out."""

    def __init__(self, program: OperatorProgram, spec: ToRows) -> None:
        super().__init__(program)
        self._spec = spec
        gone = None if spec.keeps_rowtime else spec.rowtime
        self._places = [i for i in range(len(spec.input.fields)) if i != gone]
        self._names = [spec.input.names[i] for i in self._places]

    def process(self, batch: Batch, input_index: int = 0) -> None:
        columns: Any = batch.values
        self.records_in += len(columns)
        rows: list[Any] = []
        stamps = None
        marks: Sequence[tuple[int, Mark]] = batch.marks
        if len(columns):
            rows = self._rows(columns)
            stamps = self._stamps(columns)
        if rows or marks:
            self.outputs.main.emit(Batch(rows, stamps, marks))

    def _rows(self, columns: Columns) -> list[Row]:
        spec = self._spec
        types = spec.input.types
        fields = [objects_of(columns.arrays[i], types[i]) for i in self._places]
        lists = [list(r) for r in zip(*fields, strict=True)] if fields else [[] for _ in range(len(columns))]
        rows = _make_rows(lists, self._names)
        if columns.kinds is not None:
            if spec.kinds:
                for row, kind in zip(rows, columns.kinds.tolist(), strict=True):
                    row._row_kind = _KINDS[kind]
            elif columns.kinds.any():
                at = int(np.flatnonzero(columns.kinds)[0])
                raise TypeMismatchError(
                    "A row that is not an INSERT came to a stream of insertions.",
                    detail=f"it is {_KINDS[int(columns.kinds[at])].name}: {rows[at]!r:.200}",
                    hint="use to_changelog_stream()",
                )
        return rows

    def _stamps(self, columns: Columns) -> list[int] | None:
        at = self._spec.rowtime
        if at is None:
            return None
        per_ms = unit_of(self._spec.input.fields[at].data_type) // 1000
        times = columns.arrays[at].view(pa.int64())
        stamps = times.fill_null(0).to_numpy(zero_copy_only=False) // per_ms
        found: list[int] = stamps.tolist()
        if times.null_count:
            missing = np.flatnonzero(times.is_null().to_numpy(zero_copy_only=False)).tolist()
            for i in missing:
                found[i] = NO_TIMESTAMP
        return found
