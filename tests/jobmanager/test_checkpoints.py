"""When checkpoints are taken, what they leave, and what becomes visible with them."""

from __future__ import annotations

import itertools
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.job_status import JobStatus
from firesteel.datastream import KeyedProcessFunction, RuntimeContext
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.jobmanager.checkpoints.statistics import CheckpointStatus
from firesteel.jobmanager.checkpoints.storage import CheckpointDirectory, read_manifest, stored_checkpoints
from firesteel.testing.collecting_sink import CollectingSink
from tests.jobmanager.checkpoint_support import INTERVAL, RETENTION, Count, env_with, submit
from tests.runtime.support import At, LiveSource, SteppedClock, feed, note, notes, punctuated
from tests.waiting import patience

RETAIN = {RETENTION: "RETAIN_ON_CANCELLATION"}


def counting(env: Any, topic: str = "live", splits: int = 1) -> CollectingSink:
    sink = CollectingSink()
    stream = env.from_source(LiveSource(topic, splits), punctuated(), "live").uid("live")
    stream.map(lambda r: r.value).key_by(lambda v: v).process(Count()).uid("count").sink_to(sink)
    return sink


def turn(clock: SteppedClock) -> None:
    """Time for an epoch, then for a checkpoint."""
    clock.tick(1_000)
    clock.tick(9_000)


def checkpoints(directory: Path) -> list[int]:
    """The ids of the checkpoints that are there."""
    [job] = [d for d in directory.iterdir() if d.is_dir()]
    return sorted(stored.id for stored in stored_checkpoints(str(job)))


@pytest.mark.row("S-CKPT-02", "S-CKPT-20", "S-CKPT-22", "S-CKPT-45")
def test_checkpoints_come_at_the_interval_and_their_ids_rise(tmp_path: Path) -> None:
    clock = SteppedClock()
    env = env_with(2, tmp_path, clock=clock)
    counting(env)
    job = submit(env)
    for number in range(35):
        feed("live", (At(number, number % 3), 0))
        clock.tick(1000)
    reports = job.view.checkpoints.history
    assert [r.id for r in reports] == [1, 2, 3]
    assert [r.triggered_ms for r in reports] == [10_000, 20_000, 30_000]
    assert all(r.state_bytes > 0 and r.checkpointed_bytes > 0 for r in reports)
    assert {s.vertex for s in reports[0].subtasks} == {
        v.id for v in job.view.info.vertices if "KEYED" in v.name
    }
    assert reports[0].persisted_in_flight_bytes == 0
    assert Path(reports[-1].path or "").joinpath("_metadata").exists()
    assert checkpoints(tmp_path) == [3], "one is retained"
    job.cancel()
    job.wait()


