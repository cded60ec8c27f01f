"""Regular joins of all kinds: the table that is left is that of a batch join of the rows that are left."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from firesteel.sql import types as t
from firesteel.sql.expressions import Call, InputRef
from firesteel.sql.operators.map_state import MapsColumn
from firesteel.sql.operators.specs import Join
from firesteel.testing.table_harness import TableHarness

LONG, TEXT, BOOL = t.BigIntType(), t.VarCharType(), t.BooleanType()
LEFT = t.RowType.of(("k", "v"), (TEXT, LONG))
RIGHT = t.RowType.of(("k2", "w"), (TEXT, LONG))
BOTH = t.RowType.of(("k", "v", "k2", "w"), (TEXT, LONG, TEXT, LONG))


def spec_of(kind, condition=False, **traits):
    less = Call("LESS_THAN_OR_EQUAL", (InputRef(1, LONG), InputRef(3, LONG)), BOOL)
    return Join(
        left=LEFT,
        right=RIGHT,
        output=LEFT if kind in ("SEMI", "ANTI") else BOTH,
        kind=kind,
        left_keys=(0,),
        right_keys=(0,),
        condition=less if condition else None,
        **traits,
    )


def harness_of(spec, **settings):
    return TableHarness(spec, [LEFT, RIGHT], spec.output, [(0,), (0,)], **settings)


def test_an_inner_join_keeps_the_kind_of_the_row_that_comes():
    harness = harness_of(spec_of("INNER"))
    harness.feed(("a", 1), ("a", 2), ("b", 3))
    assert harness.take() == []
    harness.feed_changes(("+I", "a", 10), ("+U", "b", 20), ("+I", None, 5), input=1)
    assert harness.take() == [("+I", "a", 1, "a", 10), ("+I", "a", 2, "a", 10), ("+U", "b", 3, "b", 20)]
    harness.feed_changes(("-U", "a", 1), ("-D", "b", 3))
    assert harness.take() == [("-U", "a", 1, "a", 10), ("-D", "b", 3, "b", 20)]


def test_a_row_without_a_partner_leaves_nothing_in_the_state_of_the_other_side(monkeypatch):
    opened = []

    def open_map(self, name, key, original=MapsColumn._opened):
        opened.append(name)
        return original(self, name, key)

    monkeypatch.setattr(MapsColumn, "_opened", open_map)
    harness = harness_of(spec_of("INNER"))
    harness.feed(("a", 1), ("a", 2), ("b", 3))
    harness.feed(("c", 4), input=1)
    assert sorted(opened) == ["a", "b", "c"]


def test_a_left_join_shows_a_row_without_a_partner_until_there_is_one():
    harness = harness_of(spec_of("LEFT"))
    harness.feed(("a", 1), (None, 2))
    assert harness.take() == [("+I", "a", 1, None, None), ("+I", None, 2, None, None)]
    harness.feed(("a", 10), input=1)
    assert harness.take() == [("-D", "a", 1, None, None), ("+I", "a", 1, "a", 10)]
    harness.feed(("a", 11), input=1)
    assert harness.take() == [("+I", "a", 1, "a", 11)]
    harness.feed_changes(("-D", "a", 10), ("-D", "a", 11), input=1)
    assert harness.take() == [
        ("-D", "a", 1, "a", 10),
        ("-D", "a", 1, "a", 11),
        ("+I", "a", 1, None, None),
    ]
    harness.feed_changes(("-D", "a", 1))
    assert harness.take() == [("-D", "a", 1, None, None)]


def test_nulls_are_equal_where_the_plan_says_so():
    harness = harness_of(spec_of("INNER", null_safe=(True,)))
    harness.feed((None, 1))
    harness.feed((None, 2), input=1)
    assert harness.take() == [("+I", None, 1, None, 2)]


def test_a_row_with_a_unique_key_replaces_the_one_before():
    harness = harness_of(spec_of("INNER", right_unique=(0,)))
    harness.feed_changes(("+I", "a", 1), ("+U", "a", 2), input=1)
    harness.feed(("a", 7))
    assert harness.take() == [("+I", "a", 7, "a", 2)]


def test_rows_that_are_only_added_meet_in_the_order_in_which_they_came():
    harness = harness_of(spec_of("INNER", left_appends=True, right_appends=True))
    harness.feed(("a", 1), ("b", 2), (None, 3), ("a", 4), ("a", 1))
    harness.feed(("c", 9), ("a", 10), (None, 5), input=1)
    assert harness.take() == [("+I", "a", v, "a", 10) for v in (1, 4, 1)]
    harness.feed(("a", 5))
    harness.feed(("a", 11), ("b", 12), input=1)
    found = harness.take()
    assert found[0] == ("+I", "a", 5, "a", 10)
    assert found[1:] == [("+I", "a", v, "a", 11) for v in (1, 4, 1, 5)] + [("+I", "b", 2, "b", 12)]


def test_changes_meet_rows_that_are_only_added():
    harness = harness_of(spec_of("INNER", left_appends=True))
    harness.feed(("a", 1), ("a", 2))
    harness.feed_changes(("+I", "a", 10), ("-D", "a", 10), ("+I", "a", 11), input=1)
    kinds = [("+I", 10), ("-D", 10), ("+I", 11)]
    assert harness.take() == [(kind, "a", v, "a", w) for kind, w in kinds for v in (1, 2)]
    harness.feed(("a", 3))
    assert harness.take() == [("+I", "a", 3, "a", 11)]


@pytest.mark.parametrize("appends", [False, True])
def test_a_null_meets_a_null_where_the_plan_says_so_however_rows_are_kept(appends):
    harness = harness_of(spec_of("INNER", null_safe=(True,), left_appends=appends, right_appends=appends))
    harness.feed((None, 1), ("a", 2))
    harness.feed((None, 3), ("b", 4), input=1)
    assert harness.take() == [("+I", None, 1, None, 3)]


ROWS = st.tuples(st.sampled_from(["a", "b", None]), st.none() | st.integers(0, 2))


@st.composite
def changelogs(draw, appends=()):
    held, steps = ([], []), []
    for _ in range(draw(st.integers(0, 12))):
        side = draw(st.integers(0, 1))
        if side not in appends and held[side] and draw(st.booleans()):
            row = held[side].pop(draw(st.integers(0, len(held[side]) - 1)))
            steps.append((side, ("-D", *row)))
        else:
            row = draw(ROWS)
            held[side].append(row)
            steps.append((side, ("+I", *row)))
    return steps, held


def naive(kind, condition, left, right):
    def match(a, b):
        if a[0] is None or a[0] != b[0]:
            return False
        return not condition or (a[1] is not None and b[1] is not None and a[1] <= b[1])

    pairs = [(*a, *b) for a in left for b in right if match(a, b)]
    if kind == "SEMI":
        return [a for a in left if any(match(a, b) for b in right)]
    if kind == "ANTI":
        return [a for a in left if not any(match(a, b) for b in right)]
    if kind in ("LEFT", "FULL"):
        pairs += [(*a, None, None) for a in left if not any(match(a, b) for b in right)]
    if kind in ("RIGHT", "FULL"):
        pairs += [(None, None, *b) for b in right if not any(match(a, b) for a in left)]
    return pairs


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    changelogs(),
    st.sampled_from(["INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI"]),
    st.booleans(),
    st.sampled_from([1, 2]),
    st.integers(0, 12),
    st.integers(1, 4),
)
def test_the_rows_that_are_left_are_those_of_a_batch_join(changes, kind, condition, parallelism, cut, size):
    steps, held = changes
    rows_are_left(steps, held, spec_of(kind, condition), condition, parallelism, cut, size)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from([(0,), (1,), (0, 1)]),
    st.data(),
    st.booleans(),
    st.sampled_from([1, 2]),
    st.integers(0, 12),
    st.integers(1, 4),
)
def test_the_same_of_inputs_without_retractions(appends, data, condition, parallelism, cut, size):
    steps, held = data.draw(changelogs(appends))
    spec = spec_of("INNER", condition, left_appends=0 in appends, right_appends=1 in appends)
    rows_are_left(steps, held, spec, condition, parallelism, cut, size)


def rows_are_left(steps, held, spec, condition, parallelism, cut, size):
    left, right = held
    harness = harness_of(spec, parallelism=parallelism)
    table: dict = {}
    for start in range(0, len(steps), size):
        if start <= cut < start + size:
            harness = harness_of(spec, parallelism=3 - parallelism, restore=harness.snapshot())
        for side in (0, 1):  # an epoch each, in the order of the steps of a side
            rows = [change for s, change in steps[start : start + size] if s == side]
            harness.feed_changes(*rows, input=side)
        for change, *row in harness.take():
            row = tuple(row)
            table[row] = table.get(row, 0) + (1 if change in ("+I", "+U") else -1)
            assert table[row] >= 0
    found = [row for row, count in table.items() for _ in range(count)]
    assert sorted(found, key=repr) == sorted(naive(spec.kind, condition, left, right), key=repr)


@pytest.mark.parametrize("kind", ["SEMI", "ANTI"])
def test_a_row_appears_or_disappears_with_its_first_partner(kind):
    harness = harness_of(spec_of(kind))
    harness.feed(("a", 1))
    harness.feed(("a", 5), ("a", 6), input=1)
    harness.feed_changes(("-D", "a", 5), ("-D", "a", 6), input=1)
    expected = [("+I", "a", 1), ("-D", "a", 1)]
    assert harness.take() == (expected if kind == "SEMI" else [*expected, ("+I", "a", 1)])
