"""Arithmetic of DECIMAL columns as Flink does it: exact, rounded half up to the result's scale, null on
overflow.

Numbers of at most 18 digits are computed as 64-bit integers, others as 256-bit decimals of Arrow, and what
does not fit there one by one.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.sql import types as t
from firesteel.sql.values import CONTEXT, array_of

__all__ = [
    "add",
    "divide",
    "from_integers",
    "modulo",
    "multiply",
    "rescale",
    "subtract",
    "to_floats",
    "unscaled",
]

_SMALL: Final = 18
_FLOAT_DIGITS: Final = 15
_POWERS: Final = [10**i for i in range(_SMALL + 1)]
#: Flink divides with 38 digits
_DIVISION: Final = decimal.Context(prec=38, rounding=decimal.ROUND_HALF_UP)

Operand = Any  # a column, or a scalar


def unscaled(array: pa.Array) -> Any:
    """The unscaled numbers of a column of at most 18 digits, as NumPy integers; nulls are any number."""
    words = np.frombuffer(array.buffers()[1], np.int64)
    return words[2 * array.offset : 2 * (array.offset + len(array)) : 2]


def from_integers(numbers: Any, data_type: pa.DataType, validity: pa.Array | None = None) -> pa.Array:
    """A DECIMAL column of 64-bit unscaled numbers. :param validity: booleans; None: no null."""
    words = np.empty((len(numbers), 2), np.int64)
    words[:, 0] = numbers
    words[:, 1] = numbers >> 63
    made = pa.Array.from_buffers(data_type, len(numbers), [None, pa.py_buffer(words)])
    return made if validity is None else pc.if_else(validity, made, pa.scalar(None, data_type))


def to_floats(array: pa.Array) -> pa.Array:
    """The nearest double of each number."""
    kind = array.type
    if kind.precision <= _FLOAT_DIGITS:
        # both are exact doubles, so the quotient is the nearest one
        found = pa.array(unscaled(array).astype(np.float64) / float(10**kind.scale))
        return (
            found
            if not array.null_count
            else pc.if_else(array.is_valid(), found, pa.scalar(None, pa.float64()))
        )
    return pa.array([None if x is None else float(x) for x in array.to_pylist()], pa.float64())


def _valid(*operands: Operand) -> pa.Array | None:
    masks = [o.is_valid() for o in operands if isinstance(o, pa.Array) and o.null_count]
    if not masks:
        return None
    found = masks[0]
    for mask in masks[1:]:
        found = pc.and_(found, mask)
    return found


def _null(operand: Operand) -> bool:
    return isinstance(operand, pa.Scalar) and not operand.is_valid


def _integers(operand: Operand) -> Any:
    if isinstance(operand, pa.Array):
        return unscaled(operand)
    return np.int64(int(operand.as_py().scaleb(operand.type.scale, CONTEXT)))


def _length(*operands: Operand) -> int:
    return next(len(o) for o in operands if isinstance(o, pa.Array))


def rescale(array: Any, data_type: t.DecimalType) -> Any:
    """Round half up to the scale of *data_type*; null where there are too many digits."""
    target = pa.decimal128(data_type.precision, data_type.scale)
    if array.type == target:
        return array
    if array.type.scale == data_type.scale and array.type.precision <= data_type.precision:
        return array.cast(target)
    wide = array.cast(pa.decimal256(min(76, max(array.type.precision + 1, 39)), array.type.scale))
    if array.type.scale > data_type.scale:
        wide = pc.round(wide, data_type.scale, round_mode="half_towards_infinity")
    # compared as whole numbers: a bound of the column's own scale may have too many digits
    bound = pa.scalar(decimal.Decimal(10) ** (data_type.precision - data_type.scale), pa.decimal256(76, 0))
    whole = pc.trunc(wide) if wide.type.scale else wide
    fits = pc.less(pc.abs(whole.cast(pa.decimal256(76, 0))), bound)
    kept = pc.if_else(fits, wide, pa.scalar(None, wide.type))
    room = max(data_type.precision - data_type.scale, 1) + data_type.scale
    return kept.cast(pa.decimal256(max(room, 39), data_type.scale)).cast(target)


def _one_by_one(
    operation: Callable[[decimal.Decimal, decimal.Decimal], decimal.Decimal],
    a: Operand,
    b: Operand,
    result: t.DecimalType,
) -> pa.Array:
    length = _length(a, b)
    left, right = (o.to_pylist() if isinstance(o, pa.Array) else [o.as_py()] * length for o in (a, b))
    found = [None if x is None or y is None else operation(x, y) for x, y in zip(left, right, strict=True)]
    return array_of(found, result)


def _wide(operand: Operand) -> Any:
    return operand.cast(pa.decimal256(operand.type.precision, operand.type.scale))


def add(a: Operand, b: Operand, result: t.DecimalType) -> Any:
    return _sum(pc.add, a, b, result)


def subtract(a: Operand, b: Operand, result: t.DecimalType) -> Any:
    return _sum(pc.subtract, a, b, result)


def _sum(kernel: Callable[[Any, Any], Any], a: Operand, b: Operand, result: t.DecimalType) -> Any:
    scale = max(a.type.scale, b.type.scale)
    digits = max(o.type.precision - o.type.scale for o in (a, b)) + scale + 1
    if digits > 76:
        operation = CONTEXT.add if kernel is pc.add else CONTEXT.subtract
        return _one_by_one(operation, a, b, result)
    if digits > 38:
        a, b = _wide(a), _wide(b)
    return rescale(kernel(a, b), result)


def multiply(a: Operand, b: Operand, result: t.DecimalType) -> Any:
    digits = a.type.precision + b.type.precision + 1
    if digits > 76:
        return _one_by_one(CONTEXT.multiply, a, b, result)
    if digits > 38:
        a, b = _wide(a), _wide(b)
    return rescale(pc.multiply(a, b), result)


def zero_of(kind: pa.DataType) -> pa.Scalar:
    """The number 0 as a scalar of a type of numbers."""
    return pa.scalar(decimal.Decimal(0) if pa.types.is_decimal(kind) else 0, kind)


def check_divisor(a: Operand, b: Operand, message: str) -> None:
    """:raises ZeroDivisionError: a number that is not null is divided by zero."""
    zero = pc.equal(b, zero_of(b.type))
    if isinstance(zero, pa.Scalar):
        if zero.as_py() is not True:
            return
        failing = a.is_valid if isinstance(a, pa.Scalar) else a.null_count < len(a)
    else:
        if not pc.any(zero).as_py():
            return
        valid = pa.scalar(a.is_valid) if isinstance(a, pa.Scalar) else a.is_valid()
        failing = pc.any(pc.and_(pc.fill_null(zero, False), valid)).as_py()
    if failing:
        raise ZeroDivisionError(message)


def _divisor(b: Operand) -> Any:
    """The divisors as integers; where a quotient is null anyway, 1."""
    numbers = _integers(b)
    return np.where(numbers == 0, 1, numbers) if isinstance(b, pa.Array) else (numbers or np.int64(1))


def divide(a: Operand, b: Operand, result: t.DecimalType) -> Any:
    check_divisor(a, b, "Division by zero")
    if _null(a) or _null(b):
        return pa.nulls(_length(a, b), pa.decimal128(result.precision, result.scale))
    # one more digit than is kept, cut off: rounding half up needs no other
    shift = result.scale + 1 + b.type.scale - a.type.scale
    if shift >= 0 and a.type.precision + shift <= _SMALL and b.type.precision <= _SMALL:
        return _divided(a, b, shift, result)
    found = _long_division(a, b, result)
    if found is not None:
        return found
    return _one_by_one(lambda x, y: _DIVISION.divide(x, y), a, b, result)


def _divided(a: Operand, b: Operand, shift: int, result: t.DecimalType) -> pa.Array:
    left, right = _integers(a) * np.int64(_POWERS[shift]), _divisor(b)
    signs = np.sign(left) * np.sign(right)
    found = signs * ((np.abs(left) // np.abs(right) + 5) // 10)
    target = pa.decimal128(result.precision, result.scale)
    return from_integers(np.broadcast_to(found, _length(a, b)).astype(np.int64), target, _valid(a, b))


#: digits of a quotient that are found at a time
_CHUNK: Final = 9


def _long_division(a: Operand, b: Operand, result: t.DecimalType) -> pa.Array | None:
    """The whole part, then nine digits at a time of what is left over; None: the numbers are too large for
    that."""
    if a.type.precision > _SMALL or b.type.precision > _SMALL:
        return None
    scale = a.type.scale - b.type.scale
    digits = result.scale + 1 - scale
    left, right = np.abs(_integers(a)), np.abs(_divisor(b))
    if not 1 <= digits <= _SMALL or scale < 0 or np.max(right, initial=0) >= _POWERS[_CHUNK]:
        return None
    length, valid = _length(a, b), _valid(a, b)
    whole, rest = np.divmod(left, right)
    fraction = np.zeros_like(whole)
    missing = digits
    while missing > 0:
        step = np.int64(_POWERS[min(missing, _CHUNK)])
        part, rest = np.divmod(rest * step, right)
        fraction = fraction * step + part
        missing -= _CHUNK
    low, high = _times_plus(whole, _POWERS[digits - 1], (fraction + 5) // 10)
    negative = (_integers(a) < 0) != (_integers(b) < 0)
    low, high = np.where(negative, ~low + np.uint64(1), low), np.where(negative, ~high + (low == 0), high)
    words = np.empty((length, 2), np.uint64)
    words[:, 0], words[:, 1] = low, high
    kind = pa.decimal128(result.precision, result.scale)
    made = pa.Array.from_buffers(kind, length, [None, pa.py_buffer(words)])
    return made if valid is None else pc.if_else(valid, made, pa.scalar(None, kind))


def _times_plus(numbers: Any, factor: int, more: Any) -> tuple[Any, Any]:
    """``numbers * factor + more`` of numbers that are not negative, as two words of 64 bits."""
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x = np.asarray(numbers).astype(np.uint64)
    x0, x1 = x & mask, x >> half
    f0, f1 = np.uint64(factor & 0xFFFFFFFF), np.uint64(factor >> 32)
    middle = x1 * f0 + ((x0 * f0) >> half)
    crossed = x0 * f1 + (middle & mask)
    high = x1 * f1 + (middle >> half) + (crossed >> half)
    low = (crossed << half) | ((x0 * f0) & mask)
    total = low + np.asarray(more).astype(np.uint64)
    return total, high + (total < low)


def modulo(a: Operand, b: Operand, result: t.DecimalType) -> Any:
    """The remainder has the sign of *a*."""
    check_divisor(a, b, "Division by zero")
    if _null(a) or _null(b):
        return pa.nulls(_length(a, b), pa.decimal128(result.precision, result.scale))
    scale = max(a.type.scale, b.type.scale)
    if scale == result.scale and all(o.type.precision + scale - o.type.scale <= _SMALL for o in (a, b)):
        left = _integers(a) * np.int64(_POWERS[scale - a.type.scale])
        right = _divisor(b) * np.int64(_POWERS[scale - b.type.scale])
        found = np.broadcast_to(np.fmod(left, right), _length(a, b)).astype(np.int64)
        return from_integers(found, pa.decimal128(result.precision, result.scale), _valid(a, b))
    return _one_by_one(CONTEXT.remainder, a, b, result)
