"""Rows as Java prints them: ``+I[1, 2020-01-01T12:00, {a=1}]``. What the connector ``print`` writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.sql import types as t
from firesteel.sql.cast import cast_column
from firesteel.sql.values import unit_of, values_of

__all__ = ["KIND_NAMES", "KIND_TEXTS", "row_texts"]

KIND_TEXTS: Final = ("+I", "-U", "+U", "-D")
#: As Flink's ``RowKind`` calls them.
KIND_NAMES: Final = ("INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE")

_Text = Callable[[Any], str]


def row_texts(columns: Columns, row: t.RowType) -> Iterator[str]:
    """Each row as a line."""
    texts = [_texts(array, data_type) for array, data_type in zip(columns.arrays, row.types, strict=True)]
    kinds = columns.kinds_or_inserts().tolist()
    rows = zip(*texts, strict=True) if texts else [()] * len(columns)
    for kind, fields in zip(kinds, rows, strict=True):
        yield f"{KIND_TEXTS[kind]}[{', '.join(fields)}]"


_CAST: Final = (t.FloatType, t.DoubleType, t.DecimalType, t.DateType)


def _texts(array: pa.Array, data_type: t.DataType) -> list[str]:
    if isinstance(data_type, _CAST):
        texts = cast_column(array, data_type, t.VarCharType(), "UTC").to_pylist()
        return ["null" if v is None else v for v in texts]
    show = _shown(data_type)
    return ["null" if v is None else show(v) for v in values_of(array, data_type)]


def _shown(data_type: t.DataType) -> _Text:
    make = _SHOWN.get(type(data_type))
    return str if make is None else make(data_type)


def _nullable(data_type: t.DataType) -> _Text:
    show = _shown(data_type)
    return lambda value: "null" if value is None else show(value)


def _scalar(data_type: t.DataType) -> _Text:
    """By a cast of the single value: inside of arrays, maps and rows."""
    from firesteel.sql.values import array_of

    return lambda value: str(
        cast_column(array_of([value], data_type), data_type, t.VarCharType(), "UTC").to_pylist()[0]
    )


def _clock(nanos: int) -> str:
    """A time of day as ``LocalTime.toString``: seconds and their fraction where they are not 0."""
    seconds, fraction = divmod(nanos, 1_000_000_000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    if seconds % 60 or fraction:
        text += f":{seconds % 60:02d}"
    if fraction:
        digits = 3 if fraction % 1_000_000 == 0 else 6 if fraction % 1000 == 0 else 9
        text += f".{fraction // 10 ** (9 - digits):0{digits}d}"
    return text


def _date(days: int) -> str:
    from firesteel.sql.values import array_of

    found = cast_column(array_of([days], t.DateType()), t.DateType(), t.VarCharType(), "UTC")
    return str(found.to_pylist()[0])


def _of_timestamp(data_type: t.DataType) -> _Text:
    unit = unit_of(data_type)

    def show(value: int) -> str:
        days, rest = divmod(value, unit * 86_400)
        return f"{_date(days)}T{_clock(rest * (1_000_000_000 // unit))}"

    return show


def _of_instant(data_type: t.DataType) -> _Text:
    unit = unit_of(data_type)

    def show(value: int) -> str:
        days, rest = divmod(value, unit * 86_400)
        nanos = rest * (1_000_000_000 // unit)
        text = _clock(nanos)
        return f"{_date(days)}T{text if len(text) > 5 else text + ':00'}Z"

    return show


def _of_array(data_type: Any) -> _Text:
    show = _nullable(data_type.element_type)
    return lambda values: f"[{', '.join(map(show, values))}]"


def _of_pairs(key: t.DataType, value: t.DataType) -> _Text:
    keys, values = _nullable(key), _nullable(value)
    return lambda pairs: "{" + ", ".join(f"{keys(k)}={values(v)}" for k, v in pairs) + "}"


def _of_row(data_type: Any) -> _Text:
    shows = [_nullable(d) for d in data_type.types]
    return lambda fields: f"+I[{', '.join(s(v) for s, v in zip(shows, fields, strict=True))}]"


_SHOWN: Final[dict[type[t.DataType], Callable[[Any], _Text]]] = {
    t.BooleanType: lambda _: lambda value: "true" if value else "false",
    t.FloatType: _scalar,
    t.DoubleType: _scalar,
    t.DecimalType: _scalar,
    t.DateType: lambda _: _date,
    t.TimeType: lambda _: lambda ms: _clock(ms * 1_000_000),
    t.TimestampType: _of_timestamp,
    t.LocalZonedTimestampType: _of_instant,
    t.BinaryType: lambda _: lambda v: f"[{', '.join(str(b - 256 if b > 127 else b) for b in v)}]",
    t.VarBinaryType: lambda _: lambda v: f"[{', '.join(str(b - 256 if b > 127 else b) for b in v)}]",
    t.ArrayType: _of_array,
    t.MapType: lambda d: _of_pairs(d.key_type, d.value_type),
    t.MultisetType: lambda d: _of_pairs(d.element_type, t.IntType()),
    t.RowType: _of_row,
}
