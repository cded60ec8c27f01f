"""BITMAP_*_AGG and BITMAP_*_CARDINALITY_AGG: how many of the rows have each number."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from firesteel.sql import types as t
from firesteel.sql.bitmaps import build, numbers_of
from firesteel.sql.operators.kernels.base import kernel
from firesteel.sql.operators.kernels.loops import LoopKernel


class _Bitmaps(LoopKernel):
    """The accumulator is how many rows there are, and how many of them have each number. Both may be negative
    for a while: a retraction may come before what it takes back."""

    owes = True

    def numbers(self, value: Any) -> Iterable[int]:
        found: list[int] = numbers_of(value).tolist()
        return found

    def holds(self, count: int, rows: int) -> bool:
        """Whether a number that *count* of the *rows* have is in the result."""
        raise NotImplementedError

    def is_null(self, rows: int, found: list[int]) -> bool:
        """Whether there is no result; of bitmaps that have nothing in common it is an empty one."""
        return not rows

    def create(self) -> Any:
        return [0, {}]

    def _step(self, accumulator: Any, value: Any, sign: int) -> Any:
        counts = accumulator[1]
        accumulator[0] += sign
        for number in self.numbers(value):
            left = counts.get(number, 0) + sign
            if left:
                counts[number] = left
            else:
                del counts[number]
        return accumulator

    def accumulate(self, accumulator: Any, *values: Any) -> Any:
        return self._step(accumulator, values[0], 1)

    def retract(self, accumulator: Any, *values: Any) -> Any:
        return self._step(accumulator, values[0], -1)

    def add(self, first: Any, second: Any) -> Any:
        counts = dict(first[1])
        for number, count in second[1].items():
            counts[number] = counts.get(number, 0) + count
        return [first[0] + second[0], {n: c for n, c in counts.items() if c}]

    def value(self, accumulator: Any) -> Any:
        rows, counts = accumulator
        found = [number for number, count in counts.items() if self.holds(count, rows)]
        if self.is_null(rows, found):
            return None
        return build(found) if isinstance(self.result, t.BitmapType) else len(found)


@kernel("BITMAP_OR_AGG", "BITMAP_OR_CARDINALITY_AGG")
class BitmapOr(_Bitmaps):
    def holds(self, count: int, rows: int) -> bool:
        return count > 0


@kernel("BITMAP_AND_AGG", "BITMAP_AND_CARDINALITY_AGG")
class BitmapAnd(_Bitmaps):
    def holds(self, count: int, rows: int) -> bool:
        return count == rows


@kernel("BITMAP_XOR_AGG", "BITMAP_XOR_CARDINALITY_AGG")
class BitmapXor(_Bitmaps):
    def holds(self, count: int, rows: int) -> bool:
        return count % 2 == 1


@kernel("BITMAP_BUILD_AGG", "BITMAP_BUILD_CARDINALITY_AGG")
class BitmapBuild(BitmapOr):
    """Of numbers, which are unsigned in a bitmap."""

    def numbers(self, value: Any) -> Iterable[int]:
        return (value & 0xFFFFFFFF,)

    def is_null(self, rows: int, found: list[int]) -> bool:
        return not found
