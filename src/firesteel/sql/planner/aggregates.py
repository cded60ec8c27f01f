"""GROUP BY: group aggregates, grouping sets, windows of table-valued functions, and the old windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from firesteel.common.config_options import ConfigOption
from firesteel.common.options import table as options
from firesteel.sql import logical as l, physical as p
from firesteel.sql.expressions import AggregateCall, Expression, InputRef, Literal
from firesteel.sql.hints import state_ttl
from firesteel.sql.planner.calcs import select
from firesteel.sql.planner.context import PlannerContext
from firesteel.sql.planner.errors import unsupported, wrong
from firesteel.sql.planner.exchanges import exchange
from firesteel.sql.planner.split_distinct import first_level, second_level
from firesteel.sql.planner.time_attributes import LOST_TIME
from firesteel.sql.planner.windows import window_aggregate
from firesteel.sql.types import BigIntType, RowType, is_proctime, is_rowtime

if TYPE_CHECKING:
    from firesteel.sql.planner.builder import Planner

__all__ = ["aggregate", "group_aggregate", "group_window"]

GROUPING: Final = frozenset(("GROUPING", "GROUPING_ID", "GROUP_ID"))


def aggregate(planner: Planner, node: l.Aggregate) -> p.Physical:
    windowed = window_aggregate(planner, node)
    if windowed is not None:
        return windowed
    child = planner.plan(node.input)
    if _is_simple(node):
        return group_aggregate(planner.context, child, node.row, node.group, node.calls, node.hints)
    expanded, group, calls = expand(planner.context, child, node)
    names = [*(f"g{i}" for i in range(len(group))), *(c.name or f"c{i}" for i, c in enumerate(calls))]
    types = [*(expanded.row.types[g] for g in group), *(c.type for c in calls)]
    made = group_aggregate(planner.context, expanded, RowType.of(names, types), group, calls, node.hints)
    return unexpanded(planner.context, made, node)


def _is_simple(node: l.Aggregate) -> bool:
    all_of_them = (tuple(range(len(node.group))),)
    plain = not node.sets or node.sets == all_of_them
    return plain and not any(call.function in GROUPING for call in node.calls)


def expand(
    context: PlannerContext, child: p.Physical, node: l.Aggregate
) -> tuple[p.Physical, tuple[int, ...], tuple[AggregateCall, ...]]:
    """Each row once for each grouping set: columns that are not in it NULL, the number of the set, and what
    each GROUPING call gives for it. Returns the node, the columns to group by, and the other calls."""
    sets = node.sets or (tuple(range(len(node.group))),)
    types = child.row.types
    width = len(types)
    asked = [call for call in node.calls if call.function in GROUPING]
    projects = []
    for number, members in enumerate(sets):
        copy: list[Expression] = [InputRef(i, types[i]) for i in range(width)]
        for position, column in enumerate(node.group):
            if position in members:
                copy.append(InputRef(column, types[column].with_nullability(True)))
            else:
                copy.append(Literal(None, types[column].with_nullability(True)))
        copy.append(Literal(number, BigIntType(nullable=False)))
        copy += [Literal(_grouping(call, members, number, sets), call.type.not_null()) for call in asked]
        projects.append(tuple(copy))
    names = [
        *child.row.names,
        *(f"g${child.row.names[c]}" for c in node.group),
        "$e",
        *(f"$g_{i}" for i in range(len(asked))),
    ]
    row = RowType.of(names, [e.type for e in projects[0]])
    made = p.Expand(row=row, inputs=(child,), projects=tuple(projects))
    group = tuple(range(width, len(names)))
    return made, group, tuple(call for call in node.calls if call.function not in GROUPING)


def _grouping(
    call: AggregateCall, members: tuple[int, ...], number: int, sets: tuple[tuple[int, ...], ...]
) -> int:
    """The bits of the columns that are not in the set; GROUP_ID: how many equal sets came before."""
    if call.function == "GROUP_ID":
        return sum(1 for earlier in sets[:number] if set(earlier) == set(members))
    value = 0
    for position in call.arguments:
        value = value * 2 + (position not in members)
    return value


def unexpanded(context: PlannerContext, made: p.Physical, node: l.Aggregate) -> p.Physical:
    """The columns of the aggregate as the query has them: groups, then calls in their order."""
    keys = len(node.group)
    asked = sum(call.function in GROUPING for call in node.calls)
    columns = list(range(keys))
    grouping, other = keys + 1, keys + 1 + asked
    for call in node.calls:
        if call.function in GROUPING:
            columns.append(grouping)
            grouping += 1
        else:
            columns.append(other)
            other += 1
    return select(context, made, columns, node.row)


def group_aggregate(
    context: PlannerContext,
    child: p.Physical,
    row: RowType,
    group: tuple[int, ...],
    calls: tuple[AggregateCall, ...],
    hints: tuple[tuple[str, tuple[object, ...]], ...] = (),
) -> p.Physical:
    split = first_level(context, child, group, calls)
    if split is None:
        return _one_level(context, child, row, group, calls, hints)
    expanded, keys, parts = split
    names = [*(f"k{i}" for i in range(len(keys))), *(f"p{i}" for i in range(len(parts)))]
    types = [*(expanded.row.types[k] for k in keys), *(part.type for part in parts)]
    partial = _one_level(context, expanded, RowType.of(names, types), keys, parts, hints)
    whole = second_level(len(keys), calls)
    return _one_level(context, partial, row, tuple(range(len(group))), whole, hints)


def _one_level(
    context: PlannerContext,
    child: p.Physical,
    row: RowType,
    group: tuple[int, ...],
    calls: tuple[AggregateCall, ...],
    hints: tuple[tuple[str, tuple[object, ...]], ...],
) -> p.Physical:
    ttl = state_ttl(hints)
    return p.GroupAggregate(
        row=row,
        inputs=(exchange(child, group),),
        group=group,
        calls=calls,
        mini_batch=context.mini_batch,
        table_function=any(_is_table_aggregate(context, call) for call in calls),
        ttl_ms=context.ttl_ms if ttl is None else ttl,
        hints=hints,
    )


def _is_table_aggregate(context: PlannerContext, call: AggregateCall) -> bool:
    definition = context.function(call.function)
    return definition is not None and definition.kind.name == "TABLE_AGGREGATE"


def group_window(planner: Planner, node: l.GroupWindowAggregate) -> p.Physical:
    child = planner.plan(node.input)
    time = child.row.types[node.window.time]
    rowtime = is_rowtime(time)
    if not planner.context.batch and not rowtime and not is_proctime(time):
        raise wrong(
            "Window aggregate can only be defined over a time attribute column, but "
            f"{time.text()} encountered.",
            hint=LOST_TIME,
            place=node.place,
        )
    _check_window(planner.context, node)
    return p.GroupWindowAggregate(
        row=node.row,
        inputs=(exchange(child, node.group),),
        window=node.window,
        group=node.group,
        calls=node.calls,
        properties=node.properties,
        rowtime=rowtime or planner.context.batch,
        hints=node.hints,
    )


_SHOWN_OTHERWISE: Final[tuple[ConfigOption[Any], ...]] = (
    options.EARLY_FIRE,
    options.LATE_FIRE,
    options.ALLOW_LATENESS,
)


def _check_window(context: PlannerContext, node: l.GroupWindowAggregate) -> None:
    """Refuse what the old windows cannot do."""
    if node.window.kind.startswith("COUNT"):
        raise unsupported(
            "Windows of a number of rows cannot be run.",
            hint="use a window of time, or number the rows with ROW_NUMBER() OVER (...) and group by the "
            "number divided by the size",
            place=node.place,
        )
    if any(_is_table_aggregate(context, call) for call in node.calls):
        raise unsupported(
            "A table aggregate function cannot be used in a window of GROUP BY.",
            hint="use flat_aggregate() on a group without a window, with the window's columns of a windowing "
            "table-valued function among its keys",
            place=node.place,
        )
    asked = [] if context.batch else [option.key for option in _SHOWN_OTHERWISE if context.get(option)]
    if asked:
        raise unsupported(
            f"Windows of GROUP BY are shown once, at their end: {', '.join(asked)} cannot be obeyed.",
            hint="use a windowing table-valued function, or an aggregate without windows",
            place=node.place,
        )
