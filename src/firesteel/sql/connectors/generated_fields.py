"""Columns of generated values: whoever has the random bits and the numbers of rows has the column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type

__all__ = [
    "Field",
    "Numbers",
    "array",
    "decimal",
    "flag",
    "map_",
    "mixed",
    "past",
    "real",
    "row",
    "sequence",
    "sometimes_null",
    "text",
    "whole",
]

Numbers = np.ndarray[Any, np.dtype[np.uint64]]
Field = Callable[[Numbers, Numbers], pa.Array]  # random bits and numbers of rows -> a column

_HEX: Final = np.frombuffer(b"0123456789abcdef", np.uint8)


def mixed(bits: Numbers) -> Numbers:
    """Well-mixed bits (splitmix64)."""
    with np.errstate(over="ignore"):
        z = bits + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def sometimes_null(inner: Field, rate: float) -> Field:
    """:param rate: the share of values that are NULL."""
    if not rate:
        return inner

    def field(bits: Numbers, numbers: Numbers) -> pa.Array:
        values = inner(bits, numbers)
        share = (mixed(bits ^ np.uint64(0x5DEECE66D)) >> np.uint64(11)) * (1.0 / 2**53)
        return pa.compute.if_else(pa.array(share < rate), pa.scalar(None, values.type), values)

    return field


# ---- values


def whole(low: int, high: int, data_type: t.DataType) -> Field:
    def field(bits: Numbers, _: Numbers) -> pa.Array:
        span = high - low + 1
        if span >= 2**64:
            values = bits.view(np.int64)
        else:
            with np.errstate(over="ignore"):
                values = (bits % np.uint64(span) + np.uint64(low % 2**64)).view(np.int64)
        return pa.array(values).cast(arrow_type(data_type), safe=False)

    return field


def real(low: float, high: float, data_type: t.DataType) -> Field:
    def field(bits: Numbers, _: Numbers) -> pa.Array:
        share = (bits >> np.uint64(11)) * (1.0 / 2**53)
        values = low * (1 - share) + high * share
        return pa.array(values.astype(np.float32 if isinstance(data_type, t.FloatType) else np.float64))

    return field


def decimal(data_type: t.DecimalType, low: float, high: float) -> Field:
    def field(bits: Numbers, _: Numbers) -> pa.Array:
        share = (bits >> np.uint64(11)) * (1.0 / 2**53)
        values = low * (1 - share) + high * share
        return pa.array(values).cast(arrow_type(data_type), safe=False)

    return field


def text(length: int, varying: bool, binary: bool) -> Field:
    def field(bits: Numbers, _: Numbers) -> pa.Array:
        blocks = (length + 15) // 16
        digits = np.empty((len(bits), blocks * 16), np.uint8)
        current = bits
        for block in range(blocks):
            for place in range(16):
                nibble = (current >> np.uint64(4 * place)) & np.uint64(15)
                digits[:, block * 16 + place] = _HEX[nibble.astype(np.int64)]
            current = mixed(current)
        sizes = (
            (mixed(bits) % np.uint64(length)).astype(np.int64) + 1 if varying else np.full(len(bits), length)
        )
        made = [row[:n].tobytes() for row, n in zip(digits, sizes, strict=True)]
        return pa.array(made, pa.binary()) if binary else pa.array([m.decode() for m in made], pa.string())

    return field


def flag(bits: Numbers, _: Numbers) -> pa.Array:
    return pa.array((bits & np.uint64(1)).astype(bool))


def past(data_type: t.DataType, max_past_ms: int, now_ms: int) -> Field:
    def field(bits: Numbers, _: Numbers) -> pa.Array:
        past = bits % np.uint64(max_past_ms + 1) if max_past_ms else np.zeros(len(bits), np.uint64)
        millis = now_ms - past.astype(np.int64)
        if isinstance(data_type, t.DateType):
            return pa.array((millis // 86_400_000).astype(np.int32)).cast(pa.date32())
        if isinstance(data_type, t.TimeType):
            return pa.array((millis % 86_400_000).astype(np.int32)).cast(pa.time32("ms"))
        return pa.array(millis, pa.timestamp("ms")).cast(arrow_type(data_type))

    return field


def sequence(start: int, data_type: t.DataType) -> Field:
    """Each number once; bytes are its 8 bytes, the highest first."""

    def field(_: Numbers, numbers: Numbers) -> pa.Array:
        values = numbers.astype(np.int64) + start
        if isinstance(data_type, t.BinaryType | t.VarBinaryType):
            made = [value.to_bytes(8, "big", signed=True) for value in values.tolist()]
            return pa.array(made, arrow_type(data_type))
        return pa.array(values).cast(arrow_type(data_type))

    return field


# ---- values of values


def row(data_type: t.RowType, fields: tuple[Field, ...]) -> Field:
    def field(bits: Numbers, numbers: Numbers) -> pa.Array:
        arrays = []
        for inner in fields:
            bits = mixed(bits)
            arrays.append(inner(bits, numbers))
        return pa.StructArray.from_arrays(arrays, fields=list(arrow_type(data_type)))

    return field


def array(data_type: t.ArrayType, length: int, inner: Field) -> Field:
    def field(bits: Numbers, numbers: Numbers) -> pa.Array:
        values = inner(_of_places(bits, length), np.repeat(numbers, length))
        offsets = pa.array(np.arange(len(bits) + 1, dtype=np.int32) * np.int32(length))
        return pa.ListArray.from_arrays(offsets, values, type=arrow_type(data_type))

    return field


def map_(data_type: t.MapType | t.MultisetType, length: int, key: Field, value: Field) -> Field:
    """:param length: how many keys are drawn; one that is drawn again is left out."""

    def field(bits: Numbers, numbers: Numbers) -> pa.Array:
        every, repeated = _of_places(bits, length), np.repeat(numbers, length)
        keys = key(every, repeated)
        rows = np.repeat(np.arange(len(bits)), length)
        _, first = np.unique(rows * (len(keys) + 1) + _codes(keys), return_index=True)
        first.sort()
        offsets = np.searchsorted(rows[first], np.arange(len(bits) + 1)).astype(np.int32)
        values = value(mixed(every), repeated)
        return pa.MapArray.from_arrays(
            pa.array(offsets), keys.take(first), values.take(first), type=arrow_type(data_type)
        )

    return field


def _of_places(bits: Numbers, length: int) -> Numbers:
    """Bits for each place of a collection."""
    return mixed(np.repeat(bits, length) + np.tile(np.arange(length, dtype=np.uint64), len(bits)))


def _codes(keys: pa.Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """A number for each key, equal for equal ones."""
    if not pa.types.is_nested(keys.type):
        codes: np.ndarray[Any, np.dtype[np.int64]] = (
            keys.dictionary_encode().indices.to_numpy().astype(np.int64)
        )
        return codes
    known: dict[str, int] = {}
    return np.array([known.setdefault(repr(k), len(known)) for k in keys.to_pylist()], np.int64)
