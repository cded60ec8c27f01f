"""Operators on random changelogs give what a batch query gives of the rows that are left.

At any cut into epochs, with any parallelism, with mini-batches and without them, and after a restore at
another parallelism.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from firesteel.sql import types as t
from firesteel.sql.expressions import AggregateCall, Call, InputRef, Literal, Ordering
from firesteel.sql.operators.specs import (
    ChangelogNormalize,
    Deduplicate,
    GroupTableAggregate,
    SessionTableFunction,
    SinkUpsertMaterialize,
    TemporalJoin,
    TemporalSort,
    TimeWindow,
)
from firesteel.testing.table_harness import TableHarness
from tests.sql.operators.batch import at, batch, plain
from tests.sql.operators.changelogs import epochs, rows_left, table_left, upserts

LONG, TEXT, BOOL = t.BigIntType(), t.VarCharType(), t.BooleanType()
TIME = t.TimestampType(precision=3, attribute="rowtime")
PLAIN_TIME = t.TimestampType(precision=3)
TIMED = t.RowType.of(("k", "v", "ts"), (TEXT, LONG, TIME))
ROW = t.RowType.of(("k", "v"), (TEXT, LONG))
END = 10_000
KEYS = st.sampled_from(["a", "b", None])
VALUES = st.none() | st.integers(0, 3)
pytestmark = pytest.mark.row("S-SQL-14")
MODEL = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
PARALLELISM, YES_OR_NO = st.sampled_from([1, 2]), st.booleans()


class Runs:
    """A harness that is restored at another parallelism after the first epoch, if that is wished."""

    def __init__(self, spec, inputs, output, keys, parallelism=1, restored=False, other=None):
        self._make = lambda **more: TableHarness(spec, inputs, output, keys, **more)
        self._other, self._restored = other or 3 - parallelism, restored
        self._harness = self._make(parallelism=parallelism)

    def feed(self, changes, **more):
        """What an epoch gives."""
        self._harness.feed_changes(*changes, **more)
        out = self._harness.take()
        if self._restored:
            self._restored = False
            self._harness = self._make(parallelism=self._other, restore=self._harness.snapshot())
        return out


def run(made, spec, row, output=None, keys=((0,),), **how):
    runs = Runs(spec, [row], output or row, keys, **how)
    return [change for epoch in made for change in runs.feed(epoch)]


# ---- one row for each key


@MODEL
@given(
    st.lists(st.lists(st.tuples(KEYS, VALUES, st.integers(0, 5)), max_size=7), min_size=1, max_size=3),
    *[YES_OR_NO] * 4,
    PARALLELISM,
)
def test_deduplicate(batches, last, rowtime, mini_batch, restored, parallelism):
    made = [[("+I", k, v, at(ts)) for k, v, ts in rows] for rows in batches]
    spec = Deduplicate(
        input=TIMED, keys=(0,), last=last, time=2 if rowtime else None, mini_batch=mini_batch, bundle=3
    )
    out = run(made, spec, TIMED, restored=restored, parallelism=parallelism)
    numbered = [(*row, n) for n, row in enumerate(row for rows in batches for row in rows)]
    order = ["ts"] * rowtime + ["n"]
    found = batch(
        "SELECT k, v, ts FROM (SELECT *, row_number() OVER (PARTITION BY k ORDER BY "
        + ", ".join(f"{column} {'DESC' if last else 'ASC'}" for column in order)
        + ") AS place FROM t) WHERE place = 1",
        t=("k VARCHAR, v BIGINT, ts BIGINT, n BIGINT", numbered),
    )
    assert plain(table_left(out, (0,)).values()) == found


@MODEL
@given(upserts(st.tuples(KEYS, VALUES), lambda row: row[0]), *[YES_OR_NO] * 3, PARALLELISM)
def test_changelog_normalize(made_and_left, filtered, mini_batch, restored, parallelism):
    made, left = made_and_left
    condition = Call("GREATER_THAN", (InputRef(1, LONG), Literal(1, LONG)), BOOL) if filtered else None
    spec = ChangelogNormalize(
        input=ROW, keys=(0,), condition=condition, mini_batch=mini_batch, bundle=3 if mini_batch else 0
    )
    out = run(made, spec, ROW, restored=restored, parallelism=parallelism)
    wanted = [row for row in left.values() if not filtered or (row[1] is not None and row[1] > 1)]
    assert plain(table_left(out, (0,)).values()) == plain(wanted)


@MODEL
@given(epochs(st.tuples(KEYS, VALUES)), YES_OR_NO, YES_OR_NO, PARALLELISM)
def test_sink_upsert_materialize(made_and_held, keyed, restored, parallelism):
    """Of the rows of a key that are left the last one that came is in the sink; each has a number here."""
    numbers = iter(range(1000))
    known: dict[tuple, list[int]] = {}
    made, left = [], {}
    for epoch in made_and_held[0]:
        numbered = []
        for kind, *row in epoch:
            if kind == "+I":
                number = next(numbers)
                known.setdefault(tuple(row), []).append(number)
                left[number] = (*row, number)
            else:
                number = known[tuple(row)].pop()
                del left[number]
            numbered.append((kind, *row, number))
        made.append(numbered)
    row = t.RowType.of(("k", "v", "n"), (TEXT, LONG, LONG))
    spec = SinkUpsertMaterialize(input=row, keys=(0,), upsert_key=(2,) if keyed else None)
    out = run(made, spec, row, restored=restored, parallelism=parallelism)
    found = batch(
        "SELECT k, v, n FROM t WHERE n IN (SELECT max(n) FROM t GROUP BY k)",
        t=("k VARCHAR, v BIGINT, n BIGINT", left.values()),
    )
    assert plain(table_left(out, (0,), old_rows=False).values()) == found


# ---- table aggregates


class Top2:
    def create_accumulator(self):
        return []

    def accumulate(self, accumulator, value):
        accumulator.append(value)

    def retract(self, accumulator, value):
        accumulator.remove(value)

    def emit_value(self, accumulator):
        found = sorted((v for v in accumulator if v is not None), reverse=True)[:2]
        return [(value, place) for place, value in enumerate(found, 1)]


@MODEL
@given(epochs(st.tuples(KEYS, VALUES)), YES_OR_NO, PARALLELISM)
def test_group_table_aggregate(made_and_held, restored, parallelism):
    made, held = made_and_held
    output = t.RowType.of(("k", "v", "place"), (TEXT, LONG, LONG))
    spec = GroupTableAggregate(
        input=ROW,
        output=output,
        keys=(0,),
        call=AggregateCall("top2", (1,), LONG),
        retracts=True,
        functions={"top2": Top2()},
    )
    out = run(made, spec, ROW, output, restored=restored, parallelism=parallelism)
    found = batch(
        "SELECT * FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS place "
        "FROM t WHERE v IS NOT NULL) WHERE place <= 2",
        t=("k VARCHAR, v BIGINT", held),
    )
    assert plain(rows_left(out)) == found


# ---- time


@st.composite
def in_time(draw, rows, sides=1):
    """Epochs (side, rows, watermark) in which no row is late; a row is (..., time)."""
    made, watermark = [], 0
    for _ in range(draw(st.integers(1, 4))):
        batch_of_rows = draw(st.lists(rows, max_size=6))
        made.append(
            (
                draw(st.integers(0, sides - 1)),
                [(*row, watermark + draw(st.integers(1, 8))) for row in batch_of_rows],
                watermark := watermark + draw(st.integers(0, 4)),
            )
        )
    return made


@MODEL
@given(in_time(st.tuples(KEYS, VALUES)), YES_OR_NO)
def test_temporal_sort(made, restored):
    spec = TemporalSort(input=TIMED, time=2, order=(Ordering(1, False, nulls_first=False),))
    runs = Runs(spec, [TIMED], TIMED, [()], restored=restored, other=1)  # order is that of one channel
    out = []
    for _, rows, watermark in made:
        out += runs.feed([("+I", k, v, at(ts)) for k, v, ts in rows], watermark=watermark)
    out += runs.feed([], watermark=END)
    sent = [row for _, rows, _ in made for row in rows]
    found = [(ts, v) for _, _, v, ts in (tuple(row) for row in out)]
    assert plain((k, v, ts) for _, k, v, ts in out) == plain(sent)
    worth = [(ts, -100 if v is None else v) for ts, v in found]
    assert worth == sorted(worth, key=lambda pair: (pair[0], -pair[1]))


def comes_where_a_session_has_ended(made):
    """A row at the very end of a session is in it, unless the session is over already: here a stream, as
    Flink's, begins another one, and a batch does not."""
    seen, watermark = set(), 0
    for _, rows, after in made:
        for key, _, ts in rows:
            if (key, ts - 4) in seen and watermark >= ts - 1:
                return True
        seen.update((key, ts) for key, _, ts in rows)
        watermark = after
    return False


