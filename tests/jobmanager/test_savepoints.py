"""Savepoints: taken, moved, gone on with by another graph."""

from __future__ import annotations

import json
import logging
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from firesteel.cli import main
from firesteel.common.errors import CommitError, JobExecutionError, StateError
from firesteel.common.job_status import JobStatus
from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
)
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.jobmanager.checkpoints import savepoints
from firesteel.jobmanager.checkpoints.removal import dispose_savepoint
from firesteel.jobmanager.checkpoints.storage import CheckpointDirectory, load_manifest, read_manifest
from firesteel.jobmanager.requests import SavepointRequest
from firesteel.jobmanager.sinks import JobSinks
from firesteel.jobmanager.snapshots import Snapshots
from firesteel.monitoring.values import job_values
from firesteel.runtime.batch import MIN_WATERMARK
from firesteel.state.line import EMPTY
from firesteel.state.manifest import encode_manifest, with_paths
from firesteel.state_processor import SavepointReader
from firesteel.testing.collecting_sink import CollectingSink
from firesteel.testing.local_platform import LocalPlatform
from tests.jobmanager.checkpoint_support import (
    ANY,
    DIRECTORY,
    INTERVAL,
    RECOVERY,
    RETENTION,
    Count,
    env_with,
    raising,
    submit,
)
from tests.jobmanager.test_recovery import FIXED
from tests.runtime.support import At, LiveSource, Probe, SteppedClock, feed, feeds, punctuated
from tests.waiting import patience, until

S = JobStatus


class Job:
    """A program that runs on a stepped clock until it is told what to do."""

    def __init__(self, build: Any, parallelism: int = 2, *, begin: str | None = None, **options: str) -> None:
        if begin is not None:
            options[RECOVERY] = begin
        self.clock = SteppedClock()
        self.env = env_with(parallelism, clock=self.clock, **options)
        self.sink = CollectingSink()
        build(self.env, self.sink)
        self.running = submit(self.env)
        self.clock.settle()

    def give(self, topic: str, *records: At, split: int = 0) -> None:
        feed(topic, *((r, r.ts) for r in records), split=split)
        self.clock.tick()

    def ask(self, directory: Path, **how: bool) -> str:
        result = self.running.savepoint(SavepointRequest(str(directory), **how))
        return result.result(patience(20))

    def stop(self, directory: Path, drain: bool = False) -> str:
        path = self.ask(directory, stop=True, drain=drain)
        assert self.running.wait(patience(10))
        assert self.running.status is S.FINISHED
        return path

    def end(self) -> None:
        self.running.cancel()
        assert self.running.wait(patience(10))


def counts(env: Any, sink: CollectingSink, **uids: str) -> None:
    source = env.from_source(LiveSource("s", 2), punctuated(), "live").uid("live")
    keyed = source.map(lambda r: r.value).key_by(lambda v: v)
    keyed.process(Count()).uid(uids.get("count", "count")).name(uids.get("name", "counting")).sink_to(sink)


@pytest.mark.row("S-SAVE-05")
def test_a_job_is_stopped_and_goes_on(tmp_path: Path) -> None:
    """Without output that the end of the input would make."""
    job = Job(counts)
    job.give("s", At(1, "a", 1), At(2, "b", 2))
    path = job.stop(tmp_path)
    assert sorted(job.sink.values) == [("a", 1), ("b", 1)]
    job = Job(counts, begin=path)
    job.give("s", At(3, "a", 3), At(4, "c", 4))
    assert sorted(job.sink.values) == [("a", 2), ("c", 1)]
    job.end()


def test_a_job_without_state_makes_the_directory_of_its_savepoint(tmp_path: Path) -> None:
    job = Job(counts)
    path = job.stop(tmp_path / "not" / "there")
    assert Path(path).parent == tmp_path / "not" / "there"
    again = Job(counts, begin=path)
    again.give("s", At(1, "a"))
    assert again.sink.values == [("a", 1)]
    again.end()


@pytest.mark.row("S-SAVE-01", "S-STATE-32")
def test_a_job_goes_on_while_a_savepoint_is_taken(tmp_path: Path) -> None:
    job = Job(counts)
    job.give("s", At(1, "a"))
    path = job.ask(tmp_path)
    job.give("s", At(2, "a"))
    assert job.sink.values == [("a", 1), ("a", 2)]
    assert job.ask(tmp_path) != path
    job.end()
    feeds["s", 0].append((At(3, "a"), 3))
    again = Job(counts, begin=path)
    again.clock.tick()
    assert again.sink.values == [("a", 2), ("a", 3)], "records after the savepoint are read again"
    again.end()


