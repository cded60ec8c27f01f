"""Dates and times to text and back: DATE_FORMAT, TO_DATE, TO_TIMESTAMP, TO_TIMESTAMP_LTZ, FROM_UNIXTIME
..."""

from __future__ import annotations

import decimal
import math
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import calendars as c, type_rules as r, types as t
from firesteel.sql.cast_from_text import CastError, from_text, parse_date, parse_timestamp
from firesteel.sql.context import CallSite
from firesteel.sql.date_patterns import PatternError, format_column, pattern
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.lifting import rows_of
from firesteel.sql.functions.registry import CallTypes, Typing
from firesteel.sql.functions.rules import (
    AS_BIGINT,
    BIGINT,
    STRING,
    TEXT,
    TIMESTAMP,
    either,
    nullable,
    optional,
    strict,
    takes,
)
from firesteel.sql.values import UNITS, unit_of

DEFAULT: Final = "yyyy-MM-dd HH:mm:ss"
_NS: Final = UNITS["ns"]


def _in_zone(site: CallSite, column: pa.Array, kind: t.DataType) -> tuple[Any, int]:
    unit = unit_of(kind)
    numbers = c.integers(column)
    if isinstance(kind, t.LocalZonedTimestampType):
        return c.to_local(numbers, unit, site.zone), unit
    return numbers, unit


# ---- DATE_FORMAT


def _date_format(site: CallSite, column: Any, shown: Any) -> Any:
    if isinstance(shown, pa.Scalar) and not shown.is_valid:
        return pa.nulls(site.length, pa.string())
    if not isinstance(shown, pa.Scalar) or isinstance(column, pa.Scalar):
        return rows_of(_format_one, site, (column, shown))
    kind = site.types[0]
    if isinstance(kind, r.CHARACTER):
        column, kind = (
            from_text(column, t.TimestampType(precision=9), "UTC", True),
            t.TimestampType(precision=9),
        )
    local, unit = _in_zone(site, column, kind)
    offsets = None
    if isinstance(kind, t.LocalZonedTimestampType):
        offsets = np.floor_divide(local, unit) - np.floor_divide(c.integers(column), unit)
    return c.with_nulls_of(format_column(pattern(shown.as_py()), local, unit, offsets, site.zone), column)


