"""Patterns: what a match is, stage by stage (Flink: ``Pattern``, ``GroupPattern``)."""

from __future__ import annotations

import datetime
import enum
from collections.abc import Iterator
from typing import Any, Final, NoReturn, Self, TypeAlias

from firesteel.cep.conditions import And, Expression, Or, SubtypeCondition, to_condition
from firesteel.cep.errors import MalformedPatternError
from firesteel.cep.quantifier import ConsumingStrategy, Quantifier, QuantifierProperty, Times
from firesteel.cep.skip_strategy import AfterMatchSkipStrategy
from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.time import Duration, Time
from firesteel.program.checks import require_int

__all__ = ["GroupPattern", "Length", "Pattern", "WithinType"]

#: A length of time; an int is in milliseconds.
Length: TypeAlias = Duration | Time | datetime.timedelta | int

#: Separates the stage from a number in the names of states.
RESERVED: Final = ":"


#: As in Flink, a length of time is a long.
LONGEST_MS: Final = 2**63 - 1


class WithinType(enum.Enum):
    """Between which events ``within`` measures (Flink: ``WithinType``)."""

    PREVIOUS_AND_CURRENT = "previous and current"
    FIRST_AND_LAST = "first and last"


class Pattern:
    """One stage of a pattern, with those before it.

    A method that adds a stage returns the new last stage; the others change the stage and return it. A match
    maps the names of stages to the lists of their events.

    >>> pattern = (
    ...     Pattern.begin("high").where(lambda t: t["amount"] > 5000)
    ...     .followed_by("foreign").where(lambda t: not t["home"])
    ...     .within(Time.minutes(10))
    ... )

    What Flink refuses raises MalformedPatternError: here, or when the pattern is put on a stream.
    """

    def __init__(
        self,
        name: str,
        previous: Pattern | None,
        strategy: ConsumingStrategy,
        after_match_skip_strategy: AfterMatchSkipStrategy,
    ) -> None:
        self.name = name
        self.previous = previous
        self.after_match_skip_strategy = after_match_skip_strategy
        self.quantifier = Quantifier(strategy)
        self.times_range: Times | None = None
        self.condition: Expression = True
        self.until_condition: Expression | None = None
        self.windows_ms: dict[WithinType, int] = {}

    # ---- stages

    @staticmethod
    def begin(
        first: str | Pattern, after_match_skip_strategy: AfterMatchSkipStrategy | None = None
    ) -> Pattern:
        """Begin a pattern with a stage, by its name, or with a group: a pattern to be repeated as a whole.

        :param after_match_skip_strategy: None: ``AfterMatchSkipStrategy.no_skip()``.
        """
        strategy = after_match_skip_strategy
        if strategy is None:
            strategy = AfterMatchSkipStrategy.no_skip()
        elif not isinstance(strategy, AfterMatchSkipStrategy):
            raise MalformedPatternError(
                "begin() takes an AfterMatchSkipStrategy.",
                detail=f"got {strategy!r}",
                hint="for example AfterMatchSkipStrategy.skip_past_last_event()",
            )
        return _stage(first, None, ConsumingStrategy.STRICT, strategy)

    def next(self, name: str | Pattern) -> Pattern:
        """Add a stage whose event comes directly after the one before (strict contiguity)."""
        return self._then(name, ConsumingStrategy.STRICT)

    def followed_by(self, name: str | Pattern) -> Pattern:
        """Add a stage that takes the first event that fits; others in between are ignored (relaxed)."""
        return self._then(name, ConsumingStrategy.SKIP_TILL_NEXT)

    def followed_by_any(self, name: str | Pattern) -> Pattern:
        """Add a stage that takes each later event that fits, each in a match of its own (non-deterministic
        relaxed contiguity)."""
        return self._then(name, ConsumingStrategy.SKIP_TILL_ANY)

    def not_next(self, name: str) -> Pattern:
        """Add a condition that the event directly after must not satisfy."""
        return self._without(name, ConsumingStrategy.NOT_NEXT)

    def not_followed_by(self, name: str) -> Pattern:
        """Add a condition that no event satisfies between the stages around it; as the last stage, none until
        the time of ``within`` is over."""
        return self._without(name, ConsumingStrategy.NOT_FOLLOW)

    def _then(self, stage: str | Pattern, strategy: ConsumingStrategy) -> Pattern:
        return _stage(stage, self, strategy, self.after_match_skip_strategy)

    def _without(self, name: str, strategy: ConsumingStrategy) -> Pattern:
        if isinstance(name, Pattern):
            raise MalformedPatternError(
                f"{strategy.value}() takes the name of a stage, not a group.",
                hint="a negative stage is a single condition",
            )
        if self.quantifier.is_optional:
            raise UnsupportedFeatureError(
                "Specifying a pattern with an optional path to NOT condition is not supported yet. You can "
                "simulate such pattern with two independent patterns, one with and the other without the "
                "optional part.",
                detail=f"{self.name!r} is optional and {name!r} is negative",
            )
        return self._then(name, strategy)

    # ---- conditions

    def where(self, condition: Any) -> Self:
        """Add a condition that events of the stage satisfy, besides those that are there.

        :param condition: a callable of the event, one of the event and a ``IterativeCondition.Context``, or
            an object of a condition class.
        """
        self._join(to_condition(condition, "where()"), And)
        return self

    def or_where(self, condition: Any) -> Self:
        """Add a condition that events of the stage satisfy instead of those that are there (Flink:
        ``or``)."""
        self._join(to_condition(condition, "or_where()"), Or)
        return self

    def subtype(self, subtype_class: type) -> Self:
        """Events of the stage are instances of a class, and satisfy the other conditions."""
        if not isinstance(subtype_class, type):
            raise MalformedPatternError("subtype() takes a class.", detail=f"got {subtype_class!r}")
        self._join(SubtypeCondition(subtype_class), And)
        return self

    def _join(self, added: Expression, join: type[And] | type[Or]) -> None:
        self.condition = added if self.condition is True else join(self.condition, added)

    def until(self, condition: Any) -> Self:
        """End a loop at the first event that satisfies *condition*; that event is not part of it."""
        until = to_condition(condition, "until()")
        if self.until_condition is not None:
            raise MalformedPatternError("Only one until condition can be applied.")
        if not self.quantifier.is_looping:
            raise MalformedPatternError(
                "The until condition is only applicable to looping states.",
                hint="call one_or_more() or times_or_more() first",
            )
        self.until_condition = until
        return self

    def within(self, length: Length, within_type: WithinType = WithinType.FIRST_AND_LAST) -> Self:
        """Bound the time of a match: it times out *length* after its first event, or after the event before.

        The first and the last event of a match are less than *length* apart.

        :param length: a Time, Duration or timedelta, or an int of milliseconds.
        """
        if not isinstance(within_type, WithinType):
            raise MalformedPatternError("within() takes a WithinType.", detail=f"got {within_type!r}")
        self.windows_ms[within_type] = length_ms(length, "within()")
        return self

    # ---- quantifiers

    def times(self, times: int, to: int | None = None, *, window: Length | None = None) -> Self:
        """The stage takes exactly *times* events, or from *times* up to *to*; 0 makes it optional.

        :param window: the longest time between two of them.
        """
        require_int(times, "number of times", 0)
        if to is not None:
            require_int(to, "largest number of times", 0)
        elif times == 0:
            raise MalformedPatternError("You should give a positive number greater than 0.", detail="got 0")
        most = times if to is None else to
        self._quantify(QuantifierProperty.TIMES, Times(max(times, 1), most, _window(window)))
        if times == 0:
            self.quantifier.optional()
        return self

    def one_or_more(self, *, window: Length | None = None) -> Self:
        """The stage takes one event or more. See ``consecutive``, ``allow_combinations``, ``until``."""
        return self.times_or_more(1, window=window)

    def times_or_more(self, times: int, *, window: Length | None = None) -> Self:
        """The stage takes at least *times* events."""
        require_int(times, "number of times", 1)
        self._quantify(QuantifierProperty.LOOPING, Times(times, times, _window(window)))
        return self

    def _quantify(self, kind: QuantifierProperty, times: Times) -> None:
        self._refuse_negative()
        if not self.quantifier.is_single:
            raise MalformedPatternError(
                f"Already applied quantifier to this Pattern. Current quantifier is: {self.quantifier}"
            )
        self.quantifier = Quantifier(self.quantifier.strategy, kind)
        self.times_range = times

    def optional(self) -> Self:
        """A match need not have the stage."""
        if self.previous is not None and self.previous.quantifier.is_greedy:
            raise MalformedPatternError("Optional pattern cannot be preceded by greedy pattern")
        self.quantifier.optional()
        return self

    def greedy(self) -> Self:
        """A repeated stage takes an event that fits it and the next stage too."""
        self._refuse_negative()
        if isinstance(self, GroupPattern):
            raise MalformedPatternError("Option not applicable to group pattern")
        self.quantifier.greedy()
        return self

    def allow_combinations(self) -> Self:
        """Between the events of a repeated stage, events that fit may be left out."""
        self.quantifier.combinations()
        return self

    def consecutive(self) -> Self:
        """Between the events of a repeated stage there are no others."""
        self.quantifier.consecutive()
        return self

    def _refuse_negative(self) -> None:
        if self.quantifier.strategy.is_negative:
            raise MalformedPatternError("Option not applicable to NOT pattern")

    # ---- reading

    def stages(self) -> list[Pattern]:
        """Return the stages, the first one first; a group is one of them."""
        return list(self._back())[::-1]

    def _back(self) -> Iterator[Pattern]:
        stage: Pattern | None = self
        while stage is not None:
            yield stage
            stage = stage.previous

    def explain(self) -> str:
        """Return what the pattern matches, and the automaton that finds it, as text.

        :raises MalformedPatternError: it cannot be matched.
        """
        from firesteel.cep.explain import explained

        return explained(self)

    def explain_svg(self) -> str:
        """Return a picture of the automaton, as SVG."""
        from firesteel.cep.picture import pictured

        return pictured(self)

    def _repr_html_(self) -> str:
        from firesteel.common import html

        stages = " → ".join(stage.name for stage in self.stages())
        svg = html.drawn(
            lambda: html.picture(self.explain_svg(), f"The automaton of the pattern {self.name}")
        )
        return html.piece(f"Pattern {stages}", svg)


