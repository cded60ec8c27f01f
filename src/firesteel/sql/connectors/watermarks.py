"""``scan.watermark.*``: watermarks that a source makes itself, for each of its splits.

Of several partitions that are read by a subtask, each has its own watermark, and the lowest one counts: a
partition that is behind has no late rows for it (Flink: ``SupportsWatermarkPushDown``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from firesteel.common.options import table as table_options
from firesteel.common.time import Duration
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.runtime.batch import MIN_WATERMARK, Mark
from firesteel.sql import physical as p
from firesteel.sql.connectors.options import Option, TableOptions, duration, text, word
from firesteel.sql.context import EvaluationContext
from firesteel.sql.evaluator import compile_expressions
from firesteel.sql.expressions import Expression
from firesteel.sql.operators.watermarks import milliseconds
from firesteel.sql.types import RowType
from firesteel.util.exceptions import TableException

__all__ = ["WATERMARK_OPTIONS", "refuse_watermark_options", "source_strategy"]

_PREFIX: Final = "scan.watermark."
_EMIT: Final = f"{_PREFIX}emit.strategy"
_GROUP: Final = f"{_PREFIX}alignment.group"
_DRIFT: Final = f"{_PREFIX}alignment.max-drift"
_INTERVAL: Final = f"{_PREFIX}alignment.update-interval"
_IDLE: Final = f"{_PREFIX}idle-timeout"
WATERMARK_OPTIONS: Final[tuple[Option, ...]] = (
    word(_EMIT, ("on-periodic", "on-event"), "on-periodic"),
    text(_GROUP),
    duration(_DRIFT),
    duration(_INTERVAL),
    duration(_IDLE),
)


def refuse_watermark_options(connector: str, table: str, given: Sequence[str]) -> None:
    """:raises TableException: options of watermarks are given to a source that makes none."""
    found = sorted(key for key in given if key.startswith(_PREFIX))
    if found:
        raise TableException(
            f"Unsupported options found for '{connector}'.",
            detail=f"{', '.join(found)} of table {table}: the watermarks of this connector are made behind "
            "it, not for each of its splits",
            hint="leave them out; WATERMARK FOR and table.exec.source.idle-timeout have their effect",
        )


def source_strategy(run: Any, node: p.TableSourceScan, options: TableOptions) -> WatermarkStrategy | None:
    """Return how the source makes its watermarks, None if it makes none.

    :raises TableException: options are given but the table has no watermark, or they contradict each other.
    """
    if node.watermark is None:
        given = sorted(key for key in options.given if key.startswith(_PREFIX))
        if given and not node.table.schema.watermarks:
            raise options.error(given[0], "the table has no watermark", "declare WATERMARK FOR a column")
        return None
    factory: Any = _ColumnWatermarks(node.watermark, node.row, run.zone, options[_EMIT] == "on-event")
    strategy = WatermarkStrategy(factory)
    idle_ms = options[_IDLE]
    if idle_ms is None:
        idle_ms = int(run.context.get(table_options.SOURCE_IDLE) or 0)
    if idle_ms:
        strategy = strategy.with_idleness(Duration.of_millis(idle_ms))
    group, drift_ms, interval_ms = options[_GROUP], options[_DRIFT], options[_INTERVAL]
    if (group is None) != (drift_ms is None):
        there, missing = (_GROUP, _DRIFT) if drift_ms is None else (_DRIFT, _GROUP)
        raise options.error(there, f"it needs '{missing}'", f"set '{missing}', too")
    if interval_ms is not None and group is None:
        raise options.error(_INTERVAL, f"it needs '{_GROUP}'", f"set '{_GROUP}' and '{_DRIFT}', too")
    if group is not None:
        every = None if interval_ms is None else Duration.of_millis(interval_ms)
        strategy = strategy.with_watermark_alignment(group, Duration.of_millis(drift_ms), every)
    return strategy


@dataclass(frozen=True, slots=True)
class _ColumnWatermarks:
    """Makes the generator of a split, in a task. :param expression: over the columns of *row*."""

    expression: Expression
    row: RowType
    zone: str
    on_event: bool

    def __call__(self) -> _Generator:
        return _Generator(self)


class _Generator:
    """The highest watermark of the rows so far (see ``runtime.watermarks.BatchGenerator``)."""

    moves_alone = False

    def __init__(self, config: _ColumnWatermarks) -> None:
        self._program = compile_expressions((config.expression,), config.row.types, {})
        self._context = EvaluationContext(time_zone=config.zone)
        self._on_event = config.on_event
        self._highest = MIN_WATERMARK

    def observe(self, values: Any, stamps: Sequence[int]) -> list[tuple[int, Mark]]:
        found = milliseconds(next(iter(self._program.run(values, self._context))))
        before = self._highest
        self._highest = max(before, int(found.max()))
        if not self._on_event or self._highest == before:
            return []
        highest = np.maximum(np.maximum.accumulate(found), before)
        rises = np.flatnonzero(np.diff(highest, prepend=before))
        return [(int(at) + 1, int(highest[at])) for at in rises]

    def periodic(self) -> list[Mark]:
        return [self._highest]

    def snapshot(self) -> Any:
        return self._highest

    def restore(self, snapshot: Any) -> None:
        self._highest = snapshot
