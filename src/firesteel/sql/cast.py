"""CAST and TRY_CAST on columns: ``cast_column``.

A cast of numbers, dates and times is arithmetic here; text of values is made in ``cast_to_text.py`` and
read in ``cast_from_text.py``. Integers wrap, floats are cut off and clamped as in Java, a DECIMAL without
room is null; a text that is no such value fails, or is null for TRY_CAST.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.common.errors import ConfigurationError
from firesteel.common.options.table import LEGACY_CAST
from firesteel.sql import calendars as c, decimals, type_rules as r, types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.cast_from_text import from_text
from firesteel.sql.cast_to_text import to_text
from firesteel.sql.values import array_of, check_keys, unit_of

__all__ = ["cast_column", "check_cast_options"]

Cast = Callable[[pa.Array, Any, Any, str, bool], pa.Array]


def check_cast_options(option: str | None) -> None:
    """Refuse the casts of Flink 1.14.

    :raises ConfigurationError: they are asked for.
    """
    if option is not None and option.lower() not in ("disabled", ""):
        raise ConfigurationError(
            f"{LEGACY_CAST.key} cannot be enabled.",
            detail="casts follow Flink's rules of today: one that fails is an error",
            hint="use TRY_CAST where NULL is wanted for what cannot be cast",
        )


def cast_column(
    array: pa.Array, source: t.DataType, target: t.DataType, zone: str, attempt: bool = False
) -> pa.Array:
    """Return a column as another type.

    :param zone: the session's time zone, for TIMESTAMP_LTZ.
    :param attempt: TRY_CAST: null instead of an error.
    """
    if isinstance(source, t.NullType):
        return pa.nulls(len(array), arrow_type(target))
    if source.equals_ignoring_nullability(target):
        return array
    return _caster(source, target)(array, source, target, zone, attempt)


def _caster(source: t.DataType, target: t.DataType) -> Cast:
    for wanted_source, wanted_target, cast in _CASTS:
        if isinstance(source, wanted_source) and isinstance(target, wanted_target):
            found: Cast = cast
            return found
    raise TypeError(f"Unsupported cast from {source} to {target}.")


# ---- numbers


def _to_number(array: pa.Array, source: Any, target: Any, zone: str, attempt: bool) -> pa.Array:
    wanted = arrow_type(target)
    if isinstance(source, r.APPROXIMATE) and isinstance(target, r.INTEGER):
        return _truncated(array, target)
    if isinstance(source, t.DecimalType):
        return _from_decimal(array, target)
    # wraps, or rounds, as in Java
    return array.cast(wanted, safe=False)


_LIMITS: Final[dict[type[t.DataType], Any]] = {
    t.TinyIntType: np.iinfo(np.int32),
    t.SmallIntType: np.iinfo(np.int32),
    t.IntType: np.iinfo(np.int32),
    t.BigIntType: np.iinfo(np.int64),
}


def _truncated(array: pa.Array, target: t.DataType) -> pa.Array:
    """Java: NaN is 0, what is too large is the largest int or long; then it wraps to a smaller type."""
    numbers = array.to_numpy(zero_copy_only=False).astype(np.float64)
    limits = _LIMITS[type(target)]
    high = numbers >= float(limits.max)
    low = numbers <= float(limits.min)
    inside = np.where(high | low | np.isnan(numbers), 0.0, numbers).astype(np.int64)
    inside = np.where(high, limits.max, np.where(low, limits.min, inside))
    made = pa.array(inside.astype(np.int64)).cast(arrow_type(target), safe=False)
    return c.with_nulls_of(made, array)


def _from_decimal(array: pa.Array, target: Any) -> pa.Array:
    if isinstance(target, r.APPROXIMATE):
        return decimals.to_floats(array).cast(arrow_type(target), safe=False)
    whole = pc.trunc(array)
    digits = max(array.type.precision - array.type.scale, 1)
    if digits <= 18:
        return whole.cast(pa.int64(), safe=False).cast(arrow_type(target), safe=False)
    # Java's longValue: the low 64 bits
    mask = (1 << 64) - 1
    low = [None if x is None else (int(x) & mask) for x in whole.to_pylist()]
    unsigned = pa.array(low, pa.uint64())
    return unsigned.view(pa.int64()).cast(arrow_type(target), safe=False)


def _to_decimal(array: pa.Array, source: Any, target: t.DecimalType, zone: str, attempt: bool) -> pa.Array:
    if isinstance(source, t.BooleanType):
        array, source = array.cast(pa.int32()), t.IntType()
    if isinstance(source, r.INTEGER):
        width = {8: 3, 16: 5, 32: 10, 64: 19}[array.type.bit_width]
        return decimals.rescale(array.cast(pa.decimal128(width, 0)), target)
    if isinstance(source, r.APPROXIMATE):
        return _float_to_decimal(array, target)
    return decimals.rescale(array, target)


def _float_to_decimal(array: pa.Array, target: t.DecimalType) -> pa.Array:
    # by the shortest digits that mean the number, as BigDecimal.valueOf
    single = array.type == pa.float32()
    texts = to_text(array, t.FloatType() if single else t.DoubleType(), t.VarCharType(), "UTC")
    return array_of([None if x is None else _decimal(x) for x in texts.to_pylist()], target)


def _decimal(text: str) -> Any:
    import decimal

    return decimal.Decimal(text)


def _to_boolean(array: pa.Array, source: Any, target: Any, zone: str, attempt: bool) -> pa.Array:
    return pc.not_equal(array, decimals.zero_of(array.type))


def _from_boolean(array: pa.Array, source: Any, target: Any, zone: str, attempt: bool) -> pa.Array:
    return array.cast(pa.int8()).cast(arrow_type(target))


def _interval_to_number(array: pa.Array, source: Any, target: Any, zone: str, attempt: bool) -> pa.Array:
    numbers = array.cast(pa.int64())
    if isinstance(target, t.DecimalType):
        return _to_decimal(numbers, t.BigIntType(), target, zone, attempt)
    return numbers.cast(arrow_type(target), safe=False)


_STEPS: Final = {
    "YEAR": 12,
    "MONTH": 1,
    "DAY": c.DAY_MS,
    "HOUR": 3_600_000,
    "MINUTE": 60_000,
    "SECOND": 1_000,
}


def _number_to_interval(array: pa.Array, source: Any, target: Any, zone: str, attempt: bool) -> pa.Array:
    """The number counts the first unit of the interval."""
    numbers = _to_number(array, source, t.BigIntType(), zone, attempt)
    step = _STEPS[target.resolution.split("_TO_")[0]]
    return pc.multiply(numbers, step).cast(arrow_type(target), safe=False)


def _interval(array: pa.Array, source: Any, target: Any, zone: str, attempt: bool) -> pa.Array:
    return array


# ---- dates and times


def _temporal(array: pa.Array, source: Any, target: Any, zone: str, attempt: bool) -> pa.Array:
    """Through a count of the finer unit in local time."""
    numbers, unit = _local(c.integers(array), source, zone, isinstance(target, t.LocalZonedTimestampType))
    if isinstance(target, t.DateType):
        return c.temporal(np.floor_divide(numbers, 86_400 * unit), target, array)
    if isinstance(target, t.TimeType):
        of_day = np.mod(numbers, 86_400 * unit)
        millis = c.converted(of_day, unit, 1000)
        step = 10 ** (3 - min(target.precision, 3))
        return c.temporal(millis // step * step, target, array)
    wanted = unit_of(target)
    _check_range(numbers, unit, wanted, array)
    found = c.converted(numbers, unit, wanted)
    if target.precision < getattr(source, "precision", 0):
        found = c.cut(found, target)
    if isinstance(target, t.LocalZonedTimestampType) and not isinstance(source, t.LocalZonedTimestampType):
        found = c.to_instant(found, wanted, zone)
    return c.temporal(found, target, array)


def _local(numbers: Any, source: Any, zone: str, stays: bool) -> tuple[Any, int]:
    if isinstance(source, t.DateType):
        return numbers * 86_400, 1
    if isinstance(source, t.TimeType):
        return numbers, 1000
    unit = unit_of(source)
    if isinstance(source, t.LocalZonedTimestampType) and not stays:
        numbers = c.to_local(numbers, unit, zone)
    return numbers, unit


#: seconds that a 64-bit count of nanoseconds reaches
_NANOS: Final = 9_223_372_036


def _check_range(numbers: Any, unit: int, wanted: int, array: pa.Array) -> None:
    if wanted != 1_000_000_000 or unit == wanted:
        return
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    if np.any(np.abs(np.where(valid, numbers, 0)) > _NANOS * unit):
        raise OverflowError("a timestamp of more than 6 digits is between 1677-09-21 and 2262-04-11")


# ---- bytes


def _to_binary(array: pa.Array, source: Any, target: Any, zone: str, attempt: bool) -> pa.Array:
    return _sized_bytes(array.cast(pa.binary()), target)


def _sized_bytes(array: pa.Array, target: Any) -> pa.Array:
    """BINARY(n) is cut and filled with zero bytes, VARBINARY(n) is cut."""
    if target.length == t.MAX_LENGTH:
        return array
    longest = pc.max(pc.binary_length(array)).as_py() or 0
    if longest > target.length:
        array = pc.binary_slice(array, 0, target.length)
    if isinstance(target, t.BinaryType):
        width = target.length
        array = pa.array(
            [None if x is None else x.ljust(width, b"\0") for x in array.to_pylist()], pa.binary()
        )
    return array


# ---- collections and rows


def _lists(array: pa.Array, source: Any, target: Any, zone: str, attempt: bool) -> pa.Array:
    flat = cast_column(array.values, source.element_type, target.element_type, zone, attempt)
    made = _same_shape(array, arrow_type(target), flat)
    return _whole(made, array, [(array.values, flat)]) if attempt else made


def _same_shape(array: pa.Array, kind: pa.DataType, child: pa.Array) -> pa.Array:
    """The lists of *array* with other elements."""
    buffers = array.buffers()[:2]
    return pa.Array.from_buffers(kind, len(array), buffers, array.null_count, array.offset, children=[child])


def _whole(made: pa.Array, array: pa.Array, parts: list[tuple[pa.Array, pa.Array]]) -> pa.Array:
    """TRY_CAST: a collection is null in which an element cannot be cast."""
    offsets = array.offsets.to_numpy()
    for before, after in parts:
        if after.null_count > before.null_count:
            lost = np.flatnonzero(pc.and_(before.is_valid(), after.is_null()).to_numpy(zero_copy_only=False))
            counts = np.searchsorted(lost, offsets[1:]) - np.searchsorted(lost, offsets[:-1])
            made = pc.if_else(pa.array(counts == 0), made, pa.scalar(None, made.type))
    return made


def _maps(array: pa.Array, source: Any, target: Any, zone: str, attempt: bool) -> pa.Array:
    key, value = source.children if isinstance(source, t.MapType) else (source.element_type, t.IntType())
    wanted_key, wanted_value = (
        target.children if isinstance(target, t.MapType) else (target.element_type, t.IntType())
    )
    kind = arrow_type(target)
    cast_keys = cast_column(array.keys, key, wanted_key, zone, attempt)
    items = cast_column(array.items, value, wanted_value, zone, attempt)
    keys = cast_keys
    if attempt and keys.null_count:  # those maps become null, and nobody looks at their keys
        keys = pc.if_else(
            keys.is_valid(), keys, array_of([_SOME_KEY.get(type(wanted_key), 0)], wanted_key)[0]
        )
    check_keys(keys)
    entries = pa.StructArray.from_arrays([keys, items], fields=[kind.key_field, kind.item_field])
    made = _same_shape(array, kind, entries)
    return _whole(made, array, [(array.keys, cast_keys), (array.items, items)]) if attempt else made


_SOME_KEY: Final[dict[type[t.DataType], Any]] = {
    t.CharType: "",
    t.VarCharType: "",
    t.BinaryType: b"",
    t.VarBinaryType: b"",
    t.BooleanType: False,
}


def _rows(array: pa.Array, source: Any, target: Any, zone: str, attempt: bool) -> pa.Array:
    kind = arrow_type(target)
    if not target.fields:
        return array.cast(kind)
    columns = [
        cast_column(array.field(i), a, b, zone, attempt)
        for i, (a, b) in enumerate(zip(source.types, target.types, strict=True))
    ]
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=array.is_null())


def _to_text(array: pa.Array, source: Any, target: Any, zone: str, attempt: bool) -> pa.Array:
    made = to_text(array, source, target, zone)
    # Flink does not look whether a NOT NULL value is null, as a DECIMAL is that had no room: its text is
    # empty
    return made if source.nullable or not made.null_count else pc.fill_null(made, "")


def _from_text(array: pa.Array, source: Any, target: Any, zone: str, attempt: bool) -> pa.Array:
    return from_text(array, target, zone, attempt)


def _bitmap_to_text(array: pa.Array, source: Any, target: Any, zone: str, attempt: bool) -> pa.Array:
    from firesteel.sql.bitmaps import text_of

    texts = pa.array([None if x is None else text_of(x) for x in array.to_pylist()], pa.string())
    return to_text(texts, t.VarCharType(), target, zone)


def _casts() -> tuple[Any, ...]:
    return (
        ((t.BitmapType,), r.CHARACTER, _bitmap_to_text),
        ((t.DataType,), r.CHARACTER, _to_text),
        (r.CHARACTER, r.BINARY, _to_binary),
        (r.CHARACTER, (t.DataType,), _from_text),
        ((t.BooleanType,), (t.DecimalType,), _to_decimal),
        ((t.BooleanType,), r.NUMERIC, _from_boolean),
        (r.NUMERIC, (t.BooleanType,), _to_boolean),
        (r.NUMERIC, (t.DecimalType,), _to_decimal),
        (r.NUMERIC, r.NUMERIC, _to_number),
        (r.INTERVAL, r.NUMERIC, _interval_to_number),
        (r.NUMERIC, r.INTERVAL, _number_to_interval),
        ((t.YearMonthIntervalType,), (t.YearMonthIntervalType,), _interval),
        ((t.DayTimeIntervalType,), (t.DayTimeIntervalType,), _interval),
        (r.DATETIME, r.DATETIME, _temporal),
        (r.BINARY, r.BINARY, _to_binary),
        ((t.ArrayType,), (t.ArrayType,), _lists),
        ((t.MapType, t.MultisetType), (t.MapType, t.MultisetType), _maps),
        ((t.RowType,), (t.RowType,), _rows),
    )


_CASTS: Final = _casts()
