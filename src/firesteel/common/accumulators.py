"""Accumulators: numbers and lists that all subtasks of a job add to (Flink: ``Accumulator``).

An accumulator collects in the worker; what was added in an epoch reaches the job when the epoch is
committed, so an epoch that is run again is not counted twice.
"""

from __future__ import annotations

import copy
from typing import Any, Generic, Protocol, Self, TypeVar

__all__ = [
    "Accumulator",
    "AverageAccumulator",
    "DoubleCounter",
    "DoubleMaximum",
    "DoubleMinimum",
    "Histogram",
    "IntCounter",
    "IntMaximum",
    "IntMinimum",
    "ListAccumulator",
    "LongCounter",
    "take",
]

N = TypeVar("N", int, float)


class Accumulator(Protocol):
    """``merge`` must not depend on the order of merging."""

    def add(self, value: Any) -> None: ...

    def get_local_value(self) -> Any: ...

    def reset_local(self) -> None: ...

    def merge(self, other: Any) -> None: ...


def take(accumulator: Any) -> Any:
    """A copy with what was added since the last ``take``; the accumulator starts empty again."""
    part = copy.deepcopy(accumulator)
    accumulator.reset_local()
    return part


class _Sum(Generic[N]):
    """A sum that starts at ``_zero`` in each epoch."""

    _zero: N

    def __init__(self, value: N) -> None:
        self._value: N = value

    def get_local_value(self) -> N:
        return self._value

    def reset_local(self) -> None:
        self._value = self._zero

    def merge(self, other: Self) -> None:
        self._value += other._value


class IntCounter(_Sum[int]):
    """A sum of ints."""

    _zero = 0

    def __init__(self, value: int = 0) -> None:
        super().__init__(value)

    def add(self, value: int = 1) -> None:
        self._value += value


class LongCounter(IntCounter):
    """The same as IntCounter: Python's int has no width."""


class DoubleCounter(_Sum[float]):
    """A sum of floats."""

    _zero = 0.0

    def __init__(self, value: float = 0.0) -> None:
        super().__init__(value)

    def add(self, value: float = 1.0) -> None:
        self._value += value


class _Extreme:
    def __init__(self) -> None:
        self._value: Any = None

    def _better(self, value: Any) -> bool:
        raise AssertionError("IntMinimum or IntMaximum says which is better")

    def add(self, value: Any) -> None:
        if self._value is None or self._better(value):
            self._value = value

    def get_local_value(self) -> Any:
        return self._value

    def reset_local(self) -> None:
        self._value = None

    def merge(self, other: Self) -> None:
        if other._value is not None:
            self.add(other._value)


class IntMinimum(_Extreme):
    """The smallest value; None before the first."""

    def _better(self, value: Any) -> bool:
        return bool(value < self._value)


class IntMaximum(_Extreme):
    """The largest value; None before the first."""

    def _better(self, value: Any) -> bool:
        return bool(value > self._value)


class DoubleMinimum(IntMinimum):
    """As IntMinimum."""


class DoubleMaximum(IntMaximum):
    """As IntMaximum."""


class AverageAccumulator:
    """The mean of what was added; 0.0 before the first."""

    def __init__(self) -> None:
        self._count = 0
        self._sum = 0.0

    def add(self, value: float) -> None:
        self._count += 1
        self._sum += value

    def get_local_value(self) -> float:
        return self._sum / self._count if self._count else 0.0

    def reset_local(self) -> None:
        self._count, self._sum = 0, 0.0

    def merge(self, other: Self) -> None:
        self._count += other._count
        self._sum += other._sum


class ListAccumulator:
    """Everything that was added, in no particular order between subtasks."""

    def __init__(self) -> None:
        self._values: list[Any] = []

    def add(self, value: Any) -> None:
        self._values.append(value)

    def get_local_value(self) -> list[Any]:
        return self._values

    def reset_local(self) -> None:
        self._values = []

    def merge(self, other: Self) -> None:
        self._values = self._values + other._values


class Histogram:
    """How often each int was added."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def add(self, value: int) -> None:
        self._counts[value] = self._counts.get(value, 0) + 1

    def get_local_value(self) -> dict[int, int]:
        return dict(sorted(self._counts.items()))

    def reset_local(self) -> None:
        self._counts = {}

    def merge(self, other: Self) -> None:
        for value, count in other._counts.items():
            self._counts[value] = self._counts.get(value, 0) + count
