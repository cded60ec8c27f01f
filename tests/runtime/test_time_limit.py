"""Epochs end in time however slow the user's code is: a source task stops reading, a task behind an exchange
gives the epoch up. Time is a counter that the functions move, so nothing here depends on the machine."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firesteel.common import Types
from firesteel.common.clock import ManualClock
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import FlatMapFunction, MapFunction, StreamExecutionEnvironment
from firesteel.jobmanager.job_view import EpochReport
from firesteel.runtime import task, worker
from firesteel.runtime.batch import Batch
from firesteel.runtime.program import Pace
from firesteel.runtime.stopwatch import Stopwatch
from firesteel.runtime.time_limit import TimeLimit

from .support import SplitsSource, environment, note, notes

RECORDS = list(range(200))


_clock = ManualClock()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """The time of tasks and driver."""
    global _clock
    _clock = ManualClock(1_000_000)
    monkeypatch.setattr(task, "TimeLimit", partial(TimeLimit, monotonic_s=_clock.monotonic_s))
    # What tasks say of their work is by the same clock: the driver takes it off what an epoch took.
    monkeypatch.setattr(worker, "Stopwatch", partial(Stopwatch, _clock.monotonic_s))
    return _clock


def limited_by(pace: Pace | None) -> TimeLimit:
    return TimeLimit(pace, monotonic_s=_clock.monotonic_s)


class Takes(MapFunction):
    """Hands a record on after so long. A class: a nested function would have a copy of the clock."""

    def __init__(self, seconds: float, only: range | None = None) -> None:
        self._seconds = seconds
        self._only = only

    def map(self, value: Any) -> Any:
        if self._only is None or value in self._only:
            _clock.advance(self._seconds * 1000)
        return note("called", value)


class Many(FlatMapFunction):
    def flat_map(self, value: int) -> Iterator[int]:
        _clock.advance(400)
        return iter(range(10_000))


def run(env: StreamExecutionEnvironment) -> list[EpochReport]:
    """The epochs that were committed."""
    client = env.execute_async("slow")
    client.get_job_execution_result().result()
    return list(client._handle.job.view.reports)


def collected() -> list[Any]:
    return sorted(notes["out"])


def out(value: Any) -> Any:
    return note("out", value)


# ---- the limit itself


def test_pieces_grow_while_the_work_is_quick() -> None:
    limit = limited_by(Pace(1_000, 1_500))
    pieces = []
    for _ in range(5):
        pieces.append(limit.piece)
        limit.worked(limit.piece, 0.0)
    assert pieces == [1, 8, 64, 512, 4096]
    assert not limit.is_over


def test_pieces_shrink_to_what_a_part_of_the_limit_allows() -> None:
    limit = limited_by(Pace(1_000, 1_500, 100))
    limit.worked(100, 0.5)
    assert limit.piece == 50
    assert not limit.is_over
    limit.worked(1, 0.5)
    assert limit.piece == 1
    assert limit.is_over
    assert not limit.is_overrun
    assert limit.records == 101


def test_without_a_pace_there_is_no_limit() -> None:
    limit = limited_by(None)
    limit.worked(1, 1e9)
    assert not limit.is_over
    assert not limit.is_overrun
    assert limit.piece > 1 << 60


@given(st.data())
def test_a_batch_that_is_split_keeps_its_records_and_marks(data: st.DataObject) -> None:
    values = data.draw(st.lists(st.integers(), min_size=2))
    n = len(values)
    stamps = data.draw(st.none() | st.just(list(range(n))))
    marks = [(at, f"mark {i}") for i, at in enumerate(sorted(data.draw(st.lists(st.integers(0, n)))))]
    at = data.draw(st.integers(1, n - 1))
    first, second = Batch(values, stamps, marks, values).split(at)
    assert len(first.values) == at
    assert flat(first) + flat(second) == flat(Batch(values, stamps, marks, values))


def flat(batch: Batch) -> list[Any]:
    """Records and marks, in their order."""
    found: list[Any] = []
    for start, stop, mark in batch.segments():
        found += [
            (batch.values[i], batch.timestamps and batch.timestamps[i], batch.keys and batch.keys[i])
            for i in range(start, stop)
        ]
        if mark is not None:
            found.append(mark)
    return found


# ---- jobs


def test_a_slow_function_beside_the_source_cuts_the_epochs() -> None:
    env = environment(clock=_clock)
    env.from_collection(RECORDS, Types.INT()).map(Takes(0.5)).map(out).print()
    reports = run(env)
    assert collected() == RECORDS
    assert notes["called"] == RECORDS  # each once: nothing was given up
    assert reports[0].records == 1  # in the half second that the first epoch has
    assert max(r.records for r in reports) <= 12  # six seconds: no checkpoints are due


def test_checkpoints_bound_the_epochs_of_a_bounded_job() -> None:
    env = environment(clock=_clock)
    env.enable_checkpointing(1_000)
    env.from_collection(RECORDS, Types.INT()).map(Takes(0.02)).map(out).print()
    reports = run(env)
    assert collected() == RECORDS
    assert max(r.records for r in reports) <= 65


def test_quick_functions_are_not_cut() -> None:
    env = environment(clock=_clock)
    env.from_collection(RECORDS, Types.INT()).key_by(lambda n: n % 7).map(out).print()
    assert [r.records for r in run(env) if r.records] == [200]


def test_a_slow_function_behind_an_exchange_gives_the_first_epoch_up() -> None:
    env = environment(clock=_clock)
    env.from_collection(RECORDS, Types.INT()).key_by(lambda n: n % 7).map(Takes(0.5)).map(out).print()
    reports = run(env)
    seen = collected()
    assert len(notes["called"]) <= len(RECORDS) + 3  # what the first epoch did in a second and a half
    assert sorted(set(seen)) == RECORDS
    assert sum(r.records for r in reports) == len(RECORDS)
    assert max(r.records for r in reports) <= 13


def test_a_function_that_becomes_slow_behind_an_exchange() -> None:
    """What is given up is run again: state and results are those of one run."""

    env = environment(clock=_clock, epoch_records=50)
    summed = env.from_collection(RECORDS, Types.INT()).key_by(lambda n: 0).map(Takes(0.5, range(100, 130)))
    results = list(summed.key_by(lambda n: 0, key_type=Types.INT()).sum().execute_and_collect())
    assert results == [sum(RECORDS[: n + 1]) for n in RECORDS]


def test_no_split_is_left_out() -> None:
    """Each epoch has the time for two records; all five splits get on."""
    source = SplitsSource(*[[((s, i), None) for i in range(10)] for s in range(5)])
    env = environment(clock=_clock)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "splits")
    stream.map(Takes(0.5)).map(out).print()
    run(env)
    order = notes["out"]
    assert sorted(order) == [(s, i) for s in range(5) for i in range(10)]
    firsts = [order.index((s, 0)) for s in range(5)]
    assert max(firsts) < 25


def test_one_record_that_becomes_a_million_is_one_piece() -> None:
    env = environment(clock=_clock)
    env.from_collection(list(range(6)), Types.INT()).flat_map(Many()).filter(lambda n: n == 5).map(
        out
    ).print()
    reports = run(env)
    assert collected() == [5] * 6
    assert reports[0].records == 2


def test_it_can_be_switched_off() -> None:
    env = environment(clock=_clock, **{"firesteel.epoch.time-limit": "false"})
    env.from_collection(RECORDS, Types.INT()).key_by(lambda n: n % 7).map(Takes(0.5)).map(out).print()
    assert [r.records for r in run(env) if r.records] == [200]
    assert sorted(notes["called"]) == RECORDS  # each once
