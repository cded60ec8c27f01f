"""Sinks of one's own: who is called when, what is retried, what a failure leaves."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import CommitError, EngineError, ProgramError
from firesteel.common.job_status import JobStatus
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors import (
    CommitRequest,
    Committable,
    Committer,
    CommitterContext,
    ElementContext,
    Sink,
    SinkWriter,
    SupportsWriterState,
    WriterContext,
)
from firesteel.datastream.functions import SinkFunction, TwoPhaseCommitSinkFunction
from firesteel.jobmanager.commit_tasks import CommitTasks
from firesteel.runtime.batch import MIN_WATERMARK, NO_TIMESTAMP, Batch
from firesteel.runtime.operators.base import SubtaskContext
from firesteel.runtime.operators.sink import SinkOperator
from firesteel.runtime.program import OperatorProgram
from firesteel.testing.faulty_engine import FaultyEngine
from firesteel.testing.local_platform import LocalEngine
from tests.jobmanager.checkpoint_support import INTERVAL, RECOVERY, RETENTION, env_with, submit
from tests.jobmanager.test_recovery import FIXED, FailsAt, every_epoch
from tests.runtime.support import (
    At,
    LiveSource,
    SplitsSource,
    SteppedClock,
    environment,
    feed,
    local_platform,
    note,
    notes,
    punctuated,
)
from tests.waiting import patience

UNMARKED = WatermarkStrategy.no_watermarks()
RETAIN = {RETENTION: "RETAIN_ON_CANCELLATION"}
NONE = {"restart-strategy.type": "none"}

Answer = Callable[[CommitRequest], None]
answers: dict[str, Answer] = {}  # by topic: what a committer says of a request; none: it is committed


@dataclass(frozen=True)
class Recording(Sink):
    """Notes who is called, in the driver and in the tasks, which are one process here. ``target`` shows what
    is visible: a committable is kept there once, as a target with markers does it."""

    topic: str

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return Writer(self.topic)

    def create_committer(self, context: CommitterContext) -> Committer:
        return Target(self.topic)


class Writer(SinkWriter):
    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.values: list[Any] = []

    def write(self, element: Any, context: ElementContext) -> None:
        note(self.topic, f"write {element}")
        self.values.append(element)

    def flush(self, end_of_input: bool) -> None:
        note(self.topic, "flush at the end" if end_of_input else "flush")

    def prepare_commit(self) -> list[Any]:
        note(self.topic, "prepare_commit")
        return [tuple(self.values)]

    def close(self) -> None:
        note(self.topic, "close")

    def abort(self) -> None:
        note(self.topic, f"abort {self.values}")


class Target(Committer):
    def __init__(self, topic: str) -> None:
        self.topic = topic

    def pre_commit(self, committables: Sequence[Committable]) -> Sequence[Committable]:
        note(self.topic, f"pre_commit {[c.payload for c in committables]}")
        return [Committable(0, committables[-1].epoch, sum((c.payload for c in committables), ()))]

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            payload = request.get_committable()
            note(self.topic, f"commit {payload} {request.get_number_of_retries()}")
            answers.get(self.topic, CommitRequest.signal_already_committed)(request)
            if request.outcome.name == "COMMITTED" and payload not in visible(self.topic):
                note(f"{self.topic} visible", payload)

    def post_commit(self, committables: Sequence[Committable]) -> None:
        note(self.topic, f"post_commit {[c.payload for c in committables]}")

    def recover(self, kept: Sequence[Committable], dropped: Sequence[Committable]) -> None:
        note(self.topic, f"recover {[c.payload for c in kept]} {[c.payload for c in dropped]}")


def visible(topic: str) -> list[Any]:
    return notes[f"{topic} visible"]


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> Iterable[str]:
    name = request.node.name
    yield name
    answers.pop(name, None)


def live(topic: str, directory: Path | None, **options: str) -> tuple[SteppedClock, Any]:
    """A job with one epoch for each turn of a second; a checkpoint after ten seconds."""
    clock = SteppedClock()
    env = env_with(1, directory, clock=clock, **options)
    stream = env.from_source(LiveSource(topic), punctuated(), "live").uid("live")
    stream.map(lambda r: r.value).uid("map").sink_to(Recording(topic)).uid("sink")
    return clock, submit(env)


@pytest.mark.row("S-SINK-02", "S-SINK-04", "S-SINK-16", "S-SINK-17", "S-API-06")
def test_who_is_called_when(tmp_path: Path, topic: str) -> None:
    """Two epochs in one checkpoint."""
    clock, job = live(topic, tmp_path)
    assert notes[topic] == ["recover [] []"]
    of_an_epoch = ["flush", "prepare_commit", "close"]
    feed(topic, (At(1, "a"), 0), (At(2, "b"), 0))
    clock.tick(1_000)
    feed(topic, (At(3, "c"), 0))
    clock.tick(1_000)
    assert notes[topic][1:] == ["write a", "write b", *of_an_epoch, "write c", *of_an_epoch]
    assert visible(topic) == []
    clock.tick(8_000)
    assert notes[topic][10:] == [
        "pre_commit [('a', 'b'), ('c',)]",
        "commit ('a', 'b', 'c') 0",
        "post_commit [('a', 'b', 'c')]",
    ]
    assert visible(topic) == [("a", "b", "c")]
    clock.tick(10_000)
    assert len(notes[topic]) == 13, "nothing was written, so nothing is committed"
    job.cancel()
    assert job.wait(patience(10))


def test_the_end_of_the_input(topic: str) -> None:
    """Without checkpoints each epoch is committed as it ends."""
    env = environment(1)
    env.from_collection([1, 2]).sink_to(Recording(topic))
    job = submit(env)
    assert job.wait(patience(10))
    assert job.status is JobStatus.FINISHED, job.error
    assert "flush at the end" in notes[topic]
    assert [v for payload in visible(topic) for v in payload] == [1, 2]


def test_a_request_is_tried_again_until_it_succeeds(tmp_path: Path, topic: str) -> None:
    """The job waits: no epoch is run while a checkpoint is not committed."""
    clock, job = live(topic, tmp_path)
    answers[topic] = lambda r: r.retry_later() if r.get_number_of_retries() < 3 else None
    feed(topic, (At(1, "a"), 0))
    clock.tick(1_000)
    clock.tick(9_000)
    epochs = job.view.epoch
    feed(topic, (At(2, "b"), 0))
    clock.tick(100)
    clock.tick(200)
    assert visible(topic) == []
    assert job.view.epoch == epochs
    clock.tick(400)
    assert visible(topic) == [("a",)]
    assert [n for n in notes[topic] if n.startswith("commit")] == [f"commit ('a',) {n}" for n in range(4)]
    clock.tick(1_000)
    assert job.view.epoch > epochs
    assert job.view.restarts == 0
    job.cancel()
    assert job.wait(patience(10))


def test_a_request_may_be_changed_before_it_is_tried_again(tmp_path: Path, topic: str) -> None:
    clock, job = live(topic, tmp_path)

    def half(request: CommitRequest) -> None:
        payload = request.get_committable()
        if len(payload) > 1:
            request.update_and_retry_later(payload[1:])

    answers[topic] = half
    feed(topic, (At(1, "a"), 0), (At(2, "b"), 0))
    clock.tick(1_000)
    clock.tick(9_000)
    clock.tick(100)
    assert visible(topic) == [("b",)]
    assert "post_commit [('b',)]" in notes[topic]
    job.cancel()
    assert job.wait(patience(10))


@pytest.mark.row("S-SINK-03")
def test_patience_ends(tmp_path: Path, topic: str) -> None:
    """The job fails with the sink's name; its checkpoint still has the output; the next job commits it."""
    options = {**RETAIN, **NONE, "sink.committer.retries": "2"}
    clock, job = live(topic, tmp_path, **options)
    answers[topic] = CommitRequest.retry_later
    feed(topic, (At(1, "a"), 0))
    clock.tick(1_000)
    clock.tick(9_000)
    clock.tick(100)
    clock.advance(200)
    assert job.wait(patience(10))
    assert job.status is JobStatus.FAILED
    assert isinstance(job.error, CommitError)
    assert "tried 3 times" in str(job.error)
    assert "('a',)" in str(job.error)
    assert visible(topic) == []
    del answers[topic]
    clock, job = live(topic, tmp_path, **options, **{RECOVERY: "latest"})
    assert visible(topic) == [("a",)]
    assert "recover [('a',)] []" in notes[topic]
    job.cancel()
    assert job.wait(patience(10))


