"""What MATCH_RECOGNIZE asks for, bound: ``Match.specification``.

An expression of DEFINE or MEASURES does not see a row, it sees rows of pattern variables. So it is split:
``values`` say which values are to be gathered from the matched rows, ``expression`` is over them:
``InputRef(i)`` is value i. The operator gathers values into columns and evaluates expressions with the
evaluator that all expressions have.

In DEFINE of a variable the row in question counts as the last one of that variable.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql.expressions import Expression, Ordering
from firesteel.sql.row_patterns import (
    Alternatives,
    Excluded,
    Pattern,
    Permutation,
    Quantified,
    Sequence,
    Variable,
)
from firesteel.sql.types import DataType

__all__ = [
    "AggregateValue",
    "MatchExpression",
    "MatchSpecification",
    "RowValue",
    "SpecialValue",
    "cep_pattern",
    "variables_of",
]


@dataclass(frozen=True, slots=True)
class RowValue:
    """A value of one row: the *offset*-th from the first or the last row of a variable; NULL if there is
    none.

    :param variable: or the name of a SUBSET; ``*``: rows of any variable.
    :param expression: over the input's columns.
    """

    variable: str
    last: bool
    offset: int
    expression: Expression


@dataclass(frozen=True, slots=True)
class AggregateValue:
    """An aggregate over all rows of a variable. :param arguments: over the input's columns; none:
    COUNT(*)."""

    variable: str
    function: str
    arguments: tuple[Expression, ...]
    type: DataType
    distinct: bool = False
    literals: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class SpecialValue:
    """:param kind: MATCH_ROWTIME or MATCH_PROCTIME."""

    kind: str
    type: DataType


Value = RowValue | AggregateValue | SpecialValue


@dataclass(frozen=True, slots=True)
class MatchExpression:
    expression: Expression
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class MatchSpecification:
    """:param order: the first one is a time attribute. :param skip: PAST LAST ROW, NEXT ROW, FIRST or LAST,
    and of the last two the variable. :param within: milliseconds. :param define: a variable without an
    entry takes every row."""

    pattern: Pattern
    define: Mapping[str, MatchExpression]
    measures: tuple[MatchExpression, ...]
    partition: tuple[int, ...] = ()
    order: tuple[Ordering, ...] = ()
    skip: tuple[str, str | None] = ("NEXT ROW", None)
    within: int | None = None
    subsets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def variables(self) -> list[str]:
        return variables_of(self.pattern)


def variables_of(pattern: Pattern) -> list[str]:
    """The variables of a pattern, in order."""
    match pattern:
        case Variable(name):
            return [name]
        case Quantified(part=part) | Excluded(part=part):
            return variables_of(part)
        case _:
            return [v for part in pattern.parts for v in variables_of(part)]


def check_pattern(pattern: Pattern) -> None:
    """Refuse what Flink's pattern engine does not do.

    :raises UnsupportedFeatureError: alternatives, exclusions, permutations, quantified groups.
    """
    match pattern:
        case Alternatives():
            raise UnsupportedFeatureError("Currently, CEP doesn't support branching patterns.", hint="A | B")
        case Excluded():
            raise UnsupportedFeatureError("Currently, CEP doesn't support '{-' '-}' patterns.")
        case Permutation():
            raise UnsupportedFeatureError("Currently, CEP doesn't support PERMUTE patterns.")
        case Quantified(part=part) if not isinstance(part, Variable):
            raise UnsupportedFeatureError(
                "A quantifier stands behind a variable, not behind a group of a row pattern."
            )
        case Sequence(parts):
            for part in parts:
                check_pattern(part)


def stages_of(pattern: Pattern) -> list[Quantified]:
    """The stages of a sequence; a variable alone is one with the quantifier {1}."""
    match pattern:
        case Sequence(parts):
            return [stage for part in parts for stage in stages_of(part)]
        case Quantified():
            return [pattern]
        case _:
            return [Quantified(pattern, 1, 1, greedy=False)]


def cep_pattern(specification: MatchSpecification, condition: Callable[[str], Any]) -> Any:
    """The ``cep.Pattern`` of a specification.

    :param condition: variable -> what ``Pattern.where`` takes.
    """
    from firesteel.cep.pattern import Pattern as Stage

    skip = _skip_strategy(specification)
    made: Any = None
    for stage in stages_of(specification.pattern):
        assert isinstance(stage.part, Variable)
        name = stage.part.name
        made = Stage.begin(name, skip) if made is None else made.next(name)
        if name in specification.define:
            made = made.where(condition(name))
        made = _quantified(made, stage)
    if specification.within is not None:
        made = made.within(specification.within)
    return made


def _quantified(made: Any, stage: Quantified) -> Any:
    low, high = stage.low, stage.high
    if (low, high) == (1, 1):
        return made
    if (low, high) == (0, 1):
        return made.optional()
    if high is None:
        made = made.one_or_more() if low <= 1 else made.times_or_more(low)
    else:
        made = made.times(max(low, 1), high)
    made = made.consecutive()
    if stage.greedy:
        made = made.greedy()
    return made.optional() if low == 0 else made


def _skip_strategy(specification: MatchSpecification) -> Any:
    from firesteel.cep.skip_strategy import AfterMatchSkipStrategy as Skip

    kind, variable = specification.skip
    match kind:
        case "PAST LAST ROW":
            return Skip.skip_past_last_event()
        case "NEXT ROW":
            return Skip.skip_to_next()
        case "FIRST":
            return Skip.skip_to_first(variable or "").throw_exception_on_miss()
        case _:
            return Skip.skip_to_last(variable or "").throw_exception_on_miss()
