"""GROUP BY: the changelog of each row, and the same final table whatever the batches are."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from firesteel.common.errors import FiresteelError
from firesteel.sql import types as t
from firesteel.sql.operators.specs import GroupAggregate
from firesteel.testing.table_harness import TableHarness
from tests.sql.operators.changelogs import epochs, table_left
from tests.sql.operators.grouped_rows import CALLS, INPUT, ROWS, TEXT, call, naive


def spec_of(calls=CALLS, keys=(0,), **traits):
    return GroupAggregate(
        input=INPUT,
        output=t.RowType.of(
            (*(INPUT.names[i] for i in keys), *(f"c{i}" for i in range(len(calls)))),
            (*(INPUT.types[i] for i in keys), *(c.type for c in calls)),
        ),
        keys=keys,
        calls=calls,
        **traits,
    )


def harness_of(spec, **settings):
    return TableHarness(spec, [INPUT], spec.output, [spec.keys], **settings)


@pytest.mark.row("X2")
def test_each_row_gives_the_change_that_it_makes():
    harness = harness_of(spec_of((call("COUNT"), call("SUM", 1))))
    harness.feed(("a", 1, "", True), ("b", 2, "", True), ("a", 3, "", True))
    assert harness.take() == [("+I", "a", 1, 1), ("-U", "a", 1, 1), ("+U", "a", 2, 4), ("+I", "b", 1, 2)]
    harness.feed(("a", None, "", True))
    assert harness.take() == [("-U", "a", 2, 4), ("+U", "a", 3, 4)]


def test_a_result_that_stays_gives_nothing():
    harness = harness_of(spec_of((call("MAX", 1),)))
    harness.feed(("a", 5, "", True), ("a", 3, "", True), ("a", 7, "", True))
    assert harness.take() == [("+I", "a", 5), ("-U", "a", 5), ("+U", "a", 7)]


@pytest.mark.row("X2")
def test_the_last_row_that_is_taken_back_deletes_the_result_and_the_key_begins_anew():
    harness = harness_of(spec_of((call("COUNT"), call("MIN", 1)), retracts=True))
    harness.feed_changes(
        ("-D", "a", 9, "", True),  # for a row that nobody has seen
        ("+I", "a", 1, "", True),
        ("+I", "a", 2, "", True),
        ("-D", "a", 1, "", True),
        ("-D", "a", 2, "", True),
        ("+I", "a", 8, "", True),
    )
    assert harness.take() == [
        ("+I", "a", 1, 1),
        ("-U", "a", 1, 1),
        ("+U", "a", 2, 1),
        ("-U", "a", 2, 1),
        ("+U", "a", 1, 2),
        ("-D", "a", 1, 2),
        ("+I", "a", 1, 8),
    ]


@pytest.mark.row("X2")
def test_without_update_before_there_is_none_but_deletions():
    harness = harness_of(spec_of((call("COUNT"),), retracts=True, generate_update_before=False))
    harness.feed_changes(("+I", "a", 1, "", True), ("+I", "a", 1, "", True), ("-D", "a", 1, "", True))
    assert harness.take() == [("+I", "a", 1), ("+U", "a", 2), ("+U", "a", 1)]
    harness.feed_changes(("-D", "a", 1, "", True))
    assert harness.take() == [("-D", "a", 1)]


@pytest.mark.row("S-SQL-14")
def test_a_mini_batch_gives_one_change_for_each_key():
    harness = harness_of(spec_of((call("COUNT"), call("SUM", 1)), mini_batch=True))
    harness.feed(("a", 1, "", True), ("b", 2, "", True), ("a", 3, "", True))
    assert harness.take() == [("+I", "a", 2, 4), ("+I", "b", 1, 2)]
    harness.feed(("a", 1, "", True), ("a", 1, "", True))
    assert harness.take() == [("-U", "a", 2, 4), ("+U", "a", 4, 6)]


def test_all_rows_have_one_key_where_there_is_no_group():
    harness = harness_of(spec_of((call("COUNT"), call("MAX", 0, of=TEXT)), keys=()), parallelism=3)
    harness.feed(("a", 1, "", True), ("b", 2, "", True))
    assert harness.take() == [("+I", 1, "a"), ("-U", 1, "a"), ("+U", 2, "b")]


@pytest.mark.row("S-SQL-24")
def test_state_that_is_not_touched_for_its_time_to_live_is_gone():
    harness = harness_of(spec_of((call("COUNT"),), ttl_ms=1000), processing_time=1000)
    harness.feed(("a", 1, "", True))
    harness.set_processing_time(1900)
    harness.feed(("a", 1, "", True))
    harness.set_processing_time(2899)
    harness.feed(("a", 1, "", True))
    harness.set_processing_time(3899)
    harness.feed(("a", 1, "", True))
    assert harness.take() == [
        ("+I", "a", 1),
        ("-U", "a", 1),
        ("+U", "a", 2),
        ("-U", "a", 2),
        ("+U", "a", 3),
        ("+I", "a", 1),
    ]


@pytest.mark.row("S-SQL-12")
def test_a_value_is_distinct_in_each_life_of_its_key():
    harness = harness_of(spec_of((call("SUM", 1, distinct=True),), retracts=True, mini_batch=True))
    harness.feed(("a", 3, "", True))
    harness.feed_changes(("-D", "a", 3, "", True), ("+I", "a", 3, "x", True))
    harness.feed_changes(("-D", "a", 3, "x", True), ("+I", "a", 4, "x", True))
    assert harness.take() == [("+I", "a", 3), ("-U", "a", 3), ("+U", "a", 4)]


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(epochs(ROWS), st.booleans(), st.sampled_from([1, 2]), st.booleans())
def test_the_result_is_that_of_the_rows_that_are_left(given_changes, mini_batch, parallelism, restored):
    epochs, held = given_changes
    spec = spec_of(retracts=True, mini_batch=mini_batch)
    harness = harness_of(spec, parallelism=parallelism)
    out = []
    for i, epoch in enumerate(epochs):
        harness.feed_changes(*epoch)
        out += harness.take()
        if restored and i == 0:
            harness = harness_of(spec, parallelism=3 - parallelism, restore=harness.snapshot())
    table = {
        key: (*values[:-1], sorted(values[-1].split("|")) if values[-1] is not None else None)
        for (key,), (_, *values) in table_left(out, (0,)).items()
    }
    assert table == naive(held)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(ROWS, max_size=12), st.integers(0, 12))
def test_any_cut_gives_the_same_changes(rows, cut):
    whole, parts = harness_of(spec_of()), harness_of(spec_of())
    whole.feed(*rows)
    parts.feed(*rows[:cut])
    parts.feed(*rows[cut:])
    first, second = whole.take(), parts.take()
    for key in {r[0] for r in rows}:
        assert [c for c in first if c[1] == key] == [c for c in second if c[1] == key]


@pytest.mark.parametrize("function", ["VAR_POP", "STDDEV_SAMP"])
def test_variances(function):
    double = t.DoubleType()
    harness = harness_of(spec_of((call(function, 1, of=double),)))
    harness.feed(("a", 1, "", True), ("a", 3, "", True), ("a", 5, "", True))
    assert harness.take()[-1][2] == pytest.approx({"VAR_POP": 8 / 3, "STDDEV_SAMP": 2.0}[function])


def test_state_of_variances_from_before_is_refused(monkeypatch):
    spec = spec_of((call("VAR_POP", 1, of=t.DoubleType()),))
    with monkeypatch.context() as before:  # they were sums and sums of squares
        before.setattr("firesteel.sql.operators.kernels.variances.Variance.form", "")
        harness = harness_of(spec)
        harness.feed(("a", 1, "", True))
        held = harness.snapshot()
    with pytest.raises(FiresteelError, match="VAR_POP"):
        harness_of(spec, restore=held).feed(("a", 2, "", True))


def test_variances_of_many_keys_and_of_one_are_the_same():
    rows = [(f"k{i % 40}", i * i % 101, "", True) for i in range(400)]
    spec = spec_of((call("VAR_SAMP", 1, of=t.DoubleType()),))
    together, apart = harness_of(spec), harness_of(spec)
    together.feed(*rows)
    for key in range(40):
        apart.feed(*[row for row in rows if row[0] == f"k{key}"])
    assert sorted(together.take(), key=repr) == sorted(apart.take(), key=repr)
