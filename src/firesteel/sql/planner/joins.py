"""Joins: which operator a condition asks for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from firesteel.sql import logical as l, physical as p
from firesteel.sql.hints import join_state_ttl
from firesteel.sql.planner import conditions as c
from firesteel.sql.planner.computed_keys import computed_keys, joined_row, without_added
from firesteel.sql.planner.context import PlannerContext
from firesteel.sql.planner.errors import unsupported
from firesteel.sql.planner.exchanges import exchange
from firesteel.sql.planner.intervals import interval_of
from firesteel.sql.planner.temporal_joins import temporal_join
from firesteel.sql.planner.window_columns import window_columns
from firesteel.sql.types import is_proctime, is_rowtime
from firesteel.sql.upsert_keys import shortest, unique_keys

if TYPE_CHECKING:
    from firesteel.sql.planner.builder import Planner

__all__ = ["join"]


def join(planner: Planner, node: l.Join) -> p.Physical:
    if isinstance(node.right, l.Snapshot):
        return temporal_join(planner, node, node.right)
    left, right = planner.plan(node.left), planner.plan(node.right)
    equi = c.equi_join(node.condition, len(left.row.fields))
    left, right, equi, added = computed_keys(planner.context, left, right, equi)
    made = _window_join(planner.context, node, left, right, equi) or _interval_join(node, left, right, equi)
    if made is None:
        made = regular_join(planner.context, node, left, right, equi)
    if added == (0, 0):
        return made
    return without_added(planner.context, made, node, left, added)


# ---- regular


def regular_join(
    context: PlannerContext, node: l.Join, left: p.Physical, right: p.Physical, equi: c.EquiJoin
) -> p.Physical:
    left_ttl, right_ttl = join_state_ttl(node.hints)
    rest = c.and_(equi.rest)
    sides = (exchange(left, equi.keys.left), exchange(right, equi.keys.right))
    return p.Join(
        row=joined_row(node, left, right),
        inputs=sides,
        kind=node.kind,
        keys=equi.keys,
        condition=node.condition,
        rest=rest,
        left_spec=key_spec(left, equi.keys.left),
        right_spec=key_spec(right, equi.keys.right),
        mini_batch=context.mini_batch,
        left_ttl_ms=context.ttl_ms if left_ttl is None else left_ttl,
        right_ttl_ms=context.ttl_ms if right_ttl is None else right_ttl,
        hints=node.hints,
    )


def key_spec(side: p.Physical, join_key: tuple[int, ...]) -> p.KeySpec:
    keys = unique_keys(side)
    if not keys:
        return p.KeySpec()
    contained = [key for key in keys if key <= frozenset(join_key)]
    if contained:
        return p.KeySpec(shortest(frozenset(contained)), contained=True)
    return p.KeySpec(shortest(keys))


# ---- windows


def _window_join(
    context: PlannerContext, node: l.Join, left: p.Physical, right: p.Physical, equi: c.EquiJoin
) -> p.Physical | None:
    """Both sides have windows, and equal ends of them are asked for."""
    of_left, of_right = window_columns(left), window_columns(right)
    if of_left is None or of_right is None:
        return None
    pairs = list(zip(equi.keys.left, equi.keys.right, equi.keys.null_safe, strict=True))
    starts = [(a, b) for a, b, _ in pairs if a in of_left.start and b in of_right.start]
    ends = [(a, b) for a, b, _ in pairs if a in of_left.end and b in of_right.end]
    if not starts or not ends:
        return None
    if not of_left.same_windows(of_right):
        raise unsupported(
            "Currently, window join doesn't support different window table function of left and right "
            "inputs.",
            place=node.place,
        )
    gone = {*starts, *ends}
    kept = [pair for pair in pairs if pair[:2] not in gone]
    keys = p.JoinKeys(
        tuple(a for a, _, _ in kept), tuple(b for _, b, _ in kept), tuple(safe for _, _, safe in kept)
    )
    left_window = replace(of_left.attached(), start=starts[0][0], end=ends[0][0])
    right_window = replace(of_right.attached(), start=starts[0][1], end=ends[0][1])
    return p.WindowJoin(
        row=joined_row(node, left, right),
        inputs=(exchange(left, keys.left), exchange(right, keys.right)),
        kind=node.kind,
        keys=keys,
        condition=node.condition,
        rest=c.and_(equi.rest),
        left_window=left_window,
        right_window=right_window,
        hints=node.hints,
    )


# ---- intervals


def _interval_join(node: l.Join, left: p.Physical, right: p.Physical, equi: c.EquiJoin) -> p.Physical | None:
    """Time attributes of both sides lie within bounds of each other."""
    if node.kind in ("SEMI", "ANTI"):
        return None
    width = len(left.row.fields)
    types = [*left.row.types, *right.row.types]
    times = {i for i, t in enumerate(types) if is_rowtime(t) or is_proctime(t)}
    if not any(i < width for i in times) or not any(i >= width for i in times):
        return None
    pairs = zip(equi.keys.left, equi.keys.right, equi.keys.null_safe, strict=True)
    equal_times = [(a, b) for a, b, _ in pairs if a in times and b + width in times]
    found = interval_of(equi.rest, width, times, equal_times, types)
    if found is None:
        return None
    keys = equi.keys
    if equal_times:
        kept = [
            pair
            for pair in zip(keys.left, keys.right, keys.null_safe, strict=True)
            if pair[:2] != (found.left, found.right - width)
        ]
        keys = p.JoinKeys(
            tuple(a for a, _, _ in kept), tuple(b for _, b, _ in kept), tuple(s for _, _, s in kept)
        )
    rowtime = is_rowtime(types[found.left])
    if rowtime is not is_rowtime(types[found.right]):
        raise unsupported(
            "Interval join with rowtime join condition and processing time is not supported.",
            place=node.place,
        )
    return p.IntervalJoin(
        row=joined_row(node, left, right),
        inputs=(exchange(left, keys.left), exchange(right, keys.right)),
        kind=node.kind,
        keys=keys,
        condition=node.condition,
        rest=c.and_(found.rest),
        lower=found.lower,
        upper=found.upper,
        left_time=found.left,
        right_time=found.right - width,
        rowtime=rowtime,
        hints=node.hints,
    )
