"""Literals: text to value and type."""

from __future__ import annotations

import datetime
import math
import re
from decimal import Decimal
from typing import Any, Final

from firesteel.sql import types as t
from firesteel.sql.expressions import Literal

__all__ = ["LiteralError", "interval", "number", "text", "typed"]

_MONTHS: Final = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_MILLIS: Final = {
    "WEEK": 604_800_000,
    "DAY": 86_400_000,
    "HOUR": 3_600_000,
    "MINUTE": 60_000,
    "SECOND": 1_000,
}
_TIMESTAMP: Final = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2}) (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?")
_TIME: Final = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,9}))?")
_DATE: Final = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")


class LiteralError(ValueError):
    """The text of a literal is not one of its type."""


def number(written: str) -> Literal:
    """An INT, BIGINT, DECIMAL or, with an exponent, DOUBLE. A DECIMAL has as many digits as are written,
    zeros before them too, and no more than a BIGINT can be without the point."""
    if "e" in written.lower():
        double = float(written)
        if math.isinf(double):
            raise LiteralError(f"Numeric literal '{written.upper()}' out of range")
        return Literal(double, t.DoubleType(nullable=False))
    whole, _, fraction = written.lstrip("-").partition(".")
    if fraction:
        precision, scale = len(whole) + len(fraction), len(fraction)
        if precision > 38 or abs(int(whole + fraction)) >= 2**63:
            raise LiteralError(f"Numeric literal '{written}' out of range")
        return Literal(Decimal(written), t.DecimalType(precision=precision, scale=scale, nullable=False))
    written = written.rstrip(".")
    value_int = int(written)
    if -(2**31) <= value_int < 2**31:
        return Literal(value_int, t.IntType(nullable=False))
    if -(2**63) <= value_int < 2**63:
        return Literal(value_int, t.BigIntType(nullable=False))
    raise LiteralError(f"Numeric literal '{written}' out of range")


def text(value: str) -> Literal:
    return Literal(value, t.CharType(length=len(value), nullable=False))


def _fraction(digits: str | None) -> tuple[int, int]:
    """Nanoseconds, and how many digits were written."""
    return (0, 0) if digits is None else (int(digits.ljust(9, "0")), len(digits))


def _matched(pattern: re.Pattern[str], kind: str, written: str) -> re.Match[str]:
    found = pattern.fullmatch(written.strip())
    if found is None:
        raise LiteralError(f"Illegal {kind} literal '{written}': not in format '{_SHAPES[kind]}'")
    return found


def typed(kind: str, written: str) -> Literal:
    """``DATE '...'``, ``TIME '...'``, ``TIMESTAMP '...'``.

    :raises LiteralError: the text is not of that form.
    """
    try:
        return _TYPED[kind](written)
    except LiteralError:
        raise
    except ValueError as error:
        raise LiteralError(f"Illegal {kind} literal '{written}': not in format '{_SHAPES[kind]}'") from error


_SHAPES: Final = {"DATE": "yyyy-MM-dd", "TIME": "HH:mm:ss", "TIMESTAMP": "yyyy-MM-dd HH:mm:ss"}


def _date(written: str) -> Literal:
    found = _matched(_DATE, "DATE", written)
    return Literal(datetime.date(*(int(g) for g in found.groups())), t.DateType(nullable=False))


def _time(written: str) -> Literal:
    found = _matched(_TIME, "TIME", written)
    nanos, digits = _fraction(found.group(4))
    hour, minute, second = (int(g) for g in found.groups()[:3])
    value = datetime.time(hour, minute, second, nanos // 1000)
    return Literal(value, t.TimeType(precision=digits, nullable=False))


def _timestamp(written: str) -> Literal:
    found = _matched(_TIMESTAMP, "TIMESTAMP", written)
    nanos, digits = _fraction(found.group(7))
    year, month, day, hour, minute, second = (int(g) for g in found.groups()[:6])
    value: Any = datetime.datetime(year, month, day, hour, minute, second, nanos // 1000)
    if digits > 6:
        days = value.toordinal() - datetime.date(1970, 1, 1).toordinal()
        value = ((days * 24 + hour) * 60 + minute) * 60 + second
        value = value * 1_000_000_000 + nanos
    return Literal(value, t.TimestampType(precision=digits, nullable=False))


_TYPED: Final = {"DATE": _date, "TIME": _time, "TIMESTAMP": _timestamp}


def interval(
    written: str,
    unit: str,
    *,
    negative: bool = False,
    precision: int | None = None,
    fraction: int | None = None,
) -> Literal:
    """``INTERVAL '1 10:00' DAY TO MINUTE``: months or milliseconds.

    :param precision: how many digits the first number may have; 2 where nothing is said.
    :raises LiteralError: the text does not fit the unit.
    """
    data_type = interval_type(unit)
    value = _interval_value(written.strip(), unit, 2 if precision is None else precision)
    return Literal(-value if negative else value, data_type)


def interval_type(unit: str) -> t.DataType:
    """Flink knows two types of intervals once a text is read: months, and seconds with milliseconds."""
    if unit.split("_")[0] in _MONTHS:
        return t.YearMonthIntervalType(resolution="MONTH", nullable=False)
    return t.DayTimeIntervalType(resolution="SECOND", fractional_precision=3, nullable=False)


_PARTS: Final = ("DAY", "HOUR", "MINUTE", "SECOND")
_LIMITS: Final = {"HOUR": 24, "MINUTE": 60, "SECOND": 60}  # of all parts but the first


def _interval_value(written: str, unit: str, precision: int) -> int:
    sign = 1
    if written[:1] in "+-" and written:
        sign = -1 if written[0] == "-" else 1
        written = written[1:].strip()
    try:
        _check_precision(written, unit.partition("_TO_")[0], precision)
        return sign * _unsigned(written, unit)
    except LiteralError:
        raise
    except ValueError as error:
        raise LiteralError(
            f"Illegal interval literal format '{written}' for INTERVAL {unit.replace('_', ' ')}"
        ) from error


_LEADING: Final = re.compile(r"\d+")


def _check_precision(written: str, first: str, precision: int) -> None:
    leading = _LEADING.match(written)
    if leading is not None and len(leading.group().lstrip("0")) > precision:
        raise LiteralError(
            f"Interval field value {int(leading.group()):,} exceeds precision of {first}({precision}) field"
        )


def _unsigned(written: str, unit: str) -> int:
    if unit in _MONTHS:
        return int(written) * _MONTHS[unit]
    if unit == "YEAR_TO_MONTH":
        years, months = written.split("-")
        if int(months) >= 12:
            raise ValueError(written)
        return int(years) * 12 + int(months)
    if "_TO_" not in unit:
        if unit == "SECOND":
            return _seconds(written)
        return int(written) * _MILLIS[unit]
    first, _, last = unit.partition("_TO_")
    parts = _PARTS[_PARTS.index(first) : _PARTS.index(last) + 1]
    pieces = re.split(r"[ :]", written)
    if len(pieces) != len(parts):
        raise ValueError(written)
    values = [
        _seconds(piece) if part == "SECOND" else int(piece) * _MILLIS[part]
        for piece, part in zip(pieces, parts, strict=True)
    ]
    if any(v >= _LIMITS[part] * _MILLIS[part] for v, part in zip(values[1:], parts[1:], strict=True)):
        raise ValueError(written)
    return sum(values)


def _seconds(written: str) -> int:
    if not re.fullmatch(r"\d+(\.\d+)?", written):
        raise ValueError(written)
    return int(Decimal(written) * 1000)
