"""OVER, against what the frames of each row hold."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql import types as t
from firesteel.sql.expressions import AggregateCall, Literal, Ordering
from firesteel.sql.operators.convert import columns_of
from firesteel.sql.operators.over import OverOperator, WholeWay
from firesteel.sql.operators.specs import OverAggregate
from firesteel.testing.table_harness import TableHarness

LONG, INT, TEXT = t.BigIntType(), t.IntType(), t.VarCharType()
TIME = t.TimestampType(precision=3, attribute="rowtime")
ROW = t.RowType.of(("k", "v", "ts"), (TEXT, LONG, TIME))
SUM = AggregateCall("SUM", (1,), LONG)
COUNT = AggregateCall("COUNT", (), LONG)
DISTINCT = AggregateCall("COUNT", (1,), LONG, distinct=True)
NUMBER = AggregateCall("ROW_NUMBER", (), LONG)
SETTINGS = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def lag(offset=1, default=None):
    literals = (Literal(offset, INT),) if default is None else (Literal(offset, INT), Literal(default, LONG))
    return AggregateCall("LAG", (1,), LONG, literals=literals)


def at(ms):
    return dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=ms)


def over(calls, **traits):
    names = ("k", "v", "ts", *(f"c{i}" for i in range(len(calls))))
    output = t.RowType.of(names, (*ROW.types, *(c.type for c in calls)))
    settings = {"time": 2, "order": (Ordering(2),)} | traits
    return OverAggregate(input=ROW, output=output, keys=(0,), calls=tuple(calls), **settings)


def harness_of(spec, **more):
    return TableHarness(spec, [ROW], spec.output, [spec.keys], **more)


def frame_of(rows, i, spec):
    """The rows of the frame of a row, of the rows of its key in their order."""
    if spec.rows:
        low = 0 if spec.preceding is None else max(0, i - spec.preceding)
        high = len(rows) if spec.following is None else i + spec.following + 1
        return rows[low:high]
    ms = dt.timedelta(milliseconds=1)
    least = None if spec.preceding is None else rows[i][2] - spec.preceding * ms
    most = None if spec.following is None else rows[i][2] + spec.following * ms
    return [r for r in rows if (least is None or r[2] >= least) and (most is None or r[2] <= most)]


def value_of(call, rows, i, spec):
    frame = frame_of(rows, i, spec)
    values = [r[1] for r in frame if r[1] is not None]
    match call.function:
        case "SUM":
            return sum(values) if values else None
        case "COUNT":
            return len(set(values)) if call.distinct else len(frame)
        case "ROW_NUMBER":
            return i + 1
        case "LAG":
            step = call.literals[0].value
            default = call.literals[1].value if len(call.literals) > 1 else None
            return rows[i - step][1] if i >= step else default


def expected(rows, spec):
    out = []
    for key in dict.fromkeys(r[0] for r in rows):
        of_key = sorted((r for r in rows if r[0] == key), key=lambda r: r[2])
        out += [(*r, *(value_of(c, of_key, i, spec) for c in spec.calls)) for i, r in enumerate(of_key)]
    return out


def by_text(rows):
    return sorted(rows, key=repr)


some_rows = st.lists(
    st.tuples(st.sampled_from(["a", "b"]), st.none() | st.integers(0, 4), st.integers(0, 30).map(at)),
    max_size=20,
)
FRAMES = [
    {"rows": False, "preceding": None},
    {"rows": True, "preceding": None},
    {"rows": True, "preceding": 2},
    {"rows": False, "preceding": 7},
]


@pytest.mark.parametrize("frame", FRAMES)
@given(rows=some_rows, cut=st.integers(0, 30), parallelism=st.sampled_from([1, 2]))
@SETTINGS
def test_by_rowtime_each_row_has_its_frame(frame, rows, cut, parallelism):
    calls = (
        (SUM, COUNT, lag(2, 99), NUMBER) if frame["preceding"] is None else (SUM, COUNT, DISTINCT, lag(2, 99))
    )
    if frame == FRAMES[0]:
        calls = calls[:2]  # of equal rows a range has one result; places are told apart
    spec = over(calls, **frame)
    harness = harness_of(spec, parallelism=parallelism)
    early = [row for row in rows if row[2] <= at(cut)]
    harness.feed(*early, watermark=cut)
    harness.feed(*(row for row in rows if row[2] > at(cut)), watermark=1000)
    assert by_text(r[1:] for r in harness.take()) == by_text(expected([*early, *rows_after(rows, cut)], spec))


def rows_after(rows, cut):
    return [row for row in rows if row[2] > at(cut)]


def test_rows_leave_by_time_and_late_ones_are_dropped():
    harness = harness_of(over((SUM,)))
    harness.feed(("a", 1, at(5)), ("b", 2, at(3)), ("a", 4, at(9)), watermark=6)
    assert [r[1:3] for r in harness.take()] == [("b", 2), ("a", 1)]
    harness.feed(("a", 8, at(6)), watermark=9)
    assert [r[2:] for r in harness.take()] == [(4, at(9), 5)]


@pytest.mark.parametrize("frame", FRAMES)
def test_state_goes_on_after_a_restore(frame):
    spec = over((SUM, COUNT), **frame)
    rows = [("a", i, at(i)) for i in range(1, 20)]
    harness = harness_of(spec)
    harness.feed(*rows[:12], watermark=10)
    first = harness.take()
    restored = harness_of(spec, parallelism=2, restore=harness.snapshot())
    restored.feed(*rows[12:], watermark=100)
    assert [r[1:] for r in [*first, *restored.take()]] == expected(rows, spec)


@pytest.mark.parametrize("frame", FRAMES[1:3])
@given(rows=some_rows, cut=st.integers(0, 20))
@SETTINGS
def test_by_arrival_each_row_has_its_result_at_once(frame, rows, cut):
    spec = over((SUM, COUNT, lag()), event_time=False, **frame)
    harness = harness_of(spec)
    harness.feed(*rows[:cut])
    harness.feed(*rows[cut:])
    in_order = [(k, v, i) for i, (k, v, _) in enumerate(rows)]
    wanted = expected(in_order, spec)
    assert by_text((r[1], r[2], *r[4:]) for r in harness.take()) == by_text(
        (r[0], r[1], *r[3:]) for r in wanted
    )


@pytest.mark.parametrize("by_row", [True, False])
@given(
    rows=st.lists(
        st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 4), st.integers(0, 3).map(at)), max_size=14
    ),
    gone=st.lists(st.integers(0, 13), max_size=6),
    old=st.booleans(),
)
@SETTINGS
def test_by_other_columns_the_changelog_gives_the_final_results(by_row, rows, gone, old):
    order = (Ordering(1),)
    spec = over((SUM, COUNT), time=None, order=order, rows=by_row, retracts=True, generate_update_before=old)
    harness = harness_of(spec)
    left = list(rows)
    harness.feed(*rows)
    for row in [rows[i] for i in gone if i < len(rows)]:
        if row in left:
            left.remove(row)
            harness.feed_changes(("-D", *row))
    table: list[tuple] = []
    for kind, *row in harness.take():
        if kind in ("+I", "+U"):
            if kind == "+U" and not old:
                table = [r for r in table if r[:3] != row[:3]] if rows.count(tuple(row[:3])) == 1 else table
            table.append(row)
        elif row in table:
            table.remove(row)
    if not old and len(set(rows)) < len(rows):
        return  # without -U equal rows cannot be told apart
    wanted = []
    for key in {r[0] for r in left}:
        of_key = sorted((r for r in left if r[0] == key), key=lambda r: r[1])
        for i, row in enumerate(of_key):
            frame = of_key[: i + 1] if by_row else [r for r in of_key if r[1] <= row[1]]
            wanted.append([*row, sum(r[1] for r in frame), len(frame)])
    if by_row:  # equal values may stand in any order
        table, wanted = [[r[0], *r[3:]] for r in table], [[r[0], *r[3:]] for r in wanted]
    assert by_text(map(list, table)) == by_text(wanted)


def test_by_other_columns_a_row_that_comes_between_changes_those_behind_it():
    harness = harness_of(over((SUM,), time=None, order=(Ordering(1),), rows=True))
    harness.feed(("a", 1, at(0)), ("a", 5, at(0)))
    assert [(r[0], r[2], r[4]) for r in harness.take()] == [("+I", 1, 1), ("+I", 5, 6)]
    harness.feed_changes(("+U", "a", 3, at(0)))
    assert [(r[0], r[2], r[4]) for r in harness.take()] == [("+U", 3, 4), ("-U", 5, 6), ("+U", 5, 9)]
    harness.feed_changes(("-U", "a", 1, at(0)))
    changes = [(r[0], r[2], r[4]) for r in harness.take()]
    assert changes == [("-D", 1, 1), ("-U", 3, 4), ("+U", 3, 3), ("-U", 5, 9), ("+U", 5, 8)]


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (AggregateCall("RANK", (), LONG), [1, 2, 2, 4]),
        (AggregateCall("DENSE_RANK", (), LONG), [1, 2, 2, 3]),
        (AggregateCall("PERCENT_RANK", (), t.DoubleType()), [0.0, 1 / 3, 1 / 3, 1.0]),
        (AggregateCall("CUME_DIST", (), t.DoubleType()), [0.25, 0.75, 0.75, 1.0]),
        (AggregateCall("NTILE", (), INT, literals=(Literal(3, INT),)), [1, 1, 2, 3]),
        (AggregateCall("LEAD", (1,), LONG, literals=(Literal(1, INT),)), [2, 2, 3, None]),
        (SUM, [1, 5, 5, 8]),
    ],
)
def test_in_batch_mode_all_rows_of_a_key_are_there(call, wanted):
    operator = OverOperator(
        SimpleNamespace(name="over", uid="over", output_type=None),
        over((call,), time=None, order=(Ordering(1),)),
    )
    way = WholeWay(operator)
    way.run(columns_of([("a", 3, at(0)), ("a", 1, at(0)), ("a", 2, at(0))], ROW))
    way.run(columns_of([("a", 2, at(1))], ROW))
    way.finish()
    assert [row[3] for row in operator.outputs.main.collector.take().values.rows()] == wanted


def test_what_needs_later_rows_is_refused_on_a_stream():
    with pytest.raises(UnsupportedFeatureError, match="LEAD"):
        harness_of(over((AggregateCall("LEAD", (1,), LONG),))).feed(("a", 1, at(0)))


def test_distinct_values_are_counted_for_keys_of_several_columns():
    """Each subtask has the state of its own keys, and goes on with it."""
    spec = replace(over((DISTINCT,), event_time=False, rows=True), keys=(0, 2))
    rows = [(k, v, at(i)) for k in "abcde" for v in (1, 2, 1) for i in range(4)]
    harness = harness_of(spec, parallelism=2)
    harness.feed(*rows)
    assert sorted({(r[1], r[4]) for r in harness.take()}) == [(k, n) for k in "abcde" for n in (1, 2)]
    restored = harness_of(spec, restore=harness.snapshot())
    restored.feed(*[(k, v, at(0)) for k in "abcde" for v in (2, 3)])
    assert [r[4] for r in restored.take()] == [2, 3] * 5


def test_a_frame_of_more_rows_than_tie_keeps_all_of_them():
    """Of rows of one time as many are kept for later frames as they are, when the frame needs more."""
    spec = over((SUM,), rows=True, preceding=3)
    harness = harness_of(spec)
    harness.feed(("a", 1, at(1)), ("a", 2, at(2)), ("a", 4, at(3)), ("a", 8, at(3)), watermark=3)
    harness.feed(("a", 16, at(5)), watermark=5)
    assert [r[-1] for r in harness.take()] == [1, 3, 7, 15, 30]


def test_rank_and_lag_of_ties():
    """The frame of LAG is a range: rows of one time have the value before the last of them."""
    rank = AggregateCall("RANK", (), LONG)
    harness = harness_of(over((rank, lag(1)), rows=False))
    harness.feed(("a", 1, at(1)), ("a", 2, at(2)), ("a", 3, at(2)), ("a", 4, at(3)), watermark=10)
    assert [r[-2:] for r in harness.take()] == [(1, None), (2, 2), (2, 2), (4, 3)]