@MODEL
@given(
    in_time(st.tuples(KEYS, VALUES)).filter(lambda made: not comes_where_a_session_has_ended(made)),
    YES_OR_NO,
    PARALLELISM,
)
@example([(0, [("a", 1, 1), ("a", 2, 5)], 4), (0, [("a", 3, 9)], 4)], False, 1)
def test_session_table(made, restored, parallelism):
    output = t.RowType.of(
        (*TIMED.names, "window_start", "window_end", "window_time"),
        (*TIMED.types, PLAIN_TIME, PLAIN_TIME, TIME),
    )
    spec = SessionTableFunction(
        input=TIMED, output=output, window=TimeWindow("SESSION", 4, time=2), keys=(0,)
    )
    runs = Runs(spec, [TIMED], output, [(0,)], parallelism, restored)
    out = []
    for _, rows, watermark in made:
        out += runs.feed([("+I", k, v, at(ts)) for k, v, ts in rows], watermark=watermark)
    out += runs.feed([], watermark=END)
    found = batch(
        """WITH marked AS (
             SELECT *, coalesce(ts - lag(ts) OVER (PARTITION BY k ORDER BY ts) > 4, true) AS begins FROM t),
           numbered AS (
             SELECT *, sum(begins::INT) OVER (
               PARTITION BY k ORDER BY ts ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS n FROM marked)
           SELECT k, v, ts, min(ts) OVER session, max(ts) OVER session + 4, max(ts) OVER session + 3
           FROM numbered WINDOW session AS (PARTITION BY k, n)""",
        t=("k VARCHAR, v BIGINT, ts BIGINT", [row for _, rows, _ in made for row in rows]),
    )
    assert plain(row for _, *row in out) == found