def fails(request: CommitRequest) -> None:
    request.signal_failed_with_unknown_reason(OSError("the target is full"))


def raises(request: CommitRequest) -> None:
    raise OSError("the target is full")


@pytest.mark.parametrize("answer", [fails, raises])
@pytest.mark.row("S-SINK-05")
def test_a_commit_that_fails_is_never_passed_over(tmp_path: Path, topic: str, answer: Answer) -> None:
    """Without a restart the job has FAILED; nothing is lost, and nothing is doubled by the next job."""
    answers[topic] = answer
    clock, job = live(topic, tmp_path, **RETAIN, **NONE)
    feed(topic, (At(1, "a"), 0))
    clock.tick(1_000)
    clock.advance(9_000)
    assert job.wait(patience(10))
    assert job.status is JobStatus.FAILED
    assert isinstance(job.error, CommitError)
    assert job.error.operator
    assert isinstance(job.error.__cause__, OSError)
    assert "the target is full" in str(job.error)
    del answers[topic]
    for _ in range(2):  # the second one gets again what the first has committed
        clock, job = live(topic, tmp_path, **RETAIN, **{RECOVERY: "latest"})
        assert visible(topic) == [("a",)]
        job.cancel()
        assert job.wait(patience(10))
    assert notes[topic].count("commit ('a',) 0") == 3


