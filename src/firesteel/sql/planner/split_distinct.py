"""DISTINCT aggregates in two levels: by the group and a bucket of the distinct value, then by the group.

    GroupAggregate(a: $SUM0(n), FIRST_VALUE(c))
      GroupAggregate(a, bucket, $e: COUNT(DISTINCT b) FILTER $f0 AS n, FIRST_VALUE(c) FILTER $f1)
        Expand({..., bucket of b, TRUE, FALSE, 0}, {..., NULL, FALSE, TRUE, 1})

A group with many values is spread over the subtasks in this way. Each set of calls that are distinct in the
same column gets rows of its own, with a number (``$e``), and so do all other calls together. (Flink:
``SplitAggregateRule``.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from firesteel.common.options import table as options
from firesteel.sql import physical as p
from firesteel.sql.expressions import AggregateCall, Expression, InputRef, Literal, identity
from firesteel.sql.functions.calls import InvalidCallError, call_named, cast
from firesteel.sql.planner.context import PlannerContext
from firesteel.sql.types import (
    BigIntType,
    BooleanType,
    IntType,
    RowType,
    SmallIntType,
    TinyIntType,
    VarCharType,
)

__all__ = ["first_level", "second_level"]

#: what puts the results of an aggregate over parts of a group together
_OVER_PARTS: Final[Mapping[str, str]] = {
    "COUNT": "$SUM0",
    "$SUM0": "$SUM0",
    "SUM": "SUM",
    "MIN": "MIN",
    "MAX": "MAX",
    "FIRST_VALUE": "FIRST_VALUE",
    "LAST_VALUE": "LAST_VALUE",
}
_INTEGERS: Final = (TinyIntType, SmallIntType, IntType, BigIntType)
_YES: Final = Literal(True, BooleanType(nullable=False))
_NO: Final = Literal(False, BooleanType(nullable=False))


def first_level(
    context: PlannerContext, child: p.Physical, group: Sequence[int], calls: Sequence[AggregateCall]
) -> tuple[p.Expand, tuple[int, ...], tuple[AggregateCall, ...]] | None:
    """The input of the first level, its group and its calls; None: the aggregate stays one."""
    columns = _distinct_columns(context, calls)
    buckets = None if columns is None else _buckets(context, child.row, columns)
    if columns is None or buckets is None:
        return None
    sets = [columns.index(call.arguments[0]) if call.distinct else len(columns) for call in calls]
    projects = [_copy(child.row, calls, sets, buckets, number) for number in sorted(set(sets))]
    names = [
        *child.row.names,
        *(f"$b{i}" for i in range(len(buckets))),
        *(f"$f{i}" for i in range(len(calls))),
        "$e",
    ]
    types = [e.type.with_nullability(True) for e in projects[0][:-1]]
    row = RowType.of(names, [*types, BigIntType(nullable=False)])
    made = p.Expand(row=row, inputs=(child,), projects=tuple(projects))
    width = len(child.row.fields)
    flags = width + len(buckets)
    keys = (*group, *range(width, flags), len(names) - 1)
    return made, keys, tuple(replace(call, filter=flags + i) for i, call in enumerate(calls))


def second_level(keys: int, calls: Sequence[AggregateCall]) -> tuple[AggregateCall, ...]:
    """The calls over the results of the first level, which stand behind its *keys* columns."""
    return tuple(
        replace(
            call,
            function=_OVER_PARTS[call.function.upper()],
            arguments=(keys + i,),
            distinct=False,
            filter=None,
        )
        for i, call in enumerate(calls)
    )


def _distinct_columns(context: PlannerContext, calls: Sequence[AggregateCall]) -> list[int] | None:
    """The columns of which there are DISTINCT aggregates, where the calls can be split."""
    if context.batch or not context.get(options.SPLIT_DISTINCT):
        return None
    of_users = any(call.function in context.functions for call in calls)
    if of_users or not all(call.function.upper() in _OVER_PARTS for call in calls):
        return None
    distinct = [call for call in calls if call.distinct]
    if not distinct or any(len(call.arguments) != 1 for call in distinct):
        return None
    return list(dict.fromkeys(call.arguments[0] for call in distinct))


def _buckets(context: PlannerContext, row: RowType, columns: Sequence[int]) -> list[Expression] | None:
    count = Literal(int(context.get(options.SPLIT_BUCKETS)), IntType(nullable=False))
    try:
        return [call_named("MOD", _number(InputRef(c, row.types[c])), count) for c in columns]
    except InvalidCallError:
        return None  # values of this type cannot be spread


def _number(value: Expression) -> Expression:
    """A number that is the same for equal values."""
    if isinstance(value.type, _INTEGERS):
        return value
    return call_named("HASH_CODE", cast(value, VarCharType()))


def _passes(call: AggregateCall, row: RowType) -> Expression:
    return _YES if call.filter is None else InputRef(call.filter, row.types[call.filter])


def _copy(
    row: RowType,
    calls: Sequence[AggregateCall],
    sets: Sequence[int],
    buckets: Sequence[Expression],
    number: int,
) -> tuple[Expression, ...]:
    """The row for the calls of a set: the other buckets are NULL, the other calls do not count it."""
    own = [b if i == number else Literal(None, b.type.with_nullability(True)) for i, b in enumerate(buckets)]
    flags = [_passes(call, row) if of == number else _NO for of, call in zip(sets, calls, strict=True)]
    return (*identity(row), *own, *flags, Literal(number, BigIntType(nullable=False)))
