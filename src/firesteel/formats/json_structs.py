"""Decodes JSON messages of a row type directly to the values of the row.

This handles what almost all messages look like and raises for everything else. A message that it raises for
may still be a row by the rules of ``json_rows.py``. For messages that it can read, both give the same result.
"""

from __future__ import annotations

import base64
import datetime
from array import array
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Annotated, Any, Final, NamedTuple, TypeVar

import msgspec

from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.common.types import _make_row, _make_rows
from firesteel.formats.csv_columns import element_type

Convert = Callable[[Any], Any]


class _Read(NamedTuple):
    """The type that the library reads, and the conversion of its values; ``convert`` is None if they are
    unchanged."""

    kind: Any
    convert: Convert | None = None


class _Rows(NamedTuple):
    """The type that the library reads for a row type, and how rows are made of it."""

    kind: Any
    convert: Convert
    convert_all: Callable[[Iterable[Any]], list[Any]]


def _int_of(bits: int) -> _Read:
    bound = 1 << bits - 1
    return _Read(Annotated[int, msgspec.Meta(ge=-bound, le=bound - 1)])


def timestamp_of(text: str) -> datetime.datetime:
    """Parse a date and time; the result is in UTC if the text names a time zone."""
    value = datetime.datetime.fromisoformat(text[:-1] if text[-1:] == "Z" else text)  # a zone costs 0.7 us
    return value if value.tzinfo is None else _without_zone(value)


def time_of(text: str) -> datetime.time:
    """Parse a time of day; the result is in UTC if the text names a time zone."""
    value = datetime.time.fromisoformat(text[:-1] if text[-1:] == "Z" else text)
    return value if value.tzinfo is None else _without_zone(value)


def base64_of(text: str) -> bytes:
    """Decode base64."""
    return base64.b64decode(text, validate=True)  # otherwise characters outside the alphabet are ignored


T = TypeVar("T", datetime.datetime, datetime.time)


def _without_zone(value: T) -> T:
    if value.utcoffset():
        raise ValueError(f"not in UTC: {value.isoformat()}")
    return value.replace(tzinfo=None)


_BASIC: Final = {
    BasicType.STRING: _Read(str),
    BasicType.BOOLEAN: _Read(bool),
    BasicType.BYTE: _int_of(8),
    BasicType.SHORT: _int_of(16),
    BasicType.INT: _int_of(32),
    BasicType.LONG: _int_of(64),
    BasicType.BIG_INT: _Read(int),
    BasicType.FLOAT: _Read(float, lambda value: array("f", (value,))[0]),
    BasicType.DOUBLE: _Read(float),
    BasicType.BIG_DEC: _Read(Decimal),
}
_TIMES: Final[dict[type[TypeInformation], _Read]] = {
    TimestampTypeInfo: _Read(str, timestamp_of),
    TimeTypeInfo: _Read(str, time_of),
    DateTypeInfo: _Read(str, datetime.date.fromisoformat),
}


def struct_decoder(type_info: TypeInformation, strict: bool) -> Callable[[bytes], Any] | None:
    """Return the function from a message to its row, or None if the type is not supported. With ``strict`` a
    missing field raises."""
    rows = _rows(type_info, strict)
    if rows is None:
        return None
    parse, convert = msgspec.json.Decoder(rows.kind).decode, rows.convert
    return lambda message: convert(parse(message))


def struct_batch_decoder(
    type_info: TypeInformation, strict: bool
) -> Callable[[Iterable[bytes]], list[Any]] | None:
    """As ``struct_decoder``, for many messages at once."""
    rows = _rows(type_info, strict)
    if rows is None:
        return None
    parse, convert_all = msgspec.json.Decoder(rows.kind).decode, rows.convert_all
    return lambda messages: convert_all(map(parse, messages))


def struct_lines_decoder(type_info: TypeInformation, strict: bool) -> Callable[[bytes], list[Any]] | None:
    """As ``struct_decoder``, for many messages at once, one per line. Blank lines are skipped."""
    rows = _rows(type_info, strict)
    if rows is None:
        return None
    parse, convert_all = msgspec.json.Decoder(rows.kind).decode_lines, rows.convert_all
    return lambda lines: convert_all(parse(lines))


def _read(type_info: TypeInformation, strict: bool) -> _Read | None:
    if isinstance(type_info, BasicTypeInfo):
        return _BASIC.get(type_info._basic_type)
    if type(type_info) in _TIMES:
        return _TIMES[type(type_info)]
    if isinstance(type_info, RowTypeInfo):
        rows = _rows(type_info, strict)
        return None if rows is None else _Read(rows.kind, rows.convert)
    if isinstance(type_info, MapTypeInfo):
        item = _read(type_info._value_type_info, strict)
        if item is None or type_info._key_type_info != Types.STRING():
            return None
        convert = item.convert
        made = (
            None if convert is None else lambda d: {k: v if v is None else convert(v) for k, v in d.items()}
        )
        return _Read(dict.__class_getitem__((str, item.kind | None)), made)
    return _array(type_info, strict)


def _array(type_info: TypeInformation, strict: bool) -> _Read | None:
    element = element_type(type_info)
    if element is None:
        return None
    if element == Types.BYTE():  # base64 for some kinds of arrays, numbers for others
        return _Read(str, base64_of) if type_info == Types.PRIMITIVE_ARRAY(Types.BYTE()) else None
    item = _read(element, strict)
    if item is None:
        return None
    convert = item.convert
    made = None if convert is None else lambda items: [v if v is None else convert(v) for v in items]
    return _Read(list.__class_getitem__(item.kind | None), made)


def _rows(type_info: TypeInformation, strict: bool) -> _Rows | None:
    if not isinstance(type_info, RowTypeInfo):
        return None
    names = type_info.get_field_names()
    reads = [_read(type_, strict) for type_ in type_info.get_field_types()]
    known = [read for read in reads if read is not None]
    if len(known) < len(reads) or not names:
        return None
    default = () if strict else (None,)
    fields = [(f"f{i}", read.kind | None, *default) for i, read in enumerate(known)]
    struct = msgspec.defstruct(
        "Message", fields, rename=dict(zip([f[0] for f in fields], names, strict=True))
    )
    converts = [(i, read.convert) for i, read in enumerate(known) if read.convert is not None]
    values_of = msgspec.structs.astuple
    if not converts:
        return _Rows(
            struct,
            lambda message: _make_row(list(values_of(message)), names),
            lambda messages: _make_rows(map(list, map(values_of, messages)), names),
        )

    def make(message: Any) -> Any:  # hot
        values = list(values_of(message))
        for i, convert in converts:
            value = values[i]
            if value is not None:
                values[i] = convert(value)
        return _make_row(values, names)

    return _Rows(struct, make, lambda messages: list(map(make, messages)))
