"""How ``print`` shows a record: the text that PyFlink writes to standard output for it.

In PyFlink, records with a declared type are Java objects at this point, so they look as in Java's
``toString``: ``(a,5)``, ``1.0E10``, ``true``. Rows and records without a declared type are shown as Python's
``str``.
"""

from __future__ import annotations

import datetime
import decimal
import struct
from collections.abc import Callable, Iterable
from typing import Any

from firesteel.common._basic_types import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    LocalTimeTypeInfo,
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
from firesteel.common._java_numbers import double_to_string, float_to_string
from firesteel.common.time import Instant
from firesteel.common.types import Row

Formatter = Callable[[Any], str]

_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_LAST_DAY = datetime.date.max.toordinal()


def formatter(type_info: TypeInformation | None) -> Formatter:
    """Return the function from a record of this type to the text that ``print`` shows."""
    while isinstance(type_info, ExternalTypeInfo):
        type_info = type_info._type_info
    if isinstance(type_info, RowTypeInfo):
        return format_row
    return _nested(type_info)


def format_row(row: Any) -> str:
    """Format a row on its own: ``+I[1,a]``, with fields as Python shows them."""
    return (
        f"{row.get_row_kind()}[{','.join([str(field) for field in row])}]"
        if isinstance(row, Row)
        else str(row)
    )


def _nested(type_info: TypeInformation | None) -> Formatter:
    """As ``formatter``, for a value inside another one, or one that is not a row."""
    while isinstance(type_info, ExternalTypeInfo):
        type_info = type_info._type_info
    for kind, make in _MAKERS:
        if isinstance(type_info, kind):
            return make(type_info)
    return str


def _or_null(type_info: TypeInformation | None) -> Formatter:
    show = _nested(type_info)
    return lambda value: "null" if value is None else show(value)


# -- composed values


def _joined(showers: list[Formatter], values: Iterable[Any], separator: str) -> str:
    return separator.join([show(value) for show, value in zip(showers, values, strict=False)])


def _tuple(type_info: TupleTypeInfo) -> Formatter:
    showers = [_or_null(field) for field in type_info.get_field_types()]
    return lambda value: f"({_joined(showers, value, ',')})"


def _row(type_info: RowTypeInfo) -> Formatter:
    showers = [_or_null(field) for field in type_info.get_field_types()]
    return lambda value: f"{value.get_row_kind()}[{_joined(showers, value, ', ')}]"


def _array(type_info: Any) -> Formatter:
    element = type_info.elem_type if isinstance(type_info, ListTypeInfo) else type_info._element_type
    show = _or_null(element)

    def array(value: Any) -> str:
        if isinstance(value, (bytes, bytearray)):
            value = struct.unpack(f"{len(value)}b", value)
        return f"[{', '.join([show(item) for item in value])}]"

    return array


def _map(type_info: MapTypeInfo) -> Formatter:
    show_key, show_value = _or_null(type_info._key_type_info), _or_null(type_info._value_type_info)
    hash_key = _java_hash(type_info._key_type_info)

    def map_(value: Any) -> str:
        keys = list(value) if hash_key is None else _hash_map_order(value, hash_key)
        return f"{{{', '.join(f'{show_key(key)}={show_value(value[key])}' for key in keys)}}}"

    return map_


def _hash_map_order(keys: Any, hash_key: Callable[[Any], int]) -> list[Any]:
    """Return the keys in the iteration order of a ``java.util.HashMap`` created for this number of keys."""
    size = len(keys)
    capacity = 1 << max(size - 1, 0).bit_length()
    if size > capacity * 0.75:
        capacity *= 2
    mask = capacity - 1

    def bucket(key: Any) -> int:
        code = hash_key(key)
        return (code ^ (code >> 16)) & mask

    return sorted(keys, key=bucket)


