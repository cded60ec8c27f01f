"""Joins by time, OVER by time, ranks of windows, lookups, constraints."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from firesteel.sql import types as t
from firesteel.sql.expressions import AggregateCall, InputRef, Ordering
from firesteel.sql.operators.specs import (
    ConstraintEnforcer,
    LookupJoin,
    OverAggregate,
    TemporalJoin,
    TimeIntervalJoin,
    TimeWindow,
    WindowJoin,
    WindowRank,
    WindowTableFunction,
)
from firesteel.testing.table_harness import TableHarness

LONG, TEXT = t.BigIntType(), t.VarCharType()
TIME = t.TimestampType(precision=3, attribute="rowtime")
PLAIN = t.TimestampType(precision=3)
LEFT = t.RowType.of(("k", "v", "ts"), (TEXT, LONG, TIME))
RIGHT = t.RowType.of(("k2", "w", "ts2"), (TEXT, LONG, TIME))
BOTH = t.RowType.of((*LEFT.names, *RIGHT.names), (*LEFT.types, *RIGHT.types))


def at(ms):
    return dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=ms)


def pairs(rows):
    return [(row[2], row[5]) for row in rows]


# ---- intervals


def interval_of(kind="INNER", lower=-5, upper=2):
    return TimeIntervalJoin(
        left=LEFT,
        right=RIGHT,
        output=BOTH,
        kind=kind,
        left_keys=(0,),
        right_keys=(0,),
        left_time=2,
        right_time=2,
        lower_ms=lower,
        upper_ms=upper,
    )


def two(spec, **settings):
    return TableHarness(spec, [LEFT, RIGHT], spec.output, [(0,), (0,)], **settings)


@pytest.mark.row("S-SQL-22")
def test_rows_meet_when_their_times_are_near():
    harness = two(interval_of())
    harness.feed(("a", 1, at(10)), ("b", 2, at(10)))
    harness.feed(("a", 1, at(7)), ("a", 2, at(8)), ("a", 3, at(15)), ("a", 4, at(16)), input=1)
    assert sorted(pairs(harness.take())) == [(1, 2), (1, 3)]


def test_a_row_that_met_nobody_is_shown_when_nobody_can_come():
    harness = two(interval_of("FULL"))
    harness.feed(("a", 1, at(10)), ("b", 2, at(10)), watermark=20)
    harness.feed(("a", 9, at(12)), ("c", 8, at(30)), input=1, watermark=14)
    assert pairs(harness.take()) == [(1, 9)]
    harness.feed(watermark=100, input=1)
    harness.feed(watermark=100)
    assert sorted(pairs(harness.take()), key=repr) == [(2, None), (None, 8)]


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.tuples(st.integers(0, 1), st.sampled_from("ab"), st.integers(0, 20)), max_size=12),
    st.sampled_from(["INNER", "LEFT", "RIGHT", "FULL"]),
    st.integers(0, 12),
)
def test_intervals_give_what_a_batch_join_gives(rows, kind, cut):
    spec = interval_of(kind)
    harness = two(spec, parallelism=2)
    numbered = [(side, key, i, time) for i, (side, key, time) in enumerate(rows)]
    out = []
    for part in (numbered[:cut], numbered[cut:]):
        for side in (0, 1):
            harness.feed(*((k, i, at(s)) for own, k, i, s in part if own == side), input=side)
        out += harness.take()
        harness = two(spec, restore=harness.snapshot())
    harness.feed(watermark=1000)
    harness.feed(watermark=1000, input=1)
    out += harness.take()
    left = [r for r in numbered if r[0] == 0]
    right = [r for r in numbered if r[0] == 1]
    expected = [(a[2], b[2]) for a in left for b in right if a[1] == b[1] and -5 <= a[3] - b[3] <= 2]
    met_left, met_right = {a for a, _ in expected}, {b for _, b in expected}
    if kind in ("LEFT", "FULL"):
        expected += [(a[2], None) for a in left if a[2] not in met_left]
    if kind in ("RIGHT", "FULL"):
        expected += [(None, b[2]) for b in right if b[2] not in met_right]
    assert sorted(pairs(out), key=repr) == sorted(expected, key=repr)


# ---- windows


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("INNER", [(1, 10)]),
        ("FULL", [(1, 10), (2, None), (None, 11)]),
        ("ANTI", [2]),
        ("SEMI", [1]),
    ],
)
def test_rows_of_the_same_window_meet_when_it_ends(kind, expected):
    spec = WindowJoin(
        left=LEFT,
        right=RIGHT,
        output=LEFT if kind in ("SEMI", "ANTI") else BOTH,
        kind=kind,
        left_keys=(0,),
        right_keys=(0,),
        left_end=2,
        right_end=2,
    )
    harness = two(spec)
    harness.feed(("a", 1, at(10)), ("b", 2, at(10)), ("a", 3, at(20)))
    harness.feed(("a", 10, at(10)), ("c", 11, at(10)), input=1)
    harness = two(spec, restore=harness.snapshot())
    harness.feed(watermark=9)
    assert harness.take() == []
    harness.feed(("a", 4, at(10)), watermark=9, input=1)
    rows = harness.take()
    found = [row[2] for row in rows] if kind in ("SEMI", "ANTI") else pairs(rows)
    if kind in ("INNER", "FULL"):
        found.remove((1, 4))
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    harness.feed(("a", 99, at(10)))
    harness.feed(watermark=30)
    harness.feed(watermark=30, input=1)
    assert all(row[2] == 3 for row in harness.take())


def test_the_best_rows_of_each_window():
    numbered = t.RowType.of((*LEFT.names, "rn"), (*LEFT.types, LONG))
    spec = WindowRank(
        input=LEFT,
        output=numbered,
        keys=(0,),
        order=(Ordering(1, ascending=False),),
        end_column=2,
        end=2,
        output_number=True,
    )
    harness = TableHarness(spec, [LEFT], numbered, [(0,)])
    harness.feed(*((k, v, at(10)) for k, v in (("a", 1), ("a", 3), ("b", 5), ("a", 2))), watermark=9)
    assert sorted((r[1], r[2], r[4]) for r in harness.take()) == [("a", 2, 2), ("a", 3, 1), ("b", 5, 1)]


def test_a_row_is_in_each_of_its_windows():
    row = t.RowType.of((*LEFT.names, "s", "e", "w"), (*LEFT.types, PLAIN, PLAIN, TIME))
    spec = WindowTableFunction(input=LEFT, output=row, window=TimeWindow("HOP", 10, 5, time=2))
    harness = TableHarness(spec, [LEFT], row)
    harness.feed(("a", 1, at(7)))
    assert [r[4:] for r in harness.take()] == [
        (at(5), at(15), at(14)),
        (at(0), at(10), at(9)),
    ]


# ---- versions


@pytest.mark.row("S-SQL-20", "T23")
@pytest.mark.parametrize("kind", ["INNER", "LEFT"])
def test_a_row_meets_the_version_of_its_time(kind):
    spec = TemporalJoin(
        left=LEFT,
        right=RIGHT,
        output=BOTH,
        kind=kind,
        left_keys=(0,),
        right_keys=(0,),
        left_time=2,
        right_time=2,
    )
    harness = two(spec)
    harness.feed(("a", 1, at(5)), ("a", 2, at(10)), ("a", 3, at(1)), ("a", 4, at(25)))
    harness.feed_changes(
        ("+I", "a", 10, at(2)),
        ("-U", "a", 10, at(8)),
        ("+U", "a", 20, at(8)),
        ("-D", "a", 20, at(20)),
        input=1,
    )
    harness.feed(watermark=100)
    assert harness.take() == []
    harness = two(spec, restore=harness.snapshot())
    harness.feed(watermark=100)
    harness.feed(watermark=100, input=1)
    lonely = [(3, None), (4, None)] if kind == "LEFT" else []
    assert sorted(pairs(harness.take()), key=repr) == sorted([(1, 10), (2, 20), *lonely], key=repr)


@pytest.mark.row("T23")
@pytest.mark.parametrize("kind", ["INNER", "LEFT"])
def test_a_row_waits_for_both_watermarks_and_is_never_changed(kind):
    """Rates of 10:00 and 11:00, in minutes after 9:00."""
    spec = TemporalJoin(
        left=LEFT,
        right=RIGHT,
        output=BOTH,
        kind=kind,
        left_keys=(0,),
        right_keys=(0,),
        left_time=2,
        right_time=2,
    )
    harness = two(spec)
    harness.feed(("eur", 110, at(60)), ("eur", 120, at(120)), input=1, watermark=75)
    harness.feed(("eur", 1, at(90)), ("eur", 2, at(120)), ("eur", 3, at(0)), watermark=180)
    assert pairs(harness.take()) == ([(3, None)] if kind == "LEFT" else []), "10:30 is not over at 10:15"
    harness.feed(input=1, watermark=90)
    assert pairs(harness.take()) == [(1, 110)]
    harness.feed(("eur", 130, at(180)), input=1, watermark=181)
    assert pairs(harness.take()) == [(2, 120)], "what has left is not changed by later versions"
    harness.feed(("eur", 4, at(500)), watermark=500)
    harness.feed(input=1, watermark=500)
    assert pairs(harness.take()) == [(4, 130)], "the last version stays, however old it is"


def test_by_processing_time_a_row_meets_the_newest_version():
    spec = TemporalJoin(left=LEFT, right=RIGHT, output=BOTH, kind="LEFT", left_keys=(0,), right_keys=(0,))
    harness = two(spec)
    harness.feed(("a", 10, at(0)), ("a", 11, at(0)), input=1)
    harness.feed(("a", 1, at(0)), ("b", 2, at(0)))
    assert pairs(harness.take()) == [(1, 11), (2, None)]


class Capitals:
    def lookup(self, keys):
        table = {("a",): [("a", 1, None), ("a", 2, None)]}
        return [table.get(key, []) for key in keys]


def test_rows_beside_what_a_connector_finds():
    spec = LookupJoin(
        left=LEFT, right=RIGHT, output=BOTH, kind="LEFT", lookup=Capitals(), keys=(InputRef(0, TEXT),)
    )
    harness = TableHarness(spec, [LEFT], BOTH)
    harness.feed(("a", 7, at(0)), ("b", 8, at(0)), (None, 9, at(0)))
    assert pairs(harness.take()) == [(7, 1), (7, 2), (8, None), (9, None)]


# ---- OVER


def over_of(**traits):
    calls = (AggregateCall("SUM", (1,), LONG), AggregateCall("COUNT", (), LONG))
    output = t.RowType.of((*LEFT.names, "s", "n"), (*LEFT.types, LONG, LONG))
    return OverAggregate(input=LEFT, output=output, keys=(0,), calls=calls, time=2, **traits)


@pytest.mark.parametrize(
    ("traits", "expected"),
    [
        ({}, [(1, 1, 1), (2, 7, 3), (4, 7, 3), (8, 15, 4)]),
        ({"rows": True}, [(1, 1, 1), (2, 3, 2), (4, 7, 3), (8, 15, 4)]),
        ({"rows": True, "preceding": 1}, [(1, 1, 1), (2, 3, 2), (4, 6, 2), (8, 12, 2)]),
        ({"preceding": 4}, [(1, 1, 1), (2, 7, 3), (4, 7, 3), (8, 14, 3)]),
    ],
)
@pytest.mark.parametrize("cut", [0, 1, 2, 3])
def test_frames_of_time(traits, expected, cut):
    spec = over_of(**traits)
    harness = TableHarness(spec, [LEFT], spec.output, [(0,)])
    rows = [("a", 1, at(1)), ("a", 2, at(3)), ("a", 4, at(3)), ("a", 8, at(7))]
    out = []
    harness.feed(*rows[:cut], watermark=2 if cut in (1, 3) else 0)
    out += harness.take()
    harness = TableHarness(spec, [LEFT], spec.output, [(0,)], restore=harness.snapshot())
    harness.feed(*rows[cut:], watermark=100)
    out += harness.take()
    assert [(r[2], r[4], r[5]) for r in out] == expected


def test_by_processing_time_rows_leave_at_once():
    spec = over_of(event_time=False, rows=True, preceding=1)
    harness = TableHarness(spec, [LEFT], spec.output, [(0,)])
    harness.feed(("a", 1, at(0)), ("a", 2, at(0)))
    harness.feed(("a", 4, at(0)))
    assert [(r[2], r[4], r[5]) for r in harness.take()] == [(1, 1, 1), (2, 3, 2), (4, 6, 2)]


# ---- constraints


def test_a_sink_may_refuse_nulls_and_cut_text():
    row = t.RowType.of(("c", "v"), (t.CharType(length=3), t.VarCharType(length=2)))
    spec = ConstraintEnforcer(input=row, not_null=(1,), null="drop", length="trim_pad")
    harness = TableHarness(spec, [row], row)
    harness.feed(("a", "xyz"), ("abcd", "x"), (None, "x"), ("abc", None))
    assert harness.take() == [("+I", "a  ", "xy"), ("+I", "abc", "x"), ("+I", None, "x")]
    harness = TableHarness(ConstraintEnforcer(input=row, not_null=(1,)), [row], row)
    with pytest.raises(
        ValueError, match="Column 'v' is NOT NULL, however, a null value is being written into it"
    ):
        harness.feed(("a", None))


def test_a_sink_may_look_into_rows_and_collections():
    inner = t.RowType(
        fields=(t.RowField("id", LONG), t.RowField("xs", t.ArrayType(element_type=LONG.not_null())))
    )
    row = t.RowType.of(("a",), (inner,))
    harness = TableHarness(ConstraintEnforcer(input=row, nested="collections"), [row], row)
    with pytest.raises(ValueError, match=r"Column 'a\.xs\[1\]' is NOT NULL"):
        harness.feed(((1, [2, None]),))
