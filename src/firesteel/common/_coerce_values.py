"""Turns one value into what a declared type makes of it, or says why it cannot.

The rules are those of PyFlink's coders for what operators emit, and (``source=True``) those of its
``from_collection``. Where PyFlink crashes, wraps a number around or drops a value, there is a ``Mismatch``.
"""

from __future__ import annotations

import datetime
import decimal
import math
from collections.abc import Callable, Mapping
from typing import Any

from firesteel.common._basic_types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    LocalTimeTypeInfo,
    PickledBytesTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
)
from firesteel.common._composite_types import (
    BasicArrayTypeInfo,
    ExternalTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
)
from firesteel.common._java_numbers import double_to_string, to_float32
from firesteel.common.time import Instant
from firesteel.common.types import Row, RowKind, _make_row

Converter = Callable[[Any], Any]

INTEGER_BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}


class Mismatch(Exception):
    """A value does not fit. ``path`` leads from the record to the value."""

    def __init__(self, value: Any, type_info: TypeInformation, reason: str) -> None:
        super().__init__(reason)
        self.value = value
        self.type_info = type_info
        self.reason = reason
        self.path: list[str] = []

    def inside(self, step: str) -> Mismatch:
        self.path.insert(0, step)
        return self


def converter(type_info: TypeInformation | None, source: bool = False) -> Converter | None:
    """A function from a value to its coerced form; None: every value stays what it is."""
    if type_info is None or isinstance(type_info, PickledBytesTypeInfo):
        return None
    if isinstance(type_info, ExternalTypeInfo):
        return converter(type_info._type_info, source)
    for kind, make in _MAKERS:
        if isinstance(type_info, kind):
            return make(type_info, source)
    return None  # a type that another package defined: it has a coder of its own


def _expected(what: str, value: Any) -> str:
    return f"expected {what}, got {type(value).__name__}"


# -- single values


def _integer(type_info: TypeInformation, source: bool, bits: int | None) -> Converter:
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if bits else (-math.inf, math.inf)

    def convert(value: Any) -> int:
        if type(value) is int:
            number = value
        elif source and (not isinstance(value, int) or isinstance(value, bool)):
            raise Mismatch(value, type_info, _expected("int", value))
        elif hasattr(type(value), "__int__") and not isinstance(value, (str, bytes)):
            try:
                number = int(value)  # a fraction is cut off, as on the wire
            except (ValueError, OverflowError, TypeError) as error:
                raise Mismatch(value, type_info, str(error)) from None
        else:
            raise Mismatch(value, type_info, _expected("int", value))
        if not low <= number <= high:
            raise Mismatch(value, type_info, f"the number does not fit into {bits} bits")
        return number

    return convert


def _boolean(type_info: TypeInformation, source: bool) -> Converter:
    to_byte = _integer(type_info, source, None)

    def convert(value: Any) -> bool:
        if value is True or value is False:
            return bool(value)
        if source:
            raise Mismatch(value, type_info, _expected("bool", value))
        number: int = to_byte(value)
        if not 0 <= number <= 255:
            raise Mismatch(value, type_info, "a number is taken for a boolean only between 0 and 255")
        return number != 0

    return convert


def _float(type_info: TypeInformation, single: bool) -> Converter:
    def convert(value: Any) -> float:
        if type(value) is not float:
            if isinstance(value, (str, bytes, bytearray)) or not (
                hasattr(type(value), "__float__") or hasattr(type(value), "__index__")
            ):
                raise Mismatch(value, type_info, _expected("float", value))
            try:
                value = float(value)
            except (ValueError, OverflowError, TypeError) as error:
                raise Mismatch(value, type_info, str(error)) from None
        return to_float32(value) if single else value

    return convert


def _text(type_info: TypeInformation, source: bool, single: bool) -> Converter:
    def convert(value: Any) -> Any:
        if type(value) is not str:
            if source and isinstance(value, (bool, int, float, decimal.Decimal)):
                value = _java_text(value)
            elif not isinstance(value, str):
                raise Mismatch(value, type_info, _expected("str", value))
            value = str.__str__(value)  # a subclass becomes plain text
        if single and len(value) != 1:
            raise Mismatch(value, type_info, f"expected one character, got {len(value)}")
        return value

    return convert


def _java_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return double_to_string(value) if isinstance(value, float) else str(value)


