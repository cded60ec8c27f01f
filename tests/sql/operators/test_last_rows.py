"""One row for each key: against a plain dictionary over random epochs in random processes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.stateful import initialize, rule

from firesteel.common.columns import Columns
from firesteel.common.types import Row
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.operators.changelogs import LastRows
from firesteel.sql.operators.specs import ChangelogNormalize, Deduplicate
from firesteel.state.backend import OperatorState, StateLimits
from firesteel.state.column_keys import hash_codes, identities
from firesteel.testing.table_harness import TableHarness
from tests.budget import examples
from tests.sql.operators.changelogs import table_left, upserts
from tests.sql.operators.table_values import VALUES
from tests.state.machine import LIMITS, ColumnMachine, as_test

Array = np.ndarray[Any, Any]
PICKS = st.lists(st.integers(0, 5), unique=True, min_size=1)
TYPES = st.lists(st.sampled_from(sorted(VALUES)), max_size=4)


class LastRowsMachine(ColumnMachine):
    @initialize(limits=LIMITS, local=st.booleans(), names=TYPES)
    def start(self, limits: StateLimits, local: bool, names: list[str]) -> None:
        self.values = [VALUES[name][1] for name in names]
        kinds = [VALUES[name][0] for name in names]
        self.row = t.RowType.of(["k", *(f"f{i}" for i in range(len(names)))], [t.BigIntType(), *kinds])
        self.start_at(0, limits, local)

    def take_column(self, operator: OperatorState) -> None:
        self.last = LastRows(operator, "last", self.row, 0)

    def columns_of(self, picks: list[int], data: st.DataObject) -> Columns:
        found = [
            data.draw(st.lists(st.none() | v, min_size=len(picks), max_size=len(picks))) for v in self.values
        ]
        kinds = [arrow_type(kind) for kind in self.row.types]
        arrays = [pa.array(c, kind) for c, kind in zip([picks, *found], kinds, strict=True)]
        return Columns(arrays, len(picks))

    def texts_of(self, picks: list[int], columns: Columns) -> dict[bytes, list[Any]]:
        return {bytes([p]): [repr(row)] for p, row in zip(picks, columns.rows(), strict=True)}

    def slots_of(self, picks: list[int]) -> Array:
        keys = [pa.array(picks, pa.int64())]
        return self.last.rows.find(identities(keys, len(picks)), hash_codes(keys, len(picks)))

    @rule(picks=PICKS, others=st.integers(0, 8), data=st.data())
    def put(self, picks: list[int], others: int, data: st.DataObject) -> None:
        """There may be more rows in the columns than are put."""
        columns = self.columns_of([*([9] * others), *picks], data)
        places = np.arange(others, len(columns))
        self.last.put(self.slots_of(picks), columns, places)
        self.model.update(self.texts_of(picks, columns.take(places)))

    @rule(picks=PICKS)
    def remove(self, picks: list[int]) -> None:
        self.last.rows.remove(self.slots_of(picks))
        for pick in picks:
            self.model.pop(bytes([pick]), None)

    @rule(picks=PICKS)
    def look(self, picks: list[int]) -> None:
        arrays, places = self.last.read(self.slots_of(picks))
        rows = [repr(row) for row in Columns(arrays, len(arrays[0])).rows()]
        found = [[rows[place]] if place >= 0 else None for place in places.tolist()]
        assert found == [self.model.get(bytes([pick])) for pick in picks]
        for array, kind in zip(arrays, self.row.types, strict=True):
            array.validate(full=True)
            assert array.type == arrow_type(kind)

    def move_on(self, step: int) -> None:
        self.last.rows.remove(self.last.rows.items()[1])
        self.model = {}


TestLastRowsModel = as_test(LastRowsMachine)


# ---- operators

INNER = t.RowType.of(("i", "s"), (t.IntType(), t.VarCharType()))


def inner(*values: Any) -> Row:
    row = Row(*values)
    row.set_field_names(list(INNER.names))
    return row


OTHERS: list[tuple[t.DataType, list[Any]]] = [
    (t.VarCharType(), ["", "é", None]),
    (t.VarBinaryType(), [b"", b"\x00\xff", None]),
    (t.DecimalType(precision=10, scale=2), [Decimal("-0.10"), Decimal("5.00"), None]),
    (t.TimestampType(precision=6), [dt.datetime(1969, 1, 1, 0, 0, 0, 1), None]),
    (t.ArrayType(element_type=INNER), [[], [inner(1, "x"), None], None]),
    (t.MapType(key_type=t.VarCharType(), value_type=t.BigIntType()), [{}, {"a": None}, None]),
]
WIDE = t.RowType.of(
    ("k", *(f"f{i}" for i in range(len(OTHERS)))), (t.BigIntType(), *(kind for kind, _ in OTHERS))
)
SPECS = {
    "the last row": Deduplicate(input=WIDE, keys=(0,), last=True),
    "normalised": ChangelogNormalize(input=WIDE, keys=(0,)),
}


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(sorted(SPECS)), st.data())
def test_operators_keep_rows_of_all_types(name: str, data: st.DataObject) -> None:
    """Each epoch goes on from a savepoint, with another parallelism."""
    spec = SPECS[name]
    row = st.tuples(st.integers(0, 3), *(st.sampled_from(values) for _, values in OTHERS))
    epochs, held = data.draw(upserts(row, lambda found: found[0]))
    if name == "the last row":
        epochs = [[("+I", *change[1:]) for change in epoch] for epoch in epochs]
        held = {change[1]: change[1:] for epoch in epochs for change in epoch}
    harness = TableHarness(spec, [WIDE], WIDE, [(0,)])
    changes = []
    for number, epoch in enumerate(epochs):
        harness.feed_changes(*epoch)
        changes += harness.take()
        snapshot = harness.snapshot()
        harness = TableHarness(spec, [WIDE], WIDE, [(0,)], restore=snapshot, parallelism=1 + number % 2)
    left = {key: tuple(values) for (key,), values in table_left(changes, (0,)).items()}
    assert repr(sorted(left.items())) == repr(sorted(held.items()))