class GroupPattern(Pattern):
    """A pattern that is a stage of another one. It has quantifiers, and no conditions of its own."""

    def __init__(
        self,
        group: Pattern,
        previous: Pattern | None,
        strategy: ConsumingStrategy,
        after_match_skip_strategy: AfterMatchSkipStrategy,
    ) -> None:
        super().__init__("GroupPattern", previous, strategy, after_match_skip_strategy)
        self.group = group

    def where(self, condition: Any) -> NoReturn:
        raise _not_of_groups("where")

    def or_where(self, condition: Any) -> NoReturn:
        raise _not_of_groups("or")

    def subtype(self, subtype_class: type) -> NoReturn:
        raise _not_of_groups("subtype")


def _not_of_groups(clause: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"GroupPattern does not support {clause} clause.",
        hint="give the stages in the group their conditions",
    )


def _stage(
    stage: str | Pattern,
    previous: Pattern | None,
    strategy: ConsumingStrategy,
    skip: AfterMatchSkipStrategy,
) -> Pattern:
    if isinstance(stage, Pattern):
        return GroupPattern(stage, previous, strategy, skip)
    if not isinstance(stage, str) or not stage or RESERVED in stage:
        raise MalformedPatternError(
            f"A stage has a name: a text that is not empty and has no {RESERVED!r} in it.",
            detail=f"got {stage!r}",
        )
    return Pattern(stage, previous, strategy, skip)


def _window(length: Length | None) -> int | None:
    return None if length is None else length_ms(length, "window")


def length_ms(length: Length, what: str) -> int:
    """Return a length of time in milliseconds.

    :raises MalformedPatternError: it is not one, or not above 0.
    """
    ms: int | None = None
    match length:
        case Time():
            ms = length.to_milliseconds()
        case Duration():
            ms = length.to_millis()
        case datetime.timedelta():
            ms = length // datetime.timedelta(milliseconds=1)
        case int() if not isinstance(length, bool):
            ms = length
    if ms is None or ms <= 0:
        raise MalformedPatternError(
            f"{what} takes a length of time of at least a millisecond.",
            detail=f"got {length!r}",
            hint="Time.minutes(10), Duration.of_minutes(10), timedelta(minutes=10), or 600_000",
        )
    if ms > LONGEST_MS:
        raise MalformedPatternError(
            f"{what} takes a length of time of at most 2**63 - 1 milliseconds.",
            detail=f"got {length!r}",
            hint="leave it out: then a match may take any time",
        )
    return ms
