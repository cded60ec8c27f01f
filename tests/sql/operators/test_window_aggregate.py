"""Windows of time: which rows are in which, when they fire, what is late."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from firesteel.sql import types as t
from firesteel.sql.expressions import AggregateCall
from firesteel.sql.operators import slice_state
from firesteel.sql.operators.session_aggregate import SessionAggregateOperator
from firesteel.sql.operators.slices import Slices
from firesteel.sql.operators.specs import TimeWindow, WindowAggregate
from firesteel.state._column import GroupKeys
from firesteel.state.column_keys import identity_of_canonical
from firesteel.testing.table_harness import TableHarness

LONG, TEXT = t.BigIntType(), t.VarCharType()
TIME = t.TimestampType(precision=3, attribute="rowtime")
PLAIN = t.TimestampType(precision=3)
INPUT = t.RowType.of(("k", "v", "ts"), (TEXT, LONG, TIME))
CALLS = (AggregateCall("COUNT", (), LONG), AggregateCall("SUM", (1,), LONG), AggregateCall("MAX", (1,), LONG))
DISTINCT = (*CALLS, AggregateCall("COUNT", (1,), LONG, distinct=True))
PROPERTIES = ("start", "end", "time")


def spec_of(kind, size, slide=0, calls=CALLS, **traits):
    output = t.RowType.of(
        ("k", *(f"c{i}" for i in range(len(calls))), "window_start", "window_end", "window_time"),
        (TEXT, *(c.type for c in calls), PLAIN, PLAIN, TIME),
    )
    return WindowAggregate(
        input=INPUT,
        output=output,
        window=TimeWindow(kind, size, slide, time=2, **traits),
        keys=(0,),
        calls=calls,
        properties=PROPERTIES,
    )


def at(ms):
    return dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=ms)


def harness_of(spec, **settings):
    return TableHarness(spec, [INPUT], spec.output, [spec.keys], **settings)


def windows(rows):
    """(key, values, start, end) in milliseconds."""
    zero = dt.datetime(1970, 1, 1)
    out = []
    for kind, key, *values, start, end, time in rows:
        assert kind == "+I"
        ms = [(x - zero) // dt.timedelta(milliseconds=1) for x in (start, end, time)]
        assert ms[2] == ms[1] - 1
        out.append((key, *values, ms[0], ms[1]))
    return out


@pytest.mark.row("S-SQL-25", "X4")
def test_tumbling_windows_fire_at_their_end_and_late_rows_are_dropped():
    harness = harness_of(spec_of("TUMBLE", 10))
    harness.feed(("a", 1, at(1)), ("a", 2, at(9)), ("b", 3, at(10)), watermark=8)
    assert harness.take() == []
    harness.feed(("a", 4, at(0)), watermark=9)
    assert windows(harness.take()) == [("a", 3, 7, 4, 0, 10)]
    harness.feed(("a", 5, at(9)), ("a", 6, at(19)), watermark=30)
    assert sorted(windows(harness.take())) == [("a", 1, 6, 6, 10, 20), ("b", 1, 3, 3, 10, 20)]


def test_hopping_windows_share_their_slices_and_late_rows_go_to_windows_that_are_open():
    harness = harness_of(spec_of("HOP", 10, 5))
    harness.feed(("a", 1, at(1)), ("a", 2, at(7)), watermark=4)
    assert windows(harness.take()) == [("a", 1, 1, 1, -5, 5)]
    harness.feed(("a", 10, at(2)), watermark=9)
    assert windows(harness.take()) == [("a", 3, 13, 10, 0, 10)]
    harness.feed(("a", 100, at(3)), ("b", 5, at(8)), watermark=100)
    assert sorted(windows(harness.take())) == [("a", 1, 2, 2, 5, 15), ("b", 1, 5, 5, 5, 15)]


def test_cumulative_windows_grow():
    harness = harness_of(spec_of("CUMULATE", 15, 5))
    harness.feed(("a", 1, at(1)), ("a", 2, at(7)), ("b", 9, at(16)), watermark=4)
    assert windows(harness.take()) == [("a", 1, 1, 1, 0, 5)]
    harness.feed(("a", 10, at(2)), watermark=9)
    assert windows(harness.take()) == [("a", 3, 13, 10, 0, 10)]
    harness.feed(watermark=14)
    assert windows(harness.take()) == [("a", 3, 13, 10, 0, 15)]
    harness.feed(("a", 1, at(14)), watermark=100)
    assert windows(harness.take()) == [("b", 1, 9, 9, 15, 20), ("b", 1, 9, 9, 15, 25), ("b", 1, 9, 9, 15, 30)]


def test_sessions_merge():
    harness = harness_of(spec_of("SESSION", 10))
    harness.feed(("a", 1, at(0)), ("a", 2, at(25)), ("b", 7, at(3)))
    harness.feed(("a", 3, at(10)), ("a", 4, at(17)), watermark=12)
    assert windows(harness.take()) == [("b", 1, 7, 7, 3, 13)]
    harness.feed(("a", 5, at(1)), ("b", 8, at(1)), watermark=100)
    assert windows(harness.take()) == [("a", 5, 15, 5, 0, 35)]


def test_a_session_connects_later_ones_of_one_batch():
    harness = harness_of(spec_of("SESSION", 10))
    harness.feed(("a", 1, at(20)))
    rows = [("a", 2, at(11)), ("a", 4, at(29)), ("a", 8, at(60)), ("b", 16, at(11)), ("b", 32, at(29))]
    harness.feed(*rows, watermark=1000)
    assert sorted(windows(harness.take())) == [
        ("a", 1, 8, 8, 60, 70),
        ("a", 3, 7, 4, 11, 39),
        ("b", 1, 16, 16, 11, 21),
        ("b", 1, 32, 32, 29, 39),
    ]


@pytest.mark.row("X4")
def test_windows_of_instants_are_those_of_the_time_zone_of_the_session():
    zoned = t.LocalZonedTimestampType(precision=3, attribute="rowtime")
    row = t.RowType.of(("k", "v", "ts"), (TEXT, LONG, zoned))
    spec = WindowAggregate(
        input=row,
        output=t.RowType.of(("k", "n", "s", "e", "w"), (TEXT, LONG, PLAIN, PLAIN, zoned)),
        window=TimeWindow("TUMBLE", 86_400_000, time=2, zone="Asia/Shanghai"),
        keys=(0,),
        calls=(CALLS[0],),
        properties=PROPERTIES,
    )
    harness = TableHarness(spec, [row], spec.output, [(0,)])
    instant = dt.datetime(2024, 1, 1, 20, 0)
    harness.feed(("a", 1, instant), watermark=2**50)
    _, key, count, start, end, time = harness.take()[0]
    assert (key, count, start, end) == ("a", 1, dt.datetime(2024, 1, 2), dt.datetime(2024, 1, 3))
    assert time.seconds == int(dt.datetime(2024, 1, 2, 15, 59, 59, tzinfo=dt.UTC).timestamp())


def test_windows_of_processing_time_fire_by_the_clock():
    spec = spec_of("TUMBLE", 10, event_time=False)
    harness = harness_of(spec, processing_time=5)
    harness.feed(("a", 1, at(100)), ("a", 2, at(200)))
    harness.set_processing_time(8)
    assert harness.take() == []
    harness.set_processing_time(9)
    assert windows(harness.take()) == [("a", 2, 3, 2, 0, 10)]


@pytest.mark.row("S-SQL-08", "S-SQL-09")
def test_the_old_windows_of_group_by_may_overlap_in_any_way():
    spec = replace(spec_of("HOP", 10, 4), properties=("start", "end", "rowtime"))
    harness = harness_of(spec)
    harness.feed(("a", 1, at(1)), ("a", 2, at(9)), watermark=100)
    assert windows(harness.take()) == [
        ("a", 1, 1, 1, -8, 2),
        ("a", 1, 1, 1, -4, 6),
        ("a", 2, 3, 2, 0, 10),
        ("a", 1, 2, 2, 4, 14),
        ("a", 1, 2, 2, 8, 18),
    ]


ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.none() | st.integers(0, 3), st.integers(-20, 60)), max_size=12
)
KINDS = st.sampled_from([("TUMBLE", 10, 0), ("HOP", 15, 5), ("CUMULATE", 20, 5), ("SESSION", 6, 0)])


def assigned(kind, size, slide, offset, time):
    if kind == "TUMBLE":
        start = (time - offset) // size * size + offset
        return [(start, start + size)]
    if kind == "HOP":
        last = (time - offset) // slide * slide + offset
        return [(s, s + size) for s in range(last, time - size, -slide)]
    start = (time - offset) // size * size + offset
    return [(start, e) for e in range(start + slide, start + size + 1, slide) if e > time]


def naive(rows, kind, size, slide, offset, distinct):
    contents = {}
    if kind == "SESSION":
        for key in {r[0] for r in rows}:
            group = []
            for row in sorted((r for r in rows if r[0] == key), key=lambda r: r[2]):
                if group and row[2] - group[-1][2] > size:
                    contents[key, group[0][2], group[-1][2] + size] = group
                    group = []
                group = [*group, row]
            contents[key, group[0][2], group[-1][2] + size] = group
    else:
        for row in rows:
            for window in assigned(kind, size, slide, offset, row[2]):
                contents.setdefault((row[0], *window), []).append(row)
        if kind == "CUMULATE":  # a window that has fired once fires with each step
            pass
    out = []
    for (key, start, end), group in contents.items():
        values = [r[1] for r in group if r[1] is not None]
        extra = (len(set(values)),) if distinct else ()
        out.append(
            (key, len(group), sum(values) if values else None, max(values, default=None), *extra, start, end)
        )
    return sorted(out, key=repr)


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(ROWS, KINDS, st.integers(0, 12), st.sampled_from([0, 3]), st.booleans(), st.sampled_from([1, 2]))
def test_rows_that_are_not_late_are_in_their_windows_whatever_the_epochs_are(
    rows, kind, cut, offset, distinct, parallelism
):
    name, size, slide = kind
    spec = spec_of(
        name, size, slide, DISTINCT if distinct else CALLS, offset=offset if name != "SESSION" else 0
    )
    harness = harness_of(spec, parallelism=parallelism)
    rows = sorted(rows, key=lambda r: r[2])
    first, second = rows[:cut], rows[cut:]
    # No row of the second epoch is late for any window.
    watermark = min((r[2] for r in second), default=0) - 21
    harness.feed(*((k, v, at(s)) for k, v, s in first), watermark=watermark)
    out = harness.take()
    harness = harness_of(spec, parallelism=3 - parallelism, restore=harness.snapshot())
    harness.feed(*((k, v, at(s)) for k, v, s in second), watermark=10_000)
    out += harness.take()
    assert sorted(windows(out), key=repr) == naive(rows, name, size, slide, spec.window.offset, distinct)


@pytest.mark.parametrize("kind", [("HOP", 10, 5), ("CUMULATE", 10, 5)])
def test_a_window_that_has_fired_does_not_fire_again_after_a_restore(kind):
    spec = spec_of(*kind)
    harness = harness_of(spec)
    harness.feed(("a", 1, at(1)), watermark=5)
    first = windows(harness.take())
    harness = harness_of(spec, restore=harness.snapshot())
    harness.feed(watermark=100)
    ends = [w[-1] for w in first + windows(harness.take())]
    assert ends == [5, 10]


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    changes=st.lists(
        st.tuples(st.booleans(), st.sampled_from("ab"), st.integers(0, 3), st.integers(0, 40)), max_size=14
    ),
    cut=st.integers(0, 14),
    parallelism=st.sampled_from([1, 2]),
)
def test_sessions_of_rows_that_are_taken_back(changes, cut, parallelism):
    """DISTINCT and extremes are merged with their sessions: a row that is taken back may be in another
    session of the batch than the one that came."""
    spec = replace(spec_of("SESSION", 10, calls=RETRACTED), retracts=True)
    harness = harness_of(spec, parallelism=parallelism)
    rows, held = [], []
    for is_new, key, value, ms in changes:
        row = (key, value, at(ms))
        if is_new or row not in held:
            held.append(row)
            rows.append(("+I", *row))
        else:
            held.remove(row)
            rows.append(("-D", *row))
    harness.feed_changes(*rows[:cut], watermark=-100)
    assert harness.take() == []
    harness = harness_of(spec, parallelism=3 - parallelism, restore=harness.snapshot())
    harness.feed_changes(*rows[cut:], watermark=10_000)
    found = sorted(row[1:-3] for row in harness.take())
    assert found == sorted(sessions(rows, 10))


RETRACTED = (
    AggregateCall("COUNT", (1,), LONG, distinct=True),
    AggregateCall("SUM", (1,), LONG, distinct=True),
    AggregateCall("MAX", (1,), LONG),
    AggregateCall("MIN", (1,), LONG, distinct=True),
)


def sessions(changes, gap):
    """Sessions are those of all rows, whether they add or are taken back; key and results of each that has
    rows left."""
    out = []
    for key in {row[1] for row in changes}:
        mine = sorted((row for row in changes if row[1] == key), key=lambda row: row[3])
        together = []
        for row in [*mine, None]:
            if together and (row is None or row[3] - together[-1][3] > dt.timedelta(milliseconds=gap)):
                left = [r[2] for r in together if r[0] == "+I"]
                for gone in (r[2] for r in together if r[0] == "-D"):
                    left.remove(gone)
                if left:
                    out.append((key, len(set(left)), sum(set(left)), max(left), min(left)))
                together = []
            if row is not None:
                together.append(row)
    return out


def test_rows_that_watermarks_do_not_touch_are_worked_on_at_once(monkeypatch):
    worked = []

    def run(self, columns, input_index, original=SessionAggregateOperator.run):
        worked.append(len(columns))
        original(self, columns, input_index)

    monkeypatch.setattr(SessionAggregateOperator, "run", run)
    spec = spec_of("SESSION", 10)
    at_once, one_by_one = harness_of(spec), harness_of(spec)
    times = [0, 4, 30, 33, 70, 100]
    with at_once.epoch():
        for ms in times:
            at_once.feed(("a", ms, at(ms)), watermark=ms - 3)
    assert worked == [len(times)]
    for ms in times:
        one_by_one.feed(("a", ms, at(ms)), watermark=ms - 3)
    made = windows(at_once.take())
    assert made == windows(one_by_one.take())
    assert [window[-2:] for window in made] == [(0, 14), (30, 43), (70, 80)]


@pytest.mark.parametrize("kind", ["SESSION", "TUMBLE"])
def test_a_row_at_the_end_of_a_window_that_has_fired_before_it_is_not_in_it(kind):
    harness = harness_of(spec_of(kind, 10))
    with harness.epoch():
        harness.feed(("a", 1, at(0)), watermark=9)
        harness.feed(("a", 2, at(10)), watermark=30)
    assert windows(harness.take()) == [("a", 1, 1, 1, 0, 10), ("a", 1, 2, 2, 10, 20)]


def test_a_row_that_comes_behind_the_watermark_is_late_within_a_batch_too():
    harness = harness_of(spec_of("TUMBLE", 10))
    with harness.epoch():
        harness.feed(("a", 1, at(1)), watermark=9)
        harness.feed(("a", 2, at(9)), ("a", 3, at(12)), watermark=30)
    assert windows(harness.take()) == [("a", 1, 1, 1, 0, 10), ("a", 1, 3, 3, 10, 20)]


def test_what_comes_and_goes_within_an_epoch_has_no_key_in_state(monkeypatch):
    learned = []

    def heads(self, keys, codes, original=GroupKeys.heads):
        learned.extend(keys)
        return original(self, keys, codes)

    monkeypatch.setattr(GroupKeys, "heads", heads)
    harness = harness_of(spec_of("TUMBLE", 10))
    harness.feed(("a", 1, at(1)), ("b", 2, at(41)), watermark=30)
    assert windows(harness.take()) == [("a", 1, 1, 1, 0, 10)]
    assert [identity_of_canonical(key) for key in learned] == [(50, "b")]
    harness.feed(watermark=60)
    assert windows(harness.take()) == [("b", 1, 2, 2, 40, 50)]


@pytest.mark.parametrize("kind", ["HOP", "TUMBLE", "CUMULATE"])
@pytest.mark.parametrize("most", [1, 1_000])
def test_windows_that_are_due_together_fire_in_their_order(kind, most, monkeypatch):
    """All at once, or as many as are few enough."""
    monkeypatch.setattr(slice_state, "_AT_ONCE", most)
    rows = [(key, ms, at(ms)) for ms in range(0, 60, 7) for key in "ab"]
    together, one_by_one = (harness_of(spec_of(kind, 20, 5)) for _ in range(2))
    together.feed(*rows, watermark=200)
    made = windows(together.take())
    for row in rows:
        one_by_one.feed(row)
    for ms in range(100):
        one_by_one.feed(watermark=ms)
    assert sorted(made) == sorted(windows(one_by_one.take()))
    assert [end for *_, end in made] == sorted(end for *_, end in made)


def test_a_watermark_does_not_look_at_windows_that_it_does_not_reach(monkeypatch):
    """An hour by the second: each row is in 3,600 windows."""
    harness = harness_of(spec_of("HOP", 3_600_000, 1_000))
    harness.feed(*((key, ms, at(ms)) for ms in range(0, 2_000_000, 2_000) for key in "ab"), watermark=-1)
    looked = []
    original = Slices.windows
    monkeypatch.setattr(Slices, "windows", lambda self, end: looked.append(end) or original(self, end))
    for ms in range(9, 1_000, 10):
        harness.feed(watermark=ms)
    assert windows(harness.take()) == [(key, 1, 0, 0, -3_599_000, 1_000) for key in "ab"]
    assert len(looked) <= 1_000, "once for each slice, where the state is found"


def test_sessions_of_no_key():
    spec = spec_of("SESSION", 10)
    output = t.RowType(nullable=False, fields=spec.output.fields[1:])
    harness = harness_of(replace(spec, keys=(), output=output))
    harness.feed((None, 1, at(1)), ("a", 2, at(9)), ("b", 3, at(40)), watermark=200)
    made = [row[1:4] for row in harness.take()]
    assert made == [(2, 3, 2), (1, 3, 3)]


@pytest.mark.parametrize(("newest_first", "texts"), [(False, "a,b,c"), (True, "c,b,a")])
def test_hopping_windows_of_from_put_their_newest_slice_first(newest_first, texts):
    calls = (AggregateCall("LISTAGG", (0,), TEXT),)
    spec = replace(spec_of("HOP", 15, 5, calls=calls), newest_first=newest_first)
    spec = replace(spec, keys=(), output=t.RowType.of(spec.output.names[1:], spec.output.types[1:]))
    harness = TableHarness(spec, [INPUT], spec.output, [()])
    harness.feed(("a", 1, at(1)), ("b", 1, at(6)), ("c", 1, at(11)), watermark=14)
    assert texts in [row[1] for row in harness.take()]


def test_a_session_goes_on_row_by_row_whatever_the_batches_are():
    rows = [("a", v, at(i)) for i, v in enumerate([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7])]
    calls = (AggregateCall("VAR_POP", (1,), t.DoubleType()),)
    found = []
    for step in (1, 3, 14):
        harness = harness_of(spec_of("SESSION", 10, calls=calls))
        for first in range(0, len(rows), step):
            harness.feed(*rows[first : first + step])
        harness.feed(("b", 1, at(100)), watermark=99)
        found.append(windows(harness.take()))
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 1
