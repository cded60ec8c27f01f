"""MATCH_RECOGNIZE in tasks: conditions and measures on rows, for the engine of patterns (``firesteel.cep``).

An event is a Row of the columns that ``sql/translate/matching.py`` has computed: those of the input, then
what DEFINE and MEASURES take from single rows. So a condition on the row alone is a column already, and
measures leave as columns again, on which the rest of their expressions run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from firesteel.cep import IterativeCondition, PatternProcessFunction, SimpleCondition
from firesteel.common.types import Row
from firesteel.sql import types as t
from firesteel.sql.context import EvaluationContext
from firesteel.sql.evaluator import compile_expressions
from firesteel.sql.expressions import AggregateCall, Expression
from firesteel.sql.operators.aggregates import Aggregates
from firesteel.sql.operators.convert import columns_of
from firesteel.sql.operators.kernels import Segments
from firesteel.sql.operators.objects import objects_of

__all__ = [
    "AggregateOf",
    "Gathered",
    "HasColumn",
    "Holds",
    "Measures",
    "PartitionKey",
    "RowOf",
    "Special",
    "TieBreaker",
]

Events = Sequence[Row]
ByVariable = Mapping[str, Events]


@dataclass(frozen=True)
class PartitionKey:
    """The key of an event: its values of the columns of PARTITION BY."""

    columns: tuple[int, ...]

    def __call__(self, event: Row) -> tuple[Any, ...]:
        values = event._values
        return tuple(values[i] for i in self.columns)


@dataclass(frozen=True)
class TieBreaker:
    """Compares events of the same time by the rest of ORDER BY: columns, each rising or not."""

    order: tuple[tuple[int, bool], ...]

    def __call__(self, one: Row, other: Row) -> int:
        for column, ascending in self.order:
            a, b = one._values[column], other._values[column]
            if a == b:
                continue
            smaller = a is None or (b is not None and a < b)  # null comes first when rising
            return -1 if smaller is ascending else 1
        return 0


# ---- what is gathered from matched rows


@dataclass(frozen=True)
class Gathered:
    """:param variables: those whose rows are looked at; empty: all. :param column: of the event."""

    variables: tuple[str, ...]

    def events(self, match: ByVariable) -> list[Row]:
        names = self.variables or tuple(match)
        return [event for name in match if name in names for event in match[name]]

    def value(self, match: ByVariable, time_ms: int) -> Any:
        raise AssertionError("each kind of value says where it comes from")


@dataclass(frozen=True)
class RowOf(Gathered):
    """The value of the *offset*-th row from the first or the last one; None: there is none."""

    column: int = 0
    last: bool = True
    offset: int = 0

    def value(self, match: ByVariable, time_ms: int) -> Any:
        events = self.events(match)
        if self.offset >= len(events):
            return None
        return events[-1 - self.offset if self.last else self.offset]._values[self.column]


@dataclass(frozen=True)
class AggregateOf(Gathered):
    """An aggregate over rows; *columns* of the event have its arguments."""

    columns: tuple[int, ...] = ()
    types: tuple[t.DataType, ...] = ()
    call: AggregateCall | None = None
    functions: Mapping[str, Any] = field(default_factory=dict)

    def value(self, match: ByVariable, time_ms: int) -> Any:
        assert self.call is not None
        rows = [tuple(event._values[c] for c in self.columns) for event in self.events(match)]
        if self.call.distinct:
            rows = list(dict.fromkeys(rows))
        row = t.RowType.of([f"a{i}" for i in range(len(self.types))], self.types)
        aggregates = Aggregates([_plain(self.call)], row, False, self.functions)
        fields = aggregates.initial(1)
        if rows:
            columns = columns_of([Row(*values) for values in rows], row)
            if not self.columns:
                columns.length = len(rows)
            fields = aggregates.fold(columns, None, Segments(np.zeros(1, np.int64), len(rows)), fields)
        return objects_of(aggregates.results(fields)[0], self.call.type)[0]


def _plain(call: AggregateCall) -> AggregateCall:
    from dataclasses import replace

    return replace(call, arguments=tuple(range(len(call.arguments))), distinct=False)


@dataclass(frozen=True)
class Special(Gathered):
    """The time of the match. *column*: the time attribute of its last row; None: the time at which it is
    made."""

    column: int | None = None

    def value(self, match: ByVariable, time_ms: int) -> Any:
        if self.column is not None:
            return self.events(match)[-1]._values[self.column]
        from firesteel.common.time import Instant

        return Instant.of_epoch_milli(time_ms)


# ---- conditions


class HasColumn(SimpleCondition):
    """A condition on the row alone: a column has its result."""

    def __init__(self, column: int) -> None:
        self._column = column

    def filter(self, value: Row) -> bool:
        return bool(value._values[self._column])


class Holds(IterativeCondition):
    """A condition that looks at rows matched before, too.

    :param variable: whose condition it is: the row in question counts as its last one.
    :param variables: all of the pattern, in order.
    """

    def __init__(
        self,
        variable: str,
        variables: Sequence[str],
        expression: Expression,
        values: Sequence[tuple[Gathered, t.DataType]],
        functions: Mapping[str, Any],
        zone: str,
    ) -> None:
        self._variable = variable
        self._variables = tuple(variables)
        self._expression = expression
        self._values = tuple(values)
        self._functions = dict(functions)
        self._zone = zone
        self._program: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_program": None}

    def filter(self, value: Row, ctx: Any) -> bool:
        row = t.RowType.of([f"v{i}" for i in range(len(self._values))], [kind for _, kind in self._values])
        if self._program is None:
            self._program = compile_expressions((self._expression,), row.types, self._functions)
        match: dict[str, list[Row]] = {}
        for name in self._variables:
            found = list(ctx.get_events_for_pattern(name))
            if name == self._variable:
                found.append(value)
            if found:
                match[name] = found
        now = ctx.current_processing_time()
        columns = columns_of([Row(*(v.value(match, now) for v, _ in self._values))], row)
        columns.length = 1
        context = EvaluationContext(time_zone=self._zone, clock=lambda: now)
        return self._program.run(columns, context)[0][0].as_py() is True


# ---- measures


class Measures(PatternProcessFunction):
    """Makes a row of each match: its partition, then what its measures take of the matched rows.

    :param variables: of the pattern, in order.
    """

    def __init__(
        self, partition: Sequence[int], variables: Sequence[str], values: Sequence[Gathered]
    ) -> None:
        self._partition = tuple(partition)
        self._variables = tuple(variables)
        self._values = tuple(values)

    def process_match(self, match: Mapping[str, Any], ctx: Any) -> Iterator[Row]:
        in_order = {name: list(match[name]) for name in self._variables if name in match}
        first = next(iter(in_order.values()))[0]
        now = ctx.current_processing_time()
        keys = [first._values[i] for i in self._partition]
        yield Row(*keys, *(v.value(in_order, now) for v in self._values))
