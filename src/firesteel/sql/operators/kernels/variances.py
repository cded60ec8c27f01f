"""The variances, and the deviations that are roots of them: by Welford's method, row by row.

A sum of squares less the square of a sum loses all digits that both have in common, which are most of them
where values lie far from zero and close together. Mean and sum of squared distances from it lose none. What
they are after a row depends on all rows before it, so the rows of one key go one after another; those of
many keys go side by side. (Flink: ``WELFORD_M2``; each step and merge is the same there, down to the last
digit.)
"""

from __future__ import annotations

from typing import ClassVar, Final

import numpy as np
import pyarrow as pa

from firesteel.sql import types as t
from firesteel.sql.cast import cast_column
from firesteel.sql.operators.kernels.base import Arguments, Fields, Kernel, kernel, valid_rows
from firesteel.sql.operators.kernels.segments import Array, Segments
from firesteel.sql.operators.row_state import Field

__all__ = ["Variance"]

_DOUBLE: Final = t.DoubleType()
_FEW: Final = 16  # keys of which a step side by side takes longer than one by one


class Variance(Kernel):
    """How many values there are, their mean, and the sum of their squared distances from it."""

    sample: ClassVar[bool] = False
    root: ClassVar[bool] = False
    fields = (Field("int64"), Field("float64"), Field("float64"))
    form: ClassVar[str] = "by distances from the mean"

    def scan(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        steps = valid_rows(arguments[0], weights, segments.count)
        after: list[Array] = [np.empty(segments.count, field.dtype) for field in self.fields]
        _run(self._floats(arguments[0]), steps, segments, base, after)
        return after

    def fold(
        self, arguments: Arguments, weights: Array | None, segments: Segments, base: Fields
    ) -> list[Array]:
        steps = valid_rows(arguments[0], weights, segments.count)
        return _run(self._floats(arguments[0]), steps, segments, base, None)

    def _floats(self, argument: pa.Array) -> Array:
        """Zero where the argument is null."""
        made = cast_column(argument, self.what.types[0], _DOUBLE, "UTC")
        found: Array = (made.fill_null(0.0) if made.null_count else made).to_numpy(zero_copy_only=False)
        return found

    def merge(self, first: Fields, second: Fields) -> list[Array]:
        counts, means, squares = first
        other_counts, other_means, other_squares = second
        total = counts + other_counts
        apart = other_means - means
        with np.errstate(all="ignore"):  # where there is nothing to merge
            mean = means + other_counts.astype(np.float64) / total * apart
            more = counts.astype(np.float64) * other_counts / total * apart * apart
            square = squares + other_squares + more
        taken, kept, gone = counts == 0, other_counts <= 0, total <= 0
        mean = np.where(gone, 0.0, np.where(kept, means, np.where(taken, other_means, mean)))
        square = np.where(gone, 0.0, np.where(kept, squares, np.where(taken, other_squares, square)))
        return [total, mean, square]

    def values(self, fields: Fields) -> pa.Array:
        counts, _, squares = fields
        divisors = counts - 1 if self.sample else counts
        # Rows that are taken back can leave a little less than nothing, of which there is no variance.
        present = (divisors > 0) & ~(squares < 0)
        found = np.where(present, squares, 0.0) / np.where(present, divisors, 1)
        result = pa.array(np.sqrt(found) if self.root else found, mask=None if present.all() else ~present)
        return cast_column(result, _DOUBLE, self.result, "UTC")


def _run(
    values: Array, steps: Array, segments: Segments, base: Fields, after: list[Array] | None
) -> list[Array]:
    """What the fields are after each segment. :param after: is filled with what they are after each row."""
    now: list[Array] = [field.copy() for field in base]
    lengths = segments.last + 1 - segments.starts
    active = np.arange(len(segments))
    done = 0
    with np.errstate(all="ignore"):  # infinities give NaN, as in Java
        while len(active) >= _FEW:
            _step(values, steps, segments.starts[active] + done, active, now, after)
            done += 1
            active = active[lengths[active] > done]
    for i in active.tolist():
        start, stop = int(segments.starts[i]) + done, int(segments.last[i]) + 1
        _run_one(values[start:stop], steps[start:stop], i, now, after, start)
    return now


def _step(
    values: Array, steps: Array, rows: Array, active: Array, now: list[Array], after: list[Array] | None
) -> None:
    """One row of each active segment."""
    counts, means, squares = (field[active] for field in now)
    step, value = steps[rows], values[rows]
    count = counts + step
    apart = value - means
    mean = means + step * apart / count
    square = squares + step * (apart * (value - mean))
    idle = (step == 0) | (count <= 0)
    if idle.any():
        mean, square = np.where(idle, means, mean), np.where(idle, squares, square)
        emptied = (step < 0) & (count == 0)
        mean[emptied] = square[emptied] = 0.0
    for i, found in enumerate((count, mean, square)):
        now[i][active] = found
        if after is not None:
            after[i][rows] = found


def _run_one(
    values: Array, steps: Array, at: int, now: list[Array], after: list[Array] | None, start: int
) -> None:
    """All rows of one segment."""
    count, mean, square = (field[at].item() for field in now)
    counts: list[int] = []
    means: list[float] = []
    squares: list[float] = []
    for value, step in zip(values.tolist(), steps.tolist(), strict=True):  # hot
        if step:
            count += step
            if count > 0:
                apart = value - mean
                mean += step * apart / count
                square += step * (apart * (value - mean))
            elif count == 0 and step < 0:
                mean = square = 0.0
        if after is not None:
            counts.append(count)
            means.append(mean)
            squares.append(square)
    for i, found in enumerate((count, mean, square)):
        now[i][at] = found
    if after is not None:
        for i, rows in enumerate((counts, means, squares)):
            after[i][start : start + len(values)] = rows


@kernel("VAR_POP")
class VariancePopulation(Variance):
    pass


@kernel("VAR_SAMP", "VARIANCE")
class VarianceSample(Variance):
    sample = True


@kernel("STDDEV_POP")
class DeviationPopulation(Variance):
    root = True


@kernel("STDDEV_SAMP", "STDDEV")
class DeviationSample(Variance):
    sample = True
    root = True
