"""OVER in the order of other columns than time, from the first row on: a row in the middle changes those
behind it.

(Flink: ``NonTimeRangeUnboundedPrecedingFunction``, ``NonTimeRowsUnboundedPrecedingFunction``.)
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, Columns
from firesteel.common.errors import UnsupportedFeatureError
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.aggregates import Aggregates
from firesteel.sql.operators.base import KeyedColumnsOperator
from firesteel.sql.operators.kernels import Segments
from firesteel.sql.operators.kernels.numbers import objects
from firesteel.sql.operators.keyed_rows import KeyedRows
from firesteel.sql.operators.row_codec import RowCodec
from firesteel.sql.operators.row_state import Field, rows_state
from firesteel.sql.operators.sort_keys import sort_key
from firesteel.sql.operators.specs import OverAggregate
from firesteel.sql.values import array_of, values_of

__all__ = ["SortedOverOperator"]


class SortedOverOperator(KeyedColumnsOperator):
    minds_time = False
    spec: OverAggregate

    def __init__(self, program: OperatorProgram, spec: OverAggregate) -> None:
        super().__init__(program, spec)
        if spec.preceding is not None or spec.following != 0:
            raise UnsupportedFeatureError(
                "OVER windows that are not ordered by time have frames from UNBOUNDED PRECEDING to "
                "CURRENT ROW alone.",
                operator=program.name,
            )
        self.aggregates = Aggregates(spec.calls, spec.input, False, spec.functions)
        self._codec = RowCodec(spec.input)
        key, codec = sort_key(spec.order), self._codec
        self._key_of = lambda body: key(codec.values(body))
        self._result_types = [call.type for call in spec.calls]

    def on_open(self) -> None:
        shape = str(self.spec.input)
        self._rows = rows_state(self.state, "rows", (Field("object", None),), shape, self.spec.ttl_ms)
        self.aggregates.open(self.state, "frames", 0)

    def run(self, columns: Columns, input_index: int) -> None:
        keyed = KeyedRows.of(columns, self.spec.keys)
        segments = keyed.segments
        slots = self._rows.find(list(segments.names), keyed.codes)
        bodies = self._codec.encode(keyed.rows)
        kinds = keyed.rows.kinds_or_inserts().tolist()
        held_rows = self._rows.fields[0]
        out: list[tuple[int, bytes, tuple[Any, ...]]] = []
        stays: list[Any] = []
        stops = (segments.last + 1).tolist()
        for i, (start, stop) in enumerate(zip(segments.starts.tolist(), stops, strict=True)):
            held: list[bytes] = list(held_rows[slots[i]] or ())
            keys = [self._key_of(body) for body in held]
            results = self._results(held, keys)
            for row in range(start, stop):
                key, body = self._key_of(bodies[row]), bodies[row]
                if kinds[row] in (INSERT, UPDATE_AFTER):
                    at = bisect_right(keys, key)
                    held.insert(at, body)
                    keys.insert(at, key)
                    now = self._results(held, keys)
                    out.append((kinds[row], body, now[at]))
                    before = [*results[:at], now[at], *results[at:]]
                else:
                    at = _place(held, keys, body, key)
                    if at < 0:
                        continue
                    out.append((DELETE, body, results[at]))
                    del held[at], keys[at]
                    now = self._results(held, keys)
                    before = [*results[:at], *results[at + 1 :]]
                self._updates(held, before, now, out)
                results = now
            stays.append(tuple(held))
        full = np.array([bool(held) for held in stays], bool)
        self._rows.put(slots[full], [objects([held for held in stays if held])])
        self._rows.remove(slots[~full])
        self._emit(out)

    def _updates(self, held: list[bytes], before: list[Any], now: list[Any], out: list[Any]) -> None:
        for body, was, value in zip(held, before, now, strict=True):
            if was != value:
                if self.spec.generate_update_before:
                    out.append((UPDATE_BEFORE, body, was))
                out.append((UPDATE_AFTER, body, value))

    def _results(self, held: list[bytes], keys: list[Any]) -> list[tuple[Any, ...]]:
        """The values of the calls for each row, in order."""
        count = len(held)
        if not count:
            return []
        rows = Columns(self._codec.decode(held), count)
        segments = Segments(np.zeros(1, np.int64), count, [()], [b""])
        fields = self.aggregates.scan(rows, None, segments, self.aggregates.initial(1))
        if not self.spec.rows:
            peers = np.array([bisect_right(keys, key) - 1 for key in keys], np.int64)
            fields = [field[peers] for field in fields]
        results = self.aggregates.results(fields)
        values = [values_of(a, d) for a, d in zip(results, self._result_types, strict=True)]
        return list(zip(*values, strict=True))

    def _emit(self, out: list[tuple[int, bytes, tuple[Any, ...]]]) -> None:
        if not out:
            return
        arrays = self._codec.decode([body for _, body, _ in out])
        columns: Any = zip(*(values for _, _, values in out), strict=True)
        made: list[pa.Array] = [
            array_of(list(c), d) for c, d in zip(columns, self._result_types, strict=True)
        ]
        kinds = np.array([kind for kind, _, _ in out], np.int8)
        self.emit(Columns([*arrays, *made], len(out), kinds if kinds.any() else None))


def _place(held: list[bytes], keys: list[Any], body: bytes, key: Any) -> int:
    """Where a row is; -1: nowhere."""
    at = bisect_left(keys, key)
    while at < len(held) and keys[at] == key:
        if held[at] == body:
            return at
        at += 1
    return -1
