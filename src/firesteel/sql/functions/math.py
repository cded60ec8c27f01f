"""Mathematical functions. Those of real numbers take any number and give DOUBLE."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import decimals, type_rules as r, types as t
from firesteel.sql.context import CallSite
from firesteel.sql.functions import temporal_fields
from firesteel.sql.functions.arithmetic import _valid
from firesteel.sql.functions.define import scalar
from firesteel.sql.functions.registry import CallTypes, TypeRule, Typing
from firesteel.sql.functions.rules import (
    AS_DOUBLE,
    AS_INT,
    DOUBLE,
    NUMBER,
    either,
    first,
    optional,
    strict,
    takes,
)
from firesteel.sql.values import CONTEXT, fit_decimal

# ---- of real numbers


def _floats(column: Any) -> Any:
    if isinstance(column, pa.Scalar):
        return math.nan if not column.is_valid else column.as_py()
    return column.to_numpy(zero_copy_only=False)


def _precise(fast: Callable[[Any], Any], precise: Callable[[float], float]) -> Callable[[Any], Any]:
    """The C library's function where the result is finite: NumPy's own is one unit off in the last place at
    times."""

    def function(x: Any) -> Any:
        found = np.array(fast(np.asarray(x, np.float64)), np.float64, ndmin=1)
        finite = np.flatnonzero(np.isfinite(found))
        numbers = np.array(x, np.float64, ndmin=1)[finite]
        found[finite] = np.fromiter(map(precise, numbers.tolist()), np.float64, len(finite))
        return found

    return function


def real(function: Callable[..., Any]) -> Callable[..., Any]:
    """A NumPy function on columns of DOUBLE."""

    def compute(site: CallSite, *columns: Any) -> Any:
        with np.errstate(all="ignore"):
            found = pa.array(np.broadcast_to(function(*map(_floats, columns)), (site.length,)), pa.float64())
        for column in columns:
            valid = _valid(column)
            if isinstance(valid, pa.Scalar):
                if not valid.as_py():
                    return pa.nulls(site.length, pa.float64())
            elif column.null_count:
                found = pc.if_else(valid, found, pa.scalar(None, pa.float64()))
        return found

    return compute


_ln = _precise(np.log, math.log)


def _cot(x: Any) -> Any:
    return 1.0 / _precise(np.tan, math.tan)(x)


def _log_base(base: Any, x: Any) -> Any:
    return _ln(x) / _ln(base)


# as fdlibm, Java's library, computes these two, so that the last digit is the same

_exp = _precise(np.exp, math.exp)
_expm1 = _precise(np.expm1, math.expm1)


def _sinh(x: Any) -> Any:
    size = np.abs(x)
    grown = _expm1(size)
    small = 0.5 * (2.0 * grown - grown * grown / (grown + 1.0))
    large = 0.5 * (grown + grown / (grown + 1.0))
    found = np.where(size < 1.0, small, np.where(size < 22.0, large, 0.5 * _exp(size)))
    return np.copysign(np.where(np.isinf(size), size, found), x)


def _tanh(x: Any) -> Any:
    size = np.abs(x)
    grown, shrunk = _expm1(2.0 * size), _expm1(-2.0 * size)
    found = np.where(size >= 1.0, 1.0 - 2.0 / (grown + 2.0), -shrunk / (shrunk + 2.0))
    return np.copysign(np.where(size >= 22.0, 1.0, found), x)


_ONE: TypeRule = takes(AS_DOUBLE, result=strict(DOUBLE))
for _name, _function, _doc, _example in (
    ("EXP", _precise(np.exp, math.exp), "e to the power of x.", "EXP(1)"),
    ("LN", _precise(np.log, math.log), "The natural logarithm.", "LN(10)"),
    ("LOG10", _precise(np.log10, math.log10), "The logarithm to the base of 10.", "LOG10(100)"),
    ("LOG2", lambda x: _ln(x) / math.log(2.0), "The logarithm to the base of 2.", "LOG2(8)"),
    ("SQRT", np.sqrt, "The square root.", "SQRT(4)"),
    ("SIN", _precise(np.sin, math.sin), "The sine.", "SIN(0)"),
    ("COS", _precise(np.cos, math.cos), "The cosine.", "COS(0)"),
    ("TAN", _precise(np.tan, math.tan), "The tangent.", "TAN(0)"),
    ("COT", _cot, "The cotangent.", "COT(1)"),
    ("ASIN", _precise(np.arcsin, math.asin), "The arc sine.", "ASIN(1)"),
    ("ACOS", _precise(np.arccos, math.acos), "The arc cosine.", "ACOS(1)"),
    ("ATAN", _precise(np.arctan, math.atan), "The arc tangent.", "ATAN(1)"),
    ("SINH", _sinh, "The hyperbolic sine.", "SINH(0)"),
    ("COSH", _precise(np.cosh, math.cosh), "The hyperbolic cosine.", "COSH(0)"),
    ("TANH", _tanh, "The hyperbolic tangent.", "TANH(0)"),
    ("DEGREES", lambda x: x * (180.0 / math.pi), "Radians as degrees.", "DEGREES(PI())"),
    ("RADIANS", lambda x: x / 180.0 * math.pi, "Degrees as radians.", "RADIANS(180)"),
):
    scalar(_name, _ONE, columns=real(_function), total=True, doc=_doc, example=_example)
scalar(
    "ATAN2",
    takes(AS_DOUBLE, AS_DOUBLE, result=strict(DOUBLE)),
    columns=real(np.arctan2),
    total=True,
    doc="The angle of a point.",
    example="ATAN2(1, 1)",
)
scalar(
    "POWER",
    takes(AS_DOUBLE, AS_DOUBLE, result=strict(DOUBLE)),
    columns=real(np.power),
    total=True,
    doc="The first to the power of the second.",
    example="POWER(2, 10)",
)
scalar(
    "LOG",
    takes(AS_DOUBLE, optional(AS_DOUBLE), result=strict(DOUBLE)),
    total=True,
    columns=real(lambda *x: _ln(x[0]) if len(x) == 1 else _log_base(*x)),
    doc="The natural logarithm, or that of the second to the base of the first.",
    example="LOG(2, 8)",
)
scalar(
    "PI",
    takes(result=DOUBLE.not_null()),
    value=lambda site: math.pi,
    total=True,
    doc="The number pi.",
    example="PI()",
)
scalar(
    "E",
    takes(result=DOUBLE.not_null()),
    value=lambda site: math.e,
    total=True,
    doc="The number e.",
    example="E()",
)


# ---- sign and size


def _sign(site: CallSite, a: Any) -> Any:
    if isinstance(site.result, t.DecimalType):
        return pc.sign(a).cast(pa.decimal128(19, 0)).cast(pa.decimal128(38, site.result.scale)).cast(a.type)
    return pc.sign(a).cast(a.type)


scalar(
    "ABS",
    takes(NUMBER, result=first),
    columns=lambda site, a: pc.abs(a),
    total=True,
    doc="The number without its sign.",
    example="ABS(-5)",
)
scalar(
    "SIGN",
    takes(NUMBER, result=first),
    columns=_sign,
    total=True,
    doc="-1, 0 or 1, as the number is negative, zero or positive.",
    example="SIGN(-5)",
)


# ---- rounding


def _whole(types: Any) -> t.DataType:
    kind: t.DataType = types[0]
    if isinstance(kind, t.DecimalType):
        return t.DecimalType(precision=kind.precision, scale=0, nullable=kind.nullable)
    return kind


def _rounding(kernel: Callable[[Any], Any], unit: Callable[..., Any]) -> Callable[..., Any]:
    def compute(site: CallSite, a: Any, symbol: Any = None) -> Any:
        if symbol is not None:
            return unit(site, a, symbol.as_py())
        if isinstance(site.types[0], r.INTEGER):
            return a
        found = kernel(a)
        return decimals.rescale(found, site.result) if isinstance(site.result, t.DecimalType) else found

    return compute


_CEIL_RULE = either(takes(NUMBER, result=_whole), temporal_fields.rounding_rule)
_UNITS = ("CEIL(<NUMERIC>)", "CEIL(<DATETIME> TO <UNIT>)")
scalar(
    "CEIL",
    _CEIL_RULE,
    sql=("CEIL", "CEILING"),
    total=True,
    columns=_rounding(pc.ceil, temporal_fields.ceil),
    signatures=_UNITS,
    doc="The next whole number, or the next point of time in a unit, that is not less.",
    example="CEIL(2.5)",
)
scalar(
    "FLOOR",
    _CEIL_RULE,
    columns=_rounding(pc.floor, temporal_fields.floor),
    total=True,
    signatures=tuple(s.replace("CEIL", "FLOOR") for s in _UNITS),
    doc="The last whole number, or the last point of time in a unit, that is not greater.",
    example="FLOOR(TIMESTAMP '2024-02-29 12:34:56' TO MONTH)",
)


def _round_rule(call: CallTypes) -> Typing | None:
    """With digits that are no literal a DECIMAL keeps its type."""
    found = takes(NUMBER, optional(AS_INT), result=first)(call)
    if found is None or not isinstance(found.result, t.DecimalType):
        return found
    number, digits = found.arguments[0], 0 if len(call.types) == 1 else call.literal(1)
    assert isinstance(number, t.DecimalType)
    if digits is None:
        return found
    rounded = r.decimal_round(number, int(digits))
    return Typing(rounded.with_nullability(found.result.nullable), found.arguments)


_Round = Callable[[decimal.Decimal, int], decimal.Decimal]


def _half_up(number: decimal.Decimal, digits: int) -> decimal.Decimal:
    return number.quantize(decimal.Decimal((0, (1,), -digits)), decimal.ROUND_HALF_UP, CONTEXT)


def _cut(number: decimal.Decimal, digits: int) -> decimal.Decimal:
    return number.quantize(decimal.Decimal((0, (1,), -digits)), decimal.ROUND_DOWN, CONTEXT)


def _exactly(rounding: _Round) -> Callable[..., Any]:
    """One value: through decimals, as Java's BigDecimal does it."""

    def value(site: CallSite, number: Any, digits: int = 0) -> Any:
        kind = site.result
        if isinstance(number, float):
            if not math.isfinite(number):
                return number
            return float(rounding(decimal.Decimal(_text(number, kind)), digits))
        if isinstance(number, decimal.Decimal):
            assert isinstance(kind, t.DecimalType)
            exponent = number.as_tuple().exponent
            assert isinstance(exponent, int), "a DECIMAL is a finite number"
            if digits >= -exponent:
                return fit_decimal(number, kind)
            return fit_decimal(rounding(number, digits), kind)
        return number if digits >= 0 else _wrapped(int(rounding(decimal.Decimal(number), digits)), kind)

    return value


