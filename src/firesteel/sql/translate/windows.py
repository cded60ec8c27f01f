"""Windows of time: their columns, and aggregates over them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.program.transformations import Transformation
from firesteel.sql import physical as p
from firesteel.sql.operators import specs

if TYPE_CHECKING:
    from firesteel.sql.translate.translator import Translator

__all__ = ["end_of", "group_window", "window_aggregate", "window_table"]


def end_of(window: p.WindowSpec) -> int:
    assert window.end is not None, "a window that is in columns has its end there"
    return window.end


def _time_window(run: Translator, window: p.WindowSpec) -> specs.TimeWindow:
    if window.attached and window.kind == "SESSION":
        # Each row has its session, whose start is among the keys: any end may be that of one.
        return specs.TimeWindow(
            kind="TUMBLE", size=1, end=window.end, event_time=window.rowtime, zone=run.zone
        )
    return specs.TimeWindow(
        kind=window.kind,
        size=window.size,
        slide=window.slide,
        offset=window.offset,
        time=window.time,
        start=window.start,
        end=window.end,
        event_time=window.rowtime,
        zone=run.zone,
    )


def window_table(run: Translator, node: p.WindowTableFunction) -> Transformation:
    row, window = node.input.row, _time_window(run, node.window)
    if node.window.kind != "SESSION":
        return run.one(node, specs.WindowTableFunction(input=row, output=node.row, window=window))
    keys = node.window.partition
    session = specs.SessionTableFunction(input=row, output=node.row, window=window, keys=keys)
    return run.one(node, session, keys=keys)


def window_aggregate(run: Translator, node: p.WindowAggregate) -> Transformation:
    return _aggregate_of_windows(run, node, _time_window(run, node.window))


def _aggregate_of_windows(
    run: Translator, node: p.WindowAggregate | p.GroupWindowAggregate, window: specs.TimeWindow
) -> Transformation:
    spec = specs.WindowAggregate(
        input=node.input.row,
        output=node.row,
        window=window,
        keys=node.group,
        calls=node.calls,
        properties=node.properties,
        retracts=not node.input.is_insert_only,
        # Flink goes back from the end of a window of a HOP() in FROM, not of one of GROUP BY
        newest_first=isinstance(node, p.WindowAggregate),
        functions=run.functions(calls=node.calls),
    )
    return run.one(node, spec, keys=node.group)


def group_window(run: Translator, node: p.GroupWindowAggregate) -> Transformation:
    old = node.window
    window = specs.TimeWindow(
        kind=old.kind,
        size=old.size,
        slide=old.slide,
        offset=old.offset,
        time=old.time,
        event_time=node.rowtime,
        zone=run.zone,
    )
    return _aggregate_of_windows(run, node, window)