def _format_one(site: CallSite, value: Any, shown: str) -> str | None:
    kind = site.types[0]
    if isinstance(kind, r.CHARACTER):
        nanos = parse_timestamp(value)
        return None if nanos is None else pattern(shown).format(nanos)
    unit = unit_of(kind)
    zoned = isinstance(kind, t.LocalZonedTimestampType)
    local = int(c.to_local(np.array([value]), unit, site.zone)[0]) if zoned else value
    return pattern(shown).format(local * (_NS // unit), (local - value) // unit, site.zone)


scalar(
    "DATE_FORMAT",
    either(takes(TIMESTAMP, TEXT, result=nullable(STRING)), takes(TEXT, TEXT, result=nullable(STRING))),
    columns=_date_format,
    signatures=(
        "DATE_FORMAT(<TIMESTAMP>, <CHARACTER_STRING>)",
        "DATE_FORMAT(<CHARACTER_STRING>, <CHARACTER_STRING>)",
    ),
    doc="A point of time as text in a pattern of Java.",
    example="DATE_FORMAT(TIMESTAMP '2024-02-29 12:34:56', 'dd.MM.yyyy HH:mm')",
)


# ---- text to dates and timestamps


def _to_date(_: CallSite, text: str, shown: str | None = None) -> int | None:
    if shown is None:
        return parse_date(text)
    nanos = pattern(shown).parse(text, lenient=True)
    return None if nanos is None else nanos // (86_400 * _NS)


scalar(
    "TO_DATE",
    takes(TEXT, optional(TEXT), result=nullable(t.DateType())),
    value=_to_date,
    doc="The date that a text (yyyy-MM-dd, or in a pattern) stands for; NULL: none.",
    example="TO_DATE('29.02.2024', 'dd.MM.yyyy')",
)


def parsed(text: str, shown: str) -> int | None:
    """Nanoseconds of a text in a pattern, or else in the form of a timestamp's text."""
    try:
        nanos = pattern(shown).parse(text)
    except PatternError:
        return None
    return parse_timestamp(text.strip()) if nanos is None else nanos


def _to_timestamp(site: CallSite, column: Any, *shown: Any) -> Any:
    kind = t.TimestampType(precision=3)
    if isinstance(column, pa.Array) and (not shown or _same(shown[0], DEFAULT)):
        found = from_text(column, kind, "UTC", attempt=True)
        if found.null_count == column.null_count:
            return found
    return rows_of(_to_timestamp_one, site, (column, *shown))


def _same(column: Any, text: str) -> bool:
    return isinstance(column, pa.Scalar) and column.as_py() == text


def _to_timestamp_one(_: CallSite, text: str, shown: str = DEFAULT) -> int | None:
    nanos = parsed(text, shown)
    return None if nanos is None else nanos // 1_000_000


scalar(
    "TO_TIMESTAMP",
    takes(TEXT, optional(TEXT), result=nullable(t.TimestampType(precision=3))),
    columns=_to_timestamp,
    doc="The timestamp that a text (yyyy-MM-dd HH:mm:ss, or in a pattern) stands for; NULL: none.",
    example="TO_TIMESTAMP('2024-02-29 12:34:56')",
)


def _ltz_rule(call: CallTypes) -> Typing | None:
    types = call.types
    if not 1 <= len(types) <= 3:
        return None
    first, null = types[0], t.NullType
    if isinstance(first, r.NUMERIC):
        return _ltz_of_number(call)
    if not all(isinstance(d, (*r.CHARACTER, null)) for d in types):
        return None
    precision = 3
    shown = call.literal(1) if len(types) > 1 else None
    if isinstance(shown, str):
        try:
            precision = max(3, min(9, pattern(shown).fraction))
        except PatternError:
            return None
    zone = call.literal(2) if len(types) > 2 else None
    if isinstance(zone, str) and not c.is_zone_id(zone):
        from firesteel.sql.functions.calls import InvalidCallError

        raise InvalidCallError(
            f"Invalid timezone for parsing TIMESTAMP_LTZ: {zone!r}.",
            hint="write an id such as 'Europe/Berlin', 'UTC' or '+08:00'",
        )
    made = t.LocalZonedTimestampType(precision=precision)
    return Typing(made, tuple(STRING if isinstance(d, null) else d for d in types))


def _ltz_of_number(call: CallTypes) -> Typing | None:
    types = call.types
    if len(types) > 2 or (len(types) == 2 and not isinstance(types[1], (*r.INTEGER, t.NullType))):
        return None
    precision = call.literal(1) if len(types) == 2 else 3
    if precision is not None and not 0 <= precision <= 9:
        return None
    made = t.LocalZonedTimestampType(precision=max(3, precision or 0))
    numbers = BIGINT if isinstance(types[0], t.NullType) else types[0]
    return Typing(made, (numbers, *(t.IntType(nullable=d.nullable) for d in types[1:])))


#: milliseconds from the year 0 to the year 9999: Flink takes no others
_FIRST_MS: Final = -62_167_219_200_000
_LAST_MS: Final = 253_402_300_799_999


def _to_timestamp_ltz(site: CallSite, value: Any, *rest: Any) -> int | None:
    unit = unit_of(site.result)
    if not isinstance(value, str):
        return _from_number(value, rest[0] if rest else 3, unit)
    if not rest:
        nanos = parse_timestamp(value)
        if nanos is None:
            raise CastError(f"Text '{value}' could not be parsed.")
        return nanos // (_NS // unit)
    nanos = parsed(value, rest[0])
    zone = rest[1] if len(rest) > 1 else "UTC"
    if nanos is None or c.find_zone(zone) is None:
        return None
    local = nanos // (_NS // unit)
    return int(c.to_instant(np.array([local]), unit, zone)[0])


def _from_number(value: Any, precision: int, unit: int) -> int | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    per_second = 10**precision
    number = decimal.Decimal(value) if isinstance(value, float) else value
    found = int(number * unit / per_second) if not isinstance(number, int) else number * unit // per_second
    return found if _FIRST_MS <= found * 1000 // unit <= _LAST_MS and -(1 << 63) <= found < 1 << 63 else None


def _ltz_columns(site: CallSite, value: Any, *rest: Any) -> Any:
    whole = isinstance(site.types[0], r.INTEGER)
    if whole and isinstance(value, pa.Array) and all(isinstance(x, pa.Scalar) and x.is_valid for x in rest):
        numbers, unit = c.integers(value.cast(pa.int64())), unit_of(site.result)
        per_second = 10 ** (rest[0].as_py() if rest else 3)
        first, last = _FIRST_MS * per_second // 1000, (_LAST_MS + 1) * per_second // 1000 - 1
        kept = (numbers >= first) & (numbers <= last)
        if not kept.all():
            value = pc.if_else(pa.array(kept), value, pa.scalar(None, value.type))
            numbers = np.where(kept, numbers, 0)
        found = (
            numbers * (unit // per_second)
            if unit >= per_second
            else np.floor_divide(numbers, per_second // unit)
        )
        return c.temporal(found, site.result, value)
    return rows_of(_to_timestamp_ltz, site, (value, *rest))


scalar(
    "TO_TIMESTAMP_LTZ",
    _ltz_rule,
    columns=_ltz_columns,
    signatures=(
        "TO_TIMESTAMP_LTZ(<NUMERIC> [, <INT>])",
        "TO_TIMESTAMP_LTZ(<CHARACTER_STRING> [, <CHARACTER_STRING> [, <CHARACTER_STRING>]])",
    ),
    doc="The instant of a number of seconds (precision 0), milliseconds (3) and so on, or of a text in a "
    "pattern and a time zone.",
    example="TO_TIMESTAMP_LTZ(1700000000, 0)",
)


# ---- seconds since the epoch


def _from_unixtime(site: CallSite, seconds: Any, *shown: Any) -> Any:
    pattern_scalar = shown[0] if shown else pa.scalar(DEFAULT)
    if not isinstance(seconds, pa.Array) or not isinstance(pattern_scalar, pa.Scalar):
        return rows_of(_from_unixtime_one, site, (seconds, *shown))
    if not pattern_scalar.is_valid:
        return pa.nulls(site.length, pa.string())
    numbers = c.integers(seconds)
    local = c.to_local(numbers, 1, site.zone)
    texts = format_column(pattern(pattern_scalar.as_py()), local, 1, local - numbers, site.zone)
    return c.with_nulls_of(texts, seconds)


def _from_unixtime_one(site: CallSite, seconds: int, shown: str = DEFAULT) -> str:
    local = int(c.to_local(np.array([seconds]), 1, site.zone)[0])
    return pattern(shown).format(local * _NS, local - seconds, site.zone)


scalar(
    "FROM_UNIXTIME",
    takes(AS_BIGINT, optional(TEXT), result=nullable(STRING)),
    columns=_from_unixtime,
    dynamic=True,
    doc="Seconds since 1970 as text in the session's time zone.",
    example="FROM_UNIXTIME(1700000000)",
)

_NO_TIME: Final = -(1 << 63)


def _unix_timestamp(site: CallSite, text: str | None = None, shown: str = DEFAULT) -> int:
    if text is None:
        return site.evaluation.now() // 1000
    nanos = pattern(shown).parse(text, lenient=True)
    if nanos is None:
        return _NO_TIME
    return int(c.to_instant(np.array([nanos // _NS]), 1, site.zone)[0])


scalar(
    "UNIX_TIMESTAMP",
    takes(optional(TEXT), optional(TEXT), result=strict(BIGINT)),
    value=_unix_timestamp,
    dynamic=True,
    deterministic=False,
    doc="Seconds since 1970: now, or of a text in the session's time zone.",
    example="UNIX_TIMESTAMP('2024-02-29 12:34:56')",
)


def _convert_tz(_: CallSite, text: str, source: str, target: str) -> str | None:
    nanos = pattern(DEFAULT).parse(text, lenient=True)
    if nanos is None:
        return None
    instant = c.to_instant(np.array([nanos // _NS]), 1, _or_utc(source))
    return pattern(DEFAULT).format(int(c.to_local(instant, 1, _or_utc(target))[0]) * _NS)


def _or_utc(zone: str) -> str:
    """As Java's ``TimeZone``: what it does not know, and a bare offset, are UTC."""
    return "UTC" if zone[:1] in ("+", "-") or c.find_zone(zone) is None else zone


scalar(
    "CONVERT_TZ",
    takes(TEXT, TEXT, TEXT, result=nullable(STRING)),
    value=_convert_tz,
    doc="A local time of one time zone as that of another one.",
    example="CONVERT_TZ('2024-02-29 12:00:00', 'UTC', 'Asia/Shanghai')",
)
