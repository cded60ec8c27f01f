"""The patterns of MATCH_RECOGNIZE as plain data; workers read them too, and know no parser."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Alternatives", "Excluded", "Pattern", "Permutation", "Quantified", "Sequence", "Variable"]


@dataclass(frozen=True, slots=True)
class Variable:
    name: str


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Quantified:
    """:param high: None: without bound. :param greedy: False: as few as possible."""

    part: Pattern
    low: int
    high: int | None
    greedy: bool = True


@dataclass(frozen=True, slots=True)
class Excluded:
    part: Pattern


@dataclass(frozen=True, slots=True)
class Permutation:
    parts: tuple[Pattern, ...]


Pattern = Variable | Sequence | Alternatives | Quantified | Excluded | Permutation
