"""Functions are told of checkpoints, in the task, before its next records."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Time, Types
from firesteel.common.errors import ProgramError
from firesteel.common.job_status import JobStatus
from firesteel.datastream import (
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CheckpointedFunction,
    CheckpointListener,
    CoMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    RuntimeContext,
    SinkFunction,
)
from firesteel.datastream.state import MapStateDescriptor
from firesteel.jobmanager.checkpoints.storage import CheckpointDirectory
from firesteel.testing import OperatorHarness
from firesteel.testing.collecting_sink import CollectingSink
from tests.jobmanager.checkpoint_support import INTERVAL, env_with, submit
from tests.realtime.support import generated
from tests.runtime.support import At, LiveSource, SteppedClock, feed, note, notes, punctuated
from tests.waiting import patience

TOLERANT = {"execution.checkpointing.tolerable-failed-checkpoints": "5"}
MODES = {
    "epochs": {"firesteel.epoch.target": "50 ms"},
    "real time": {"execution.mode": "real-time", "firesteel.real-time.epoch": "50 ms"},
}


class Told(CheckpointListener):
    """Notes what it is told of: ``complete`` or ``aborted``, and the id."""

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        note(type(self).__name__, ("complete", checkpoint_id))

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        note(type(self).__name__, ("aborted", checkpoint_id))


class Keeping(Told, MapFunction, CheckpointedFunction):
    def initialize_state(self, context: Any) -> None: ...

    def snapshot_state(self, context: Any) -> None:
        note("Keeping", ("snapshot", context.get_checkpoint_id()))

    def map(self, value: Any) -> Any:
        note("Keeping", ("record", value))
        return value


def running(tmp_path: Path, clock: SteppedClock, function: Any, **options: str) -> Any:
    env = env_with(1, tmp_path, clock=clock, **options)
    stream = env.from_source(LiveSource("live"), punctuated(), "live")
    stream.map(lambda record: record.value).map(function).name("told").sink_to(CollectingSink())
    return submit(env)


@pytest.mark.row("S-CKPT-44")
def test_a_function_hears_of_a_checkpoint_before_its_next_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An idle job tells it, too, and what was to be covered by a checkpoint that fails is by the next one."""
    publish = CheckpointDirectory.publish
    fails = [False, True, False]

    def publish_some(self: CheckpointDirectory, manifest: Any) -> Any:
        if fails.pop(0):
            raise OSError("no space left on device")
        return publish(self, manifest)

    monkeypatch.setattr(CheckpointDirectory, "publish", publish_some)
    clock = SteppedClock()
    job = running(tmp_path, clock, Keeping(), **TOLERANT)
    for value, until_the_checkpoint_ms in (("a", 9_000), ("b", 8_000)):
        feed("live", (At(1, value), 0))
        clock.tick(1_000)
        assert ("record", value) in notes["Keeping"]
        clock.tick(until_the_checkpoint_ms)
        clock.tick(1_000)
    clock.tick(10_000)
    happened = [what for what in notes["Keeping"] if what[0] != "snapshot"]
    assert happened == [("record", "a"), ("complete", 1), ("record", "b"), ("aborted", 2), ("complete", 3)]
    told = notes["Keeping"]
    assert told.index(("snapshot", 1)) < told.index(("complete", 1)) < told.index(("snapshot", 2))
    after_b = told[told.index(("record", "b")) :]
    assert after_b[1] == ("snapshot", 2), "the epoch with the record is for the checkpoint that follows"
    job.cancel()
    assert job.wait(patience(10))


