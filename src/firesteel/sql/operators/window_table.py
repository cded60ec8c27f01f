"""TUMBLE, HOP and CUMULATE without an aggregate: each row once for each of its windows. (Flink:
``AlignedWindowTableFunctionOperator``.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import RowwiseOperator
from firesteel.sql.operators.slices import Slices, local_milliseconds
from firesteel.sql.operators.specs import WindowTableFunction
from firesteel.sql.operators.window_times import WindowTimes

__all__ = ["WindowTableOperator"]


class WindowTableOperator(RowwiseOperator):
    spec: WindowTableFunction

    def __init__(self, program: OperatorProgram, spec: WindowTableFunction) -> None:
        super().__init__(program, spec)
        self._slices = Slices(spec.window)
        self._times = WindowTimes(spec.output, ("start", "end", "time"), spec.window.zone)

    def convert(self, columns: Columns) -> tuple[Columns, np.ndarray[Any, Any] | None]:
        window, slices = self.spec.window, self._slices
        assert window.time is not None
        if window.event_time:
            ends = slices.ends(local_milliseconds(columns.arrays[window.time], window.zone))
        else:
            now = pa.array([self.context.clock.now_ms], pa.timestamp("ms", "UTC"))
            ends = np.full(len(columns), slices.ends(local_milliseconds(now, window.zone))[0], np.int64)
        rows = np.arange(len(columns))
        if slices.kind != "TUMBLE":
            # Flink gives the newest window of HOP first, and the shortest of CUMULATE.
            step = -1 if slices.kind == "HOP" else 1
            every = [list(slices.windows(end))[::step] for end in ends.tolist()]
            rows = np.repeat(rows, [len(w) for w in every])
            ends = np.array([end for w in every for end in w], np.int64)
            columns = columns.take(rows)
        starts = np.array([slices.start(end) for end in ends.tolist()], np.int64)
        arrays = [*columns.arrays, *self._times.arrays(starts, ends)]
        return Columns(arrays, len(rows), columns.kinds), rows
