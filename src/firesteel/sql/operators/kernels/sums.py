"""COUNT, SUM, SUM0, AVG, and the variances: sums of numbers."""

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


class _Variance(Kernel):
    """Sum, sum of squares and count of values."""

    sample = False
    root = False
    fields = (Field("float64"), Field("float64"), Field("int64"))

    def scan(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        counts = valid_rows(arguments[0], weights, segments.count)
        found = _floats(arguments[0])
        return [
            segments.running_floats(_weighted(found, counts), base[0]),
            segments.running_floats(_weighted(found * found, counts), base[1]),
            base[2][segments.index] + segments.running(counts),
        ]

    def merge(self, first: Fields, second: Fields) -> list[Array]:
        return [a + b for a, b in zip(first, second, strict=True)]

    def values(self, fields: Fields) -> pa.Array:
        sums, squares, counts = fields
        divisors = counts - 1 if self.sample else counts
        present = divisors > 0
        spread = squares - sums * sums / np.where(counts == 0, 1, counts)
        found = np.maximum(spread / np.where(present, divisors, 1), 0.0)
        return _of_floats(np.sqrt(found) if self.root else found, present, self.result)


def _floats(array: pa.Array) -> Array:
    found = numbers(array).astype(np.float64)
    if pa.types.is_decimal(array.type):
        found = found / 10.0**array.type.scale
    return found


def _of_floats(found: Array, present: Array, result: t.DataType) -> pa.Array:
    match result:
        case t.DecimalType(scale=scale):
            unscaled = [round(v * 10**scale) if np.isfinite(v) else 0 for v in found.tolist()]
            return from_numbers(objects(unscaled), present, result)
        case t.FloatType() | t.DoubleType():
            return from_numbers(found, present, result)
    return from_numbers(np.trunc(np.where(present, found, 0)).astype(np.int64), present, result)


@kernel("VAR_POP")
class VariancePopulation(_Variance):
    pass


@kernel("VAR_SAMP", "VARIANCE")
class VarianceSample(_Variance):
    sample = True


@kernel("STDDEV_POP")
class DeviationPopulation(_Variance):
    root = True


@kernel("STDDEV_SAMP", "STDDEV")
class DeviationSample(_Variance):
    sample = True
    root = True
