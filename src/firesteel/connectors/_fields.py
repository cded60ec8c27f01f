"""Generators of field values for generated tables: a value depends on the seed and the index alone.

(Flink: the ``random`` and ``sequence`` kinds of the datagen table connector.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.errors import ConfigurationError

_MASK: Final = (1 << 64) - 1


def mix(seed: int, index: int) -> int:
    """64 well-mixed bits (the finaliser of SplitMix64)."""
    z = (seed + (index + 1) * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


@dataclass(frozen=True, slots=True)
class SequenceField:
    """``start``, ``start + 1`` ... ``end``; ``length`` is how many records that gives."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if self.start > self.end:
            raise ConfigurationError(f"a sequence must not end before it starts: {self.start} to {self.end}")

    @property
    def length(self) -> int:
        return self.end - self.start + 1

    def __call__(self, index: int) -> int:
        return self.start + index


@dataclass(frozen=True, slots=True)
class RandomIntField:
    """Integers from ``low`` to ``high``, both included."""

    low: int
    high: int
    seed: int = 0

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ConfigurationError(f"min is above max: {self.low} > {self.high}")

    def __call__(self, index: int) -> int:
        return self.low + mix(self.seed, index) % (self.high - self.low + 1)


@dataclass(frozen=True, slots=True)
class RandomFloatField:
    """Floats from ``low`` up to ``high``."""

    low: float
    high: float
    seed: int = 0

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ConfigurationError(f"min is above max: {self.low} > {self.high}")

    def __call__(self, index: int) -> float:
        return self.low + (self.high - self.low) * ((mix(self.seed, index) >> 11) / (1 << 53))


@dataclass(frozen=True, slots=True)
class RandomBooleanField:
    seed: int = 0

    def __call__(self, index: int) -> bool:
        return bool(mix(self.seed, index) & 1)


@dataclass(frozen=True, slots=True)
class RandomStringField:
    """Hexadecimal text of ``length`` characters."""

    length: int = 100
    seed: int = 0

    def __post_init__(self) -> None:
        if self.length < 0:
            raise ConfigurationError(f"the length of a text is negative: {self.length}")

    def __call__(self, index: int) -> str:
        words = (self.length + 15) // 16
        return "".join(f"{mix(self.seed + n, index):016x}" for n in range(words))[: self.length]


@dataclass(frozen=True, slots=True)
class RowGenerator:
    """One record of the values of its fields; ``make`` builds it from them (default: a tuple)."""

    fields: Sequence[Callable[[int], Any]]
    make: Callable[[tuple[Any, ...]], Any] | None = None

    def __call__(self, index: int) -> Any:
        values = tuple([field(index) for field in self.fields])
        return values if self.make is None else self.make(values)
