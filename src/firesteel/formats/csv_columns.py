"""Converts the text of a CSV column to values of its declared type, a whole column at a time.

Numbers are parsed as in Java (Flink: ``CsvToRowDataConverters``): surrounding blanks are ignored; ``1_000``
and ``inf`` are errors; ``Infinity``, ``1.5f`` and hexadecimal floats are valid.
"""

from __future__ import annotations

import datetime
import re
from array import array
from base64 import b64decode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from math import isfinite
from typing import Any, Final

from firesteel.common.errors import ConfigurationError
from firesteel.common.typeinfo import (
    BasicArrayTypeInfo,
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ListTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.common.types import Row

ColumnConverter = Callable[[Sequence[str]], list[Any]]

_FLOAT: Final = re.compile(r"[+-]?(NaN|Infinity|((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)[fFdD]?)")
_HEX_FLOAT: Final = re.compile(r"([+-]?0[xX][0-9a-fA-F.]+[pP][+-]?\d+)[fFdD]?")
_WIDE: Final = Context(prec=100)
_BYTE: Final = Types.BYTE()


@dataclass(frozen=True, slots=True)
class Column:
    """A column and its type. ``separator`` separates the elements of an array (empty: one element); decimals
    are rounded half up to ``scale`` digits."""

    name: str
    type: TypeInformation
    separator: str = ";"
    scale: int | None = None


def _string(texts: Sequence[str]) -> list[Any]:
    return list(texts)


def _integer(bounds: tuple[int, int] | None) -> ColumnConverter:
    def convert(texts: Sequence[str]) -> list[Any]:  # hot
        values = list(map(int, texts))
        if bounds is not None and values and (min(values) < bounds[0] or max(values) > bounds[1]):
            raise ValueError("out of range")
        if "_" in "".join(texts):
            raise ValueError("not a number")
        return values

    return convert


def _bits(count: int) -> ColumnConverter:
    return _integer((-(1 << count - 1), (1 << count - 1) - 1))


def _java_float(text: str) -> float:
    text = text.strip()
    if match := _HEX_FLOAT.fullmatch(text):
        return float.fromhex(match[1])
    if not _FLOAT.fullmatch(text):
        raise ValueError("not a number")
    return float(text.rstrip("fFdD") if text[-1] in "fFdD" else text)


def _double(texts: Sequence[str]) -> list[Any]:  # hot
    try:
        values = list(map(float, texts))
    except ValueError:
        return list(map(_java_float, texts))
    if not isfinite(sum(values)) or "_" in "".join(texts):  # inf, nan: Python takes more spellings than Java
        return list(map(_java_float, texts))
    return values


def _float(texts: Sequence[str]) -> list[Any]:
    return array("f", _double(texts)).tolist()


def _boolean(texts: Sequence[str]) -> list[Any]:
    return [text == "true" or text.strip().lower() == "true" for text in texts]


def _decimal(scale: int | None) -> ColumnConverter:
    quantum = None if scale is None else Decimal(1).scaleb(-scale)

    def one(text: str) -> Decimal:
        try:
            value = Decimal(text.strip())
        except InvalidOperation as error:
            raise ValueError("not a number") from error
        if not value.is_finite() or "_" in text:
            raise ValueError("not a number")
        return value if quantum is None else value.quantize(quantum, ROUND_HALF_UP, _WIDE)

    return lambda texts: [one(text) for text in texts]


def _each(function: Callable[[str], Any]) -> ColumnConverter:
    return lambda texts: [function(text.strip()) for text in texts]


def _from_base64(text: str) -> bytes:
    return b64decode(text, validate=True)


def _character(text: str) -> str:
    if len(text) != 1:
        raise ValueError("not one character")
    return text


_BASIC: Final[dict[BasicType, ColumnConverter]] = {
    BasicType.STRING: _string,
    BasicType.CHAR: lambda texts: [_character(text) for text in texts],
    BasicType.BOOLEAN: _boolean,
    BasicType.BYTE: _bits(8),
    BasicType.SHORT: _bits(16),
    BasicType.INT: _bits(32),
    BasicType.LONG: _bits(64),
    BasicType.FLOAT: _float,
    BasicType.DOUBLE: _double,
    BasicType.BIG_INT: _integer(None),
}
_TIMES: Final[dict[type[TypeInformation], ColumnConverter]] = {
    DateTypeInfo: _each(datetime.date.fromisoformat),
    TimeTypeInfo: _each(datetime.time.fromisoformat),
    TimestampTypeInfo: _each(datetime.datetime.fromisoformat),
}


def _plain_converter(column: Column) -> ColumnConverter:
    type_ = column.type
    if isinstance(type_, BasicTypeInfo):
        if type_._basic_type is BasicType.BIG_DEC:
            return _decimal(column.scale)
        if type_._basic_type in _BASIC:
            return _BASIC[type_._basic_type]
    elif type(type_) in _TIMES:
        return _TIMES[type(type_)]
    element = element_type(type_)
    if isinstance(type_, PrimitiveArrayTypeInfo) and element == _BYTE:
        return _each(_from_base64)
    if isinstance(type_, RowTypeInfo):
        return _row_converter(column, type_)
    if element is None:
        raise ConfigurationError(
            f"CSV column {column.name!r} cannot have the type {type_}",
            hint="declare a single value, an array, or a row of them",
        )
    elements = _plain_converter(Column(column.name, element, column.separator, column.scale))
    separator = column.separator

    def convert(texts: Sequence[str]) -> list[Any]:
        if not separator:
            return [elements([text]) for text in texts]
        return [elements(text.split(separator)) if text else [] for text in texts]

    return convert


def _row_converter(column: Column, type_: RowTypeInfo) -> ColumnConverter:
    """A row in one cell: its fields, separated as the elements of an array are."""
    names = type_.get_field_names()
    fields = [
        _plain_converter(Column(f"{column.name}.{name}", field, column.separator, None))
        for name, field in zip(names, type_.get_field_types(), strict=True)
    ]

    def one(text: str) -> Row:
        parts = text.split(column.separator)
        if len(parts) != len(fields):
            raise ValueError(f"{len(parts)} fields where {len(fields)} are expected")
        row = Row(*(field([part])[0] for field, part in zip(fields, parts, strict=True)))
        row.set_field_names(names)
        return row

    return lambda texts: [one(text) for text in texts]


def element_type(type_: TypeInformation) -> TypeInformation | None:
    """Return the element type of a list or array type; None for any other type."""
    if isinstance(type_, ListTypeInfo):
        return type_.elem_type
    if isinstance(type_, (BasicArrayTypeInfo, ObjectArrayTypeInfo, PrimitiveArrayTypeInfo)):
        return type_._element_type
    return None


def column_converter(column: Column, null_literal: str | None = None) -> ColumnConverter:
    """Return the function that converts a column. It raises ValueError if a text does not fit, but never for
    ``null_literal``, which becomes None."""
    plain = _plain_converter(column)
    if null_literal is None:
        return plain

    def convert(texts: Sequence[str]) -> list[Any]:
        if null_literal not in texts:
            return plain(texts)
        values = iter(plain([text for text in texts if text != null_literal]))
        return [None if text == null_literal else next(values) for text in texts]

    if element_type(column.type) is None:
        return convert

    # Jackson has no null arrays: the literal is a null element.
    element = column_converter(
        Column(column.name, element_type(column.type) or column.type, "", column.scale), null_literal
    )
    separator = column.separator
    return lambda texts: [
        (element(text.split(separator)) if separator else element([text])) if text else [] for text in texts
    ]