def _text(number: float, kind: t.DataType) -> str:
    from firesteel.common._java_numbers import float_to_string

    return float_to_string(number) if isinstance(kind, t.FloatType) else repr(number)


_BITS = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32, t.BigIntType: 64}


def _wrapped(number: int, kind: t.DataType) -> int:
    bits = _BITS[type(kind)]
    return ((number + (1 << (bits - 1))) & ((1 << bits) - 1)) - (1 << (bits - 1))


def _round_columns(rounding: _Round, half_up: bool) -> Callable[..., Any]:
    one_by_one = _exactly(rounding)

    def compute(site: CallSite, number: Any, *digits: Any) -> Any:
        from firesteel.sql.functions.lifting import rows_of

        places = 0 if not digits else digits[0].as_py() if isinstance(digits[0], pa.Scalar) else None
        if isinstance(site.result, t.DoubleType) and isinstance(number, pa.Array) and places is not None:
            return _doubles(site, number, places, half_up, one_by_one)
        return rows_of(one_by_one, site, (number, *digits))

    return compute


def _doubles(
    site: CallSite, column: pa.Array, places: int, half_up: bool, exact: Callable[..., Any]
) -> pa.Array:
    """By arithmetic where that is exact beyond doubt, else one by one."""
    numbers = column.to_numpy(zero_copy_only=False)
    if not 0 <= places <= 15:
        found, doubt = numbers.copy(), np.ones(len(numbers), bool)
    else:
        with np.errstate(all="ignore"):
            scaled = np.abs(numbers) * 10.0**places
            whole = np.floor(scaled + (0.5 if half_up else 0.0))
            fraction = scaled - np.floor(scaled)
            near = np.abs(fraction - 0.5) if half_up else np.minimum(fraction, 1.0 - fraction)
            doubt = (near < 1e-6) | (scaled > 2.0**49) | ~np.isfinite(numbers)
            found = np.copysign(whole / 10.0**places, numbers)
    for i in np.flatnonzero(doubt & column.is_valid().to_numpy(zero_copy_only=False)):
        found[i] = exact(site, float(numbers[i]), places)
    return pa.array(found, pa.float64(), mask=column.is_null().to_numpy(zero_copy_only=False))


scalar(
    "ROUND",
    _round_rule,
    columns=_round_columns(_half_up, True),
    total=True,
    signatures=("ROUND(<NUMERIC> [, <INT>])",),
    doc="The number rounded to that many digits after the point; halves are rounded away from zero.",
    example="ROUND(2.345, 2)",
)
scalar(
    "TRUNCATE",
    _round_rule,
    columns=_round_columns(_cut, False),
    total=True,
    signatures=("TRUNCATE(<NUMERIC> [, <INT>])",),
    doc="The number cut off after that many digits.",
    example="TRUNCATE(42.345, 2)",
)
