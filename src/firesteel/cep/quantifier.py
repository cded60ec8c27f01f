"""How often a stage matches, and what may lie between its events."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from firesteel.cep.errors import MalformedPatternError

__all__ = ["ConsumingStrategy", "Quantifier", "QuantifierProperty", "Times"]


class ConsumingStrategy(enum.Enum):
    """What may lie between the event before and the one that a stage takes (Flink: ``ConsumingStrategy``)."""

    STRICT = "next"
    SKIP_TILL_NEXT = "followed_by"
    SKIP_TILL_ANY = "followed_by_any"
    NOT_FOLLOW = "not_followed_by"
    NOT_NEXT = "not_next"

    @property
    def is_negative(self) -> bool:
        return self in (ConsumingStrategy.NOT_FOLLOW, ConsumingStrategy.NOT_NEXT)


class QuantifierProperty(enum.Enum):
    SINGLE = "single"
    LOOPING = "looping"
    TIMES = "times"
    OPTIONAL = "optional"
    GREEDY = "greedy"


@dataclass(frozen=True, slots=True)
class Times:
    """How many events a stage takes at least, and at most (but for loops, which go on).

    :param window_ms: the longest time between two of them; None: any.
    """

    least: int
    most: int
    window_ms: int | None = None

    def __post_init__(self) -> None:
        if self.least <= 0:
            raise MalformedPatternError(
                "The from should be a positive number greater than 0.", detail=f"got {self.least}"
            )
        if self.most < self.least:
            raise MalformedPatternError(
                f"The to should be a number greater than or equal to from: {self.least}.",
                detail=f"got {self.most}",
            )


@dataclass(slots=True)
class Quantifier:
    """The quantifier of a stage (Flink: ``Quantifier``). Methods raise MalformedPatternError where Flink
    does."""

    strategy: ConsumingStrategy
    kind: QuantifierProperty = QuantifierProperty.SINGLE
    inner: ConsumingStrategy = ConsumingStrategy.SKIP_TILL_NEXT
    options: set[QuantifierProperty] = field(default_factory=set)

    def has(self, trait: QuantifierProperty) -> bool:
        return trait is self.kind or trait in self.options

    @property
    def is_single(self) -> bool:
        return self.kind is QuantifierProperty.SINGLE

    @property
    def is_looping(self) -> bool:
        return self.kind is QuantifierProperty.LOOPING

    @property
    def is_optional(self) -> bool:
        return QuantifierProperty.OPTIONAL in self.options

    @property
    def is_greedy(self) -> bool:
        return QuantifierProperty.GREEDY in self.options

    def combinations(self) -> None:
        _check(not self.is_single, f"Combinations not applicable to {self}!")
        _check(self.inner is not ConsumingStrategy.STRICT, _EITHER)
        _check(self.inner is not ConsumingStrategy.SKIP_TILL_ANY, "Combinations already applied!")
        self.inner = ConsumingStrategy.SKIP_TILL_ANY

    def consecutive(self) -> None:
        _check(not self.is_single, f"Consecutive not applicable to {self}!")
        _check(self.inner is not ConsumingStrategy.SKIP_TILL_ANY, _EITHER)
        _check(self.inner is not ConsumingStrategy.STRICT, "Consecutive already applied!")
        self.inner = ConsumingStrategy.STRICT

    def optional(self) -> None:
        _check(not self.is_optional, "Optional already applied!")
        _check(not self.strategy.is_negative, "NOT pattern cannot be optional")
        self.options.add(QuantifierProperty.OPTIONAL)

    def greedy(self) -> None:
        _check(
            self.inner is not ConsumingStrategy.SKIP_TILL_ANY,
            "Option not applicable to FollowedByAny pattern",
        )
        _check(not self.is_single, "Option not applicable to singleton quantifier")
        self.options.add(QuantifierProperty.GREEDY)

    def __str__(self) -> str:
        traits = [self.kind, *(option for option in QuantifierProperty if option in self.options)]
        return (
            f"Quantifier{{properties=[{', '.join(t.name for t in traits)}], "
            f"consumingStrategy={self.strategy.name}, innerConsumingStrategy={self.inner.name}}}"
        )


_EITHER = "You can apply either combinations or consecutive, not both!"


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise MalformedPatternError(message)