def _decimal(type_info: TypeInformation) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, decimal.Decimal):
            if isinstance(value, bool):
                raise Mismatch(value, type_info, _expected("decimal.Decimal", value))
            try:
                value = decimal.Decimal(str(value))
            except decimal.InvalidOperation:
                raise Mismatch(value, type_info, _expected("decimal.Decimal", value)) from None
        if not value.is_finite():
            raise Mismatch(value, type_info, "the number is not finite")
        return value

    return convert


def _instant(type_info: TypeInformation, source: bool) -> Converter:
    def convert(value: Any) -> Instant | None:
        if value is None and not source:
            return None
        if not isinstance(value, Instant):
            raise Mismatch(value, type_info, _expected("Instant", value))
        return Instant.of_epoch_milli(value.to_epoch_milli()) if source else value

    return convert


def _basic(type_info: BasicTypeInfo, source: bool) -> Converter:
    kind = type_info._basic_type
    match kind:
        case BasicType.STRING | BasicType.CHAR:
            return _text(type_info, source, kind is BasicType.CHAR)
        case BasicType.BOOLEAN:
            return _boolean(type_info, source)
        case BasicType.FLOAT | BasicType.DOUBLE:
            return _float(type_info, kind is BasicType.FLOAT)
        case BasicType.BIG_DEC:
            return _decimal(type_info)
        case BasicType.INSTANT:
            return _instant(type_info, source)
        case _:
            return _integer(type_info, source, INTEGER_BITS.get(kind))


def _date(type_info: TypeInformation, source: bool, nullable: bool = False) -> Converter:
    def convert(value: Any) -> datetime.date | None:
        if type(value) is datetime.date or (value is None and nullable):
            return value
        if not isinstance(value, datetime.date) or value != value:
            raise Mismatch(value, type_info, _expected("datetime.date", value))
        return datetime.date(value.year, value.month, value.day)

    return convert


