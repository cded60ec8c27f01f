"""Which columns of a node hold the windows of its rows (Flink: ``RelWindowProperties``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from firesteel.sql import physical as p
from firesteel.sql.expressions import InputRef

__all__ = ["WindowColumns", "window_columns"]

Columns = frozenset[int]


@dataclass(frozen=True, slots=True)
class WindowColumns:
    """:param spec: the window without its columns. :param start: the columns that have its start ...
    :param partition: for each column of the PARTITION BY of a session those that have it."""

    spec: p.WindowSpec
    start: Columns
    end: Columns
    time: Columns
    partition: tuple[Columns, ...] = ()

    def same_windows(self, other: WindowColumns) -> bool:
        return _plain(self.spec) == _plain(other.spec)

    def mapped(self, places: dict[int, list[int]]) -> WindowColumns | None:
        """The same behind a projection; None: neither start nor end is left."""

        def moved(columns: Columns) -> Columns:
            return frozenset(place for column in columns for place in places.get(column, ()))

        partition = tuple(map(moved, self.partition))
        found = WindowColumns(self.spec, moved(self.start), moved(self.end), moved(self.time), partition)
        return found if found.start or found.end or found.time else None

    def are_of_groups(self, group: Iterable[int]) -> bool:
        """Whether rows of one window and one group are those of one window function.

        Sessions are those of their partition, so its columns have to be those of the group.
        (Flink: ``WindowUtil.validGroupKeyPartitionKey``.)
        """
        columns = set(group)
        every = {place for places in self.partition for place in places}
        is_session = self.spec.kind == "SESSION"
        return not is_session or (columns <= every and all(columns & places for places in self.partition))

    def attached(self) -> p.WindowSpec:
        """The window as operators take it that find it in columns."""
        return replace(
            self.spec, time=None, start=min(self.start, default=None), end=min(self.end, default=None)
        )


def _plain(spec: p.WindowSpec) -> p.WindowSpec:
    return replace(spec, time=None, start=None, end=None, partition=())


def window_columns(node: p.Physical) -> WindowColumns | None:
    rule = _RULES.get(type(node))
    return None if rule is None else rule(node)


def _table_function(node: p.WindowTableFunction) -> WindowColumns:
    width = len(node.input.row.fields)
    return WindowColumns(
        replace(node.window, time=None),
        frozenset([width]),
        frozenset([width + 1]),
        frozenset([width + 2]),
        tuple(frozenset([column]) for column in node.window.partition),
    )


def _same(node: p.Physical) -> WindowColumns | None:
    return window_columns(node.input)


def _calc(node: p.Calc) -> WindowColumns | None:
    found = window_columns(node.input)
    if found is None:
        return None
    places: dict[int, list[int]] = {}
    for position, expression in enumerate(node.expressions):
        if isinstance(expression, InputRef):
            places.setdefault(expression.index, []).append(position)
    return found.mapped(places)


def _aggregate(node: p.WindowAggregate) -> WindowColumns:
    first = len(node.group) + len(node.calls)

    def places(name: str) -> Columns:
        return frozenset(first + i for i, found in enumerate(node.properties) if found == name)

    starts, start = places("start"), node.window.start
    if start is not None and start in node.group:  # of sessions that the rows had already
        starts |= {node.group.index(start)}
    keys = (i for i, column in enumerate(node.group) if column != start)  # of sessions: their partition
    partition = tuple(frozenset([key]) for key in keys) if node.window.kind == "SESSION" else ()
    return WindowColumns(replace(node.window, time=None), starts, places("end"), places("time"), partition)


def _join(node: p.WindowJoin) -> WindowColumns | None:
    left = window_columns(node.left)
    if left is None or node.kind in ("SEMI", "ANTI"):
        return left
    right = window_columns(node.right)
    if right is None:
        return left
    width = len(node.left.row.fields)

    def both(a: Columns, b: Columns) -> Columns:
        shifted = frozenset(c + width for c in b)
        return shifted if node.kind == "RIGHT" else a if node.kind == "LEFT" else a | shifted

    partition = zip(left.partition, right.partition, strict=False)
    return WindowColumns(
        left.spec,
        both(left.start, right.start),
        both(left.end, right.end),
        both(left.time, right.time),
        tuple(both(a, b) for a, b in partition),
    )


def _expand(node: p.Expand) -> WindowColumns | None:
    found = window_columns(node.input)
    if found is None:
        return None
    places: dict[int, list[int]] = {}
    for i, expression in enumerate(node.projects[0]):
        if isinstance(expression, InputRef) and all(project[i] == expression for project in node.projects):
            places.setdefault(expression.index, []).append(i)
    return found.mapped(places)


_RULES: Final[dict[type[p.Physical], Callable[[Any], WindowColumns | None]]] = {
    p.WindowTableFunction: _table_function,
    p.WindowAggregate: _aggregate,
    p.WindowJoin: _join,
    p.Calc: _calc,
    p.Expand: _expand,
    p.Exchange: _same,
    p.WindowRank: _same,
    p.WindowDeduplicate: _same,
    p.Correlate: _same,
    p.OverAggregate: _same,
    p.MiniBatchAssigner: _same,
}
