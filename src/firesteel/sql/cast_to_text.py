"""The text of values as ``CAST(x AS STRING)`` gives it, on columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.common._java_numbers import double_to_string, float_to_string
from firesteel.sql import calendars as c, types as t
from firesteel.sql.values import unit_of

__all__ = ["digits", "fixed_width", "printed", "to_text"]


def to_text(array: pa.Array, source: t.DataType, target: t.DataType, zone: str) -> pa.Array:
    """Return the text of each value, cut or filled to the length of *target*."""
    return sized(_TEXT[type(source)](array, source, zone), target)


def printed(array: pa.Array, source: t.DataType, zone: str) -> pa.Array:
    """Return the text of each value as results show it: as CAST gives it, bytes as ``x'1f'``."""
    shown = _with_bytes_shown(source)
    return _TEXT[type(shown)](array, shown, zone)


@dataclass(frozen=True, slots=True)
class _ShownBytes(t.DataType):
    """Stands for BINARY and BYTES where their text is to be read by people."""


def _with_bytes_shown(data_type: Any) -> Any:
    match data_type:
        case t.BinaryType() | t.VarBinaryType():
            return _ShownBytes()
        case t.ArrayType() | t.MultisetType():
            return replace(data_type, element_type=_with_bytes_shown(data_type.element_type))
        case t.MapType(key_type=key, value_type=value):
            return replace(data_type, key_type=_with_bytes_shown(key), value_type=_with_bytes_shown(value))
        case t.RowType(fields=fields):
            shown = tuple(replace(f, data_type=_with_bytes_shown(f.data_type)) for f in fields)
            return replace(data_type, fields=shown)
    return data_type


def sized(array: pa.Array, target: Any) -> pa.Array:
    """CHAR(n) is cut and filled with blanks, VARCHAR(n) is cut."""
    if target.length == t.MAX_LENGTH:
        return array
    longest = pc.max(pc.utf8_length(array)).as_py() or 0
    if longest > target.length:
        array = pc.utf8_slice_codeunits(array, 0, target.length)
    if isinstance(target, t.CharType):
        array = pc.utf8_rpad(array, target.length, " ")
    return array


# ---- numbers and truth


def _boolean(array: pa.Array, _: Any, __: str) -> pa.Array:
    return pc.if_else(array, "TRUE", "FALSE")


def _integer(array: pa.Array, _: Any, __: str) -> pa.Array:
    return array.cast(pa.string())


def _decimal(array: pa.Array, _: Any, __: str) -> pa.Array:
    texts = array.cast(pa.string())
    if not pc.any(pc.match_substring(texts, "E")).as_py():
        return texts
    return pa.array([None if x is None else f"{x:f}" for x in array.to_pylist()], pa.string())


def _floating(show: Callable[[float], str]) -> Callable[[pa.Array, Any, str], pa.Array]:
    def text(array: pa.Array, _: Any, __: str) -> pa.Array:
        numbers = np.abs(array.to_numpy(zero_copy_only=False))
        plain = (numbers >= 1e-3) & (numbers < 1e7)
        if array.type != pa.float64() or np.count_nonzero(plain) < len(array) // 2:
            return pa.array([None if x is None else show(x) for x in array.to_pylist()], pa.string())
        # without an exponent Arrow's digits are Java's, but for the .0 of whole numbers
        texts = array.cast(pa.string())
        whole = pc.invert(pc.match_substring(texts, "."))
        texts = pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
        rest = np.flatnonzero(~plain)
        if not len(rest):
            return texts
        others = [None if x is None else show(x) for x in array.take(pa.array(rest)).to_pylist()]
        return pc.replace_with_mask(texts, pa.array(~plain), pa.array(others, pa.string()))

    return text


def _characters(array: pa.Array, _: Any, __: str) -> pa.Array:
    return array


def _bytes(array: pa.Array, _: Any, __: str) -> pa.Array:
    try:
        return array.cast(pa.string())
    except pa.ArrowInvalid:  # not UTF-8: Java puts a mark for what it cannot read
        texts = [None if x is None else x.decode("utf-8", "replace") for x in array.to_pylist()]
        return pa.array(texts, pa.string())


def _hexadecimal(array: pa.Array, _: Any, __: str) -> pa.Array:
    return pa.array([None if x is None else f"x'{x.hex()}'" for x in array.to_pylist()], pa.string())


# ---- dates and times: bytes of equal width for all rows


def digits(numbers: Any, width: int) -> list[Any]:
    """The last *width* decimal digits of each number, as columns of ASCII."""
    found = []
    for place in range(width - 1, -1, -1):
        found.append((np.floor_divide(numbers, 10**place) % 10 + 48).astype(np.uint8))
    return found


def fixed_width(parts: Sequence[Any], length: int) -> pa.Array:
    """A column of texts of one width. :param parts: a column of ASCII, or a character, for each place."""
    width = len(parts)
    block = np.empty((length, width), np.uint8)
    for place, part in enumerate(parts):
        block[:, place] = ord(part) if isinstance(part, str) else part
    offsets = np.arange(0, (length + 1) * width, max(width, 1), dtype=np.int64)[: length + 1]
    if length * width < 2**31:
        buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(block)]
        return pa.Array.from_buffers(pa.string(), length, buffers)
    return pa.array([bytes(row).decode("ascii") for row in block], pa.string())


def _date_parts(days: Any) -> list[Any]:
    year, month, day = c.civil(days)
    return [*digits(year, 4), "-", *digits(month, 2), "-", *digits(day, 2)]


def _clock_parts(seconds: Any) -> list[Any]:
    return [
        *digits(seconds // 3600, 2),
        ":",
        *digits(seconds // 60 % 60, 2),
        ":",
        *digits(seconds % 60, 2),
    ]


def _date(array: pa.Array, _: Any, __: str) -> pa.Array:
    days = c.integers(array)
    return c.with_nulls_of(fixed_width(_date_parts(days), len(array)), array)


def _time(array: pa.Array, source: Any, _: str) -> pa.Array:
    millis = c.integers(array)
    texts = fixed_width(_clock_parts(millis // 1000), len(array))
    if source.precision:
        # zeros at the end are left out, but for the first
        places = min(source.precision, 3)
        shown = millis % 1000 // 10 ** (3 - places)
        fractions = fixed_width([".", *digits(shown, places)], len(array))
        trimmed = pc.utf8_rtrim(fractions, "0")
        trimmed = pc.if_else(pc.equal(trimmed, "."), ".0", trimmed)
        texts = pc.binary_join_element_wise(texts, trimmed, "")
    return c.with_nulls_of(texts, array)


def _timestamp(array: pa.Array, source: Any, zone: str) -> pa.Array:
    unit = unit_of(source)
    numbers = c.integers(array)
    if isinstance(source, t.LocalZonedTimestampType):
        numbers = c.to_local(numbers, unit, zone)
    return c.with_nulls_of(timestamp_texts(numbers, unit, source.precision), array)


def timestamp_texts(numbers: Any, unit: int, precision: int) -> pa.Array:
    """Local times as ``yyyy-MM-dd HH:mm:ss`` with *precision* digits of the second."""
    seconds = np.floor_divide(numbers, unit)
    days = np.floor_divide(seconds, 86_400)
    parts = [*_date_parts(days), " ", *_clock_parts(seconds - days * 86_400)]
    if precision:
        fraction = (numbers - seconds * unit) * (10**9 // unit) // 10 ** (9 - precision)
        parts += [".", *digits(fraction, precision)]
    return fixed_width(parts, len(numbers))


def _months(array: pa.Array, _: Any, __: str) -> pa.Array:
    return pa.array([None if x is None else months_text(x) for x in array.to_pylist()], pa.string())


def months_text(months: int) -> str:
    sign = "-" if months < 0 else "+"
    return f"{sign}{abs(months) // 12}-{abs(months) % 12:02}"


def _millis(array: pa.Array, _: Any, __: str) -> pa.Array:
    return pa.array([None if x is None else millis_text(x) for x in array.to_pylist()], pa.string())


def millis_text(millis: int) -> str:
    sign = "-" if millis < 0 else "+"
    seconds, rest = divmod(abs(millis), 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    day, hour = divmod(hours, 24)
    return f"{sign}{day} {hour:02}:{minute:02}:{second:02}.{rest:03}"


# ---- collections and rows


def _texts(array: pa.Array, data_type: t.DataType, zone: str) -> list[str]:
    if isinstance(data_type, t.NullType):
        return ["NULL"] * len(array)
    return ["NULL" if x is None else x for x in _TEXT[type(data_type)](array, data_type, zone).to_pylist()]


def _joined(flat: list[str], array: pa.Array, left: str, right: str) -> pa.Array:
    offsets = array.offsets.to_pylist()
    found: list[str | None] = [f"{left}{', '.join(flat[a:b])}{right}" for a, b in pairwise(offsets)]
    return c.with_nulls_of(pa.array(found, pa.string()), array)


def _list(array: pa.Array, source: Any, zone: str) -> pa.Array:
    return _joined(_texts(array.values, source.element_type, zone), array, "[", "]")


def _map(array: pa.Array, source: Any, zone: str) -> pa.Array:
    key, value = source.children if isinstance(source, t.MapType) else (source.element_type, t.IntType())
    pairs = zip(_texts(array.keys, key, zone), _texts(array.items, value, zone), strict=True)
    return _joined([f"{k}={x}" for k, x in pairs], array, "{", "}")


def _row(array: pa.Array, source: Any, zone: str) -> pa.Array:
    columns = [_texts(array.field(i), d, zone) for i, d in enumerate(source.types)]
    rows = zip(*columns, strict=True) if columns else [()] * len(array)
    return c.with_nulls_of(pa.array([f"({', '.join(row)})" for row in rows], pa.string()), array)


def _variant(array: pa.Array, _: Any, __: str) -> pa.Array:
    from firesteel.sql.variants import text_of

    return pa.array([None if x is None else text_of(x) for x in array.to_pylist()], pa.string())


def _bitmap(array: pa.Array, _: Any, __: str) -> pa.Array:
    from firesteel.sql.bitmaps import text_of

    return pa.array([None if x is None else text_of(x) for x in array.to_pylist()], pa.string())


_TEXT: Final[dict[type[t.DataType], Callable[[pa.Array, Any, str], pa.Array]]] = {
    t.NullType: lambda a, _, __: pa.nulls(len(a), pa.string()),
    t.BooleanType: _boolean,
    t.TinyIntType: _integer,
    t.SmallIntType: _integer,
    t.IntType: _integer,
    t.BigIntType: _integer,
    t.FloatType: _floating(float_to_string),
    t.DoubleType: _floating(double_to_string),
    t.DecimalType: _decimal,
    t.CharType: _characters,
    t.VarCharType: _characters,
    t.BinaryType: _bytes,
    t.VarBinaryType: _bytes,
    _ShownBytes: _hexadecimal,
    t.DateType: _date,
    t.TimeType: _time,
    t.TimestampType: _timestamp,
    t.LocalZonedTimestampType: _timestamp,
    t.YearMonthIntervalType: _months,
    t.DayTimeIntervalType: _millis,
    t.ArrayType: _list,
    t.MapType: _map,
    t.MultisetType: _map,
    t.RowType: _row,
    t.VariantType: _variant,
    t.BitmapType: _bitmap,
}
