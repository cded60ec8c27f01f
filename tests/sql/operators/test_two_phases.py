"""GROUP BY in two phases gives the tables of GROUP BY in one, in fewer changes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from firesteel.common.columns import Columns
from firesteel.runtime.column_wire import encode_columns
from firesteel.sql import types as t
from firesteel.sql.operators.aggregates import Aggregates
from firesteel.sql.operators.base import arrow_types
from firesteel.sql.operators.borders import one_input
from firesteel.sql.operators.kernels import Segments
from firesteel.sql.operators.partials import Partials
from firesteel.sql.operators.specs import GlobalGroupAggregate, LocalGroupAggregate
from firesteel.testing.table_harness import TableHarness
from tests.sql.operators.changelogs import epochs, table_left
from tests.sql.operators.grouped_rows import BOOL, CALLS, INPUT, LONG, ROWS, TEXT, call, naive

DECIMAL = t.DecimalType(10, 2)
MONEY = t.RowType.of(("k", "d", "f"), (TEXT, DECIMAL, t.DoubleType()))


class Longest:
    """A function of a user that merges, retracts, and has an object for accumulator."""

    def create_accumulator(self):
        return {}

    def accumulate(self, accumulator, value):
        accumulator[value] = accumulator.get(value, 0) + 1

    def retract(self, accumulator, value):
        accumulator[value] = accumulator.get(value, 0) - 1

    def merge(self, accumulator, others):
        for other in others:
            for value, count in other.items():
                accumulator[value] = accumulator.get(value, 0) + count

    def get_value(self, accumulator):
        return max((len(v) for v, n in accumulator.items() if n and v is not None), default=0)


class Endless(Longest):
    merge = None


FUNCTIONS = {"longest": Longest()}


def partials_of(calls, row=INPUT, keys=(0,), retracts=False, functions=FUNCTIONS):
    return Partials(Aggregates(calls, row, retracts, functions), row, keys)


def harness_of(calls, row=INPUT, keys=(0,), retracts=False, bundle=0, ttl_ms=0, **settings):
    between = partials_of(calls, row, keys, retracts).row
    output = t.RowType.of(
        (*(row.names[k] for k in keys), *(f"c{i}" for i in range(len(calls)))),
        (*(row.types[k] for k in keys), *(c.type for c in calls)),
    )
    common = {"calls": calls, "retracts": retracts, "bundle": bundle, "functions": FUNCTIONS}
    local = LocalGroupAggregate(input=row, output=between, keys=keys, **common)
    behind = tuple(range(len(keys)))
    whole = GlobalGroupAggregate(
        input=between, output=output, keys=behind, rows=row, row_keys=keys, ttl_ms=ttl_ms, **common
    )

    def build(columns):
        parts = one_input(columns, "local", local, between, parallelism=1)
        return one_input(parts, "global", whole, output, behind), output

    return TableHarness(build, [row], **settings)


@pytest.mark.row("S-SQL-14")
@pytest.mark.row("S-PERF-03")
def test_a_row_for_each_key_and_bundle_passes_the_exchange():
    harness = harness_of((call("COUNT"), call("SUM", 1)))
    harness.feed(("a", 1, "", True), ("b", 2, "", True), ("a", 3, "", True))
    assert harness.take() == [("+I", "a", 2, 4), ("+I", "b", 1, 2)]
    harness.feed(("a", 1, "", True), ("a", 1, "", True))
    assert harness.take() == [("-U", "a", 2, 4), ("+U", "a", 4, 6)]


def test_a_bundle_of_the_second_phase_counts_parts_and_not_rows():
    harness = harness_of((call("COUNT"),), bundle=3)
    harness.feed(*[("a", i, "", True) for i in range(8)])  # three parts: of 3, 3 and 2 rows
    assert harness.take() == [("+I", "a", 8)]


def test_all_rows_have_one_key_where_there_is_no_group():
    harness = harness_of((call("COUNT"), call("MAX", 0, of=TEXT)), keys=(), parallelism=3)
    harness.feed(("a", 1, "", True), ("b", 2, "", True))
    assert harness.take() == [("+I", 2, "b")]


def test_rows_that_cancel_each_other_in_a_bundle_leave_nothing():
    harness = harness_of((call("COUNT"), call("MIN", 1), call("COUNT", 1, distinct=True)), retracts=True)
    harness.feed_changes(("+I", "a", 1, "", True), ("-D", "a", 1, "", True))
    assert harness.take() == []
    harness.feed(("a", 5, "", True))
    harness.feed_changes(("-D", "a", 5, "", True), ("+I", "b", 1, "", True))
    harness.feed(("a", 7, "", True))
    assert harness.take() == [
        ("+I", "a", 1, 5, 1),
        ("-D", "a", 1, 5, 1),
        ("+I", "b", 1, 1, 1),
        ("+I", "a", 1, 7, 1),
    ]


def test_decimals_and_floats_and_their_nulls():
    calls = (
        call("SUM", 1, of=t.DecimalType(38, 2)),
        call("AVG", 1, of=t.DecimalType(38, 6)),
        call("MAX", 1, of=DECIMAL),
        call("SUM", 2, of=t.DoubleType()),
        call("STDDEV_POP", 2, of=t.DoubleType()),
    )
    harness = harness_of(calls, MONEY)
    harness.feed(("a", 1, 0.5), ("b", None, None), ("a", 2, 1.5))
    harness.feed(("a", None, 2.5), ("b", None, None), ("a", 5, None))
    *_, last = [c for c in harness.take() if c[1] == "a"]
    assert [float(v) for v in last[2:-1]] == [8.0, 2.666667, 5.0, 4.5]
    assert last[-1] == pytest.approx((2 / 3) ** 0.5)
    harness = harness_of(calls, MONEY)
    harness.feed(("b", None, None))
    assert harness.take() == [("+I", "b", None, None, None, None, None)]


def test_functions_of_users_are_merged():
    harness = harness_of((call("longest", 2), call("longest", 2, distinct=True)), retracts=True)
    harness.feed(("a", 1, "x", True), ("a", 1, "xyz", True))
    harness.feed_changes(("-D", "a", 1, "xyz", True), ("+I", "a", 1, "xy", True), ("+I", "a", 1, "x", True))
    assert harness.take() == [("+I", "a", 3, 3), ("-U", "a", 3, 3), ("+U", "a", 2, 2)]


@pytest.mark.parametrize(
    ("calls", "retracts", "possible"),
    [
        ((call("COUNT"), call("SUM", 1), call("AVG", 1), call("MIN", 2, of=TEXT)), True, True),
        ((call("COUNT", 1, 2, distinct=True), call("FIRST_VALUE", 1, distinct=True)), True, True),
        ((call("LISTAGG", 2, of=TEXT),), False, True),
        ((call("LISTAGG", 2, of=TEXT),), True, False),  # what is taken back may be in another part
        ((call("FIRST_VALUE", 1),), False, False),
        ((call("COUNT"), call("LAST_VALUE", 1)), False, False),
        ((call("COLLECT", 1, of=t.MultisetType(LONG)),), True, True),
        ((call("longest", 2),), True, True),
        ((call("endless", 2),), False, False),
    ],
)
def test_which_calls_can_be_put_together_from_parts(calls, retracts, possible):
    functions = {"longest": Longest(), "endless": Endless()}
    assert partials_of(calls, retracts=retracts, functions=functions).possible == possible


MERGED = (*CALLS[:-1], call("MIN", 3, of=BOOL))  # LISTAGG is not


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(epochs(ROWS), st.sampled_from([0, 1, 2, 3]), st.sampled_from([1, 2]), st.booleans(), st.booleans())
def test_the_result_is_that_of_the_rows_that_are_left(made, bundle, parallelism, restored, deletes):
    changes, held = made
    if not deletes:
        changes = [[c for c in epoch if c[0] == "+I"] for epoch in changes]
        held = [tuple(row) for epoch in changes for _, *row in epoch]
    harness = harness_of(MERGED, retracts=deletes, bundle=bundle, parallelism=parallelism)
    out = []
    for i, epoch in enumerate(changes):
        harness.feed_changes(*epoch)
        out += harness.take()
        if restored and i == 0:
            again = {"parallelism": 3 - parallelism, "restore": harness.snapshot()}
            harness = harness_of(MERGED, retracts=deletes, bundle=bundle, **again)
    table = {key: tuple(values[:-1]) for (key,), (_, *values) in table_left(out, (0,)).items()}
    assert table == {key: values[:-1] for key, values in naive(held).items()}


def test_what_travels_depends_on_the_rows_alone():
    """Spark may write a shuffle again: its bytes must be the same."""
    calls = (*MERGED, call("longest", 2), call("LISTAGG", 2, of=TEXT))
    types = arrow_types(INPUT)
    values = [["a", "a", "b"], [1, 1, None], ["x", None, "y"], [True, None, False]]
    rows = Columns([pa.array(v, kind) for v, kind in zip(values, types, strict=True)], 3)
    longer = [pa.array([None, *v, None], kind) for v, kind in zip(values, types, strict=True)]
    slices = Columns([array.slice(1, 3) for array in longer], 3)
    segments = Segments(np.array([0, 2]), 3)
    bodies = {encode_columns(partials_of(calls).of_rows(part, None, segments), ()) for part in (rows, slices)}
    assert len(bodies) == 1