def test_a_manifest_comes_after_all_that_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut leaves no checkpoint that names what is not on the disk."""
    on_disk: set[str] = set()
    named: list[set[str]] = []  # what was on the disk when each manifest got its name
    fsync, replace = os.fsync, os.replace

    def synced(handle: int) -> None:
        fsync(handle)
        on_disk.add(os.readlink(f"/proc/self/fd/{handle}"))

    def renamed(old: str, new: str) -> None:
        if new.endswith("_metadata"):
            named.append({*on_disk, old} if old in on_disk else set())
        replace(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    clock = SteppedClock()
    env = env_with(2, tmp_path, clock=clock, **{"execution.checkpointing.num-retained": "3"})
    counting(env)
    running = submit(env)
    for number in range(3):
        feed("live", (At(number, number), 0))
        turn(clock)
    [job] = tmp_path.iterdir()
    stored = sorted(stored_checkpoints(str(job)))
    assert len(stored) == len(named) == 3
    for checkpoint, before in zip(stored, named, strict=True):
        files = read_manifest(checkpoint.path).files
        assert files
        assert files | {os.path.dirname(file) for file in files} <= before
        assert {checkpoint.path, str(job)} <= on_disk, "and the names are there for good"
    running.cancel()
    running.wait()


@pytest.mark.row("S-SINK-04", "S-SINK-14", "S-CKPT-39")
def test_output_waits_for_its_checkpoint_and_the_end(tmp_path: Path) -> None:
    """What is not covered by a checkpoint is not visible."""
    clock = SteppedClock()
    env = env_with(1, tmp_path, clock=clock)
    sink = counting(env)
    job = submit(env)
    feed("live", (At(1, "a"), 0), (At(2, "b"), 0))
    clock.tick(5_000)
    assert job.view.records_read == 2
    assert sink.values == []
    clock.tick(5_000)
    assert sink.values == [("a", 1), ("b", 1)]
    feed("live", (At(3, "a"), 0))
    clock.tick()
    job.cancel()
    assert job.wait(patience(10))
    assert sink.values == [("a", 1), ("b", 1)]


@pytest.mark.row("T24", "S-CKPT-43")
def test_a_bounded_job_ends_with_a_checkpoint_that_covers_the_rest(tmp_path: Path) -> None:
    """One shorter than the interval too."""
    env = env_with(2, tmp_path)
    sink = CollectingSink()
    env.from_collection([1, 2, 3]).sink_to(sink)
    job = submit(env)
    assert job.wait(patience(10))
    assert job.status is JobStatus.FINISHED
    assert sorted(sink.values) == [1, 2, 3]
    assert job.view.checkpoints.completed == 1
    assert list(tmp_path.iterdir()) == [], "nothing goes on from a job that has finished"


@pytest.mark.parametrize(
    ("retention", "after_cancel", "after_failure"),
    [
        ("RETAIN_ON_CANCELLATION", [1], [1]),
        ("DELETE_ON_CANCELLATION", [], [1]),
        ("NO_EXTERNALIZED_CHECKPOINTS", [], []),
    ],
)
@pytest.mark.row("S-CKPT-24")
def test_what_outlives_the_job(
    tmp_path: Path, retention: str, after_cancel: list[int], after_failure: list[int]
) -> None:
    for fails, expected in ((False, after_cancel), (True, after_failure)):
        directory = tmp_path / str(fails)
        directory.mkdir()
        clock = SteppedClock()
        env = env_with(1, directory, clock=clock, **{RETENTION: retention, "restart-strategy.type": "none"})
        stream = env.from_source(LiveSource(retention + str(fails)), punctuated(), "live")
        stream.map(lambda r: 1 // r.value).key_by(lambda v: v).process(Count())
        running = submit(env)
        feed(retention + str(fails), (At(1, 1), 0))
        clock.tick(10_000)
        if fails:
            feed(retention + str(fails), (At(1, 0), 0))
            clock.advance(100)
        else:
            running.cancel()
        assert running.wait(patience(10))
        assert running.status is (JobStatus.FAILED if fails else JobStatus.CANCELED)
        found = checkpoints(directory) if any(directory.iterdir()) else []
        assert found == expected
        for id in expected:
            [job] = directory.iterdir()
            manifest = read_manifest(str(job / f"chk-{id}"))
            there = {str(p) for p in (job / "shared").rglob("*") if p.name.startswith("epoch-")}
            assert there == set(manifest.files), "no more than the checkpoint needs"


@pytest.mark.row("S-CKPT-23", "S-CKPT-26", "S-CKPT-30", "X5", "S-CFG-21")
def test_so_many_checkpoints_are_kept_with_their_files_and_no_others(tmp_path: Path) -> None:
    """A file goes exactly when the last checkpoint goes that needs
    it."""
    clock = SteppedClock()
    env = env_with(1, tmp_path, clock=clock, **{"execution.checkpointing.num-retained": "2", **RETAIN})
    counting(env)
    running = submit(env)
    seen: list[frozenset[str]] = []
    for number in range(12):
        feed("live", (At(number, number), 0))
        turn(clock)
        newest = max(tmp_path.glob("*/chk-*"), key=lambda path: int(path.name.removeprefix("chk-")))
        seen.append(read_manifest(str(newest)).files)
        kept = set().union(*seen[-2:])
        assert checkpoints(tmp_path) == list(range(max(1, number), number + 2))
        [job] = tmp_path.iterdir()
        root = job / "shared" / running.view.checkpoints.claim
        files = root.rglob("*")
        state = {str(f) for f in files if f.suffix == ".run" or f.name.startswith("epoch-")}
        assert kept == state, "the job itself needs what its newest checkpoint needs"
    assert any(old - new for old, new in itertools.pairwise(seen)), "compaction took files out"
    running.cancel()
    assert running.wait(patience(10))


@pytest.mark.row("S-SINK-06", "T24")
def test_a_failed_checkpoint_that_is_tolerated_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its output comes with the next one."""
    clock = SteppedClock()
    env = env_with(1, tmp_path, clock=clock, **{"execution.checkpointing.tolerable-failed-checkpoints": "1"})
    sink = counting(env)
    publish = CheckpointDirectory.publish
    failing = [True, False, True, True]

    def fails(self: CheckpointDirectory, manifest: Any) -> Any:
        if failing.pop(0):
            raise OSError("no space left on device")
        return publish(self, manifest)

    monkeypatch.setattr(CheckpointDirectory, "publish", fails)
    job = submit(env)
    feed("live", (At(1, "a"), 0))
    turn(clock)
    assert sink.values == []
    feed("live", (At(2, "b"), 0))
    turn(clock)
    assert sink.values == [("a", 1), ("b", 1)]
    assert [r.status for r in job.view.checkpoints.history] == [
        CheckpointStatus.FAILED,
        CheckpointStatus.COMPLETED,
    ]
    assert "no space left" in (job.view.checkpoints.history[0].failure or "")
    turn(clock)
    assert job.status is JobStatus.RUNNING
    turn(clock)
    assert JobStatus.RESTARTING in list(job.view.statuses), "two in a row are too many"
    job.cancel()
    assert job.wait(patience(10))


