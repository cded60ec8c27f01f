"""The views of a job: each one consistent, whatever the job does meanwhile; bounded; plain data."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firesteel.common.accumulators import IntCounter, ListAccumulator
from firesteel.common.job_status import JobStatus as S
from firesteel.datastream import MapFunction, RuntimeContext
from firesteel.graph.execution_graph import ExecutionState as X
from firesteel.jobmanager import events, observer
from firesteel.jobmanager.checkpoints.statistics import CheckpointStatus, Summary
from firesteel.jobmanager.events import (
    EVENTS_KEPT,
    AttemptStarted,
    CheckpointCompleted,
    CommandReceived,
    ExceptionRaised,
    Journal,
    RecoveryStep,
    RestartPlanned,
    StatusChanged,
)
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.job_view import JobView
from firesteel.jobmanager.published import Published
from firesteel.jobmanager.requests import SavepointRequest
from firesteel.jobmanager.vertex_counts import VertexCounts
from firesteel.monitoring.values import job_values
from tests.jobmanager.checkpoint_support import env_with, submit
from tests.runtime.support import At, LiveSource, SteppedClock, environment, feed, note, notes, punctuated
from tests.waiting import patience

RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.delay": "0 ms",
}


class Fails(MapFunction):
    """Fails at a value, the first ``times`` that it sees it."""

    def __init__(self, value: int, times: int = 1 << 30) -> None:
        self.value = value
        self.times = times

    def map(self, value: int) -> int:
        if value == self.value and len(notes["failed"]) < self.times:
            note("failed")
            raise ValueError(f"{value} is not allowed")
        return value


class Counts(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.all = IntCounter()
        self.values = ListAccumulator()
        runtime_context.add_accumulator("all", self.all)
        runtime_context.add_accumulator("values", self.values)

    def map(self, value: int) -> int:
        self.all.add(1)
        self.values.add(value)
        return value


def numbers(count: int, function: MapFunction, *, epoch_records: int = 4, **options: str) -> JobGateway:
    env = environment(2, epoch_records=epoch_records, **options)
    env.from_collection(range(count)).map(function).name("strict").uid("strict-uid").key_by(
        lambda v: v % 3
    ).sum(0)
    return submit(env)


def check(view: JobView) -> None:
    """What holds for each view, at whatever moment it is taken."""
    assert view.status is view.statuses[-1]
    assert view.timestamps[-1][0] is view.status
    sources = [v for v in view.vertices if not v.info.inputs]
    assert sum(s.records_out for v in sources for s in v.subtasks) == view.records_read
    assert sum(report.records for report in view.reports) == view.records_read, "all reports are still there"
    assert (view.reports[-1].epoch if view.reports else 0) == view.epoch
    assert {s.attempt.number for v in view.vertices for s in v.subtasks} == {view.attempt}
    assert view.attempt <= view.restarts <= view.attempt + 1
    failures = [event for event in view.journal.events if isinstance(event, ExceptionRaised)]
    assert len(failures) == len(view.exceptions)
    if view.ended_ms is not None:
        assert view.status.is_terminal_state()
    for vertex in view.vertices:
        for subtask in vertex.subtasks:
            assert [sum(pair[i] for pair in subtask.operators[-1:]) for i in (1,)] == [subtask.records_out]
            assert subtask.attempt.entered_ms[-1][0] is subtask.attempt.state


class Recorded(Published):
    """Keeps all views that are published, not only those that a reader happens to see."""

    def __init__(self, head: JobView, counts: Sequence[VertexCounts]) -> None:
        super().__init__(head, counts)
        self.all = [self.view]

    def publish(self, head: JobView, counts: Sequence[VertexCounts]) -> None:
        super().publish(head, counts)
        self.all.append(self.view)


@contextmanager
def readers(job: JobGateway, number: int = 4) -> Iterator[list[JobView]]:
    """Threads that take views until the block ends; those that the first of them has seen."""
    seen: list[JobView] = []
    errors: list[BaseException] = []
    over = threading.Event()

    def read(keep: bool) -> None:
        version = -1
        try:
            while not over.is_set():
                view = job.view
                assert view.version >= version
                if view.version > version:
                    check(view)
                    version = view.version
                    if keep:
                        seen.append(view)
                over.wait(0.0005)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=read, args=(i == 0,)) for i in range(number)]
    for thread in threads:
        thread.start()
    yield seen
    over.set()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.parametrize(
    ("function", "options", "ends"),
    [
        (lambda: Fails(-1), {}, S.FINISHED),
        (lambda: Fails(90, 3), {"restart-strategy.fixed-delay.attempts": "3", **RESTARTS}, S.FINISHED),
        (lambda: Fails(90), {"restart-strategy.fixed-delay.attempts": "2", **RESTARTS}, S.FAILED),
    ],
    ids=["runs", "restarts", "fails"],
)
def test_each_view_is_consistent_while_the_job(
    function: Callable[[], MapFunction],
    options: dict[str, str],
    ends: S,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Broken by hand: a view is published between the counters of an epoch and its report."""
    monkeypatch.setattr(observer, "Published", Recorded)
    job = numbers(400, function(), **options)
    with readers(job) as seen:
        assert job.wait(patience(60))
    published: list[JobView] = job._published.all  # type: ignore[attr-defined]
    for view in published:
        check(view)
    assert [view.version for view in published] == list(range(len(published)))
    assert job.status is ends
    assert job.view.ended_ms is not None
    assert len(seen) > 2, "views were taken while the job ran"


