"""The windowing table-valued function SESSION on its own: each row once, with the session that it is in.

A session is known when it ends, so rows wait until then, by their partition and time. (Flink:
``UnalignedWindowTableFunctionOperator``.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.aggregates import row_text
from firesteel.sql.operators.session_windows import SessionWindows
from firesteel.sql.operators.specs import SessionTableFunction
from firesteel.sql.operators.timed_rows import TimedRows, rows_of_keys
from firesteel.sql.operators.timed_windows import FAR
from firesteel.sql.operators.window_times import WindowTimes
from firesteel.sql.types import RowField, RowType, TinyIntType
from firesteel.state.columns import CanonicalKey

__all__ = ["SessionTableOperator"]


class SessionTableOperator(SessionWindows):
    spec: SessionTableFunction

    def __init__(self, program: OperatorProgram, spec: SessionTableFunction) -> None:
        super().__init__(program, spec, spec.window)
        self._gap = spec.window.size
        self._times = WindowTimes(spec.output, ("start", "end", "time"), spec.window.zone)
        self._waiting: dict[Any, tuple[int, CanonicalKey]] = {}  # key -> the end of its first session

    def on_open(self) -> None:
        row = self.spec.input
        kept = RowType(nullable=False, fields=(*row.fields, RowField("$kind", TinyIntType(nullable=False))))
        self._rows = TimedRows(self.state, "rows", kept, row_text(row, range(len(row.fields))))

    def begin_epoch(self) -> None:
        super().begin_epoch()
        if self._rows.refresh():
            self._waiting.clear()
            for name, key in self._rows.keys().items():
                self._wait(name, key)
            self._see_next()

    # ---- rows

    def run(self, columns: Columns, input_index: int) -> None:
        times = self.times_of(columns)
        keys = self.key_columns(columns, self.spec.keys)
        kinds = pa.array(columns.kinds_or_inserts(), pa.int8())
        rows = Columns([*columns.arrays, kinds], len(columns))
        touched: dict[Any, CanonicalKey] = {}
        for name, key, time, group in rows_of_keys(rows, keys, times):
            if not self._is_late(name, key, time):
                self._rows.add(name, key, time, group)
                touched[name] = key
        for name, key in touched.items():
            self._wait(name, key)
        self._see_next()

    def _is_late(self, name: Any, key: CanonicalKey, time: int) -> bool:
        """Whether the session of a row would be over, and touches none that is not."""
        if not self.window.event_time or time + self._gap - 1 > self._local(self._progress.value):
            return False
        return not any(abs(other - time) <= self._gap for other in self._rows.times(name, key))

    # ---- time

    def _wait(self, name: Any, key: CanonicalKey) -> None:
        sessions = self._sessions(self._rows.times(name, key))
        if sessions:
            self._waiting[name] = (sessions[0][-1] + self._gap, key)
        else:
            self._waiting.pop(name, None)

    def _sessions(self, times: Sequence[int]) -> list[list[int]]:
        """Times in order, each session by itself."""
        sessions: list[list[int]] = []
        for time in times:
            if sessions and time - sessions[-1][-1] <= self._gap:
                sessions[-1].append(time)
            else:
                sessions.append([time])
        return sessions

    def _see_next(self) -> None:
        self._next = min((end for end, _ in self._waiting.values()), default=FAR)

    def fire(self, local: int) -> None:
        over: list[tuple[int, int, list[Any]]] = []
        due = [(name, key) for name, (end, key) in self._waiting.items() if end - 1 <= local]
        for name, key in due:
            for times in self._sessions(self._rows.times(name, key)):
                if times[-1] + self._gap - 1 > local:
                    break
                rows = [row for time in times for row in self._rows.at(name, key, time)]
                over.append((times[-1] + self._gap, times[0], rows))
                for time in times:
                    self._rows.remove(name, key, time)
            self._wait(name, key)
        self._see_next()
        self._emit(sorted(over, key=lambda session: session[0]))

    def _emit(self, sessions: Sequence[tuple[int, int, list[Any]]]) -> None:
        counts = [len(rows) for _, _, rows in sessions]
        ends = np.repeat(np.array([end for end, _, _ in sessions], np.int64), counts)
        starts = np.repeat(np.array([start for _, start, _ in sessions], np.int64), counts)
        *arrays, kinds = self._rows.columns([row for _, _, rows in sessions for row in rows]).arrays
        numbers = kinds.to_numpy(zero_copy_only=False)
        self.emit(
            Columns(
                [*arrays, *self._times.arrays(starts, ends)], len(ends), numbers if numbers.any() else None
            )
        )