@pytest.mark.row("S-SQL-20", "T23")
@MODEL
@given(in_time(st.tuples(KEYS, VALUES), sides=2), st.sampled_from(["INNER", "LEFT"]), YES_OR_NO, PARALLELISM)
def test_temporal_join(made, kind, restored, parallelism):
    """The version of a key is the last one at or before the time of a row; of one time the one that came
    last; NULL stands for a version that was deleted."""
    versions = t.RowType.of(("k2", "w", "ts2"), (TEXT, LONG, TIME))
    output = t.RowType.of((*TIMED.names, *versions.names), (*TIMED.types, *versions.types))
    spec = TemporalJoin(
        left=TIMED,
        right=versions,
        output=output,
        kind=kind,
        left_keys=(0,),
        right_keys=(0,),
        left_time=2,
        right_time=2,
    )
    runs = Runs(spec, [TIMED, versions], output, [(0,), (0,)], parallelism, restored)
    out, sides = [], ([], [])
    for side, rows, watermark in made:
        sides[side].extend(rows)
        kinds = ["-D" if side and v is None else "+U" if side else "+I" for _, v, _ in rows]
        changes = [(how, k, v, at(ts)) for how, (k, v, ts) in zip(kinds, rows, strict=True)]
        out += runs.feed(changes, input=side, watermark=watermark)
        out += runs.feed([], input=1 - side, watermark=watermark)
    for side in (0, 1):
        out += runs.feed([], input=side, watermark=END)
    latest = {(k, ts): (k, v, ts) for k, v, ts in sides[1]}
    found = batch(
        f"""SELECT l.k, l.v, l.ts, r.k, r.v, r.ts FROM (SELECT * FROM l) l ASOF LEFT JOIN r
            ON l.k = r.k AND l.ts >= r.ts WHERE {"r.v IS NOT NULL" if kind == "INNER" else "true"}""",
        l=("k VARCHAR, v BIGINT, ts BIGINT", sides[0]),
        r=("k VARCHAR, v BIGINT, ts BIGINT", latest.values()),
    )
    wanted = [row if row[4] is not None else (*row[:3], None, None, None) for row in found]
    assert plain(row for _, *row in out) == plain(wanted)
