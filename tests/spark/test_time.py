"""Time on Spark: an idle job, and sources that wait for each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from firesteel.common import Types
from firesteel.common.clock import SystemClock
from firesteel.common.time import Duration
from firesteel.common.watermark_strategy import WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from firesteel.connectors.generated.sequence import SequenceSource
from firesteel.datastream import KeyedProcessFunction, RuntimeExecutionMode
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.program.execution import get_executor
from tests.spark.conftest import MakeEnvironment
from tests.waiting import patience

pytestmark = pytest.mark.spark

EVERY_MS, TIMES = 3_000, 3


class EveryThreeSeconds(KeyedProcessFunction):
    """Tells the instant of its timer, and how late it is by the time of the job, and sets the next one."""

    def process_element(self, value: str, ctx: KeyedProcessFunction.Context) -> None:
        self.set_timer(ctx)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield timestamp, ctx.timer_service().current_processing_time() - timestamp
        self.set_timer(ctx)

    def set_timer(self, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + EVERY_MS)


@pytest.mark.row("S-TIME-02", "X7")
def test_the_timers_of_an_idle_job_fire_in_time_and_else_it_costs_no_spark_job(
    environment: MakeEnvironment, spark_session: SparkSession, tmp_path: Path
) -> None:
    """With the real clock: between two timers not one Spark job runs, and the job never sleeps beyond the
    instant of one. How late it wakes up, and how long its epoch takes, is for the machine to say."""
    awaited: list[tuple[int, int]] = []  # when, and until when

    class Noting(SystemClock):
        def wait_until(self, instant_ms: int, interrupt: threading.Event | None = None) -> bool:
            awaited.append((self.now_ms(), instant_ms))
            return super().wait_until(instant_ms, interrupt)

    (tmp_path / "a.txt").write_text("a\n")
    watched = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
    source = watched.monitor_continuously(Duration.of_hours(1)).build()
    env = environment(2, clock=Noting())
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "watched")
    records = stream.key_by(lambda v: v).process(EveryThreeSeconds()).execute_and_collect()
    (job,) = get_executor().running_jobs
    fired, jobs = [], []
    for _ in range(TIMES):
        fired.append(next(records))
        jobs.append(spark_jobs(spark_session))
        time.sleep(EVERY_MS / 2000)
        assert spark_jobs(spark_session) == jobs[-1], "nothing is due, and a Spark job runs"
    epochs = [report.epoch for report in job.view.reports]
    records.close()
    assert epochs in (list(range(1, TIMES + 1)), list(range(1, TIMES + 2))), "the record, and the timers"
    assert [after - before for before, after in pairwise(jobs)] == [1] * (TIMES - 1), (
        "a timer is one Spark job"
    )
    for timer_ms, _ in fired:
        sleeps = [until_ms for begun_ms, until_ms in awaited if timer_ms - EVERY_MS < begun_ms < timer_ms]
        assert max(sleeps, default=timer_ms) <= timer_ms, "it would have slept for too long"
    assert all(0 <= by_job_ms < patience(1) * 1000 for _, by_job_ms in fired)


def spark_jobs(session: SparkSession) -> int:
    """How many jobs Spark has run since it started, by its own count."""
    return int(session.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


class Steps(WatermarkGenerator):
    def __init__(self, step_ms: int) -> None:
        self.step_ms = step_ms

    def on_event(self, event: int, event_timestamp: int, output: WatermarkOutput) -> None:
        output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None: ...


@pytest.mark.row("S-TIME-13")
def test_aligned_sources_read_everything_in_steps_of_the_drift(environment: MakeEnvironment) -> None:
    """Four splits of two sources, one ten times faster: nothing is lost, and it takes the epochs
    that the drift makes it take."""
    drift_ms = 20_000
    env = environment(2)
    streams = []
    for step_ms in (1, 10):
        strategy = (
            WatermarkStrategy.for_generator(lambda step_ms=step_ms: Steps(step_ms))
            .with_timestamp_assigner(lambda value, _, step_ms=step_ms: value % 50_000 * step_ms)
            .with_watermark_alignment("g", Duration.of_millis(drift_ms))
        )
        source = SequenceSource(0, 99_999)
        streams.append(env.from_source(source, strategy, f"by {step_ms}").map(lambda v, s=step_ms: (s, 1)))
    summed = streams[0].union(streams[1]).key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    records = summed.execute_and_collect()
    (job,) = get_executor().running_jobs
    counts: dict[int, int] = {}
    for step_ms, count in records:
        counts[step_ms] = max(count, counts.get(step_ms, 0))
    assert counts == {1: 100_000, 10: 100_000}
    assert 5 <= job.view.epoch <= 25, "500,000 ms in steps of one drift and one chunk (40,960 ms) at most"


def stamp(path: Path) -> None:
    """Add the present instant to a file; the clock is that of the machine."""
    with path.open("a") as file:
        file.write(f"{time.monotonic_ns()}\n")


@pytest.mark.row("S-SCHED-03", "S-SCHED-05", "S-NET-12")
def test_in_batch_mode_a_level_begins_when_the_one_before_has_ended(
    environment: MakeEnvironment, tmp_path: Path
) -> None:
    env = environment(2)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)

    def first(value: int) -> int:
        stamp(tmp_path / "first")
        return value

    def second(value: int) -> int:
        stamp(tmp_path / "second")
        return value

    numbers = env.from_sequence(0, 99).map(first, Types.LONG()).key_by(lambda v: v % 5).map(second)
    assert sorted(numbers.execute_and_collect()) == list(range(100))
    ended, begun = (
        [int(line) for line in (tmp_path / name).read_text().split()] for name in ("first", "second")
    )
    assert len(ended) == len(begun) == 100
    assert max(ended) <= min(begun)