@pytest.mark.row("S-CKPT-18", "S-CKPT-19", "S-CFG-09")
def test_a_checkpoint_that_takes_too_long_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow one, and the pause behind it."""
    clock = SteppedClock()
    options = {
        "execution.checkpointing.timeout": "3 s",
        "execution.checkpointing.min-pause": "9 s",
        "execution.checkpointing.tolerable-failed-checkpoints": "5",
    }
    env = env_with(1, tmp_path, clock=clock, **options)
    counting(env)
    publish = CheckpointDirectory.publish
    lengths = [4_000, 2_000, 0]

    def slow(self: CheckpointDirectory, manifest: Any) -> Any:
        clock.advance(lengths.pop(0))
        return publish(self, manifest)

    monkeypatch.setattr(CheckpointDirectory, "publish", slow)
    job = submit(env)
    for _ in range(40):
        clock.tick(1_000)
        if not lengths:
            break
    reports = job.view.checkpoints.history
    assert [r.triggered_ms for r in reports] == [10_000, 23_000, 34_000], (
        "9 s after the end of the one before"
    )
    assert [r.status.name for r in reports] == ["FAILED", "COMPLETED", "COMPLETED"]
    assert "expired" in (reports[0].failure or "")
    assert checkpoints(tmp_path) == [3]
    job.cancel()
    assert job.wait(patience(10))


@pytest.mark.row("S-CKPT-28", "S-CFG-08", "S-CKPT-10", "S-CKPT-12", "S-CFG-10", "S-CFG-06")
@pytest.mark.row("S-SLOT-23", "S-CKPT-40")
def test_settings_of_the_old_spelling_and_those_without_effect(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The sample file, and what each key comes to."""
    conf = {
        INTERVAL: "60000",
        "execution.checkpointing.timeout": "300000",
        "execution.checkpointing.min-pause": "30000",
        "execution.checkpointing.mode": "EXACTLY_ONCE",
        "execution.checkpointing.unaligned": "true",
        "execution.checkpointing.alignment-timeout": "10 s",
        "state.backend": "rocksdb",
        "state.backend.incremental": "true",
        "state.checkpoints.dir": str(tmp_path),
        "state.checkpoints.num-retained": "3",
    }
    from tests.runtime.support import environment

    env = environment(1, **conf)
    env.from_collection([1]).map(lambda v: v)
    with caplog.at_level(logging.WARNING):
        job = submit(env)
    assert job.wait(patience(10))
    options = job.view.info.checkpointing
    assert (options.interval_ms, options.timeout_ms, options.min_pause_ms) == (60_000, 300_000, 30_000)
    assert (options.directory, options.max_retained) == (str(tmp_path), 3)
    said = [r.getMessage() for r in caplog.records if "no effect" in r.getMessage()]
    assert len(said) == 3
    assert tuple(said) == job.view.checkpoints.notes


def test_checkpoints_without_a_directory_live_in_the_job(tmp_path: Path) -> None:
    clock = SteppedClock()
    env = env_with(1, clock=clock, **{INTERVAL: "10 s"})
    sink = counting(env)
    job = submit(env)
    feed("live", (At(1, "a"), 0))
    turn(clock)
    assert sink.values == [("a", 1)]
    assert not job.view.checkpoints.durable
    job.cancel()
    assert job.wait(patience(10))
    assert not Path(job.view.info.state_dir).exists()


