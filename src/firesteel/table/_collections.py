"""Collections, DataFrames and Arrow tables as tables, and results as those."""

from __future__ import annotations

import datetime
import decimal
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.common.columns import DELETE, UPDATE_BEFORE, Columns
from firesteel.common.errors import ProgramError, TypeMismatchError
from firesteel.common.time import Instant
from firesteel.common.types import Row
from firesteel.program.execution import Arrived
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_schema, logical_of_arrow
from firesteel.sql.operators.convert import columns_of
from firesteel.sql.schema import DeclaredSchema
from firesteel.sql.type_rules import common_type
from firesteel.table._conversions import logical_type
from firesteel.table._streams import CollectionTable
from firesteel.table._user_types import holds_user_types, stored, unwrapping
from firesteel.table._verifying import verify as verified
from firesteel.table.result_kind import ResultKind
from firesteel.table.table_result import TableResult
from firesteel.table.types import DataType

__all__ = ["counts", "final_arrow", "of_arrow", "of_elements", "of_pandas", "ok", "rows_result", "to_pandas"]

Made = tuple[DeclaredSchema, CollectionTable]


# ---- in


def of_elements(elements: Iterable[Any], schema: Any, verify: bool) -> Made:
    """:param schema: a row type, a type of the only column, or names of columns.
    :param verify: whether elements must be of the declared type as they are.
    """
    found = _rows(elements)
    names: list[str] | None = None
    if schema is None or (isinstance(schema, list | tuple) and all(isinstance(n, str) for n in schema)):
        names = list(schema) if schema is not None else None
        row = inferred_row(found, names)
        if any(map(holds_user_types, found)):
            found = [stored(element) for element in found]
    elif isinstance(schema, DataType):
        logical = logical_type(schema)
        unwrap = unwrapping(schema)
        if unwrap is not None:
            found = [None if element is None else unwrap(element) for element in found]
        for i, element in enumerate(found if verify else ()):
            verified(element, logical, f"Element {i}")
        if isinstance(logical, t.RowType):
            row = t.RowType.of(logical.names, logical.types)
        else:
            row = t.RowType.of(["value"], [logical])
    else:
        raise ProgramError("schema should be a DataType or a list of names.", detail=f"got {schema!r}")
    if len(row.fields) == 1:
        found = [x if isinstance(x, Row | tuple | list) else (x,) for x in found]
    return _made(columns_of(found, row), row)


def _rows(elements: Any) -> list[Any]:
    if isinstance(elements, str | bytes) or not isinstance(elements, Iterable):
        raise ProgramError("from_elements() takes rows.", detail=f"got {elements!r}")
    return list(elements)


def _made(columns: Columns, row: t.RowType) -> Made:
    return DeclaredSchema.of(row), CollectionTable.of(columns)


def inferred_row(rows: Sequence[Any], names: Sequence[str] | None) -> t.RowType:
    """The types of all rows together, as PyFlink finds them."""
    if not rows:
        raise ProgramError("can not infer schema from empty data set", hint="pass a schema")
    fields: dict[str, t.DataType] = {}
    for found in rows:
        for name, value in _fields(found, names):
            fields[name] = merged(name, fields.get(name), inferred(value))
    null = [name for name, d in fields.items() if isinstance(d, t.NullType)]
    if null:
        raise ProgramError(
            "Some column types cannot be determined after inferring.",
            detail=", ".join(null),
            hint="pass a schema with their types",
        )
    return t.RowType.of(list(fields), list(fields.values()))


def _fields(row: Any, names: Sequence[str] | None) -> list[tuple[str, Any]]:
    if isinstance(row, dict):
        return list(row.items())
    if isinstance(row, Row):
        own = row._fields
        values = list(row)
        called = names or own
    elif isinstance(row, list | tuple):
        values = list(row)
        called = names or getattr(row, "_fields", None)
    elif hasattr(row, "__dict__") and not isinstance(row, Instant):
        return sorted(vars(row).items())
    else:
        values, called = [row], names
    if not called:
        called = [f"_{i}" for i in range(1, len(values) + 1)]
    called = [*called, *(f"_{i}" for i in range(len(called) + 1, len(values) + 1))]
    return list(zip(called, values, strict=False))


