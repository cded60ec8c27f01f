"""Joins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.program.transformations import Transformation
from firesteel.sql import physical as p
from firesteel.sql.expressions import identity
from firesteel.sql.operators import specs
from firesteel.sql.translate.windows import end_of

if TYPE_CHECKING:
    from firesteel.sql.translate.translator import Translator

__all__ = ["interval_join", "join", "lookup_join", "temporal_join", "window_join"]


def _keyed_join(
    run: Translator, node: p.Join | p.IntervalJoin | p.WindowJoin | p.TemporalJoin, spec: Any, **more: Any
) -> Transformation:
    """A join of two inputs by their keys. :param spec: the class of its spec. :param more: its own fields."""
    made = spec(
        left=node.left.row,
        right=node.right.row,
        output=node.row,
        kind=node.kind,
        left_keys=node.keys.left,
        right_keys=node.keys.right,
        condition=node.rest,
        functions=run.functions([node.rest]),
        **more,
    )
    return run.two(node, made, node.keys.left, node.keys.right)


def join(run: Translator, node: p.Join) -> Transformation:
    return _keyed_join(
        run,
        node,
        specs.Join,
        null_safe=node.keys.null_safe,
        left_unique=node.left_spec.unique,
        right_unique=node.right_spec.unique,
        left_appends=node.left.is_insert_only,
        right_appends=node.right.is_insert_only,
        left_ttl_ms=node.left_ttl_ms,
        right_ttl_ms=node.right_ttl_ms,
        states=("right", "left") if run.names.is_turned(node) else ("left", "right"),
    )


def interval_join(run: Translator, node: p.IntervalJoin) -> Transformation:
    return _keyed_join(
        run,
        node,
        specs.TimeIntervalJoin,
        left_time=node.left_time,
        right_time=node.right_time,
        lower_ms=node.lower,
        upper_ms=node.upper,
        null_safe=node.keys.null_safe,
        event_time=node.rowtime,
    )


def window_join(run: Translator, node: p.WindowJoin) -> Transformation:
    return _keyed_join(
        run,
        node,
        specs.WindowJoin,
        left_end=end_of(node.left_window),
        right_end=end_of(node.right_window),
        null_safe=node.keys.null_safe,
        zone=run.zone,
    )


def temporal_join(run: Translator, node: p.TemporalJoin) -> Transformation:
    return _keyed_join(
        run,
        node,
        specs.TemporalJoin,
        left_time=node.left_time,
        right_time=node.right_time,
        ttl_ms=node.ttl_ms,
    )


def lookup_join(run: Translator, node: p.LookupJoin) -> Transformation:
    projection, condition = node.right_calc or (None, None)
    if projection == identity(node.right_row):
        projection = None
    called = [*(e for _, e in node.lookup), *(projection or ()), condition, node.rest]
    spec = specs.LookupJoin(
        left=node.input.row,
        right=node.right_row,
        output=node.row,
        kind=node.kind,
        lookup=node.source,
        keys=tuple(expression for _, expression in node.lookup),
        condition=node.rest,
        right_condition=condition,
        right_projection=projection,
        options=node.options,
        functions=run.functions(called),
    )
    return run.one(node, spec)
