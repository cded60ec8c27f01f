"""COUNT, SUM, SUM0 and AVG: sums of numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from firesteel.sql import types as t
from firesteel.sql.operators.kernels.base import Arguments, Fields, Kernel, KernelCall, kernel, valid_rows
from firesteel.sql.operators.kernels.numbers import from_numbers, half_up, is_exact, numbers, objects
from firesteel.sql.operators.kernels.segments import Array, Segments
from firesteel.sql.operators.row_state import Field

__all__ = ["Average", "Count", "Sum"]


@kernel("COUNT", "ROW_NUMBER")
class Count(Kernel):
    """Rows; with an argument those where it is not null."""

    fields = (Field("int64"),)

    def _weights(self, arguments: Arguments, weights: Array | None, count: int) -> Array:
        for argument in arguments:
            if argument.null_count:
                weights = valid_rows(argument, weights, count)
        return np.ones(count, np.int64) if weights is None else weights

    def scan(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        counts = self._weights(arguments, weights, segments.count)
        return [base[0][segments.index] + segments.running(counts)]

    def fold(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        return [base[0] + segments.sums(self._weights(arguments, weights, segments.count))]

    def merge(self, first: Fields, second: Fields) -> list[Array]:
        return [first[0] + second[0]]

    def values(self, fields: Fields) -> pa.Array:
        return from_numbers(fields[0], None, self.result)


class _Sums(Kernel):
    """The sum of an argument and how many values it has."""

    def __init__(self, what: KernelCall) -> None:
        super().__init__(what)
        self.fields = (Field(self.sum_type(what.types[0])), Field("int64"))

    def sum_type(self, argument: t.DataType) -> str:
        match argument:
            case t.FloatType():
                return "float32"
            case t.DoubleType():
                return "float64"
        return "int64" if is_exact(argument) else "object"

    def scan(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        counts = valid_rows(arguments[0], weights, segments.count)
        counted = base[1][segments.index] + segments.running(counts)
        found = _weighted(numbers(arguments[0]), weights)
        if base[0].dtype.kind == "f":
            return [segments.running_floats(found.astype(base[0].dtype, copy=False), base[0]), counted]
        return [base[0][segments.index] + segments.running(_safe(found, base[0])), counted]

    def fold(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        if base[0].dtype.kind == "f":
            return super().fold(arguments, weights, segments, base)
        counts = valid_rows(arguments[0], weights, segments.count)
        found = _weighted(numbers(arguments[0]), weights)
        return [base[0] + segments.sums(_safe(found, base[0])), base[1] + segments.sums(counts)]

    def merge(self, first: Fields, second: Fields) -> list[Array]:
        return [first[0] + second[0], first[1] + second[1]]


def _weighted(found: Array, weights: Array | None) -> Array:
    if weights is None:
        return found
    if found.dtype.kind == "f":  # what is left out may be NaN
        return np.where(weights == 0, found.dtype.type(0), np.where(weights < 0, -found, found))
    return found * weights


def _safe(found: Array, base: Array) -> Array:
    """Integers of 64 bits as Python's where their sum could be larger, and may be."""
    if base.dtype.kind == "O" and found.dtype.kind == "i":
        largest = max(abs(int(found.max(initial=0))), abs(int(found.min(initial=0))))
        if largest * len(found) >= 1 << 63:
            return found.astype(object)
    return found


@kernel("SUM")
class Sum(_Sums):
    """NULL when there is no value."""

    def values(self, fields: Fields) -> pa.Array:
        return from_numbers(fields[0], fields[1] != 0, self.result)


@kernel("$SUM0", "SUM0")
class SumOrZero(_Sums):
    def values(self, fields: Fields) -> pa.Array:
        return from_numbers(fields[0], None, self.result)


@kernel("AVG")
class Average(_Sums):
    """Of integers an integer, cut off; of DECIMAL rounded half up to the scale of the result."""

    def sum_type(self, argument: t.DataType) -> str:
        kind = super().sum_type(argument)
        return "float64" if kind == "float32" else kind

    def values(self, fields: Fields) -> pa.Array:
        sums, counts = fields
        present = counts != 0
        divisors = np.where(present, counts, 1)
        if sums.dtype.kind == "f":
            return from_numbers(sums / divisors, present, self.result)
        if sums.dtype.kind == "O":
            argument = self.what.types[0]
            assert isinstance(self.result, t.DecimalType)
            assert isinstance(argument, t.DecimalType)
            scale = self.result.scale - argument.scale
            signs = np.sign(divisors).tolist()
            scaled = [int(v) * 10**scale * s for v, s in zip(sums.tolist(), signs, strict=True)]
            return from_numbers(objects(half_up(scaled, np.abs(divisors).tolist())), present, self.result)
        quotients = np.abs(sums) // np.abs(divisors) * (np.sign(sums) * np.sign(divisors))
        return from_numbers(quotients, present, self.result)