_PLAIN: list[tuple[Any, Callable[[Any], t.DataType]]] = [
    (bool, lambda _: t.BooleanType()),
    (int, lambda _: t.BigIntType()),
    (float, lambda _: t.DoubleType()),
    (str, lambda _: t.VarCharType()),
    ((bytes, bytearray), lambda _: t.VarBinaryType()),
    (decimal.Decimal, lambda _: t.DecimalType(38, 18)),
    (datetime.datetime, lambda _: t.LocalZonedTimestampType(6)),  # without a zone it is one in UTC
    (Instant, lambda _: t.LocalZonedTimestampType(9)),
    (datetime.date, lambda _: t.DateType()),
    (datetime.time, lambda _: t.TimeType(0)),
    (datetime.timedelta, lambda _: t.DayTimeIntervalType("DAY_TO_SECOND", 2, 6)),
    (np.ndarray, lambda v: t.ArrayType(inferred(v[0].item() if len(v) else None))),
    (array, lambda v: t.ArrayType(_of_typecode(v.typecode).not_null())),
]

#: The smallest type that holds all numbers of a typecode. There is none for unsigned numbers of 64 bits.
_TYPECODES: Final[Mapping[str, t.DataType]] = {
    "b": t.TinyIntType(),
    "B": t.SmallIntType(),
    "h": t.SmallIntType(),
    "H": t.IntType(),
    "i": t.IntType(),
    "I": t.BigIntType(),
    "l": t.BigIntType(),
    "q": t.BigIntType(),
    "f": t.FloatType(),
    "d": t.DoubleType(),
    "u": t.CharType(1),
}


def _of_typecode(code: str) -> t.DataType:
    found = _TYPECODES.get(code)
    if found is None:
        raise TypeMismatchError(
            f"not supported type: array({code})", hint="pass a schema, or a list of numbers that fit a BIGINT"
        )
    return found


def inferred(value: Any) -> t.DataType:
    """The type of a value, as PyFlink finds it."""
    if value is None:
        return t.NullType()
    if hasattr(type(value), "__UDT__"):
        return logical_type(value.__UDT__)
    if isinstance(value, dict):
        for key, item in value.items():
            if key is not None and item is not None:
                return t.MapType(inferred(key).not_null(), inferred(item))
        return t.MapType(t.NullType(), t.NullType())
    if isinstance(value, Row):
        fields = _fields(value, None)
        return t.RowType(fields=tuple(t.RowField(n, inferred(v)) for n, v in fields))
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        if isinstance(value, tuple):
            return t.RowType(fields=tuple(t.RowField(n, inferred(v)) for n, v in _fields(value, None)))
        found: t.DataType = t.NullType()
        for item in value:
            found = merged("an array", found, inferred(item))
        return t.ArrayType(found)
    for kind, make in _PLAIN:
        if isinstance(value, kind):
            return make(value)
    if isinstance(value, np.generic):
        return inferred(value.item())
    return t.RowType(fields=tuple(t.RowField(n, inferred(v)) for n, v in _fields(value, None)))


def merged(name: str, known: t.DataType | None, found: t.DataType) -> t.DataType:
    if known is None or isinstance(known, t.NullType):
        return found
    if isinstance(found, t.NullType) or known == found:
        return known
    both = common_type((known, found))
    if both is None or type(known) is not type(found):
        raise TypeMismatchError(f"Can not merge type {known} and {found}.", detail=f"the values of {name!r}")
    return both


def of_pandas(pdf: Any, schema: Any) -> Made:
    """:param schema: names of columns, types of columns, a row type, or None."""
    import pandas as pd

    if not isinstance(pdf, pd.DataFrame):
        raise TypeError(f"Unsupported type, expected pandas.DataFrame, got {type(pdf)}")
    table = pa.Table.from_pandas(pdf, preserve_index=False)
    names, types = [str(n) for n in pdf.columns], [logical_of_arrow(f.type) for f in table.schema]
    if schema is not None:
        if isinstance(schema, list | tuple) and all(isinstance(s, str) for s in schema):
            names = list(schema)
        elif isinstance(schema, list | tuple) and all(isinstance(s, DataType) for s in schema):
            types = [logical_type(s) for s in schema]
        elif isinstance(schema, DataType):
            logical = logical_type(schema)
            if not isinstance(logical, t.RowType):
                raise ProgramError("The schema of from_pandas() is a ROW.", detail=f"got {schema!r}")
            names, types = list(logical.names), list(logical.types)
        else:
            raise TypeError(
                "Unsupported schema type, it could only be of DataType, List[str] or List[DataType], "
                f"got {schema}"
            )
    if len(names) != len(table.schema) or len(types) != len(table.schema):
        raise ProgramError(
            "The schema has another number of columns than the DataFrame.",
            detail=f"{len(names)} and {len(table.schema)}",
        )
    row = t.RowType.of(names, types)
    return _made(columns_of([table.rename_columns(names)], row), row)