def _java_hash(type_info: TypeInformation) -> Callable[[Any], int] | None:
    """Return ``hashCode`` of a key as an unsigned 32-bit number; None if it is unknown here."""
    if not isinstance(type_info, BasicTypeInfo):
        return None
    match type_info._basic_type:
        case BasicType.STRING | BasicType.CHAR:
            return _string_hash
        case BasicType.BYTE | BasicType.SHORT | BasicType.INT:
            return lambda key: int(key) & 0xFFFFFFFF
        case BasicType.LONG:
            return _long_hash
        case BasicType.BOOLEAN:
            return lambda key: 1231 if key else 1237
        case BasicType.DOUBLE:
            return lambda key: _long_hash(struct.unpack("<q", struct.pack("<d", key))[0])
        case _:
            return None


def _string_hash(text: str) -> int:
    units = text.encode("utf-16-le", "surrogatepass")
    code = 0
    for (unit,) in struct.iter_unpack("<H", units):
        code = (31 * code + unit) & 0xFFFFFFFF
    return code


def _long_hash(number: int) -> int:
    number &= 0xFFFFFFFFFFFFFFFF
    return (number ^ (number >> 32)) & 0xFFFFFFFF


# -- single values


def _boolean(value: Any) -> str:
    return "true" if value else "false"


def _decimal(value: Any) -> str:
    text = str(value)
    # Java's BigDecimal has no negative zero
    return text.lstrip("-") if isinstance(value, decimal.Decimal) and value.is_zero() else text


def _instant(value: Instant) -> str:
    days, second_of_day = divmod(value.seconds, 86_400)
    ordinal = days + _EPOCH_DAY
    # Python's calendar ends with the year 9999, but the calendar repeats every 400 years
    cycles = 0
    while ordinal > _LAST_DAY:
        ordinal -= 146_097
        cycles += 1
    date = datetime.date.fromordinal(ordinal)
    year = date.year + 400 * cycles
    year_text = f"+{year}" if year > 9999 else f"{year:04d}"
    minutes, second = divmod(second_of_day, 60)
    hour, minute = divmod(minutes, 60)
    clock = f"{hour:02d}:{minute:02d}:{second:02d}{_fraction(value.nanos, 3)}"
    return f"{year_text}-{date.month:02d}-{date.day:02d}T{clock}Z"


def _fraction(nanos: int, group: int) -> str:
    """Return ``.5`` to ``.123456789`` in steps of ``group`` digits; empty for 0."""
    if nanos == 0:
        return ""
    digits = f"{nanos:09d}".rstrip("0")
    return "." + digits.ljust(-(-len(digits) // group) * group, "0")


def _sql_time(value: datetime.time) -> str:
    return value.strftime("%H:%M:%S")


def _sql_timestamp(value: datetime.datetime) -> str:
    fraction = f"{value.microsecond:06d}".rstrip("0") or "0"
    return f"{value.replace(microsecond=0, tzinfo=None).isoformat(sep=' ')}.{fraction}"


def _local_time(value: datetime.time) -> str:
    text = f"{value.hour:02d}:{value.minute:02d}"
    if value.second or value.microsecond:
        text += f":{value.second:02d}{_fraction(value.microsecond * 1000, 3)}"
    return text


def _local_date_time(value: datetime.datetime) -> str:
    return f"{value.date().isoformat()}T{_local_time(value.time())}"


_BASIC: dict[BasicType, Formatter] = {
    BasicType.BOOLEAN: _boolean,
    BasicType.FLOAT: float_to_string,
    BasicType.DOUBLE: double_to_string,
    BasicType.BIG_DEC: _decimal,
    BasicType.INSTANT: _instant,
}

_LOCAL: dict[LocalTimeTypeInfo.TimeType, Formatter] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: str,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: _local_time,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: _local_date_time,
}

_MAKERS: tuple[tuple[Any, Callable[[Any], Formatter]], ...] = (
    (BasicTypeInfo, lambda type_info: _BASIC.get(type_info._basic_type, str)),
    (TupleTypeInfo, _tuple),
    (RowTypeInfo, _row),
    ((ListTypeInfo, PrimitiveArrayTypeInfo, BasicArrayTypeInfo, ObjectArrayTypeInfo), _array),
    (MapTypeInfo, _map),
    (DateTypeInfo, lambda type_info: str),
    (TimeTypeInfo, lambda type_info: _sql_time),
    (TimestampTypeInfo, lambda type_info: _sql_timestamp),
    (LocalTimeTypeInfo, lambda type_info: _LOCAL[type_info._time_type]),
)