@pytest.mark.row("S-SINK-05", "T24")
def test_a_restart_tries_the_commit_again(tmp_path: Path, topic: str) -> None:
    """The commit of the checkpoint fails twice; the job goes back to it and commits what it holds."""
    source = SplitsSource([((n, n), n) for n in range(40)])
    failures = [OSError("not now"), OSError("not now either")]

    def answer(request: CommitRequest) -> None:
        if failures:
            raise failures.pop()

    answers[topic] = answer
    env = every_epoch(tmp_path, 1, **FIXED)
    env.from_source(source, UNMARKED, "numbers").map(lambda r: r[1]).sink_to(Recording(topic))
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is JobStatus.FINISHED, job.error
    assert job.view.restarts == 2
    assert sorted(v for payload in visible(topic) for v in payload) == list(range(40))


def test_a_committable_can_be_given_up(tmp_path: Path, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    """It is for the sink to say so, and it is logged as an error."""
    clock, job = live(topic, tmp_path)
    answers[topic] = lambda r: r.signal_failed_with_known_reason(ValueError("too old"))
    with caplog.at_level(logging.ERROR):
        feed(topic, (At(1, "a"), 0))
        clock.tick(1_000)
        clock.tick(9_000)
    assert "given up" in caplog.text
    assert "too old" in caplog.text
    assert not any(n.startswith("post_commit") for n in notes[topic])
    assert job.view.restarts == 0
    job.cancel()
    assert job.wait(patience(10))


def test_a_job_that_is_cancelled_does_not_wait_for_its_sink(
    tmp_path: Path, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    clock, job = live(topic, tmp_path, **RETAIN)
    answers[topic] = CommitRequest.retry_later
    feed(topic, (At(1, "a"), 0))
    clock.tick(1_000)
    clock.tick(9_000)
    job.cancel()
    assert job.wait(patience(10))
    assert job.status is JobStatus.CANCELED
    assert "output that is not committed" in caplog.text
    del answers[topic]
    clock, job = live(topic, tmp_path, **RETAIN, **{RECOVERY: "latest"})
    assert visible(topic) == [("a",)]
    job.cancel()
    assert job.wait(patience(10))


@pytest.mark.row("S-SINK-06", "T24")
def test_output_after_the_checkpoint_is_dropped_by_name(tmp_path: Path, topic: str) -> None:
    """A restart tells the sink what was staged since; its records come again."""
    clock = SteppedClock()
    env = env_with(1, tmp_path, clock=clock, **FIXED)
    stream = env.from_source(LiveSource(topic), punctuated(), "live").uid("live")
    stream.map(lambda r: (r.value, r.value)).map(FailsAt(f"{topic} fails", "x")).sink_to(Recording(topic))
    job = submit(env)
    feed(topic, (At(1, "a"), 0))
    clock.tick(1_000)
    clock.tick(9_000)
    feed(topic, (At(2, "b"), 0))
    clock.tick(1_000)
    feed(topic, (At(3, "x"), 0))
    clock.tick(1_000)
    clock.tick(1_000)
    assert job.view.restarts == 1
    assert "recover [('a',)] [('b',)]" in notes[topic]
    clock.tick(10_000)
    assert visible(topic) == [("a",), ("b", "x")]
    job.cancel()
    assert job.wait(patience(10))


def test_retries_are_checked() -> None:
    env = environment(1, **{"sink.committer.retries": "-1"})
    env.from_collection([1]).print()
    with pytest.raises(Exception, match="at least 0"):
        env.execute()


# ---- the writer


@dataclass(frozen=True)
class Watching(Sink):
    """Notes what a writer may know of each record."""

    topic: str

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return WatchingWriter(self.topic)


class WatchingWriter(SinkWriter):
    def __init__(self, topic: str) -> None:
        self.topic = topic

    def write(self, element: Any, context: ElementContext) -> None:
        note(self.topic, (element, context.timestamp(), context.current_watermark()))


def test_a_writer_sees_timestamps_and_watermarks(topic: str) -> None:
    clock = SteppedClock()
    env = environment(1, clock=clock)
    stream = env.from_source(LiveSource(topic), punctuated(), "live")
    stream.map(lambda r: r.value).sink_to(Watching(topic))
    job = submit(env)
    feed(topic, (At(5, "a"), 0), (At(6, "b", 4), 0), (At(7, "c"), 0))
    clock.tick(1_000)
    feed(topic, (At(8, "d"), 0))
    clock.tick(1_000)
    assert notes[topic] == [("a", 5, MIN_WATERMARK), ("b", 6, MIN_WATERMARK), ("c", 7, 4), ("d", 8, 4)]
    job.cancel()
    assert job.wait(patience(10))


def test_a_watermark_between_batches_and_epochs(topic: str) -> None:
    """It comes without records too, and stays when the writer of the next epoch begins."""
    sink = Watching(topic)
    operator = SinkOperator(OperatorProgram("uid", "sink", sink), sink)
    operator.open(SubtaskContext("job", "job", "vertex", 0, 1, 128, 0, False, "", {}), None)
    operator.begin_epoch()
    operator.process(Batch(["a"], [1]))
    operator.process(Batch([], None, [(0, 7)]))
    operator.process(Batch(["b"], [NO_TIMESTAMP], [(1, 9)]))
    operator.end_epoch()
    carry = operator.snapshot()
    operator.restore(carry)
    operator.begin_epoch()
    operator.process(Batch(["c"]))
    assert notes[topic] == [("a", 1, MIN_WATERMARK), ("b", None, 7), ("c", None, 9)]


@dataclass(frozen=True)
class Pairs(Sink, SupportsWriterState):
    """Shows records two by two; what is left over waits for the next epoch."""

    topic: str

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return self.restore_writer(context, ())

    def restore_writer(self, context: WriterContext, recovered_state: Iterable[Any]) -> SinkWriter:
        return PairWriter(list(recovered_state))

    def create_committer(self, context: CommitterContext) -> Committer:
        return Shown(self.topic)


class PairWriter(SinkWriter):
    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self.pairs: list[Any] = []

    def write(self, element: Any, context: ElementContext) -> None:
        self.values.append(element)
        while len(self.values) > 1:
            self._pair()

    def _pair(self) -> None:
        self.pairs.append(tuple(self.values[:2]))
        del self.values[:2]

    def flush(self, end_of_input: bool) -> None:
        if end_of_input and self.values:
            self._pair()

    def prepare_commit(self) -> list[Any]:
        return self.pairs

    def snapshot_state(self, checkpoint_id: int) -> list[Any]:
        return self.values


class Shown(Committer):
    def __init__(self, topic: str) -> None:
        self.topic = topic

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            if (request.origin.epoch, request.get_committable()) not in notes[self.topic]:
                note(self.topic, (request.origin.epoch, request.get_committable()))


@dataclass(frozen=True)
class ByTasks(Recording):
    """Its tasks show what is committed."""

    def create_committer(self, context: CommitterContext) -> Committer:
        return TaskCommitter(self.topic, context)


class TaskCommitter(Committer):
    def __init__(self, topic: str, context: CommitterContext) -> None:
        self.topic = topic
        self.context = context

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        topic = self.topic

        def show(payload: tuple[Any, ...]) -> int:
            if payload not in visible(topic):
                note(f"{topic} visible", payload)
            return sum(payload)

        payloads = [request.get_committable() for request in requests]
        note(topic, (payloads, self.context.run_tasks(show, payloads)))


def test_tasks_do_the_work_of_a_committer(tmp_path: Path, topic: str) -> None:
    """Whatever happens to them: they are lost, and run twice."""
    env = every_epoch(tmp_path, 2, **FIXED, **{"firesteel.epoch.max-records": "3"})
    numbers = env.from_source(SplitsSource([(n, n) for n in range(40)]), UNMARKED, "numbers").rebalance()
    numbers.sink_to(ByTasks(topic))
    engines: list[FaultyEngine] = []

    def engine() -> FaultyEngine:
        engines.append(FaultyEngine(5))
        return engines[-1]

    with local_platform(engine):
        job = submit(env)
        assert job.wait(patience(60))
    assert job.status is JobStatus.FINISHED, job.error
    assert sorted(n for payload in visible(topic) for n in payload) == list(range(40))
    answered = [entry for entry in notes[topic] if isinstance(entry, tuple)]
    assert all(answers == [sum(payload) for payload in payloads] for payloads, answers in answered)
    asked_for = sum(len(payloads) for payloads, _ in answered)
    assert engines[0].parts_done > asked_for > len(visible(topic)) // 2, "nothing happened to them"


def test_errors_of_a_committers_tasks() -> None:
    tasks = CommitTasks(LocalEngine().do, "a sink")
    context = CommitterContext("job", "sink", lambda: 0, tasks)
    assert context.run_tasks(lambda n: n + 1, [1, 2]) == [2, 3]

    def refuses(number: int) -> None:
        raise ProgramError(f"not {number}")

    with pytest.raises(ProgramError, match="not 7"):
        context.run_tasks(refuses, [7])
    with pytest.raises(EngineError, match="a commit of a sink failed: ZeroDivisionError"):
        context.run_tasks(lambda n: 1 // n, [0])


@pytest.mark.parametrize("place", [None, 7, 23])
@pytest.mark.row("S-SINK-17")
def test_a_writer_remembers(tmp_path: Path, topic: str, place: int | None) -> None:
    """Five records in an epoch: each epoch leaves one over or completes a pair; also across a failure."""
    env = every_epoch(tmp_path, 1, **FIXED, **{"firesteel.epoch.max-records": "5"})
    source = SplitsSource([((n, n), n) for n in range(25)])
    stream = env.from_source(source, UNMARKED, "numbers").map(FailsAt(f"{topic} fails", place))
    stream.sink_to(Pairs(topic))
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is JobStatus.FINISHED, job.error
    assert [pair for _, pair in notes[topic]] == [(n, n + 1) for n in range(0, 24, 2)] + [(24,)]


@pytest.mark.row("S-SINK-17")
def test_what_writers_remember_is_dealt_out_anew(tmp_path: Path, topic: str) -> None:
    """Parallelism 2 leaves one record over in each subtask; with parallelism 1 they become a pair."""
    paths: list[str] = []
    for parallelism in (2, 1):
        clock = SteppedClock()
        options = {RECOVERY: paths[0]} if paths else {}
        env = env_with(parallelism, None, clock=clock, **options, **{INTERVAL: "10 s"})
        stream = env.from_source(LiveSource(topic, 2), punctuated(), "live").uid("live")
        stream.map(lambda r: r.value).uid("map").sink_to(Pairs(topic)).uid("pairs")
        job = submit(env)
        feed(topic, (At(1, f"a{parallelism}"), 0))
        feed(topic, (At(1, f"b{parallelism}"), 0), split=1)
        clock.tick(1_000)
        paths.append(save(job, clock, tmp_path))
        assert job.wait(patience(10))
    assert sorted(len(pair) for _, pair in notes[topic]) == [2, 2]
    assert sorted(v for _, pair in notes[topic] for v in pair) == ["a1", "a2", "b1", "b2"]


def save(job: Any, clock: SteppedClock, directory: Path) -> str:
    """Stop with a savepoint."""
    from firesteel.jobmanager.requests import SavepointRequest

    request = SavepointRequest(str(directory), stop=True)
    future = job.savepoint(request)
    return str(future.result(patience(10)))


class NoWrite(SinkWriter):
    """Neither write nor write_batch."""


@dataclass(frozen=True)
class Empty(Sink):
    def create_writer(self, context: WriterContext) -> SinkWriter:
        return NoWrite()


def test_a_writer_without_write_is_refused() -> None:
    env = environment(1)
    env.from_collection([1]).sink_to(Empty())
    job = submit(env)
    assert job.wait(patience(10))
    assert "needs a write method" in str(job.error)


# ---- two-phase functions


class Noting(TwoPhaseCommitSinkFunction):
    """Notes its calls. A transaction is a list: its name, then its values."""

    def __init__(self, topic: str) -> None:
        super().__init__()
        self.topic = topic

    def begin_transaction(self) -> list[Any]:
        note(self.topic, "begin")
        return [self.get_transaction_id()]

    def invoke(self, transaction: list[Any], value: Any, context: ElementContext) -> None:  # type: ignore[override]
        transaction.append((value, context.timestamp()))
        note(self.topic, f"invoke {value}")

    def pre_commit(self, transaction: list[Any]) -> None:
        note(self.topic, "pre_commit")

    def commit(self, transaction: list[Any]) -> None:
        note(f"{self.topic} names", transaction[0])
        note(self.topic, f"commit {transaction[1:]}")

    def abort(self, transaction: list[Any]) -> None:
        note(self.topic, f"abort {transaction[1:]}")

    def recover_and_commit(self, transaction: list[Any]) -> None:
        note(self.topic, f"recover_and_commit {transaction[1:]}")

    def recover_and_abort(self, transaction: list[Any]) -> None:
        note(self.topic, f"recover_and_abort {transaction[1:]}")

    def finish_recovering_context(self, handled_transactions: Any) -> None:
        assert all(t[0].startswith(self.get_transaction_prefix()) for t in handled_transactions)
        note(self.topic, f"recovered {[t[1:] for t in handled_transactions]}")


@pytest.mark.row("S-SINK-02", "S-SINK-03")
def test_two_phases(tmp_path: Path, topic: str) -> None:
    """Begin, invoke*, pre_commit, begin, ..., commit of both; then a failure:
    the transaction under way is aborted, what was pre-committed since the checkpoint too, and what the
    checkpoint holds is committed again."""
    clock = SteppedClock()
    env = env_with(1, tmp_path, clock=clock, **FIXED)
    stream = env.from_source(LiveSource(topic), punctuated(), "live").uid("live")
    values = stream.map(lambda r: (r.value, r.value))
    sink = Noting(topic)
    values.map(lambda v: v[0]).filter(FailsAfter(f"{topic} fails")).add_sink(sink).uid("sink")
    job = submit(env)
    feed(topic, (At(1, "a"), 0), (At(2, "b"), 0))
    clock.tick(1_000)
    feed(topic, (At(3, "c"), 0))
    clock.tick(1_000)
    clock.tick(8_000)
    calls = notes[topic]
    assert calls == [
        "recovered []",
        *("begin", "invoke a", "invoke b", "pre_commit"),
        *("begin", "invoke c", "pre_commit"),
        "commit [('a', 1), ('b', 2)]",
        "commit [('c', 3)]",
    ]
    del calls[:]
    feed(topic, (At(4, "d"), 0))
    clock.tick(1_000)
    feed(topic, (At(5, "x"), 0))
    clock.tick(1_000)
    clock.tick(1_000)
    covered = ["[('a', 1), ('b', 2)]", "[('c', 3)]"]
    assert calls[:3] == ["begin", "invoke d", "pre_commit"]
    again = calls[calls.index("recover_and_abort [('d', 4)]") :]
    assert again[:5] == [
        "recover_and_abort [('d', 4)]",
        "recovered [[('a', 1), ('b', 2)], [('c', 3)], [('d', 4)]]",
        *(f"recover_and_commit {transaction}" for transaction in covered),
        "begin",
    ]
    clock.tick(10_000)
    assert calls[-1] == "commit [('d', 4), ('x', 5)]"
    names = notes[f"{topic} names"]
    assert len(set(names)) == len(names)
    job.cancel()
    assert job.wait(patience(10))
    assert not hasattr(sink, "_names"), "the program's own object is left alone"


class FailsAfter:
    """Fails once at the record "x"."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    def __call__(self, value: Any) -> bool:
        if value == "x" and not notes[self.topic]:
            note(self.topic, value)
            raise ValueError("x cannot be")
        return True


class Refusing(Noting):
    """Refuses the record "bad", once."""

    def invoke(self, transaction: list[Any], value: Any, context: ElementContext) -> None:  # type: ignore[override]
        if value == "bad" and not notes[f"{self.topic} refused"]:
            note(f"{self.topic} refused", value)
            raise ValueError("bad cannot be")
        super().invoke(transaction, value, context)


@pytest.mark.row("S-SINK-06")
def test_an_attempt_that_fails_rolls_its_transaction_back(tmp_path: Path, topic: str) -> None:
    """What is committed in the end has the record of the attempt that failed once."""
    env = every_epoch(tmp_path, 1, **FIXED)
    source = SplitsSource([(value, None) for value in ("good", "bad", "last")])
    env.from_source(source, UNMARKED, "values").add_sink(Refusing(topic))
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is JobStatus.FINISHED, job.error
    calls = notes[topic]
    assert calls[:4] == ["recovered []", "begin", "invoke good", "abort [('good', None)]"]
    assert job.view.restarts == 1
    committed = [call for call in calls if call.startswith("commit")]
    assert committed == ["commit [('good', None), ('bad', None), ('last', None)]"]


class Aged(Noting):
    """Its target has forgotten all transactions when the job comes back."""

    def recover_and_commit(self, transaction: list[Any]) -> None:
        super().recover_and_commit(transaction)
        raise LookupError("no such transaction")


def after_a_failure(topic: str, directory: Path, sink: Any, pause_ms: int) -> Any:
    """A transaction is committed 9 s after its begin, the job fails, and comes back ``pause_ms`` later."""
    clock = SteppedClock()
    options = {**FIXED, "restart-strategy.fixed-delay.attempts": "1"}
    options["restart-strategy.fixed-delay.delay"] = f"{pause_ms} ms"
    env = env_with(1, directory, clock=clock, **options)
    values = env.from_source(LiveSource(topic), punctuated(), "live").uid("live").map(lambda r: r.value)
    values.filter(FailsAfter(f"{topic} fails")).add_sink(sink).uid("sink")
    job = submit(env)
    feed(topic, (At(1, "a"), 0))
    clock.tick(1_000)
    clock.tick(9_000)
    feed(topic, (At(2, "x"), 0))
    clock.tick(1_000)
    clock.settle()
    clock.advance(pause_ms)
    return job, clock


@pytest.mark.parametrize(
    ("timeout_ms", "ignores", "goes_on"),
    [(60_000, True, True), (60_000, False, False), (90_000, True, False)],
)
@pytest.mark.row("S-SINK-10")
def test_what_is_lost_after_its_timeout_may_be_ignored(
    tmp_path: Path,
    topic: str,
    timeout_ms: int,
    ignores: bool,
    goes_on: bool,
    caplog: pytest.LogCaptureFixture,
) -> None:
    sink = Aged(topic).set_transaction_timeout(timeout_ms)
    if ignores:
        sink.ignore_failures_after_transaction_timeout()
    with caplog.at_level(logging.WARNING):
        job, clock = after_a_failure(topic, tmp_path, sink, 60_000)
        if goes_on:
            clock.settle()
            assert job.status is JobStatus.RUNNING
            job.cancel()
        assert job.wait(patience(10))
    assert job.status is (JobStatus.CANCELED if goes_on else JobStatus.FAILED)
    assert any("records are lost" in record.getMessage() for record in caplog.records) is goes_on


@pytest.mark.parametrize(("ratio", "warns"), [(0.0, True), (0.5, True), (0.8, False), (None, False)])
@pytest.mark.row("S-SINK-10")
def test_a_commit_close_to_the_timeout_is_warned_of(
    tmp_path: Path, topic: str, ratio: float | None, warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    sink = Noting(topic).set_transaction_timeout(14_000)
    if ratio is not None:
        sink.enable_transaction_timeout_warnings(ratio)
    clock = SteppedClock()
    env = env_with(1, tmp_path, clock=clock)
    env.from_source(LiveSource(topic), punctuated(), "live").add_sink(sink)
    feed(topic, (At(1, "a"), 0))
    with caplog.at_level(logging.WARNING):
        job = submit(env)
        clock.tick(1_000)
        clock.tick(9_000)
    assert [call for call in notes[topic] if call.startswith("commit")]
    assert any("has been open for 10000 ms" in record.getMessage() for record in caplog.records) is warns
    job.cancel()
    assert job.wait(patience(10))


def test_a_timeout_that_cannot_be_is_refused() -> None:
    for wrong in (
        lambda s: s.set_transaction_timeout(0),
        lambda s: s.enable_transaction_timeout_warnings(1.1),
    ):
        with pytest.raises(ProgramError):
            wrong(Noting("wrong"))


class Away(Noting):
    """Its target does not answer to the driver, some times at first; tasks are not affected."""

    def __init__(self, topic: str, times: int) -> None:
        super().__init__(topic)
        self.times = times

    def open(self) -> None:
        if isinstance(self._names, CommitterContext) and len(notes[f"{self.topic} away"]) < self.times:
            note(f"{self.topic} away")
            raise ConnectionError("nobody answers")


@pytest.mark.parametrize("times", [1, 3, 4])
def test_a_target_that_is_away_at_the_start_is_tried_again(tmp_path: Path, topic: str, times: int) -> None:
    """As often as the restart strategy says; another sink, open before, is opened once."""
    env = every_epoch(tmp_path, 1, **FIXED)
    stream = env.from_source(SplitsSource([("a", None), ("b", None)]), UNMARKED, "values")
    stream.add_sink(Noting(f"{topic} first"))
    stream.add_sink(Away(topic, times))
    job = submit(env)
    assert job.wait(patience(30))
    assert len(notes[f"{topic} away"]) == times
    committed = [call for call in notes[topic] if call.startswith("commit")]
    if times <= 3:
        assert job.status is JobStatus.FINISHED, job.error
        assert committed == ["commit [('a', None), ('b', None)]"]
    else:
        assert job.status is JobStatus.FAILED
        assert "nobody answers" in str(job.error)
        assert committed == []


# ---- what is seen after a failure


class Plain(SinkFunction):
    """Shows each record as it comes."""

    def __init__(self, topic: str) -> None:
        super().__init__()
        self.topic = topic

    def invoke(self, value: Any, context: ElementContext) -> None:
        note(self.topic, value)


class Upsert(Plain):
    """Writes by key, as into a table with a primary key."""

    def invoke(self, value: Any, context: ElementContext) -> None:
        if value not in notes[self.topic]:
            note(self.topic, value)


@pytest.mark.row("S-SINK-01", "S-SINK-13", "S-SINK-18", "S-SINK-19", "S-FAIL-07")
def test_what_each_kind_of_sink_shows_after_a_failure(tmp_path: Path, topic: str) -> None:
    """The record "b" is behind the checkpoint, so it is read twice."""
    clock = SteppedClock()
    env = env_with(1, tmp_path, clock=clock, **FIXED)
    stream = env.from_source(LiveSource(topic), punctuated(), "live").uid("live")
    values = stream.map(lambda r: r.value).filter(FailsAfter(f"{topic} fails"))
    values.add_sink(Plain(f"{topic} plain"))
    values.add_sink(Upsert(f"{topic} upsert"))
    values.sink_to(Recording(topic))
    job = submit(env)
    feed(topic, (At(1, "a"), 0))
    clock.tick(1_000)
    clock.tick(9_000)
    feed(topic, (At(2, "b"), 0))
    clock.tick(1_000)
    assert visible(topic) == [("a",)]
    feed(topic, (At(3, "x"), 0))
    clock.tick(1_000)
    clock.tick(1_000)
    clock.tick(10_000)
    assert job.view.restarts == 1
    assert notes[f"{topic} plain"] == ["a", "b", "b", "x"]
    assert notes[f"{topic} upsert"] == ["a", "b", "x"]
    assert [v for payload in visible(topic) for v in payload] == ["a", "b", "x"]
    job.cancel()
    assert job.wait(patience(10))