def test_each_view_is_consistent_while_the_job_is_cancelled() -> None:
    clock = SteppedClock()
    env = environment(1, clock=clock)
    env.from_source(LiveSource("live"), punctuated(), "live").map(lambda r: r.ts)
    job = submit(env)
    with readers(job):
        for ts in range(5):
            feed("live", (At(ts), 0))
            clock.tick()
        assert job.status is S.RUNNING
        assert [v.state for v in job.view.vertices] == [X.RUNNING]
        job.cancel().result(patience(10))
    assert job.view.status is S.CANCELED
    subtask = job.view.vertices[0].subtasks[0]
    states = [state for state, _ in subtask.attempt.entered_ms]
    assert states[-3:] == [X.RUNNING, X.CANCELING, X.CANCELED]


@pytest.mark.row("S-GRAPH-16", "S-GRAPH-17", "S-GRAPH-18", "S-LIFE-10", "S-FAIL-13", "S-FAIL-19")
def test_the_attempts_of_subtasks_that_fail_and_are_started_again() -> None:
    options = {"restart-strategy.fixed-delay.attempts": "2", **RESTARTS}
    job = numbers(100, Fails(57, 1), **options)
    assert job.wait(patience(30))
    view = job.view
    assert (view.status, view.attempt, view.restarts) == (S.FINISHED, 1, 1)
    (strict,) = (v for v in view.vertices if v.info.operators[0].uid == "strict-uid")
    (failed,) = (s for s in strict.subtasks if s.earlier[0].state is X.FAILED)
    life = [X.CREATED, X.SCHEDULED, X.DEPLOYING, X.INITIALIZING, X.RUNNING]
    assert [state for state, _ in failed.earlier[0].entered_ms] == [*life, X.FAILED]
    assert "57 is not allowed" in str(failed.earlier[0].failure)
    assert [state for state, _ in failed.attempt.entered_ms] == [*life, X.FINISHED]
    assert failed.attempt.id != failed.earlier[0].id
    assert [a.number for a in (*failed.earlier, failed.attempt)] == [0, 1]
    others = [s for v in view.vertices for s in v.subtasks if s is not failed]
    assert {s.earlier[0].state for s in others} == {X.CANCELED}
    assert {v.state for v in view.vertices} == {X.FINISHED}
    (exception,) = view.exceptions
    assert (exception.name, exception.operator, exception.subtask) == ("ValueError", "strict", failed.index)
    assert (exception.vertex, exception.task, exception.attempt) == (strict.id, strict.name, 0)
    assert "in map" in exception.traceback, "the user's own frames"
    kinds = [type(event) for event in view.journal.events]
    begin = kinds.index(ExceptionRaised)
    assert [kind for kind in kinds[begin:] if kind is not RecoveryStep][:5] == [
        *(ExceptionRaised, RestartPlanned, StatusChanged, AttemptStarted, StatusChanged)
    ]


