"""Columns as NumPy numbers, and results back: what kernels calculate with."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.common.columns import objects
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.operators.kernels.segments import Array

__all__ = ["from_numbers", "half_up", "is_exact", "number_field", "numbers", "objects"]

_OBJECT: Final = np.dtype(object)
_LONG_DIGITS: Final = 18


def is_exact(data_type: t.DataType) -> bool:
    """Whether numbers of the type are integers of 64 bits or less, dates and times among them."""
    kind = arrow_type(data_type)
    return bool(pa.types.is_integer(kind) or pa.types.is_temporal(kind) or pa.types.is_boolean(kind))


def number_field(data_type: t.DataType) -> str:
    """The NumPy type in which values of a type are kept."""
    match data_type:
        case t.FloatType():
            return "float32"
        case t.DoubleType():
            return "float64"
        case _ if is_exact(data_type):
            return "int64"
    return "object"


def numbers(array: pa.Array) -> Array:
    """The numbers of a column, 0 where it is null: int64, float32, float64, or for DECIMAL unscaled integers,
    in int64 where all fit, else as Python's."""
    kind = array.type
    if pa.types.is_decimal(kind):
        return _unscaled(array)
    if pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    elif pa.types.is_temporal(kind):
        array = array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    if array.null_count:
        array = array.fill_null(0)
    found: Array = array.to_numpy(zero_copy_only=False)
    return found if found.dtype.kind == "f" else found.astype(np.int64, copy=False)


def _unscaled(array: pa.Array) -> Array:
    length = len(array)
    if not length:
        return np.zeros(0, np.int64)
    halves = np.frombuffer(array.buffers()[1], np.int64)[2 * array.offset : 2 * (array.offset + length)]
    low, high = halves[::2], halves[1::2]
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        low, high = np.where(valid, low, 0), np.where(valid, high, 0)
    if array.type.precision <= _LONG_DIGITS or bool(np.all(high == low >> 63)):
        return low
    lower = np.ascontiguousarray(low).view(np.uint64).astype(object)
    wide: Array = (high.astype(object) << 64) + lower
    return wide


def from_numbers(values: Array, present: Array | None, data_type: t.DataType) -> pa.Array:
    """A column of numbers; null where *present* is false. Integers wrap; a DECIMAL that does not fit is
    null."""
    kind = arrow_type(data_type)
    missing = None if present is None or present.all() else ~present
    if pa.types.is_decimal(kind):
        return _decimals(values, missing, kind)
    if pa.types.is_boolean(kind):
        return pa.array(values.astype(bool), kind, mask=missing)
    if pa.types.is_temporal(kind):
        integer: Any = (np.int32, pa.int32()) if kind.bit_width == 32 else (np.int64, pa.int64())
        return pa.array(values.astype(integer[0]), integer[1], mask=missing).view(kind)
    return pa.array(values.astype(kind.to_pandas_dtype(), copy=False), kind, mask=missing)


def _decimals(values: Array, missing: Array | None, kind: pa.DataType) -> pa.Array:
    count = len(values)
    if values.dtype == _OBJECT:
        bound = 10**kind.precision
        over = np.array([abs(v) >= bound for v in values.tolist()], bool)
        if over.any():
            missing = over if missing is None else missing | over
        listed = [0 if abs(v) >= bound else v for v in values.tolist()]
        data = b"".join(v.to_bytes(16, "little", signed=True) for v in listed)
    else:
        halves = np.empty(2 * count, np.int64)
        halves[::2], halves[1::2] = values, values >> 63
        data = halves.tobytes()
    validity = None
    if missing is not None and missing.any():
        validity = pa.py_buffer(np.packbits(~missing, bitorder="little").tobytes())
    return pa.Array.from_buffers(kind, count, [validity, pa.py_buffer(data)])


def half_up(numerators: list[int], denominators: list[int]) -> list[int]:
    """Quotients rounded half away from zero; denominators are positive."""
    return [
        (1 if n >= 0 else -1) * ((2 * abs(n) + d) // (2 * d))
        for n, d in zip(numerators, denominators, strict=True)
    ]