@pytest.mark.row("S-SAVE-02")
def test_a_savepoint_is_aligned_although_unaligned_checkpoints_are_asked_for(tmp_path: Path) -> None:
    """It has what the state and the sources have, and no records that were on their way."""
    options = {"execution.checkpointing.unaligned.enabled": "true"}
    job = Job(counts, **options)
    job.give("s", At(1, "a", 1), At(2, "b", 2))
    path = job.ask(tmp_path)
    job.end()
    manifest = load_manifest(path)
    assert manifest.savepoint
    assert {s.carry for v in manifest.vertices for s in v.subtasks} == {None}
    assert sum(s.line != EMPTY for v in manifest.vertices for s in v.subtasks) > 0, "the counts are in it"
    again = Job(counts, begin=path, **options)
    again.give("s", At(3, "a", 3))
    assert again.sink.values == [("a", 2)]
    again.end()


@pytest.mark.row("S-BACK-21", "S-SAVE-04", "S-STATE-24", "S-SAVE-09")
def test_a_job_goes_on_with_the_other_backend_and_back(tmp_path: Path) -> None:
    path: str | None = None
    for turn, backend in enumerate(("hashmap", "rocksdb", "hashmap"), start=1):
        job = Job(counts, begin=path, **{"state.backend.type": backend})
        job.give("s", At(turn, "a", turn))
        assert job.sink.values == [("a", turn)]
        path = job.stop(tmp_path)


def test_a_drained_job_saves_the_state_of_what_has_ended(tmp_path: Path) -> None:
    entries = []
    for drain in (False, True):
        job = Job(counts)
        job.give("s", At(1, "a", 1), At(2, "b", 2))
        manifest = load_manifest(job.stop(tmp_path, drain=drain))
        entries.append(
            [s.line.entries for v in manifest.vertices for s in v.subtasks if v.name == "counting"]
        )
    assert entries[0] == entries[1]
    assert sum(entries[1]) > 0


def windows(env: Any, sink: CollectingSink) -> None:
    source = env.from_source(LiveSource("w"), punctuated(), "live").uid("live")
    windowed = (
        source.map(lambda r: (r.value, 1))
        .key_by(lambda v: v[0])
        .window(TumblingEventTimeWindows.of(Time.milliseconds(100)))
    )
    windowed.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("window").sink_to(sink)


@pytest.mark.parametrize("parallelism", [2, 4, 1])
@pytest.mark.row("S-SAVE-11", "T13")
def test_an_open_window_fires_only_when_the_job_is_drained(tmp_path: Path, parallelism: int) -> None:
    job = Job(windows)
    job.give("w", *(At(n, f"k{n}", n) for n in range(10)), At(11, "k1", 11))
    stopped = job.stop(tmp_path)
    assert job.sink.values == []
    job = Job(windows, parallelism, begin=stopped)
    job.give("w", At(12, "k2", 12))
    drained = job.stop(tmp_path, drain=True)
    assert Counter(job.sink.values) == Counter({(f"k{n}", 2 if n in (1, 2) else 1): 1 for n in range(10)})
    job = Job(windows, parallelism, begin=drained)
    assert job.sink.values == [], "what was fired is not computed again"
    job.give("w", At(13, "k3", 13), At(200, "k4", 200))
    assert job.sink.values == [("k3", 1)], "and event time begins anew, as in Flink"
    job.end()


@pytest.mark.row("S-SAVE-08", "S-DEPLOY-13")
def test_a_savepoint_may_be_moved(tmp_path: Path) -> None:
    """It stands for itself, whatever has become of its job."""
    job = Job(counts)
    job.give("s", At(1, "a"))
    path = Path(job.stop(tmp_path / "here"))
    moved = tmp_path / "there" / "other-name"
    moved.parent.mkdir()
    shutil.move(path, moved)
    manifest = read_manifest(str(moved))
    assert manifest.savepoint
    assert all(Path(name).is_relative_to(moved) for name in manifest.files)
    job = Job(counts, begin=f"file://{moved}/_metadata")
    job.give("s", At(1, "a"))
    assert job.sink.values == [("a", 2)]
    job.end()


# ---- another program