def test_a_view_is_plain_data() -> None:
    job = numbers(50, Counts())
    assert job.wait(patience(30))
    view = job.view
    assert pickle.loads(pickle.dumps(view)) == view
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(view), type=JobView) == view
    with pytest.raises(AttributeError):
        view.status = S.FAILED  # type: ignore[misc]


def test_settings_are_shown_without_their_secrets() -> None:
    env = environment(1, **{"s3.secret-key": "geheim", "pipeline.name": "n"})
    env.from_collection([1]).map(lambda v: v)
    job = submit(env, "named")
    assert job.wait(patience(30))
    assert "geheim" not in repr(job.view)
    assert dict(job.view.info.settings)["pipeline.name"] == "n"
    assert job.view.name == "named"


def test_the_bytes_that_pass_through_an_exchange_are_counted_on_both_sides() -> None:
    job = numbers(100, Fails(-1))
    assert job.wait(patience(30))
    source, strict, total = job.view.vertices
    assert sum(s.bytes_in for s in source.subtasks) == 0
    assert sum(s.bytes_out for s in total.subtasks) == 0
    for before, after in ((source, strict), (strict, total)):
        sent = sum(s.bytes_out for s in before.subtasks)
        assert sent == sum(s.bytes_in for s in after.subtasks)
        assert sent > 100


@pytest.mark.row("S-PERF-13")
def test_what_passes_through_an_exchange_does_not_depend_on_the_size_of_the_state() -> None:
    """Few new records meet state of 5 keys, and of 5,000: the state stays where it is."""

    def passed(topic: str, keys: int) -> tuple[int, int]:
        clock = SteppedClock()
        env = environment(2, clock=clock)
        totals = env.from_source(LiveSource(topic), punctuated(), "live").map(lambda r: (r.value, r.ts))
        totals.key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
        job = submit(env)
        clock.settle()
        feed(topic, *((At(n, n), n) for n in range(keys)))
        clock.tick()
        before = sum(s.bytes_in for s in job.view.vertices[1].subtasks)
        feed(topic, *((At(9_000 + n, n), 9_000 + n) for n in range(5)))
        clock.tick()
        after = job.view.vertices[1].subtasks
        job.cancel()
        return before, sum(s.bytes_in for s in after) - before

    small, few = passed("small", 5)
    large, as_few = passed("large", 5_000)
    assert large > 100 * small
    assert 0 < as_few == few


def test_accumulators_small_ones_in_the_view_and_all_on_request() -> None:
    job = numbers(20, Counts())
    assert job.wait(patience(30))
    shown = {a.name: a.value for a in job.view.accumulators}
    assert shown["all"] == "20"
    assert shown["values"] is None, "its size is without a bound"
    assert sorted(job.accumulators().result(patience(10))["values"]) == list(range(20))


def test_checkpoints_and_savepoints_are_told_of(tmp_path: Path) -> None:
    clock = SteppedClock()
    env = env_with(1, tmp_path / "chk", clock=clock)
    env.from_source(LiveSource("live"), punctuated(), "live").map(lambda r: r.ts).key_by(lambda v: 0).sum(0)
    job = submit(env)
    clock.settle()
    feed("live", (At(1), 0))
    clock.tick(10_000)
    done = job.checkpoint().result(patience(10))
    path = job.savepoint(SavepointRequest(str(tmp_path / "sp"))).result(patience(10))
    checkpoints = job.view.checkpoints
    assert checkpoints.latest_savepoint is not None
    assert (checkpoints.latest_savepoint.path, checkpoints.latest_savepoint.savepoint) == (path, True)
    assert checkpoints.latest_completed is not None
    assert checkpoints.latest_completed.id > done, "a checkpoint comes before the savepoint"
    assert checkpoints.retained == (checkpoints.latest_completed.path,)
    assert checkpoints.in_progress is None
    assert {report.status for report in checkpoints.history} == {CheckpointStatus.COMPLETED}
    assert checkpoints.duration_ms.count == checkpoints.completed == len(checkpoints.history)
    told = [event for event in job.view.journal.events if isinstance(event, CheckpointCompleted)]
    assert [event.id for event in told] == [report.id for report in checkpoints.history]
    asked = [event.command for event in job.view.journal.events if isinstance(event, CommandReceived)]
    assert asked == ["checkpoint", "savepoint"]
    job.cancel()