class KeepAll(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.kept = runtime_context.get_state(ValueStateDescriptor("kept", Types.STRING()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        self.kept.update(value[1])


@pytest.mark.parametrize(
    ("backend", "megabytes", "warnings"), [("hashmap", 101, 1), ("hashmap", 95, 0), ("rocksdb", 101, 0)]
)
@pytest.mark.row("S-BACK-23", "S-BACK-11")
def test_much_state_on_the_heap_is_warned_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, backend: str, megabytes: int, warnings: int
) -> None:
    clock = SteppedClock()
    env = env_with(1, tmp_path, clock=clock, **{"state.backend.type": backend})
    stream = env.from_source(LiveSource("much"), punctuated(), "live").map(lambda r: r.value)
    stream.key_by(lambda v: v[0]).process(KeepAll())
    submit(env)
    clock.settle()
    feed("much", *((At(n, (n, "x" * (1 << 20))), 0) for n in range(megabytes)))
    turn(clock)
    feed("much", (At(0, (0, "y")), 0))
    turn(clock)
    said = [r.getMessage() for r in caplog.records if "state backend hashmap" in r.getMessage()]
    assert len(said) == warnings
    assert all(f"{megabytes} MB" in text for text in said)


def fails_once(record: At) -> Any:
    if record.value == "boom" and not notes["boom"]:
        note("boom")
        raise ValueError("boom")
    return record.value


@pytest.mark.row("S-BACK-02")
@pytest.mark.parametrize("backend", ["hashmap", "rocksdb"])
@pytest.mark.parametrize("storage", ["jobmanager", "filesystem"])
def test_backend_and_storage_are_chosen_apart(tmp_path: Path, backend: str, storage: str) -> None:
    """A job fails once and goes on from its checkpoint, whatever the two are."""
    options = {
        INTERVAL: "10 s",
        "state.backend.type": backend,
        "execution.checkpointing.storage": storage,
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0 ms",
    }
    clock = SteppedClock()
    env = env_with(1, tmp_path if storage == "filesystem" else None, clock=clock, **options)
    sink = CollectingSink()
    stream = env.from_source(LiveSource("live"), punctuated(), "live").uid("live").map(fails_once)
    stream.key_by(lambda v: v).process(Count()).uid("count").sink_to(sink)
    job = submit(env)
    for value in ("a", "boom", "a"):
        feed("live", (At(1, value), 0))
        turn(clock)
    turn(clock)
    assert job.view.restarts == 1
    assert sink.values == [("a", 1), ("boom", 1), ("a", 2)]
    assert any(tmp_path.rglob("_metadata")) == (storage == "filesystem")
    job.cancel()


def test_a_storage_that_needs_a_directory_says_so() -> None:
    from firesteel.common.errors import ConfigurationError

    env = env_with(1, **{INTERVAL: "10 s", "state.checkpoint-storage": "filesystem"})
    env.from_collection([1]).map(lambda v: v)
    with pytest.raises(ConfigurationError, match="directory"):
        submit(env)


@pytest.mark.row("S-CKPT-42")
def test_checkpoints_grow_with_the_state(tmp_path: Path) -> None:
    clock = SteppedClock()
    env = env_with(1, tmp_path, clock=clock)
    counting(env)
    job = submit(env)
    for batch in range(5):
        feed("live", *((At(n, f"key {batch} {n}"), 0) for n in range(100 << batch)))
        turn(clock)
    reports = job.view.checkpoints.history
    assert len(reports) == 5
    for before, after in itertools.pairwise(reports):
        assert after.state_bytes > before.state_bytes
    job.cancel()
    assert job.wait(patience(10))


@pytest.mark.row("S-BACK-04")
def test_the_old_backend_of_files_keeps_checkpoints_in_its_directory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    clock = SteppedClock()
    old = {"state.backend": "filesystem", "state.backend.fs.checkpointdir": str(tmp_path / "old")}
    env = env_with(1, clock=clock, **old, **RETAIN, **{INTERVAL: "10 s"})
    counting(env)
    with caplog.at_level(logging.WARNING):
        job = submit(env)
    feed("live", (At(1, "a"), 0))
    turn(clock)
    job.cancel()
    assert job.wait(patience(10))
    assert checkpoints(tmp_path / "old") == [1]
    assert any("old name of hashmap" in record.getMessage() for record in caplog.records)