def of_arrow(table: Any) -> Made:
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    if not isinstance(table, pa.Table):
        raise ProgramError("from_arrow() takes an Arrow table or record batch.", detail=f"got {table!r}")
    types = [logical_of_arrow(f.type).with_nullability(f.nullable) for f in table.schema]
    row = t.RowType.of(list(table.schema.names), types)
    return _made(columns_of([table], row), row)


# ---- out


def final_arrow(row: t.RowType, parts: Iterator[Columns]) -> pa.Table:
    """The rows that are left when all changes are applied."""
    schema = arrow_schema(row)
    every = list(parts)
    if not every:
        return schema.empty_table()
    columns = Columns.concat(every)
    if columns.kinds is not None and bool(
        ((columns.kinds == UPDATE_BEFORE) | (columns.kinds == DELETE)).any()
    ):
        columns = _left(columns)
    return pa.Table.from_arrays(list(columns.arrays), schema=schema)


def _left(columns: Columns) -> Columns:
    """Without the rows that were taken back: each retraction removes the first equal row that is there."""
    kinds = columns.kinds_or_inserts()
    there: dict[Any, list[int]] = {}
    alive = np.ones(len(columns), bool)
    for i, (kind, found) in enumerate(zip(kinds.tolist(), columns.rows(), strict=True)):
        key = repr(found)
        if kind in (UPDATE_BEFORE, DELETE):
            alive[i] = False
            places = there.get(key)
            if places:
                alive[places.pop(0)] = False
        else:
            there.setdefault(key, []).append(i)
    return columns.filter(alive)


def to_pandas(row: t.RowType, parts: Iterator[Columns], zone: str) -> Any:
    """A DataFrame; instants are in the session's zone."""
    import pandas as pd

    table = final_arrow(row, parts)
    series = {}
    for i, (name, data_type) in enumerate(zip(row.names, row.types, strict=True)):
        array = table.column(i)
        if isinstance(data_type, t.TimestampType | t.LocalZonedTimestampType) and not data_type.precision:
            array = array.cast(pa.timestamp("s", array.type.tz))
        column = array.to_pandas()
        if isinstance(data_type, t.LocalZonedTimestampType):
            column = column.dt.tz_convert(zone)
        series[i] = column.rename(name)
    return pd.concat(series.values(), axis=1) if series else pd.DataFrame(index=range(table.num_rows))


# ---- small results


class _Few(Iterator[Columns]):
    """Implements ``program.execution.Arriving``."""

    def __init__(self, columns: Columns, is_count: bool = False) -> None:
        self._columns: Columns | None = columns
        self.is_count = is_count

    def arrived(self, count: int, wait_s: float | None) -> Arrived:
        return Arrived([] if self._columns is None else [self._columns], True)

    def __next__(self) -> Columns:
        columns, self._columns = self._columns, None
        if columns is None:
            raise StopIteration
        return columns


def rows_result(env: Any, row: t.RowType, rows: Sequence[Sequence[Any]], **more: Any) -> TableResult:
    """The result of a statement that is answered at once."""
    columns = columns_of([tuple(r) for r in rows], row)
    made: TableResult = env._result(row, _Few(columns), streaming=False, **more)
    return made


def ok(env: Any) -> TableResult:
    """``OK``."""
    row = t.RowType.of(["result"], [t.VarCharType()])
    made: TableResult = env._result(
        row, _Few(columns_of([("OK",)], row)), streaming=False, kind=ResultKind.SUCCESS, plain=True
    )
    return made


def counts(env: Any, names: Sequence[str], client: Any) -> TableResult:
    """Of an INSERT: -1 for each sink, as in Flink."""
    row = t.RowType.of(list(names), [t.BigIntType() for _ in names])
    columns = columns_of([(-1,) * len(names)], row)
    made: TableResult = env._result(
        row, _Few(columns, is_count=True), streaming=False, client=client, plain=True
    )
    return made
