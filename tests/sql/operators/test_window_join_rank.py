"""Joins and ranks within windows, against what the windows hold."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from firesteel.sql import types as t
from firesteel.sql.expressions import Call, InputRef, Ordering
from firesteel.sql.operators.specs import WindowJoin, WindowRank
from firesteel.testing.table_harness import TableHarness

LONG, TEXT = t.BigIntType(), t.VarCharType()
TIME = t.TimestampType(precision=3)
ROW = t.RowType.of(("k", "v", "window_end"), (TEXT, LONG, TIME))
BOTH = t.RowType.of(("k", "v", "end", "k2", "v2", "end2"), (*ROW.types, *ROW.types))
KINDS = ("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")
SETTINGS = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def at(ms):
    return dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=ms)


def join_of(kind, condition=None):
    output = ROW if kind in ("SEMI", "ANTI") else BOTH
    return WindowJoin(
        left=ROW,
        right=ROW,
        output=output,
        kind=kind,
        left_keys=(0,),
        right_keys=(0,),
        left_end=2,
        right_end=2,
        condition=condition,
    )


def expected_join(kind, lefts, rights, fits):
    """The rows of a join by definition."""

    def together(one, other):
        return one[0] is not None and one[0] == other[0] and one[2] == other[2] and fits(one, other)

    pairs = [(one, other) for one, other in product(lefts, rights) if together(one, other)]
    nothing = (None, None, None)
    alone = [one for one in lefts if not any(together(one, other) for other in rights)]
    lonely = [other for other in rights if not any(together(one, other) for one in lefts)]
    match kind:
        case "SEMI":
            return [one for one in lefts if one not in alone]
        case "ANTI":
            return alone
    out = [one + other for one, other in pairs]
    out += [one + nothing for one in alone] if kind in ("LEFT", "FULL") else []
    return out + ([nothing + other for other in lonely] if kind in ("RIGHT", "FULL") else [])


def by_text(rows):
    return sorted(rows, key=repr)


rows = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 5), st.sampled_from([at(10), at(20)])),
    max_size=12,
)


@pytest.mark.parametrize("kind", KINDS)
@given(left=rows, right=rows, cut=st.integers(0, 12), parallelism=st.sampled_from([1, 2]))
@SETTINGS
def test_a_window_join_is_the_join_of_its_windows(kind, left, right, cut, parallelism):
    condition = Call("GREATER_THAN", (InputRef(1, LONG), InputRef(4, LONG)), t.BooleanType())
    spec = join_of(kind, condition)
    harness = TableHarness(spec, [ROW, ROW], spec.output, [(0,), (0,)], parallelism=parallelism)
    harness.feed(*left[:cut])
    harness.feed(*right[:cut], input=1)
    harness.feed(*left[cut:], watermark=1000)
    assert harness.take() == []
    harness.feed(*right[cut:], input=1, watermark=1000)
    found = [row[1:] for row in harness.take()]
    assert by_text(found) == by_text(expected_join(kind, left, right, lambda one, other: one[1] > other[1]))


def test_windows_fire_by_their_end_and_late_rows_are_dropped():
    spec = join_of("INNER")
    harness = TableHarness(spec, [ROW, ROW], spec.output, [(0,), (0,)])
    harness.feed(("a", 1, at(10)), ("a", 2, at(20)), watermark=9)
    harness.feed(("a", 3, at(20)), ("a", 4, at(10)), input=1)
    assert harness.take() == []
    harness.feed(input=1, watermark=9)
    assert [row[2] for row in harness.take()] == [1]  # the row came before the watermark of both inputs
    harness.feed(("a", 5, at(10)), watermark=19)
    harness.feed(input=1, watermark=19)
    assert [row[2] for row in harness.take()] == [2]


def rank_of(start, end, number=True):
    output = t.RowType.of(("k", "v", "window_end", "n"), (*ROW.types, LONG)) if number else ROW
    return WindowRank(
        input=ROW, output=output, keys=(0,), order=(Ordering(1, ascending=False, nulls_first=False),),
        end_column=2, start=start, end=end, output_number=number,
    )  # fmt: skip


@given(batches=st.lists(rows, max_size=4), start=st.integers(1, 2), size=st.integers(1, 3))
@SETTINGS
def test_a_window_rank_is_the_order_of_its_window(batches, start, size):
    spec = rank_of(start, start + size - 1)
    harness = TableHarness(spec, [ROW], spec.output, [(0,)], parallelism=2)
    for batch in batches:
        harness.feed(*batch)
    harness.feed(watermark=1000)
    expected = []
    every = [row for batch in batches for row in batch]
    for key, end in {(row[0], row[2]) for row in every}:
        ordered = sorted((r for r in every if (r[0], r[2]) == (key, end)), key=lambda r: -r[1])
        expected += [(*row, n) for n, row in enumerate(ordered, 1) if start <= n < start + size]
    assert by_text(row[1:] for row in harness.take()) == by_text(expected)


def test_a_rank_survives_a_restore_and_stays_late():
    spec = rank_of(1, 1, number=False)
    harness = TableHarness(spec, [ROW], spec.output, [(0,)])
    harness.feed(("a", 1, at(10)), ("a", 3, at(20)), watermark=9)
    assert [row[2] for row in harness.take()] == [1]
    restored = TableHarness(spec, [ROW], spec.output, [(0,)], parallelism=2, restore=harness.snapshot())
    restored.feed(("a", 7, at(10)), ("a", 2, at(20)), watermark=19)
    assert [row[2] for row in restored.take()] == [3]


def test_the_last_of_equal_rows_is_kept():
    spec = replace(rank_of(1, 1, number=False), latest_first=True)
    harness = TableHarness(spec, [ROW], spec.output, [(0,)])
    harness.feed(("a", 1, at(10)), ("b", 7, at(10)))
    harness.feed(("a", 1, at(10)), ("a", 0, at(10)), watermark=9)
    assert len(harness.take()) == 2
    by_time = replace(spec, order=(Ordering(2, ascending=False),))
    harness = TableHarness(by_time, [ROW], spec.output, [(0,)])
    harness.feed(("a", 1, at(10)))
    harness.feed(("a", 2, at(10)), ("a", 3, at(10)), watermark=9)
    assert [row[2] for row in harness.take()] == [3]
