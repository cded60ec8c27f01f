"""OVER in the order of other columns than time; table aggregates."""

from __future__ import annotations

import pytest

from firesteel.sql import types as t
from firesteel.sql.expressions import AggregateCall, Literal, Ordering
from firesteel.sql.operators.specs import GroupTableAggregate, OverAggregate
from firesteel.testing.table_harness import TableHarness

LONG, TEXT = t.BigIntType(), t.VarCharType()
ROW = t.RowType.of(("k", "v", "ts"), (TEXT, LONG, LONG))


def over_of(*calls, rows=False, **traits):
    calls = calls or (AggregateCall("SUM", (1,), LONG),)
    output = t.RowType.of(
        (*ROW.names, *(f"c{i}" for i in range(len(calls)))), (*ROW.types, *(c.type for c in calls))
    )
    return OverAggregate(
        input=ROW,
        output=output,
        keys=(0,),
        calls=calls,
        order=(Ordering(1),),
        rows=rows,
        preceding=None,
        **traits,
    )


def test_a_row_in_the_middle_changes_those_behind_it():
    spec = over_of(retracts=True)
    harness = TableHarness(spec, [ROW], spec.output, [(0,)])
    harness.feed(("a", 1, 100), ("a", 2, 200), ("a", 5, 500))
    assert [c[0] for c in harness.take()] == ["+I"] * 3
    harness = TableHarness(spec, [ROW], spec.output, [(0,)], restore=harness.snapshot())
    harness.feed_changes(("-U", "a", 2, 200), ("+U", "a", 3, 200))
    assert harness.take() == [
        ("-D", "a", 2, 200, 3),
        ("-U", "a", 5, 500, 8),
        ("+U", "a", 5, 500, 6),
        ("+U", "a", 3, 200, 4),
        ("-U", "a", 5, 500, 6),
        ("+U", "a", 5, 500, 9),
    ]


@pytest.mark.parametrize(("rows", "first"), [(False, 4), (True, 2)])
def test_rows_of_one_place_have_one_value_in_a_range(rows, first):
    spec = over_of(rows=rows)
    harness = TableHarness(spec, [ROW], spec.output, [(0,)])
    harness.feed(("a", 2, 1), ("a", 2, 2))
    out = harness.take()
    table = {c[3]: c[4] for c in out}
    assert table == {1: first, 2: 4}


def test_a_range_tells_of_rows_whose_average_stays_the_same():
    """As Flink, which compares accumulators: the sum and the count differ."""
    spec = over_of(AggregateCall("AVG", (2,), LONG), rows=False)
    harness = TableHarness(spec, [ROW], spec.output, [(0,)])
    harness.feed(("a", 1, 4), ("a", 3, 4), ("a", 2, 4), ("a", 2, None))
    assert harness.take() == [
        ("+I", "a", 1, 4, 4),
        ("+I", "a", 3, 4, 4),
        ("+I", "a", 2, 4, 4),
        ("-U", "a", 3, 4, 4),
        ("+U", "a", 3, 4, 4),
        ("+I", "a", 2, None, 4),
    ]


def test_the_value_of_the_row_before():
    lag = AggregateCall("LAG", (2,), LONG, literals=(Literal(1, t.IntType()),))
    spec = over_of(lag, rows=True)
    harness = TableHarness(spec, [ROW], spec.output, [(0,)])
    harness.feed(("a", 1, 100), ("a", 3, 300), ("a", 2, 200))
    assert harness.take() == [
        ("+I", "a", 1, 100, None),
        ("+I", "a", 3, 300, 100),
        ("+I", "a", 2, 200, 100),
        ("-U", "a", 3, 300, 100),
        ("+U", "a", 3, 300, 200),
    ]


class Top2:
    def create_accumulator(self):
        return []

    def accumulate(self, accumulator, value):
        accumulator.append(value)
        accumulator.sort(reverse=True)

    def retract(self, accumulator, value):
        accumulator.remove(value)

    def emit_value(self, accumulator):
        for rank, value in enumerate(accumulator[:2], 1):
            yield value, rank


def test_a_table_aggregate_gives_all_of_its_rows_anew():
    spec = GroupTableAggregate(
        input=ROW,
        output=t.RowType.of(("k", "v", "rank"), (TEXT, LONG, LONG)),
        keys=(0,),
        call=AggregateCall("top2", (1,), LONG),
        retracts=True,
        functions={"top2": Top2()},
    )
    harness = TableHarness(spec, [ROW], spec.output, [(0,)])
    harness.feed_changes(("+I", "a", 1, 0), ("+I", "a", 5, 0))
    harness = TableHarness(spec, [ROW], spec.output, [(0,)], restore=harness.snapshot())
    harness.feed_changes(("-D", "a", 5, 0), ("-D", "a", 1, 0))
    assert harness.take() == [
        ("-D", "a", 5, 1),
        ("-D", "a", 1, 2),
        ("+I", "a", 1, 1),
        ("-D", "a", 1, 1),
    ]
