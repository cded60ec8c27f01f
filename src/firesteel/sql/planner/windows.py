"""Windowing table-valued functions: alone, and under aggregates that cut the rows into them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from firesteel.sql import logical as l, physical as p
from firesteel.sql.expressions import AggregateCall, Expression, InputRef, Ordering, references
from firesteel.sql.planner.calcs import calc, select
from firesteel.sql.planner.conditions import conjuncts
from firesteel.sql.planner.context import PlannerContext
from firesteel.sql.planner.errors import wrong
from firesteel.sql.planner.exchanges import exchange
from firesteel.sql.planner.time_attributes import LOST_TIME
from firesteel.sql.planner.window_columns import WindowColumns, window_columns
from firesteel.sql.types import (
    DataType,
    LocalZonedTimestampType,
    RowType,
    TimestampType,
    is_proctime,
    is_rowtime,
    unique,
)

if TYPE_CHECKING:
    from firesteel.sql.planner.builder import Planner

__all__ = ["window_aggregate", "window_table"]


def window_table(planner: Planner, node: l.WindowTable) -> p.Physical:
    child = planner.plan(node.input)
    time = child.row.types[node.time]
    rowtime = is_rowtime(time)
    if not rowtime and not is_proctime(time) and not planner.context.batch:
        raise wrong(
            f"The window function requires the timecol is a time attribute type, but is {time.text()}.",
            hint=LOST_TIME,
            place=node.place,
        )
    spec = p.WindowSpec(
        kind=node.kind,
        size=node.size,
        slide=node.slide,
        offset=node.offset,
        time=node.time,
        rowtime=rowtime or planner.context.batch,
        partition=node.partition,
    )
    if node.kind == "SESSION":
        # Sessions depend on the rows around: those of a partition have to meet before they get one.
        child = exchange(child, node.partition)
    return p.WindowTableFunction(row=node.row, inputs=(child,), window=spec)


# ---- aggregates


class _Target(NamedTuple):
    """What the rows of a window aggregate come from.

    :param child: its input. :param columns: for each column of the logical aggregate's input its place there;
        window columns have none. :param window: where the window is found.
    """

    child: p.Physical
    columns: dict[int, int]
    window: p.WindowSpec


def window_aggregate(planner: Planner, node: l.Aggregate) -> p.Physical | None:
    """GROUP BY that has the windows of its input in it; None: it has not."""
    child = planner.plan(node.input)
    windows = window_columns(child)
    if windows is None:
        return None
    sets = node.sets or (tuple(range(len(node.group))),)
    grouped = [{node.group[position] for position in members} for members in sets]
    has_start = all(columns & windows.start for columns in grouped)
    has_end = all(columns & windows.end for columns in grouped)
    if not (has_start and has_end):
        return None  # Without both ends of its window it is a group aggregate that goes on for ever.
    plain = len(sets) == 1 and len(sets[0]) == len(node.group)
    from firesteel.sql.planner import aggregates

    if plain and not any(call.function in aggregates.GROUPING for call in node.calls):
        return _window_aggregate(planner.context, child, windows, node.row, node.group, node.calls)
    expanded, group, calls = aggregates.expand(planner.context, child, node)
    found = window_columns(expanded)
    assert found is not None
    # The copies of the window columns in the expansion are the windows themselves: all sets have them.
    width = len(child.row.fields)
    starts = [c for c in group if c - width < len(node.group) and node.group[c - width] in windows.start]
    ends = [c for c in group if c - width < len(node.group) and node.group[c - width] in windows.end]
    times = [c for c in group if c - width < len(node.group) and node.group[c - width] in windows.time]
    found = replace(found, start=frozenset(starts), end=frozenset(ends), time=frozenset(times))
    names = [*(f"g{i}" for i in range(len(group))), *(f"c{i}" for i in range(len(calls)))]
    row = RowType.of(names, [*(expanded.row.types[g] for g in group), *(c.type for c in calls)])
    made = _window_aggregate(planner.context, expanded, found, row, group, calls)
    return None if made is None else aggregates.unexpanded(planner.context, made, node)


def _window_aggregate(
    context: PlannerContext,
    child: p.Physical,
    windows: WindowColumns,
    row: RowType,
    group: tuple[int, ...],
    calls: tuple[AggregateCall, ...],
) -> p.Physical | None:
    """None: its groups are not those of the windows, whose rows it sees once they have one."""
    window_group = {c for c in group if c in windows.start | windows.end | windows.time}
    plain = tuple(c for c in group if c not in window_group)
    if not windows.are_of_groups(plain):
        return None
    used = {*plain, *(c for call in calls for c in _read(call))}
    target = _under_window(context, child, used) or _attached(child, windows)
    keys = tuple(target.columns[c] for c in plain)
    moved = tuple(_moved(call, target.columns) for call in calls)
    start = target.window.start if target.window.kind == "SESSION" else None
    if start is not None:
        keys = (*keys, start)  # sessions that end at one time are not one session
    properties = tuple(
        name
        for name, columns in (("start", windows.start), ("end", windows.end), ("time", windows.time))
        if (columns & window_group or name != "time") and not (name == "start" and start is not None)
    )
    types: list[DataType] = [*(target.child.row.types[k] for k in keys), *(call.type for call in moved)]
    places = {c: i for i, c in enumerate(plain)}
    if start is not None:
        places |= dict.fromkeys(windows.start, len(keys) - 1)
    first = len(types)
    window_types = {
        name: next((child.row.types[c] for c in sorted(columns)), None)
        for name, columns in (("start", windows.start), ("end", windows.end), ("time", windows.time))
    }
    types += [window_types[name] or _window_type(target) for name in properties]
    names = [target.child.row.names[k] for k in keys]
    names += [row.names[len(group) + i] for i in range(len(moved))]
    names += [
        {"start": "window_start", "end": "window_end", "time": "window_time"}[name] for name in properties
    ]
    made = p.WindowAggregate(
        row=RowType.of(names, types),
        inputs=(exchange(target.child, keys),),
        window=target.window,
        group=keys,
        calls=moved,
        properties=properties,
    )
    columns = []
    for column in group:
        if column in places:
            columns.append(places[column])
        else:
            name = "start" if column in windows.start else "end" if column in windows.end else "time"
            columns.append(first + properties.index(name))
    columns += range(len(keys), first)
    return select(context, made, columns, row)


def _window_type(target: _Target) -> DataType:
    time = target.window.time
    found = None if time is None else target.child.row.types[time]
    if isinstance(found, LocalZonedTimestampType) and target.window.rowtime:
        return LocalZonedTimestampType(nullable=False, precision=3)
    return TimestampType(nullable=False, precision=3)


def _read(call: AggregateCall) -> list[int]:
    filters = [] if call.filter is None else [call.filter]
    return [*call.arguments, *filters, *(term.index for term in call.order)]


def _moved(call: AggregateCall, columns: dict[int, int]) -> AggregateCall:
    return replace(
        call,
        arguments=tuple(columns[c] for c in call.arguments),
        filter=None if call.filter is None else columns[call.filter],
        order=tuple(Ordering(columns[o.index], o.ascending, o.nulls_first) for o in call.order),
    )


def _attached(child: p.Physical, windows: WindowColumns) -> _Target:
    every = {c: c for c in range(len(child.row.fields))}
    return _Target(child, every, windows.attached())


def _under_window(context: PlannerContext, child: p.Physical, used: set[int]) -> _Target | None:
    """Pull the window function into the aggregate: rows need not be copied into their windows first.

    None: something between reads the window, or the windows are those of an aggregate.
    """
    projection: tuple[Expression, ...] | None = None
    condition = None
    below = child
    if isinstance(below, p.Calc):
        projection, condition, below = below.expressions, below.condition, below.input
    if not isinstance(below, p.WindowTableFunction):
        return None
    source = below.input
    width = len(source.row.fields)
    wanted = sorted(used)
    expressions = [
        projection[c] if projection is not None else InputRef(c, below.row.types[c]) for c in wanted
    ]
    reads = {i for e in [*expressions, *conjuncts(condition)] for i in references(e)}
    if any(i >= width for i in reads):
        return None
    partition = below.window.partition
    if isinstance(source, p.Exchange) and below.window.kind == "SESSION":
        source = source.input
    kept: list[Expression] = [*expressions]
    time = below.window.time
    assert time is not None
    for column in (time, *partition):
        reference = InputRef(column, source.row.types[column])
        if reference not in kept:
            kept.append(reference)
    names = [child.row.names[c] for c in wanted]
    names += [source.row.names[e.index] for e in kept[len(wanted) :] if isinstance(e, InputRef)]
    row = RowType.of(unique(names), [e.type for e in kept])
    pushed = calc(context, source, kept, row, condition)
    window = replace(
        below.window,
        time=kept.index(InputRef(time, source.row.types[time])),
        partition=tuple(kept.index(InputRef(c, source.row.types[c])) for c in partition),
    )
    columns: dict[int, int] = {}
    for place, column in enumerate(wanted):
        columns[column] = place
    return _Target(pushed, columns, window)
