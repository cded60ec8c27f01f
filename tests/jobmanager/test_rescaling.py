"""The parallelism of a job changes while it runs, and nobody can tell it by the results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.common.job_status import JobStatus
from firesteel.common.time import Duration
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import DataStream, MapFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.jobmanager.events import (
    AttemptStarted,
    CheckpointCompleted,
    CheckpointTriggered,
    ExceptionRaised,
    RecoveryStep,
    Rescaled,
)
from firesteel.jobmanager.gateway import JobGateway
from firesteel.jobmanager.rescale_view import Bounds, RescaleCause, RescaleStatus
from tests.jobmanager.rescale_support import (
    RescalingEngine,
    expected,
    program,
    running,
    wide_platform,
)
from tests.runtime.support import (
    LiveSource,
    collect,
    environment,
    feed,
    in_both_modes,
    local_platform,
    note,
    notes,
)
from tests.waiting import patience, until

RECORDS = 3_000


def run(engine: RescalingEngine, parallelism: int = 2, **options: str) -> list[Any]:
    with local_platform(lambda: engine):
        env = environment(parallelism, epoch_records=60, **options)
        env.set_max_parallelism(16)
        return sorted(collect(program(env, RECORDS)))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.row("S-SCHED-06")
def test_the_result_is_that_of_the_run_without(seed: int) -> None:
    """Broken by hand: ``Rescaler._move`` without ``take_over``; ``SourceCoordinator.rescale`` that forgets
    positions; old lines for new subtasks."""
    begin = 3 + seed % 5
    orders = {begin: 4, begin + 5 + seed % 3: 1, begin + 9 + seed % 3: 3}
    engine = RescalingEngine(orders, seed)
    assert run(engine) == expected(RECORDS)
    reports = [answer.result(0) for answer in engine.answers]
    assert [report.status for report in reports] == [RescaleStatus.COMPLETED] * 3
    assert sorted({max(widths) for widths in engine.widths}) == [1, 2, 3, 4]
    assert engine.epochs == len(engine.widths), "no epoch was run in vain"
    for report in reports:
        assert report.pause_ms > 0
        assert [spell.state for spell in report.spells] == [
            "Executing", "Restarting", "CreatingExecutionGraph", "Executing",
        ]  # fmt: skip


def live(env: StreamExecutionEnvironment, records: int, rate: int) -> DataStream:
    """The program with a source that takes its time."""
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(50))
    stamped = strategy.with_timestamp_assigner(lambda value, _: int(value))
    source = DataGeneratorSource(lambda index: int(index), records, RateLimiterStrategy.per_second(rate))
    pairs = env.from_source(source, stamped, "numbers").map(lambda n: (n % 7, n)).name("pair")
    return (
        pairs.key_by(lambda v: v[0])
        .window(TumblingEventTimeWindows.of(Duration.of_millis(100)))
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )


def windows(records: int) -> list[Any]:
    found: dict[tuple[int, int], int] = {}
    for n in range(records):
        found[n % 7, n // 100] = found.get((n % 7, n // 100), 0) + n
    return sorted((key, total) for (key, _), total in found.items())


@in_both_modes
def test_it_changes_under_load(mode: str) -> None:
    records = 4_800
    with wide_platform():
        env = environment(2, **{"execution.mode": mode, "execution.checkpointing.interval": "150 ms"})
        env.set_max_parallelism(16)
        results = live(env, records, 800).execute_and_collect()
        found = [next(results)]
        job = running()
        for parallelism in (4, 1, 3):
            report = job.rescale(parallelism).result(patience(30))
            assert report.status is RescaleStatus.COMPLETED, report
            assert {vertex.after for vertex in report.vertices} == {parallelism}
            epoch = job.view.epoch
            until(lambda epoch=epoch: job.view.epoch > epoch or job.view.ended_ms)  # type: ignore[misc]
        found += results
    assert sorted(found) == windows(records)
    view = job.view
    assert view.status is JobStatus.FINISHED
    assert (view.rescales.changes, view.restarts, view.attempt) == (3, 0, 3)
    assert {len(vertex.subtasks) for vertex in view.vertices} == {3}
    assert sum(s.records_in for s in view.vertices[0].subtasks) == records, "counters go on"
    events = [event for event in view.journal.events if isinstance(event, Rescaled)]
    assert [{to for _, _, to in event.parallelism} for event in events] == [{4}, {1}, {3}]
    assert max(event.pause_ms for event in events) < patience(5) * 1000, "it hangs in between"


def values(job: JobGateway, topic: str, count: int) -> list[Any]:
    until(lambda: len(notes[topic]) >= count)
    return list(notes[topic])


class Fails(MapFunction):
    """Fails once."""

    def map(self, value: Any) -> Any:
        if value == "fail" and not notes["failed"]:
            note("failed")
            raise ValueError("once")
        return value


def summed(env: StreamExecutionEnvironment, topic: str, splits: int = 2) -> None:
    stream = env.from_source(LiveSource(topic, splits), WatermarkStrategy.no_watermarks(), "live")
    pairs = stream.map(Fails()).map(lambda v: (len(v), 1))
    pairs.key_by(lambda v: v[0]).sum(1).uid("sum").map(lambda v: note(topic, v)).set_parallelism(1)


@pytest.mark.parametrize("checkpoints", [True, False])
def test_a_job_that_fails_afterwards_goes_on_with_the_new_parallelism(
    checkpoints: bool, tmp_path: Path
) -> None:
    """From a checkpoint with the subtasks of before or of now; without one from the beginning."""
    options = {"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.delay": "0"}
    if checkpoints:
        options["execution.checkpointing.interval"] = "1 h"
        options["execution.checkpointing.dir"] = f"file://{tmp_path}"
    with wide_platform():
        env = environment(2, **options)
        summed(env, "t")
        client = env.execute_async()
        job = running()
        feed("t", ("aa", 0), ("aa", 0))
        assert values(job, "t", 2)[-1] == (2, 2)
        if checkpoints:
            job.checkpoint().result(patience(10))
        assert job.rescale(1).result(patience(10)).status is RescaleStatus.COMPLETED
        feed("t", ("bb", 0))
        assert values(job, "t", 3)[-1] == (2, 3)
        feed("t", ("fail", 0), ("cc", 0))
        last = until(lambda: (2, 4) in notes["t"] and job.view.rescales.history[-1].ended_ms)
        assert last
        until(lambda: {len(v.subtasks) for v in job.view.vertices} == {1})
        assert notes["t"].count((2, 4)) == 1
        client.cancel().result()
        assert job.view.restarts == 1
        attempts = [e for e in job.view.journal.events if isinstance(e, AttemptStarted)]
        assert [e.attempt for e in attempts] == ([1, 2] if checkpoints else [1, 2, 3])


def test_what_is_late_stays_late_and_who_is_idle_stays_idle() -> None:
    """Watermarks are no state, and go on all the same."""
    with wide_platform():
        env = environment(2)
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(0))
        strategy = strategy.with_idleness(Duration.of_millis(200))
        stream = env.from_source(LiveSource("late", 2), strategy, "live")
        counts = stream.key_by(lambda v: 0).window(TumblingEventTimeWindows.of(Duration.of_millis(100)))
        counts.reduce(lambda a, b: a + b).map(lambda v: note("windows", v)).set_parallelism(1)
        client = env.execute_async()
        job = running()
        feed("late", ("a", 10), ("b", 250))  # the second split is idle after a while
        assert values(job, "windows", 1) == ["a"]
        for parallelism in (1, 2):
            assert job.rescale(parallelism).result(patience(10)).status is RescaleStatus.COMPLETED
        feed("late", ("too late", 20), ("c", 260), ("d", 450))
        assert values(job, "windows", 2) == ["a", "bc"], "and not the one that is late"
        dropped = until(
            lambda: [
                m.value
                for v in job.view.vertices
                for s in v.subtasks
                for m in s.metrics
                if m.name == "numLateRecordsDropped" and m.value
            ]
        )
        assert dropped == [1]
        client.cancel().result()


def test_requirements_in_the_words_of_flink() -> None:
    with wide_platform():
        env = environment(2)
        env.set_max_parallelism(8)
        summed(env, "t")
        client = env.execute_async()
        job = running()
        until(lambda: job.view.rescales.history)
        ids = [vertex.id for vertex in job.view.vertices]
        bounds = {vertex.id: Bounds(1, len(vertex.subtasks)) for vertex in job.view.vertices}
        view = job.view.rescales
        assert dict(view.requirements) == bounds

        def refused(wanted: Any) -> str:
            with pytest.raises(FiresteelError) as error:
                job.rescale(wanted).result(patience(10))
            return str(error.value)

        assert "does not specify resource requirements" in refused({})
        assert f"missing job vertex [{ids[-1]}]" in refused(dict.fromkeys(ids[:-1], Bounds(1, 1)))
        assert "lower bound [3]" in refused({**bounds, ids[1]: Bounds(3, 1)})
        assert "is higher than the upper bound [1]" in refused({**bounds, ids[1]: Bounds(3, 1)})
        assert "must be at least 1" in refused({**bounds, ids[1]: Bounds(0, 1)})
        assert "exceeds its maximum parallelism [8]" in refused({**bounds, ids[1]: Bounds(1, 9)})
        assert "was not found" in refused({**bounds, "f" * 32: Bounds(1, 1)})
        assert "higher than the max parallelism" in refused(9)
        assert "at least 1" in refused(0)
        assert job.view.rescales == view, "nothing of that counts"
        same = job.rescale(bounds).result(patience(10))
        assert (same.status, same.cause) == (RescaleStatus.IGNORED, RescaleCause.UPDATE_REQUIREMENT)
        assert dict(job.view.rescales.requirements) == bounds
        client.cancel().result()
        assert "it has ended" in refused(1)


def test_a_job_in_real_time_needs_slots_for_all_levels() -> None:
    with wide_platform() as platform:
        env = environment(2, **{"execution.mode": "real-time"})
        summed(env, "t", splits=4)
        client = env.execute_async()
        job = running()
        until(lambda: job.view.epoch)
        platform.slots = 8  # two are for commits, and the last level has one
        ids = [vertex.id for vertex in job.view.vertices]
        wanted = {**dict.fromkeys(ids[:-1], Bounds(1, 4)), ids[-1]: Bounds(1, 1)}
        report = job.rescale(wanted).result(patience(10))
        assert report.status is RescaleStatus.IGNORED, "2 + 2 + 1 is the most that fits"
        platform.slots = 4
        with pytest.raises(FiresteelError, match="need 3 slots, and there are 2"):
            job.rescale(wanted).result(patience(10))
        assert job.view.rescales.history[-1].status is RescaleStatus.FAILED
        epoch = job.view.epoch
        until(lambda: job.view.epoch > epoch)
        client.cancel().result()


@pytest.mark.parametrize(
    ("options", "why"),
    [({"jobmanager.scheduler": "default"}, "jobmanager.scheduler is default")],
)
@pytest.mark.row("S-SCHED-01", "S-SCHED-11")
def test_a_job_may_be_kept_as_it_is(options: dict[str, str], why: str) -> None:
    with wide_platform():
        env = environment(2, **options)
        summed(env, "t")
        client = env.execute_async()
        with pytest.raises(FiresteelError, match=why):
            running().rescale(1).result(patience(10))
        assert not running().view.rescales.adaptive
        client.cancel().result()


@pytest.mark.row("S-SCHED-09")
def test_reactive_mode_follows_the_slots() -> None:
    with wide_platform() as platform:
        platform.slots = 3
        prefix = "jobmanager.adaptive-scheduler.executing."
        env = environment(
            2,
            **{
                "scheduler-mode": "reactive",
                prefix + "resource-stabilization-timeout": "100 ms",
                prefix + "cooldown-after-rescaling": "100 ms",
            },
        )
        env.set_max_parallelism(6)
        rate = RateLimiterStrategy.per_second(500)
        source = DataGeneratorSource(lambda index: int(index), None, rate)
        stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        stream.key_by(lambda v: v % 9).reduce(lambda a, b: a + b).filter(lambda v: False).print()
        client = env.execute_async()
        job = running()

        def widths() -> set[int]:
            return {len(vertex.subtasks) for vertex in job.view.vertices}

        until(lambda: widths() == {3})
        platform.slots = 5
        until(lambda: widths() == {5})
        platform.slots = 9
        until(lambda: widths() == {6})
        platform.slots = 1
        until(lambda: widths() == {1})
        causes = [report.cause for report in job.view.rescales.history]
        assert set(causes[1:]) == {RescaleCause.NEW_RESOURCE_AVAILABLE}
        client.cancel().result()


def test_vertices_that_hand_on_by_forward_edges_have_one_parallelism() -> None:
    with wide_platform():
        env = environment(2)
        stream = env.from_source(LiveSource("t", 2), WatermarkStrategy.no_watermarks(), "live")
        stream.map(lambda v: note("t", v)).name("apart").disable_chaining()
        client = env.execute_async()
        job = running()
        first, second = (vertex.id for vertex in job.view.vertices)
        with pytest.raises(ConfigurationError, match="none in common"):
            job.rescale({first: Bounds(1, 1), second: Bounds(2, 2)}).result(patience(10))
        report = job.rescale({first: Bounds(1, 1), second: Bounds(1, 2)}).result(patience(10))
        assert {vertex.after for vertex in report.vertices} == {1}
        feed("t", ("a", 0))
        feed("t", ("b", 0), split=1)
        assert sorted(values(job, "t", 2)) == ["a", "b"]
        client.cancel().result()


def test_a_savepoint_can_be_taken_and_a_drained_job_ends_after_it(tmp_path: Path) -> None:
    with wide_platform():
        env = environment(3)
        summed(env, "t", splits=3)
        client = env.execute_async()
        job = running()
        feed("t", ("aa", 0), ("a", 0))
        values(job, "t", 2)
        assert job.rescale(2).result(patience(10)).status is RescaleStatus.COMPLETED
        feed("t", ("bb", 0), split=2)
        assert values(job, "t", 3)[-1] == (2, 2)
        path = client.stop_with_savepoint(True, str(tmp_path)).result()
        assert client.get_job_status().result() is JobStatus.FINISHED
        client.get_job_execution_result().result()  # from then on it is not among those that run
        notes.clear()
        configuration = {"execution.state-recovery.path": path}
        again = environment(1, **configuration)
        summed(again, "t", splits=3)
        client = again.execute_async()
        feed("t", ("cc", 0))
        assert values(running(), "t", 1) == [(2, 3)]
        client.cancel().result()


@pytest.mark.row("S-FAIL-03", "S-CKPT-46", "S-CKPT-03")
def test_the_journal_tells_of_checkpoints_and_recovery_step_by_step(tmp_path: Path) -> None:
    options = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "0",
        "execution.checkpointing.interval": "1 h",
        "execution.checkpointing.dir": f"file://{tmp_path}",
    }
    with wide_platform():
        env = environment(2, **options)
        summed(env, "t")
        client = env.execute_async()
        job = running()
        feed("t", ("aa", 0))
        values(job, "t", 1)
        number = job.checkpoint().result(patience(10))
        feed("t", ("fail", 0))
        until(lambda: any(getattr(e, "step", "") == "processing resumed" for e in job.view.journal.events))
        client.cancel().result()
    names = [vertex.name for vertex in job.view.vertices]
    triggered, completed = (
        next(e for e in job.view.journal.events if isinstance(e, kind))
        for kind in (CheckpointTriggered, CheckpointCompleted)
    )
    assert (triggered.id, triggered.sources) == (number, tuple(names[:1])), "it is told to sources alone"
    assert (completed.id, completed.vertices) == (number, tuple(names)), "in the order of the graph"
    assert completed.time_ms >= triggered.time_ms
    failed = next(i for i, e in enumerate(job.view.journal.events) if isinstance(e, ExceptionRaised))
    steps = [(e.step, e.detail) for e in job.view.journal.events[failed:] if isinstance(e, RecoveryStep)]
    assert [step for step, _ in steps] == [
        "tasks stopped", "state restored", "sources rewound", "operators redeployed", "processing resumed",
    ]  # fmt: skip
    assert steps[1][1] == completed.path