def test_the_lag_of_sources_and_the_plan_of_the_job() -> None:
    class Tells(LiveSource):
        def create_enumerator(self, context: Any) -> Any:
            enumerator = super().create_enumerator(context)
            enumerator.pending_records = lambda: {"tells-0": 7}  # type: ignore[method-assign]
            return enumerator

    clock = SteppedClock()
    env = environment(2, clock=clock)
    stream = env.from_source(Tells("tells"), punctuated(), "tells").uid("the source")
    stream.key_by(lambda r: 0).map(lambda r: r.ts).uid("the map")
    job = submit(env)
    feed("tells", (At(1), 0))
    clock.tick()
    source, keyed = job.view.vertices
    assert dict(job.view.lag) == {source.info.operators[0].id: (("tells-0", 7),)}
    assert (source.info.level, keyed.info.level) == (0, 1)
    (edge,) = keyed.info.inputs
    assert (edge.source_vertex, edge.ship_strategy, edge.exchange) == (source.id, "HASH", "pipelined_bounded")
    assert job.view.vertex(source.id) is source
    job.cancel()


# ---- what views cost


def test_what_an_epoch_did_not_change_is_the_same_object_in_the_next_view() -> None:
    clock = SteppedClock()
    env = environment(1, clock=clock)
    for topic in ("one", "two"):
        env.from_source(LiveSource(topic), punctuated(), topic).map(lambda r: r.ts).name(topic)
    job = submit(env)
    feed("one", (At(1), 0))
    feed("two", (At(1), 0))
    clock.tick()
    before = job.view
    feed("one", (At(2), 0))
    clock.tick()
    after = job.view
    assert after.epoch > before.epoch
    assert after.vertices[0] is not before.vertices[0]
    assert after.vertices[1] is before.vertices[1]
    assert after.info is before.info
    assert after.checkpoints is before.checkpoints
    assert after.journal is before.journal
    job.cancel()


def test_a_job_that_is_restarted_again_and_again_takes_no_more_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(observer, "REPORTS_KEPT", 5)
    monkeypatch.setattr(events, "EVENTS_KEPT", 60)
    job = numbers(60, Fails(50), **{"restart-strategy.fixed-delay.attempts": "30", **RESTARTS})
    assert job.wait(patience(60))
    view = job.view
    assert (view.restarts, view.attempt) == (30, 30)
    assert len(view.exceptions) == observer.EXCEPTIONS_KEPT
    assert view.exceptions_dropped == 31 - observer.EXCEPTIONS_KEPT
    assert view.exceptions[-1].attempt == 30, "the newest are kept"
    assert {len(s.earlier) for v in view.vertices for s in v.subtasks} == {16}
    assert len(view.journal.events) == 60
    assert view.journal.dropped > 0
    assert len(view.reports) == 5
    assert len(view.timestamps) <= len(S)


def test_the_journal_is_bounded_and_keeps_the_newest() -> None:
    journal = Journal()
    for number in range(EVENTS_KEPT + 7):
        journal = journal.with_event(StatusChanged(number, S.RUNNING))
    assert len(journal.events) == EVENTS_KEPT
    assert (journal.dropped, journal.events[0].time_ms) == (7, 7)
    assert journal.events[-1].time_ms == EVENTS_KEPT + 6


def test_a_summary_has_the_least_the_greatest_and_the_average() -> None:
    summary = Summary()
    assert summary.average == 0
    for value in (4.0, 1.0, 7.0):
        summary = summary.with_value(value)
    assert summary == Summary(3, 12.0, 1.0, 7.0)
    assert summary.average == 4


@pytest.mark.row("S-ARCH-05", "S-SPARK-02")
def test_what_an_epoch_costs_beside_the_records_is_told() -> None:
    job = numbers(100, Counts())
    assert job.wait(patience(30))
    view = job.view
    for report in view.reports:
        assert report.overhead_ms is not None
        assert 0 <= report.overhead_ms <= report.elapsed_ms
    values = {measure.name: measure.value for measure in job_values(view, view.published_ms)}
    assert values["epochOverheadMs"] == view.reports[-1].overhead_ms
