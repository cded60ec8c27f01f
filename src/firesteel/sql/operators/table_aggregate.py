"""Table aggregate functions of users: for each row what the function gave before is taken back, and what it
gives now follows. (Flink: ``GroupTableAggFunction``.)"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.common.columns import DELETE, INSERT, UPDATE_AFTER, Columns
from firesteel.runtime.program import OperatorProgram
from firesteel.sql.operators.base import KeyedColumnsOperator
from firesteel.sql.operators.correlate import bare
from firesteel.sql.operators.kernels.numbers import objects
from firesteel.sql.operators.keyed_rows import KeyedRows
from firesteel.sql.operators.objects import column_of_results, objects_of, row_fields
from firesteel.sql.operators.row_state import Field, rows_state
from firesteel.sql.operators.specs import GroupTableAggregate

__all__ = ["GroupTableAggregateOperator"]


class GroupTableAggregateOperator(KeyedColumnsOperator):
    minds_time = False
    spec: GroupTableAggregate

    def __init__(self, program: OperatorProgram, spec: GroupTableAggregate) -> None:
        super().__init__(program, spec)
        definition = spec.functions[spec.call.function]
        self._function = getattr(definition, "aggregate", None) or definition
        self._fields = spec.output.fields[len(spec.keys) :]

    def on_open(self) -> None:
        fields = (Field("object", None), Field("int64"))
        self._rows = rows_state(self.state, "accumulators", fields, self.spec.call.function, self.spec.ttl_ms)

    def run(self, columns: Columns, input_index: int) -> None:
        spec, function = self.spec, self._function
        keyed = KeyedRows.of(columns, spec.keys, canonical=False)
        rows, segments = keyed.rows, keyed.segments
        slots = self._rows.find(segments.names, keyed.codes)
        types = [spec.input.types[i] for i in spec.call.arguments]
        arguments = [objects_of(rows.arrays[i], d) for i, d in zip(spec.call.arguments, types, strict=True)]
        values = list(zip(*arguments, strict=True)) if arguments else [()] * len(rows)
        kinds = rows.kinds_or_inserts().tolist()
        made: list[Any] = []
        changes: list[int] = []
        owners: list[int] = []
        accumulators: list[Any] = []
        counts: list[int] = []
        stops = (segments.last + 1).tolist()
        for i, (start, stop) in enumerate(zip(segments.starts.tolist(), stops, strict=True)):
            slot = slots[i]
            exists = bool(self._rows.alive[slot])
            accumulator = self._rows.fields[0][slot] if exists else None
            count = int(self._rows.fields[1][slot])
            for row in range(start, stop):
                adds = kinds[row] in (INSERT, UPDATE_AFTER)
                if count <= 0:
                    if not adds:
                        continue
                    accumulator = function.create_accumulator()
                before = list(function.emit_value(accumulator)) if count > 0 else []
                step = function.accumulate if adds else function.retract
                step(accumulator, *values[row])
                count += 1 if adds else -1
                after = list(function.emit_value(accumulator)) if count > 0 else []
                if not spec.generate_update_before and after:
                    before = []
                made += [*before, *after]
                changes += [DELETE] * len(before) + [INSERT] * len(after)
                owners += [row] * (len(before) + len(after))
            accumulators.append(accumulator)
            counts.append(count)
        full = np.array(counts, np.int64) > 0
        kept = [a for a, is_full in zip(accumulators, full.tolist(), strict=True) if is_full]
        self._rows.put(slots[full], [objects(kept), np.array(counts, np.int64)[full]])
        self._rows.remove(slots[~full])
        self._emit(rows, made, changes, owners)

    def _emit(self, rows: Columns, made: list[Any], changes: list[int], owners: list[int]) -> None:
        if not made:
            return
        at = pa.array(owners, pa.int64())
        keys = [key.take(at) for key in self.key_columns(rows, self.spec.keys)]
        names = [f.name for f in self._fields]
        if len(names) == 1:
            columns: Any = [[bare(row) for row in made]]
        else:
            columns = zip(*(row_fields(row, names) for row in made), strict=True)
        arrays = [column_of_results(list(c), f.data_type) for c, f in zip(columns, self._fields, strict=True)]
        kinds = np.array(changes, np.int8)
        self.emit(Columns([*keys, *arrays], len(made), kinds if kinds.any() else None))
