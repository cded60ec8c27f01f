"""Expressions in operators: compiled once, run on the columns of each batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.common.options.table import LOCAL_TIME_ZONE
from firesteel.runtime.batch import MIN_WATERMARK
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.sql.context import EvaluationContext
from firesteel.sql.evaluator import compile_expressions
from firesteel.sql.expressions import Expression
from firesteel.sql.types import RowType

__all__ = ["Evaluation"]


class Evaluation:
    """Some expressions over the columns of one row type."""

    def __init__(self, expressions: Sequence[Expression], row: RowType, functions: Mapping[str, Any]) -> None:
        self._program = compile_expressions(expressions, row.types, functions)
        self._context = EvaluationContext()

    def open(self, context: SubtaskContext) -> None:
        """Learn where expressions are evaluated."""
        clock = context.clock
        zone = str(context.settings.get(LOCAL_TIME_ZONE.key) or "UTC")
        self._context = EvaluationContext(
            time_zone="UTC" if zone == "default" else zone, clock=lambda: clock.now_ms
        )
        if context.batch_mode:
            self._context.query_start = clock.now_ms

    def run(self, columns: Columns, watermark: int = MIN_WATERMARK) -> list[pa.Array]:
        """The values of the expressions for each row."""
        self._context.watermark = None if watermark == MIN_WATERMARK else watermark
        return list(self._program.run(columns, self._context))

    def mask(self, columns: Columns, watermark: int = MIN_WATERMARK) -> np.ndarray[Any, Any]:
        """Of the first expression, a condition: where it is true (not null)."""
        result = self.run(columns, watermark)[0]
        if result.null_count:
            result = result.fill_null(False)
        truths: np.ndarray[Any, Any] = result.to_numpy(zero_copy_only=False)
        return truths
