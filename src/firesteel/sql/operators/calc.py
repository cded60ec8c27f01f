"""Operators that make some rows of each row: projection and filter, expansion, rows of some kinds alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import UPDATE_BEFORE, Columns, LateArrays
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.expressions import InputRef, reads_watermark
from firesteel.sql.operators.base import RowwiseOperator
from firesteel.sql.operators.evaluation import Evaluation
from firesteel.sql.operators.specs import Calc, DropUpdateBefore, Expand
from firesteel.state.backend import OperatorState

__all__ = ["CalcOperator", "DropUpdateBeforeOperator", "ExpandOperator"]

Rows = np.ndarray[Any, Any] | None


class CalcOperator(RowwiseOperator):
    """Filter, then project; the projection sees only the rows that are left."""

    def __init__(self, program: OperatorProgram, spec: Calc) -> None:
        super().__init__(program, spec)
        self._condition = (
            None if spec.condition is None else Evaluation((spec.condition,), spec.input, spec.functions)
        )
        #: For each column of the result the column of the input that it is; None: it is computed.
        self._columns = [e.index if isinstance(e, InputRef) else None for e in spec.projection]
        computed = [e for e in spec.projection if not isinstance(e, InputRef)]
        self._computed = Evaluation(computed, spec.input, spec.functions)
        expressions = [*spec.projection, *([] if spec.condition is None else [spec.condition])]
        self.reads_watermark = reads_watermark(expressions)

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        self._computed.open(context)
        if self._condition is not None:
            self._condition.open(context)

    def convert(self, columns: Columns) -> tuple[Columns, Rows]:
        rows: Rows = None
        if self._condition is not None:
            keep = self._condition.mask(columns, self.watermark)
            kept = np.flatnonzero(keep)
            if len(kept) < len(columns):
                rows = kept
                columns = columns.take_late(kept)
                if not len(kept):
                    return columns, rows
        computed = iter(self._computed.run(columns, self.watermark))
        own = [None if column is not None else next(computed) for column in self._columns]
        every, of_input = columns.arrays, self._columns

        def make(i: int) -> pa.Array:
            column = of_input[i]
            return own[i] if column is None else every[column]

        return columns.with_arrays(LateArrays(len(own), make)), rows


class ExpandOperator(RowwiseOperator):
    """Each row once for each projection; the rows that are made of one follow each other."""

    def __init__(self, program: OperatorProgram, spec: Expand) -> None:
        super().__init__(program, spec)
        self._projections = [Evaluation(p, spec.input, spec.functions) for p in spec.projections]

    def open(self, context: SubtaskContext, state: OperatorState | None) -> None:
        super().open(context, state)
        for projection in self._projections:
            projection.open(context)

    def convert(self, columns: Columns) -> tuple[Columns, Rows]:
        times, length = len(self._projections), len(columns)
        every = [projection.run(columns, self.watermark) for projection in self._projections]
        arrays = [pa.concat_arrays(column) for column in zip(*every, strict=True)]
        rows = np.repeat(np.arange(length), times)
        order = np.arange(length * times).reshape(times, length).T.ravel()
        kinds = None if columns.kinds is None else columns.kinds[rows]
        taken = pa.array(order)
        return Columns([a.take(taken) for a in arrays], length * times, kinds), rows


class DropUpdateBeforeOperator(RowwiseOperator):
    """All rows but -U."""

    def __init__(self, program: OperatorProgram, spec: DropUpdateBefore) -> None:
        super().__init__(program, spec)

    def convert(self, columns: Columns) -> tuple[Columns, Rows]:
        if columns.kinds is None:
            return columns, None
        rows = np.flatnonzero(columns.kinds != UPDATE_BEFORE)
        return (columns, None) if len(rows) == len(columns) else (columns.take_late(rows), rows)
