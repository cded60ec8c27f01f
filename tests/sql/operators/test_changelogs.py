"""Upserts and changelogs, duplicates, ranks, order."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from firesteel.sql import types as t
from firesteel.sql.expressions import Call, InputRef, Literal, Ordering
from firesteel.sql.operators.specs import (
    ChangelogNormalize,
    Correlate,
    Deduplicate,
    Rank,
    SinkUpsertMaterialize,
    Sort,
    TemporalSort,
)
from firesteel.testing.table_harness import TableHarness

LONG, TEXT, BOOL = t.BigIntType(), t.VarCharType(), t.BooleanType()
TIME = t.TimestampType(precision=3, attribute="rowtime")
ROW = t.RowType.of(("k", "v"), (TEXT, LONG))
TIMED = t.RowType.of(("k", "v", "ts"), (TEXT, LONG, TIME))


def at(ms):
    return dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=ms)


def harness_of(spec, row=ROW, output=None, keys=(0,), **settings):
    return TableHarness(spec, [row], output or getattr(spec, "output", row), [keys], **settings)


# ---- upserts


def test_upserts_become_a_changelog():
    harness = harness_of(ChangelogNormalize(input=ROW, keys=(0,)))
    harness.feed_changes(("+U", "a", 1), ("+U", "a", 2), ("+U", "a", 2), ("-D", "b", None), ("-D", "a", None))
    assert harness.take() == [("+I", "a", 1), ("-U", "a", 1), ("+U", "a", 2), ("-D", "a", 2)]


@pytest.mark.parametrize("mini_batch", [False, True])
def test_rows_that_do_not_fulfil_the_condition_are_as_if_they_were_deleted(mini_batch):
    condition = Call("GREATER_THAN", (InputRef(1, LONG), Literal(1, LONG)), BOOL)
    spec = ChangelogNormalize(input=ROW, keys=(0,), condition=condition, mini_batch=mini_batch)
    harness = harness_of(spec)
    out = []
    for value in (1, 2, 3, 0, 5):
        harness.feed_changes(("+U", "a", value))
        out += harness.take()
    assert out == [("+I", "a", 2), ("-U", "a", 2), ("+U", "a", 3), ("-D", "a", 3), ("+I", "a", 5)]


def test_a_sink_sees_the_row_that_came_before_when_the_last_one_is_taken_back():
    row = t.RowType.of(("pk", "id", "v"), (TEXT, LONG, LONG))
    harness = harness_of(SinkUpsertMaterialize(input=row, keys=(0,), upsert_key=(1,)), row)
    harness.feed_changes(
        ("+I", "a", 1, 10),
        ("+I", "a", 2, 20),
        ("-U", "a", 1, 10),
        ("+U", "a", 1, 11),
        ("-D", "a", 1, 11),
        ("-D", "a", 2, 20),
    )
    assert harness.take() == [
        ("+I", "a", 1, 10),
        ("+U", "a", 2, 20),
        ("+U", "a", 1, 11),
        ("+U", "a", 2, 20),
        ("-D", "a", 2, 20),
    ]


# ---- duplicates


def test_the_first_row_in_the_order_of_arrival():
    harness = harness_of(Deduplicate(input=ROW, keys=(0,), last=False))
    harness.feed(("a", 1), ("a", 2), ("b", 3))
    harness.feed(("a", 4), ("c", 5))
    assert harness.take() == [("+I", "a", 1), ("+I", "b", 3), ("+I", "c", 5)]


def test_the_last_row_by_time():
    harness = harness_of(Deduplicate(input=TIMED, keys=(0,), last=True, time=2), TIMED)
    harness.feed(("a", 1, at(5)), ("a", 2, at(3)), ("a", 3, at(5)))
    assert harness.take() == [
        ("+I", "a", 1, at(5)),
        ("-U", "a", 1, at(5)),
        ("+U", "a", 3, at(5)),
    ]
    harness.feed(("a", 4, at(4)), ("a", 5, at(6)))
    assert harness.take() == [("-U", "a", 3, at(5)), ("+U", "a", 5, at(6))]


def test_the_first_row_by_time():
    harness = harness_of(Deduplicate(input=TIMED, keys=(0,), last=False, time=2), TIMED)
    harness.feed(("a", 1, at(5)), ("a", 2, at(5)), ("a", 3, at(3)))
    assert [c[:3] for c in harness.take()] == [("+I", "a", 1), ("-U", "a", 1), ("+U", "a", 3)]


PAIRS = t.RowType.of(("a", "b", "v", "ts"), (LONG, TEXT, LONG, TIME))
PAIRS_ROWS = st.tuples(
    st.none() | st.integers(-1, 2), st.sampled_from(["", "é", None]), st.integers(0, 2), st.integers(0, 4)
)


def last_rows_one_by_one(batches, last, timed, update_before):
    """The changelog of rows that are looked at one after the other: keys in the order in which a batch brings
    them, the rows of each in theirs."""
    held, out = {}, []
    for rows in batches:
        for key in dict.fromkeys(row[:2] for row in rows):
            for row in (row for row in rows if row[:2] == key):
                old = held.get(key)
                if old is None:
                    out.append(("+I", *row))
                elif timed and (row[3] < old[3] if last else row[3] >= old[3]):
                    continue
                elif timed or row != old:
                    out += [("-U", *old)] * update_before + [("+U", *row)]
                held[key] = row
    return [(*change[:4], at(change[4])) for change in out]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.lists(PAIRS_ROWS, min_size=1, max_size=30), min_size=1, max_size=4),
    st.sampled_from([(True, True), (True, False), (False, True)]),
    st.booleans(),
)
def test_deduplication_is_that_of_rows_one_after_the_other(batches, way, update_before):
    """Each epoch runs in the other one of two processes. Broken by hand: ``put`` got no ``order``."""
    last, timed = way
    spec = Deduplicate(
        input=PAIRS, keys=(0, 1), last=last, time=3 if timed else None, generate_update_before=update_before
    )
    harness = harness_of(spec, PAIRS, keys=(0, 1))
    out = []
    for rows in batches:
        harness.feed(*((a, b, v, at(ts)) for a, b, v, ts in rows))
        out += harness.take()
    assert out == last_rows_one_by_one(batches, last, timed, update_before)


# ---- ranks

NUMBERED = t.RowType.of(("k", "v", "rn"), (TEXT, LONG, LONG))


def rank_of(end=2, **traits):
    output = NUMBERED if traits.get("output_number") else ROW
    return Rank(input=ROW, output=output, keys=(0,), order=(Ordering(1, ascending=False),), end=end, **traits)


def test_the_greatest_rows_without_their_number():
    harness = harness_of(rank_of())
    harness.feed(("a", 1), ("a", 3), ("a", 2), ("a", 0), ("a", 3))
    assert harness.take() == [
        ("+I", "a", 1),
        ("+I", "a", 3),
        ("-D", "a", 1),
        ("+I", "a", 2),
        ("-D", "a", 2),
        ("+I", "a", 3),
    ]


def test_the_greatest_rows_with_their_number():
    harness = harness_of(rank_of(output_number=True))
    harness.feed(("a", 1), ("a", 3), ("a", 2))
    assert harness.take() == [
        ("+I", "a", 1, 1),
        ("-U", "a", 1, 1),
        ("+U", "a", 3, 1),
        ("+I", "a", 1, 2),
        ("-U", "a", 1, 2),
        ("+U", "a", 2, 2),
    ]


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data(), st.booleans(), st.sampled_from([1, 3]), st.booleans())
def test_ranks_are_those_of_the_rows_that_are_left(data, numbers, end, offset):
    start = 2 if offset and end > 1 else 1
    spec = rank_of(end, strategy="retract", output_number=numbers, start=start)
    harness = harness_of(spec)
    held, table = [], {}
    for _ in range(data.draw(st.integers(1, 3))):
        epoch = []
        for _ in range(data.draw(st.integers(0, 5))):
            if held and data.draw(st.booleans()):
                epoch.append(("-D", *held.pop(data.draw(st.integers(0, len(held) - 1)))))
            else:
                row = ("a", data.draw(st.none() | st.integers(0, 4)))
                held.append(row)
                epoch.append(("+I", *row))
        harness.feed_changes(*epoch)
        for change, *row in harness.take():
            row = tuple(row)
            table[row] = table.get(row, 0) + (1 if change in ("+I", "+U") else -1)
            assert table[row] >= 0
        harness = harness_of(spec, restore=harness.snapshot())
    # NULLs are the greatest in descending order when they come first.
    ranked = sorted(held, key=lambda r: (r[1] is not None, -(r[1] or 0)))[start - 1 : end]
    expected = [(*r, i + start) if numbers else r for i, r in enumerate(ranked)]
    assert sorted((r for r, n in table.items() for _ in range(n)), key=repr) == sorted(expected, key=repr)


def test_a_row_that_comes_again_moves():
    spec = rank_of(strategy="update_fast", upsert_key=(0,), output_number=True)
    row = t.RowType.of(("g", "id", "v"), (TEXT, TEXT, LONG))
    spec = Rank(
        input=row,
        output=t.RowType.of(("g", "id", "v", "rn"), (TEXT, TEXT, LONG, LONG)),
        keys=(0,),
        order=(Ordering(2, ascending=False),),
        end=2,
        strategy="update_fast",
        upsert_key=(1,),
        output_number=True,
    )
    harness = harness_of(spec, row)
    harness.feed(("g", "x", 1), ("g", "y", 2))
    assert harness.take()[-1] == ("+I", "g", "x", 1, 2)
    harness.feed_changes(("+U", "g", "x", 5))
    assert harness.take() == [
        ("-U", "g", "y", 2, 1),
        ("+U", "g", "x", 5, 1),
        ("-U", "g", "x", 1, 2),
        ("+U", "g", "y", 2, 2),
    ]


def test_a_limit_is_a_rank_without_an_order():
    spec = Rank(input=ROW, output=ROW, keys=(), order=(), end=2)
    harness = harness_of(spec, keys=())
    harness.feed(("a", 1), ("b", 2), ("c", 3))
    assert harness.take() == [("+I", "a", 1), ("+I", "b", 2)]


# ---- order


def test_rows_are_sorted_at_the_end_of_the_input():
    harness = harness_of(Sort(input=ROW, order=(Ordering(0, False, False), Ordering(1))), keys=())
    harness.feed_changes(("+I", "a", 2), ("+I", "b", 1), ("+I", None, 0), ("+I", "a", 1), ("-D", "b", 1))
    assert harness.take() == []
    harness.end_input()
    assert harness.take() == [("+I", "a", 1), ("+I", "a", 2), ("+I", None, 0)]


def test_rows_leave_in_the_order_of_time_when_the_watermark_has_passed_them():
    harness = harness_of(TemporalSort(input=TIMED, time=2, order=(Ordering(1),)), TIMED, keys=())
    harness.feed(("a", 3, at(5)), ("b", 2, at(5)), ("c", 1, at(9)), ("d", 1, at(1)), watermark=5)
    assert [c[1] for c in harness.take()] == ["d", "b", "a"]
    harness.feed(watermark=6)
    harness.feed(("late", 0, at(5)), ("e", 1, at(6)), watermark=20)
    assert [c[1] for c in harness.take()] == ["e", "c"]


# ---- table functions


@pytest.mark.parametrize("outer", [False, True])
def test_the_elements_of_a_collection_beside_their_row(outer):
    row = t.RowType.of(("k", "xs"), (TEXT, t.ArrayType(element_type=LONG)))
    spec = Correlate(
        input=row,
        output=t.RowType.of(("k", "xs", "x"), (TEXT, row.types[1], LONG)),
        function="UNNEST",
        arguments=(InputRef(1, row.types[1]),),
        outer=outer,
    )
    harness = TableHarness(spec, [row], spec.output)
    harness.feed_changes(("+I", "a", [1, 2]), ("+I", "b", None), ("-D", "c", [3]))
    lonely = [("+I", "b", None, None)] if outer else []
    assert harness.take() == [("+I", "a", [1, 2], 1), ("+I", "a", [1, 2], 2), *lonely, ("-D", "c", [3], 3)]


def test_several_collections_go_side_by_side_with_the_number_of_each_place():
    pair = t.RowType(fields=(t.RowField("a", LONG), t.RowField("b", TEXT)))
    row = t.RowType.of(("xs", "ys"), (t.ArrayType(element_type=LONG), t.ArrayType(element_type=pair)))
    spec = Correlate(
        input=row,
        output=t.RowType.of((*row.names, "x", "a", "b", "o"), (*row.types, LONG, LONG, TEXT, t.IntType())),
        function="UNNEST_WITH_ORDINALITY",
        arguments=(InputRef(0, row.types[0]), InputRef(1, row.types[1])),
    )
    harness = TableHarness(spec, [row], spec.output)
    harness.feed(([1, 2], [(7, "p")]))
    assert [r[3:] for r in harness.take()] == [(1, 7, "p", 1), (2, None, None, 2)]


def test_rows_are_repeated_as_often_as_a_column_says():
    spec = Correlate(
        input=ROW,
        output=t.RowType.of(("k", "v", "k2"), (TEXT, LONG, TEXT)),
        function="REPLICATE_ROWS",
        arguments=(InputRef(1, LONG), InputRef(0, TEXT)),
    )
    harness = TableHarness(spec, [ROW], spec.output)
    harness.feed(("a", 2), ("b", 0), ("c", 1))
    assert [r[3] for r in harness.take()] == ["a", "a", "c"]


def split(text):
    for i, word in enumerate(text.split()):
        yield word, i


def test_a_table_function_of_the_users():
    spec = Correlate(
        input=ROW,
        output=t.RowType.of(("k", "v", "word", "i"), (TEXT, LONG, TEXT, LONG)),
        function="split",
        arguments=(InputRef(0, TEXT),),
        functions={"split": split},
    )
    harness = TableHarness(spec, [ROW], spec.output)
    harness.feed(("a b", 1), ("", 2))
    assert harness.take() == [("+I", "a b", 1, "a", 0), ("+I", "a b", 1, "b", 1)]
