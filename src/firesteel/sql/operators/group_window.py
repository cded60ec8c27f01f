"""The old windows of GROUP BY. What they give is what windowing TVFs give; windows may overlap in any way."""

from __future__ import annotations

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import KeyedColumnsOperator
from firesteel.sql.operators.session_aggregate import SessionAggregateOperator
from firesteel.sql.operators.specs import GroupWindowAggregate, TimeWindow
from firesteel.sql.operators.window_aggregate import WindowAggregateOperator

__all__ = ["group_window"]


def group_window(program: OperatorProgram, spec: GroupWindowAggregate) -> KeyedColumnsOperator:
    """The operator of a window in GROUP BY.

    :raises UnsupportedFeatureError: it shows windows before or after their time.
    """
    if spec.early_ms is not None or spec.late_ms is not None or spec.lateness_ms:
        raise UnsupportedFeatureError(
            "Windows of GROUP BY are shown once, at their end.",
            detail="table.exec.emit.early-fire, late-fire and allow-lateness ask for more",
            hint="use a windowing table-valued function, or an aggregate without windows",
        )
    if spec.kind not in ("TUMBLE", "HOP", "SESSION"):
        raise UnsupportedFeatureError(
            f"Windows of the kind {spec.kind} cannot be run.", hint="use windows of time"
        )
    window = TimeWindow(
        kind=spec.kind,
        size=spec.size,
        slide=spec.slide,
        offset=spec.offset,
        time=spec.time,
        event_time=spec.event_time,
        zone=spec.zone,
    )
    make = SessionAggregateOperator if spec.kind == "SESSION" else WindowAggregateOperator
    return make(program, spec, window)