class Total(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", ANY))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + value[1])
        yield value[0], self.total.value()


def chain_of_two(env: Any, sink: CollectingSink, split: bool = False, more: bool = False) -> None:
    """Two operators with state behind each other: in one chain, or in two vertices."""
    source = env.from_source(LiveSource("c"), punctuated(), "live").uid("live")
    if more:
        source = source.map(lambda r: r).name("new")
    first = (
        source.map(lambda r: r.value).uid("numbering").key_by(lambda v: v).process(Numbered()).uid("first")
    )
    if split:
        first = first.start_new_chain() if hasattr(first, "start_new_chain") else first
    second = first.map(Remembers()).uid("second")
    if split:
        second.disable_chaining()
    second.sink_to(sink).uid("sink")


class Numbered(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", ANY))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield value, self.count.value()


class Remembers(MapFunction, CheckpointedFunction):
    """Adds how many records all subtasks have seen."""

    def initialize_state(self, context: Any) -> None:
        self.state = context.get_operator_state_store().get_list_state(ListStateDescriptor("seen", ANY))
        self.seen = list(self.state.get() or ())

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.seen)

    def map(self, value: Any) -> Any:
        self.seen.append(value[0])
        return (*value, len(self.seen))


@pytest.mark.parametrize(("before", "after"), [(False, True), (True, False)])
@pytest.mark.parametrize("from_checkpoint", [False, True])
@pytest.mark.row("S-SAVE-06", "T18")
def test_state_is_found_when_chains_change(
    tmp_path: Path, before: bool, after: bool, from_checkpoint: bool
) -> None:
    """By operator id and state name, not by vertex."""
    options = {}
    if from_checkpoint:
        options = {
            "execution.checkpointing.interval": "10 s",
            "execution.checkpointing.dir": str(tmp_path / "chk"),
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        }
    job = Job(lambda env, sink: chain_of_two(env, sink, before), 1, **options)
    job.give("c", At(1, "a"), At(2, "b"), At(3, "a"))
    if from_checkpoint:
        job.clock.tick(10_000)
        job.end()
        path = job.running.view.checkpoints.retained[-1]
    else:
        path = job.stop(tmp_path)
    assert job.sink.values == [("a", 1, 1), ("b", 1, 2), ("a", 2, 3)]
    vertices = len(job.running.view.info.vertices)
    job = Job(lambda env, sink: chain_of_two(env, sink, after, more=True), 1, begin=path)
    assert len(job.running.view.info.vertices) != vertices
    covered = len(job.sink.values)  # by the checkpoint: it is committed again
    assert covered == (3 if from_checkpoint else 0)
    job.give("c", At(4, "a"), At(5, "c"))
    assert job.sink.values[covered:] == [("a", 3, 4), ("c", 1, 5)]
    second = job.stop(tmp_path)
    job = Job(lambda env, sink: chain_of_two(env, sink, before), 1, begin=second)
    job.give("c", At(6, "a"))
    assert job.sink.values == [("a", 4, 6)]
    job.end()


@pytest.mark.row("S-SAVE-10", "T18")
def test_an_operator_that_is_gone(tmp_path: Path) -> None:
    """Refused with its name, unless that is allowed; a new one begins empty."""
    job = Job(counts)
    job.give("s", At(1, "a"))
    path = job.stop(tmp_path)

    def other(env: Any, sink: CollectingSink) -> None:
        counts(env, sink, count="count-2", name="another name")

    with pytest.raises(StateError, match="counting") as refused:
        Job(other, begin=path)
    assert refused.value.uid == "count"
    job = Job(other, begin=path, **{"execution.savepoint.ignore-unclaimed-state": "true"})
    job.give("s", At(2, "a"))
    assert job.sink.values == [("a", 1)]
    job.end()
    job = Job(lambda env, sink: counts(env, sink, name="another name"), begin=path)
    job.give("s", At(3, "a"))
    assert job.sink.values == [("a", 2), ("a", 3)], "a new name changes nothing"
    job.end()


@pytest.mark.row("S-STATE-19", "S-CFG-20", "T18")
def test_max_parallelism_is_frozen(tmp_path: Path) -> None:
    """Adopted where the program sets none, refused where it sets another."""
    job = Job(counts, 2)
    job.give("s", At(1, "a"))
    path = job.stop(tmp_path)
    for options, parallelism in (({"pipeline.max-parallelism": "64"}, 2), ({}, 129)):
        with pytest.raises(StateError, match="128"):
            Job(counts, parallelism, begin=path, **options)
    job = Job(counts, 100, begin=path)
    assert {v.max_parallelism for v in job.running.view.info.vertices if "COUNT" in v.name.upper()} == {128}
    job.give("s", At(2, "a"))
    assert job.sink.values == [("a", 2)]
    job.end()


def test_state_of_another_kind_is_refused(tmp_path: Path) -> None:
    job = Job(counts, 1)
    job.give("s", At(1, "a"))
    path = job.stop(tmp_path)

    class Lists(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.count = runtime_context.get_list_state(ListStateDescriptor("count", ANY))

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
            self.count.add(value)

    def other(env: Any, sink: CollectingSink) -> None:
        source = env.from_source(LiveSource("s", 2), punctuated(), "live").uid("live")
        source.map(lambda r: r.value).key_by(lambda v: v).process(Lists()).uid("count")

    clock = SteppedClock()
    env = env_with(1, clock=clock, **{RECOVERY: path})
    other(env, CollectingSink())
    running = submit(env)
    assert running.wait(patience(10))
    assert isinstance(running.error, JobExecutionError)
    assert "value state" in str(running.error)
    assert "list state" in str(running.error)


# ---- rescaling with every kind of state


class Everything(KeyedProcessFunction, CheckpointedFunction):
    """Keyed counts, a timer for each key, a list and a union list of this subtask."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.split = store.get_list_state(ListStateDescriptor("split", ANY))
        self.union = store.get_union_list_state(ListStateDescriptor("union", ANY))
        self.mine = list(self.split.get() or ())
        self.all = sorted(set(self.union.get() or ()))

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", ANY))

    def snapshot_state(self, context: Any) -> None:
        self.split.update(self.mine)
        self.union.update(self.all)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        self.mine.append(value)
        self.all = sorted({*self.all, value})
        ctx.timer_service().register_event_time_timer(1_000 + value[0])
        yield "count", value[0], self.count.value()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "timer", timestamp - 1_000, self.count.value()


class Rules(BroadcastProcessFunction):
    descriptor = MapStateDescriptor("rules", ANY, ANY)

    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        yield (
            value if value[0] != "count" else (*value, dict(ctx.get_broadcast_state(self.descriptor).items()))
        )

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(self.descriptor).put(value, value * 2)


def everything(env: Any, sink: CollectingSink) -> None:
    data = env.from_source(LiveSource("e", 3), punctuated(), "data").uid("data").map(lambda r: r.value)
    rules = env.from_source(LiveSource("r"), punctuated(), "rules").uid("rules").map(lambda r: r.value)
    counted = data.key_by(lambda v: v[0]).process(Everything()).uid("everything")
    joined = counted.rebalance().connect(rules.broadcast(Rules.descriptor))
    joined.process(Rules()).uid("joined").sink_to(sink)


@pytest.mark.parametrize("from_checkpoints", [False, True])
@pytest.mark.row("S-SAVE-07", "S-STATE-20", "S-STATE-21", "S-STATE-30", "T19", "S-SPARK-04")
def test_rescaling_2_3_7_1_loses_nothing_and_doubles_nothing(tmp_path: Path, from_checkpoints: bool) -> None:
    """From savepoints and from checkpoints, twice at 3."""
    options = {}
    if from_checkpoints:
        options = {
            "execution.checkpointing.interval": "10 s",
            "execution.checkpointing.dir": str(tmp_path / "chk"),
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        }
    keys, path, given = 40, None, []
    covered: Counter[Any] = Counter()  # by the checkpoint: it is committed again
    counted: Counter[int] = Counter()
    for step, parallelism in enumerate((2, 3, 3, 7, 1)):
        job = Job(everything, parallelism, begin=path, **options)
        job.give("r", At(step, step, step))
        rows = [(key, f"{step}/{key}") for key in range(step, keys)]
        for split in range(3):
            records = [At(n, row, None) for n, row in enumerate(rows) if n % 3 == split]
            feed("e", *((r, r.ts) for r in records), split=split)
        job.clock.tick()
        given += rows
        counted.update(key for key, _ in rows)
        if from_checkpoints:
            job.clock.tick(10_000)
            job.end()
            path = job.running.view.checkpoints.retained[-1]
        else:
            path = job.stop(tmp_path)
        rules = {n: n * 2 for n in range(step + 1)}
        output = Counter(v[:3] for v in job.sink.values) - covered
        assert output == Counter(("count", key, counted[key]) for key, _ in rows)
        ruled = [v[3] for v in job.sink.values if v[:3] in output]
        assert ruled == [rules] * len(rows), "every subtask has every rule"
        covered = output if from_checkpoints else covered
        split_list, union_lists = operator_lists(path)
        assert split_list == Counter(given)
        assert set().union(*union_lists) == set(given)
        before = set(given) - set(rows)
        assert all(before <= set(one) for one in union_lists), "each had what all had before"
        assert len(union_lists) == parallelism
    job = Job(everything, 2, begin=path)
    for split in range(3):
        feed("e", (At(5_000, (0, "last"), 5_000), 5_000), split=split)
    feed("r", (At(5_000, 99, 5_000), 5_000))
    job.clock.tick()
    job.clock.tick()
    counted[0] += 3
    fired = Counter((v[1], v[2]) for v in job.sink.values if v[0] == "timer")
    assert {key for key, _ in fired} == set(range(keys)), "every timer fires"
    assert set(fired.values()) == {1}, "once"
    assert {(key, count) for key, count in fired if key} == {(key, counted[key]) for key in range(1, keys)}
    job.end()


def operator_lists(path: str) -> tuple[Counter[Any], list[Any]]:
    """The entries of the split list over all subtasks, and the union list of each of them."""
    from firesteel.common.key_groups import key_group_range
    from firesteel.state.files import StateFiles
    from firesteel.state.reader import StateReader

    manifest = read_manifest(path)
    split: Counter[Any] = Counter()
    union: list[Any] = []
    for vertex in manifest.vertices:
        for number, line in enumerate(vertex.lines):
            groups = key_group_range(vertex.max_parallelism, vertex.parallelism, number)
            reader = StateReader(
                line, StateFiles("/"), max_parallelism=vertex.max_parallelism, key_groups=groups
            )
            for entry in reader.states:
                if entry.name == "split":
                    split.update(reader.of_operator(entry, None))
                elif entry.name == "union":
                    union.append(reader.of_operator(entry, None))
    return split, union


# ---- requests


def test_a_savepoint_needs_a_directory_and_a_running_job(tmp_path: Path) -> None:
    job = Job(counts)
    with pytest.raises(Exception, match="directory"):
        job.running.savepoint(SavepointRequest(None)).result(patience(10))
    assert job.running.status is S.RUNNING
    job.end()
    with pytest.raises(JobExecutionError, match="ended"):
        job.ask(tmp_path)


@pytest.mark.parametrize("drain", [False, True])
@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.row("S-SAVE-05")
def test_who_stops_a_job_hears_that_its_sinks_failed_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, restarts: bool, drain: bool
) -> None:
    """The savepoint is there, and the job has not ended with it: it goes on, unless its input has ended."""
    how = FIXED if restarts else {"restart-strategy.type": "none"}
    job = Job(counts, **{DIRECTORY: str(tmp_path / "checkpoints"), INTERVAL: "1 h", **how})
    job.give("s", At(1, "a", 1))
    with monkeypatch.context() as patch:
        patch.setattr(JobSinks, "finish", raising(CommitError("the target is away")))
        with pytest.raises(JobExecutionError, match="was not stopped with a savepoint") as told:
            job.ask(tmp_path, stop=True, drain=drain)
    (path,) = tmp_path.glob("savepoint-*")
    assert str(path) in str(told.value)
    assert ("is restarted" if restarts else "it is FAILED: the target is away") in str(told.value)
    if restarts:
        job.clock.advance(100)
    if restarts and not drain:
        until(lambda: job.running.status is S.RUNNING)
        job.stop(tmp_path)
    assert job.running.wait(patience(10))
    assert job.running.status is (S.FINISHED if restarts else S.FAILED)


@pytest.mark.row("S-SAVE-05")
def test_who_drains_a_job_that_is_cancelled_meanwhile_hears_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = threading.Event()

    def fails(snapshots: Snapshots) -> bool:
        tried.set()
        return False

    monkeypatch.setattr(Snapshots, "checkpoint", fails)  # the last one, without which it does not end
    job = Job(counts, **{DIRECTORY: str(tmp_path / "checkpoints"), INTERVAL: "1 h"})
    stop = job.running.savepoint(SavepointRequest(str(tmp_path), stop=True, drain=True))
    assert tried.wait(patience(10))
    job.end()
    with pytest.raises(JobExecutionError, match=r"not stopped with a savepoint: it is CANCELED$"):
        stop.result(patience(10))


@pytest.mark.row("S-SAVE-01")
def test_who_stops_a_job_hears_of_it_when_its_end_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a driver that dies at this moment is followed by one that goes on with the job."""
    job = Job(counts, **{DIRECTORY: str(tmp_path / "checkpoints"), INTERVAL: "1 h"})
    job.give("s", At(1, "a", 1))
    inner, told = CheckpointDirectory.record_end, []

    def record_end(directory: CheckpointDirectory, result: bytes) -> None:
        told.append(stop.result.done())
        inner(directory, result)

    monkeypatch.setattr(CheckpointDirectory, "record_end", record_end)
    stop = SavepointRequest(str(tmp_path), stop=True)
    job.running.savepoint(stop)
    assert Path(stop.result.result(patience(20))).parent == tmp_path
    assert told == [False]
    assert job.running.status is S.FINISHED


@pytest.mark.parametrize("ends", [S.FINISHED, S.CANCELED, S.FAILED])
@pytest.mark.row("S-CTRL-05", "S-SINK-01")
def test_the_last_status_of_a_job_is_seen_when_nothing_is_left_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: S
) -> None:
    """Who sees it may read the output: no directory goes away meanwhile. And a driver that dies before the
    end is recorded is followed by one that goes on: nobody has seen that it ended."""
    never = {"restart-strategy.type": "none", RETENTION: "NO_EXTERNALIZED_CHECKPOINTS"}
    job = Job(counts, **{DIRECTORY: str(tmp_path / "checkpoints"), INTERVAL: "1 h", **never})
    seen: list[S] = []
    for name in ("record_end", "dispose"):
        inner = getattr(CheckpointDirectory, name)

        def noted(self: Any, *arguments: Any, inner: Any = inner) -> None:
            inner(self, *arguments)
            seen.append(job.running.status)

        monkeypatch.setattr(CheckpointDirectory, name, noted)
    if ends is S.FINISHED:
        job.stop(tmp_path)
    elif ends is S.CANCELED:
        job.end()
    else:
        monkeypatch.setattr(JobSinks, "finish", raising(CommitError("the target is away")))
        with pytest.raises(JobExecutionError, match="the target is away"):
            job.stop(tmp_path)
    before = {S.FINISHED: S.RUNNING, S.CANCELED: S.CANCELLING, S.FAILED: S.FAILING}
    assert seen == [before[ends]] * 2
    assert job.running.status is ends


@pytest.mark.row("S-SAVE-01")
def test_the_client_of_a_job_takes_savepoints(tmp_path: Path) -> None:
    clock = SteppedClock()
    env = env_with(1, clock=clock, **{"state.savepoints.dir": str(tmp_path)})
    counts(env, CollectingSink())
    client = env.execute_async()
    first = client.trigger_savepoint().result(patience(10))
    second = client.stop_with_savepoint(False).result(patience(10))
    assert Path(first).parent == Path(second).parent == tmp_path
    assert client.get_job_execution_result().result(patience(10))


@pytest.mark.row("S-SAVE-03", "S-SAVE-12", "S-CKPT-15")
def test_savepoints_are_looked_at_and_disposed_of(tmp_path: Path) -> None:
    job = Job(counts)
    job.give("s", At(1, "a"))
    path = job.stop(tmp_path)
    run = CliRunner().invoke
    shown = run(main, ["savepoint", "inspect", path])
    assert shown.exit_code == 0, shown.output
    for text in ("uid count", "value state count", "list state seen", "progress of a source", "0-63, 64-127"):
        assert text in shown.output
    gone = run(main, ["savepoint", "dispose", path])
    assert gone.exit_code == 0, gone.output
    assert not Path(path).exists()
    assert run(main, ["savepoint", "dispose", path]).exit_code == 1


def test_a_savepoint_is_disposed_of_over_a_link_and_what_is_the_users_stays(tmp_path: Path) -> None:
    job = Job(counts)
    job.give("s", At(1, "a"))
    path = Path(job.stop(tmp_path / "savepoints"))
    states = [file for file in path.rglob("*") if file.is_file() and file.name != "_metadata"]
    assert states
    notes = path / "notes.txt"
    notes.write_text("mine")
    beside = states[0].parent / "mine.run"
    beside.write_text("mine too")
    link = tmp_path / "latest"
    link.symlink_to(path)
    gone = CliRunner().invoke(main, ["savepoint", "dispose", str(link)])
    assert gone.exit_code == 0, gone.output
    assert sorted(file for file in path.rglob("*") if file.is_file()) == sorted([notes, beside])
    assert str(notes) in gone.output
    assert str(beside) in gone.output
    assert str(link) in gone.output
    assert link.is_symlink()


@pytest.mark.parametrize("over_a_link", [False, True])
def test_a_savepoint_names_no_file_of_others_that_is_disposed_of(tmp_path: Path, over_a_link: bool) -> None:
    """Neither by an absolute name nor over a link that leads out of its directory."""
    job = Job(counts)
    job.give("s", At(1, "a"))
    path = Path(job.stop(tmp_path / "savepoints"))
    theirs = tmp_path / "others" / "file"
    theirs.parent.mkdir()
    theirs.write_text("theirs")
    (path / "out").symlink_to(theirs.parent)
    name = "out/file" if over_a_link else str(theirs)
    manifest = with_paths(load_manifest(str(path)), lambda _: name)
    (path / "_metadata").write_bytes(encode_manifest(manifest))
    dispose_savepoint(str(path))
    assert theirs.exists()
    assert not (path / "_metadata").exists()


# ---- another type


class Kept(KeyedProcessFunction):
    """Gives out what it kept of the key, then keeps the next."""

    def __init__(self, descriptor: ValueStateDescriptor, make: Any) -> None:
        self.descriptor = descriptor
        self.make = make

    def open(self, runtime_context: RuntimeContext) -> None:
        self.kept = runtime_context.get_state(self.descriptor)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield self.kept.value()
        self.kept.update(self.make(value))


def keeping(descriptor: ValueStateDescriptor, make: Any, key_type: Any = None) -> Any:
    def build(env: Any, sink: CollectingSink) -> None:
        source = env.from_source(LiveSource("s", 2), punctuated(), "live").uid("live")
        keyed = source.map(lambda r: r.value).key_by(lambda v: v[0], key_type=key_type)
        keyed.process(Kept(descriptor, make)).uid("kept").name("keeping").sink_to(sink)

    return build


def length(value: Any) -> int:
    return len(value)


AS_LONG = ValueStateDescriptor("kept", Types.LONG())
AS_TEXT = ValueStateDescriptor("kept", Types.STRING())


def refused(build: Any, begin: str) -> str:
    """What a job says that cannot begin with a savepoint; nothing is given to it."""
    clock = SteppedClock()
    env = env_with(1, clock=clock, **{RECOVERY: begin})
    build(env, CollectingSink())
    job = submit(env)
    assert job.wait(patience(10))
    assert isinstance(job.error, JobExecutionError)
    return str(job.error)


@pytest.mark.row("S-STATE-02")
def test_state_of_another_type_is_refused_at_the_start(tmp_path: Path) -> None:
    """With the state, the operator and both types."""
    job = Job(keeping(AS_LONG, length, Types.STRING()))
    job.give("s", At(1, "aaa"), At(2, "bb"))
    path = job.stop(tmp_path)
    said = refused(keeping(AS_TEXT, str, Types.STRING()), path)
    for text in ("'kept'", "keeping", "stored as Long", "declared as String", "migrate_from"):
        assert text in said
    said = refused(keeping(AS_LONG, length, Types.CHAR()), path)
    for text in ("keeping", "keys of type String", "keys of type Char"):
        assert text in said
    shown = CliRunner().invoke(main, ["savepoint", "inspect", path]).output
    assert "value state kept of Long" in shown
    assert "for each String" in shown


@pytest.mark.row("S-STATE-23")
def test_a_migration_function_converts_it(tmp_path: Path) -> None:
    """As it is read, and at once in the next savepoint: there the function is not needed any more."""
    job = Job(keeping(AS_LONG, length))
    job.give("s", At(1, "aaa"), At(2, "bb"))
    path = job.stop(tmp_path)
    migrating = ValueStateDescriptor("kept", Types.STRING()).migrate_from(Types.LONG(), lambda n: f"<{n}>")
    job = Job(keeping(migrating, str), 3, begin=path)
    job.give("s", At(3, "aaa"))
    assert job.sink.values == ["<3>"]
    path = job.stop(tmp_path)
    job = Job(keeping(AS_TEXT, str), 1, begin=path)
    job.give("s", At(4, "aaa"), At(5, "b"))
    assert job.sink.values == ["aaa", "<2>"]
    job.end()


def test_large_state_is_copied_by_tasks(
    tmp_path: Path, platform: LocalPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver writes the manifest alone; small state it copies itself, which takes less time."""
    job = Job(everything)
    for key in range(30):
        job.give("e", At(key, (key, f"value {key}")), split=key % 3)
    small = job.ask(tmp_path)
    assert platform.engines[-1].parts_done == 0
    monkeypatch.setattr(savepoints, "SMALL_BYTES", 100)
    large = job.ask(tmp_path)
    subtasks = sum(v.parallelism for v in job.running.view.info.vertices)
    assert platform.engines[-1].parts_done == subtasks
    files = [
        {file.name: file.read_bytes() for file in Path(path).iterdir() if file.name != "_metadata"}
        for path in (small, large)
    ]
    assert files[0] == files[1] != {}
    before, after = read_manifest(small), read_manifest(large)
    assert [v.operators for v in before.vertices] == [v.operators for v in after.vertices]
    job.end()


def probed(env: Any, sink: CollectingSink) -> None:
    source = env.from_source(LiveSource("t"), punctuated(), "live").uid("live")
    source.map(lambda r: r.value).process(Probe()).uid("probe").sink_to(sink)


@pytest.mark.row("S-TIME-23")
def test_watermarks_go_on_from_a_checkpoint_and_begin_anew_after_a_savepoint(tmp_path: Path) -> None:
    """Either way nothing is late that was not before."""
    kept = {INTERVAL: "10 s", DIRECTORY: str(tmp_path / "kept"), RETENTION: "RETAIN_ON_CANCELLATION"}
    job = Job(probed, 1, **kept, **{"execution.checkpointing.num-retained": "5"})
    job.give("t", At(1_000, "a", 900))
    savepoint = job.ask(tmp_path)
    checkpoint = job.running.view.checkpoints.latest_completed.path
    job.give("t", At(950, "b"))
    job.clock.tick(10_000)
    job.end()
    assert job.sink.values == [("a", 1_000, MIN_WATERMARK), ("b", 950, 900)]
    for path, watermark in ((checkpoint, 900), (savepoint, MIN_WATERMARK)):
        again = Job(probed, 1, begin=path)
        again.clock.tick()
        assert again.sink.values[-1] == ("b", 950, watermark)
        again.end()


@pytest.mark.row("S-CKPT-27")
def test_it_is_told_how_much_a_job_went_on_from(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A checkpoint has the deltas of its epochs; a savepoint of the same state has fewer files."""
    kept = {INTERVAL: "10 s", DIRECTORY: str(tmp_path / "kept"), RETENTION: "RETAIN_ON_CANCELLATION"}
    job = Job(counts, **kept)
    for number in range(4):
        job.give("s", At(number, f"key {number}"))
        job.clock.tick(10_000)
    savepoint = job.ask(tmp_path)
    checkpoint = job.running.view.checkpoints.latest_completed.path
    job.end()
    found = {}
    for path in (checkpoint, savepoint):
        caplog.clear()
        with caplog.at_level(logging.INFO):
            again = Job(counts, begin=path)
            again.give("s", At(9, "key 1"))
            again.end()
        restored = found[path] = again.running.view.checkpoints.latest_restored
        refs = set(read_manifest(path).runs)
        assert restored.files == len({ref.path for ref in refs})
        assert restored.state_bytes == sum(ref.length for ref in refs)
        assert restored.resumed_ms is not None
        said = [record.getMessage() for record in caplog.records]
        assert any(f"files={restored.files} bytes={restored.state_bytes}" in text for text in said)
        assert any("processing resumed" in text and "elapsed_ms" in text for text in said)
        values = {m.name: m.value for m in job_values(again.running.view, again.clock.now_ms())}
        assert values["lastRestoreFiles"] == restored.files
        assert values["lastRestoreSize"] == restored.state_bytes
        assert values["lastRestoreDuration"] == restored.elapsed_ms
    assert found[checkpoint].files > found[savepoint].files


@pytest.mark.row("S-STATE-28")
def test_one_key_of_a_job_that_runs_is_looked_up_in_its_checkpoint(tmp_path: Path) -> None:
    kept = {INTERVAL: "10 s", DIRECTORY: str(tmp_path / "kept")}
    job = Job(counts, **kept)
    job.give("s", At(1, "a"), At(2, ("b", 1)), At(3, "a"))
    job.clock.tick(10_000)
    path = job.running.view.checkpoints.latest_completed.path
    job.give("s", At(4, "a"))

    def asked(*words: str) -> str:
        done = CliRunner().invoke(main, ["state", "get", path, *words])
        assert done.exit_code == 0, done.output
        return done.output.strip()

    assert asked("count", "count", '"a"') == asked("count", "count", "a") == "2", "as of the checkpoint"
    assert asked("count", "seen", "a") == '["a", "a"]'
    assert asked("count", "seen", '["b", 1]') == '[["b", 1]]'
    assert asked("count", "count", "nobody") == "null"
    assert SavepointReader.read(path).value("count", "count", "a") == 2
    listed = CliRunner().invoke(main, ["state", "ls", path, "--json"])
    assert {(r["operator"], r["name"]): (r["kind"], r["type"]) for r in json.loads(listed.output)} == {
        ("count", "count"): ("value", None),
        ("count", "seen"): ("list", "ListTypeInfo<PickledByteArrayTypeInfo>"),
        ("count", "_timer_state/event_user-timers"): ("timers", None),
    }
    lines = CliRunner().invoke(main, ["state", "ls", path]).output.splitlines()
    assert lines[0].split() == ["OPERATOR", "STATE", "KIND", "KEY", "TYPE", "OPERATOR", "NAME"]
    assert ["count", "count", "value"] in [line.split()[:3] for line in lines]
    for words in (["ls", "ab" * 16], ["get", "ab" * 16, "count", "count", "a"]):
        refused = CliRunner().invoke(main, ["state", *words, "--untrusted"])
        assert (refused.exit_code, "--untrusted is for a PATH" in refused.output) == (2, True)
    unknown = CliRunner().invoke(main, ["state", "get", path, "count", "none", "a"])
    assert unknown.exit_code == 1
    assert "has no state 'none'" in unknown.output
    assert "'count'" in unknown.output
    job.end()