def _time(type_info: TypeInformation, source: bool, micros: int = 1000, nullable: bool = False) -> Converter:
    def convert(value: Any) -> datetime.time | None:
        if value is None and nullable:
            return None
        if not isinstance(value, (datetime.time, datetime.datetime)) or value != value:
            raise Mismatch(value, type_info, _expected("datetime.time", value))
        return datetime.time(value.hour, value.minute, value.second, value.microsecond // micros * micros)

    return convert


def _plain(value: datetime.datetime) -> datetime.datetime:
    """The instant of an object of a subclass, such as a Timestamp of pandas."""
    day = (value.year, value.month, value.day)
    time = (value.hour, value.minute, value.second, value.microsecond)
    return datetime.datetime(*day, *time, tzinfo=value.tzinfo, fold=value.fold)


def _timestamp(
    type_info: TypeInformation, source: bool, micros: int = 1000, nullable: bool = False
) -> Converter:
    def convert(value: Any) -> Any:
        if value is None and nullable:
            return None
        if not isinstance(value, datetime.datetime) or value != value:  # NaT of pandas is one
            raise Mismatch(value, type_info, _expected("datetime.datetime", value))
        if type(value) is not datetime.datetime:
            value = _plain(value)
        if source and value.tzinfo is not None:
            value = value.astimezone()  # a source takes the instant, in local time
        return value.replace(tzinfo=None, microsecond=value.microsecond // micros * micros)

    return convert


def _local_time(type_info: LocalTimeTypeInfo, source: bool) -> Converter:
    match type_info._time_type:
        case LocalTimeTypeInfo.TimeType.LOCAL_DATE:
            return _date(type_info, source, nullable=True)
        case LocalTimeTypeInfo.TimeType.LOCAL_TIME:
            return _time(type_info, source, micros=1, nullable=True)
        case _:
            return _timestamp(type_info, source, micros=1, nullable=True)


# -- composed values


def _fields(converters: list[Converter | None], names: list[str], values: Any, nullable: bool) -> list[Any]:
    out = []
    for convert, name, value in zip(converters, names, values, strict=False):
        if convert is None or (nullable and value is None):
            out.append(value)
            continue
        try:
            out.append(convert(value))
        except Mismatch as mismatch:
            raise mismatch.inside(name) from None
    return out


def _tuple(type_info: TupleTypeInfo, source: bool) -> Converter:
    converters = [converter(field, source) for field in type_info.get_field_types()]
    width = len(converters)
    names = [f"[{i}]" for i in range(width)]

    def convert(value: Any) -> tuple[Any, ...]:
        if type(value) is not tuple and not (source and isinstance(value, (tuple, list, Row))):
            raise Mismatch(value, type_info, _expected("tuple", value))
        if len(value) < width or (source and len(value) > width):
            raise Mismatch(value, type_info, f"expected {width} fields, got {len(value)}")
        return tuple(_fields(converters, names, value, False))

    return convert


def _row(type_info: RowTypeInfo, source: bool) -> Converter:
    converters = [converter(field, source) for field in type_info.get_field_types()]
    names = type_info.get_field_names()
    steps = [f".{name}" for name in names]
    width = len(converters)

    def convert(value: Any) -> Row:
        kind = RowKind.INSERT
        if isinstance(value, Row):
            kind = value._row_kind
            try:
                values: Any = value.get_fields_by_names(names)
            except ValueError as error:
                raise Mismatch(value, type_info, str(error)) from None
        elif not source:
            raise Mismatch(value, type_info, _expected("Row", value))
        elif isinstance(value, dict):
            values = [value.get(name) for name in names]
        elif isinstance(value, (tuple, list)):
            values = value
        elif hasattr(value, "__dict__"):
            values = [value.__dict__.get(name) for name in names]
        else:
            raise Mismatch(value, type_info, _expected("Row, tuple, list or dict", value))
        if len(values) < width or (source and len(values) > width):
            raise Mismatch(value, type_info, f"expected {width} fields, got {len(values)}")
        return _make_row(_fields(converters, steps, values, True), names, kind)

    return convert


def _array(type_info: Any, source: bool) -> Converter:
    is_list = isinstance(type_info, ListTypeInfo)
    element = type_info.elem_type if is_list else type_info._element_type
    nullable = isinstance(type_info, (BasicArrayTypeInfo, ObjectArrayTypeInfo))
    is_byte = isinstance(element, BasicTypeInfo) and element._basic_type is BasicType.BYTE
    if is_byte and not nullable:
        return _byte_array(type_info, source)
    convert_element = converter(element, source)

    def convert(value: Any) -> list[Any]:
        if type(value) is not list and not (source and isinstance(value, (list, tuple))):
            raise Mismatch(value, type_info, _expected("list", value))
        if convert_element is None:
            return list(value)
        out: list[Any] = []
        try:
            for item in value:
                out.append(None if nullable and item is None else convert_element(item))
        except Mismatch as mismatch:
            raise mismatch.inside(f"[{len(out)}]") from None
        return out

    return convert


def _byte_array(type_info: TypeInformation, source: bool) -> Converter:
    def convert(value: Any) -> bytes:
        if isinstance(value, (bytes, bytearray)):
            return bytes(value)
        if source and isinstance(value, (list, tuple)):
            try:
                return bytes(item & 0xFF for item in value if -128 <= item <= 255 or _too_large())
            except (TypeError, OverflowError):
                raise Mismatch(value, type_info, "expected numbers of 8 bits") from None
        raise Mismatch(value, type_info, _expected("bytes", value))

    return convert


def _too_large() -> bool:
    raise OverflowError


def _map(type_info: MapTypeInfo, source: bool) -> Converter:
    convert_key = converter(type_info._key_type_info, source)
    convert_value = converter(type_info._value_type_info, source)

    def convert(value: Any) -> dict[Any, Any]:
        if not isinstance(value, Mapping):
            raise Mismatch(value, type_info, _expected("dict", value))
        out = {}
        for key, item in value.items():
            try:
                new_key = key if convert_key is None else convert_key(key)
            except Mismatch as mismatch:
                raise mismatch.inside(f" key {key!r}") from None
            try:
                out[new_key] = item if convert_value is None or item is None else convert_value(item)
            except Mismatch as mismatch:
                raise mismatch.inside(f"[{key!r}]") from None
        return out

    return convert


_MAKERS: tuple[tuple[Any, Callable[[Any, bool], Converter]], ...] = (
    (BasicTypeInfo, _basic),
    (DateTypeInfo, _date),
    (TimeTypeInfo, _time),
    (TimestampTypeInfo, _timestamp),
    (LocalTimeTypeInfo, _local_time),
    (TupleTypeInfo, _tuple),
    (RowTypeInfo, _row),
    (
        (PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo, ListTypeInfo),
        _array,
    ),
    (MapTypeInfo, _map),
)