class Process(Told, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


class Windowed(Told, ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        yield len(list(elements))


class Both(Told, CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    map2 = map1


class Asking(Told, AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]

    async def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        note("Asking", ("complete", checkpoint_id))


class Ruled(Told, BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        return ()


class Writing(Told, SinkFunction):
    def open(self) -> None:
        self.is_open = True

    def close(self) -> None:
        self.is_open = False

    def invoke(self, value: Any, context: Any) -> None: ...

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        assert self.is_open
        super().notify_checkpoint_complete(checkpoint_id)


KINDS = (Keeping, Process, Windowed, Both, Asking, Ruled, Writing)


@pytest.mark.row("S-CKPT-44")
@pytest.mark.parametrize("mode", MODES)
def test_functions_of_all_kinds_hear_of_all_checkpoints(tmp_path: Path, mode: str) -> None:
    env = env_with(2, tmp_path, **{INTERVAL: "50 ms", **MODES[mode]})
    numbers = generated(env, 60, 100.0)
    kept = numbers.map(Keeping())
    rules = env.from_collection([1], Types.LONG()).broadcast(
        MapStateDescriptor("r", Types.INT(), Types.INT())
    )
    keyed = kept.key_by(lambda n: n % 3).process(Process())
    keyed.connect(numbers).map(Both()).connect(rules).process(Ruled()).add_sink(Writing())
    AsyncDataStream.unordered_wait(numbers, Asking(), Time.seconds(5)).sink_to(CollectingSink())
    keyed.key_by(lambda n: n % 2).count_window(5).process(Windowed()).sink_to(CollectingSink())
    job = submit(env)
    assert job.wait(patience(60)), job.view
    assert job.status is JobStatus.FINISHED, job.view.exceptions
    last = job.view.checkpoints.latest_completed.id
    assert last > 1
    for kind in KINDS:
        told = [number for what, number in notes[kind.__name__] if what == "complete"]
        assert set(told) <= set(range(1, last + 1)), kind
        assert told == sorted(told), kind
        assert max(map(told.count, told)) <= 2, f"{kind}: each subtask hears of each once"
        assert told.count(last) == 2, f"{kind}: of the one with which the job ends, too"
    snapshots = [number for what, number in notes["Keeping"] if what == "snapshot"]
    assert snapshots == sorted(snapshots)


class Failing(Keeping):
    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        raise ValueError(f"no use for {checkpoint_id}")


@pytest.mark.row("S-CKPT-44")
def test_a_failure_in_it_fails_the_task(tmp_path: Path) -> None:
    clock = SteppedClock()
    job = running(tmp_path, clock, Failing(), **{"restart-strategy.type": "none"})
    feed("live", (At(1, "a"), 0))
    clock.tick(1_000)
    clock.advance(9_000)
    assert job.wait(patience(30))
    assert job.status is JobStatus.FAILED
    [failure] = job.view.exceptions
    assert "no use for 1" in str(failure)
    assert "told" in str(failure)


def test_without_a_listener_an_idle_job_stays_idle(tmp_path: Path) -> None:
    class Plain(MapFunction):
        def map(self, value: Any) -> Any:
            return value

    clock = SteppedClock()
    job = running(tmp_path, clock, Plain())
    feed("live", (At(1, "a"), 0))
    clock.tick(1_000)
    epochs = job.view.epoch
    for _ in range(3):
        clock.tick(10_000)
    assert job.view.checkpoints.completed == 3
    assert job.view.epoch == epochs
    job.cancel()
    assert job.wait(patience(10))


class Remembering(Told, KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = runtime_context.get_map_state(MapStateDescriptor("m", Types.INT(), Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        self.state.put(1, value)
        yield value

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.state.put(1, checkpoint_id)


def test_a_harness_tells_of_checkpoints_and_there_is_no_key() -> None:
    harness = OperatorHarness(Remembering(), key_by=lambda value: value)
    harness.process_element(3)
    harness.notify_checkpoint_complete(4)
    assert notes["Remembering"] == [("complete", 4)]
    with pytest.raises(Exception, match="key"):
        harness.notify_checkpoint_aborted(5)
    with pytest.raises(ProgramError, match="between two epochs"), harness.epoch():
        harness.notify_checkpoint_complete(6)
