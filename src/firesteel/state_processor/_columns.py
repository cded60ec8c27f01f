"""What a value of state is as columns of a table.

A value of a declared type is one column of that type. What may be any Python object is two: its pickle
(binary), from which it can be written again, and its ``repr`` as text, to look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from firesteel.common._coerce_values import Mismatch
from firesteel.common._coercion import compile_value_coercion, shown
from firesteel.common._composite_types import ExternalTypeInfo, RowTypeInfo, TupleTypeInfo
from firesteel.common.errors import FiresteelError, TypeMismatchError, UnsupportedFeatureError
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.formats.arrow_values import to_arrow_converter
from firesteel.formats.types_to_arrow import to_arrow_type
from firesteel.state._value_codec import dumps

_BATCH_ROWS: Final = 2048
TEXT: Final = "_text"


@dataclass(frozen=True, slots=True)
class ColumnOf:
    """One part of each row.

    :param type_info: its type; None: any Python object.
    """

    name: str
    type_info: TypeInformation | None

    @property
    def fields(self) -> list[pa.Field]:
        arrow = arrow_type(self.type_info)
        if arrow is not None:
            return [pa.field(self.name, arrow)]
        return [pa.field(self.name, pa.binary()), pa.field(self.name + TEXT, pa.string())]

    def writer(self) -> Callable[[Sequence[Any]], list[pa.Array]]:
        """Makes the columns of many values at once."""
        arrow = arrow_type(self.type_info)
        if arrow is None or self.type_info is None:
            return _of_objects
        prepare = self._preparation(self.type_info)

        def of_type(values: Sequence[Any]) -> list[pa.Array]:
            return [pa.array([None if v is None else prepare(v) for v in values], arrow)]

        return of_type

    def _preparation(self, type_info: TypeInformation) -> Callable[[Any], Any]:
        coerce, convert = compile_value_coercion(type_info, self._misfit), to_arrow_converter(type_info)
        if coerce is None:
            return convert or _same
        if convert is None:
            return coerce
        return lambda value: convert(coerce(value))

    def _misfit(
        self, value: Any, index: int, declared: TypeInformation, mismatch: Mismatch
    ) -> FiresteelError:
        return TypeMismatchError(
            f"{shown(value)} is stored where {declared} is expected: {mismatch.reason}",
            detail=f"in the column {self.name!r}",
            hint="name the type that was stored; without one the column has any object",
        )


def _same(value: Any) -> Any:
    return value


def _of_objects(values: Sequence[Any]) -> list[pa.Array]:
    return [
        pa.array([None if v is None else dumps(v) for v in values], pa.binary()),
        pa.array([None if v is None else _text(v) for v in values], pa.string()),
    ]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


def arrow_type(type_info: TypeInformation | None) -> Any:
    """The type of the column; None where it is any object."""
    if type_info is None:
        return None
    try:
        return to_arrow_type(type_info)
    except UnsupportedFeatureError:
        return None


def columns_of_output(type_info: TypeInformation | None) -> tuple[ColumnOf, ...]:
    """The columns of what a function gives: a row or a tuple has one for each field."""
    inner = type_info
    while isinstance(inner, ExternalTypeInfo):
        inner = inner._type_info
    match inner:
        case RowTypeInfo():
            pairs = zip(inner.get_field_names(), inner.get_field_types(), strict=True)
            return tuple(ColumnOf(name, type_) for name, type_ in pairs)
        case TupleTypeInfo():
            return tuple(ColumnOf(f"f{i}", type_) for i, type_ in enumerate(inner.get_field_types()))
    return (ColumnOf("value", inner),)


def is_single(columns: Sequence[ColumnOf]) -> bool:
    """Whether what a function gives is the value of the one column itself, and not a row of several."""
    return len(columns) == 1 and columns[0].name == "value"


def schema_of(columns: Iterable[ColumnOf]) -> pa.Schema:
    return pa.schema([field for column in columns for field in column.fields])


def batches_of(columns: Sequence[ColumnOf], rows: Iterable[Sequence[Any]]) -> Iterator[pa.RecordBatch]:
    """Rows, one value for each column, as batches of a table."""
    schema, writers = schema_of(columns), [column.writer() for column in columns]
    rows = iter(rows)
    while some := list(islice(rows, _BATCH_ROWS)):
        values = zip(*some, strict=True)
        arrays = [array for write, part in zip(writers, values, strict=True) for array in write(part)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


LONG: Final = Types.LONG()
