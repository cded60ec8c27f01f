"""Whole jobs without Spark: scripted sources, a collecting sink, a clock that is set by hand."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from firesteel.common import Configuration, Duration, WatermarkStrategy
from firesteel.common.errors import JobExecutionError, ProgramError
from firesteel.common.job_status import JobStatus
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.connectors.base import ReadRange, Split
from firesteel.datastream import (
    KeyedProcessFunction,
    ProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.testing import (
    CollectingSink,
    ManualClock,
    MiniCluster,
    ScriptedSource,
    StreamRecord,
    WaitUntil,
    Watermark,
    WatermarkStatus,
)
from firesteel.testing.scripted_source import ScriptPart, ScriptReader
from tests.waiting import until

from .functions import Count, CountInSelf, identity

NO_WATERMARKS = WatermarkStrategy.no_watermarks()
MAX = 2**63 - 1
IDLE, ACTIVE = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE


@pytest.fixture
def cluster() -> Iterator[MiniCluster]:
    with MiniCluster.in_process() as cluster:
        yield cluster


class Watch(ProcessFunction):
    """(record, watermark when it came)."""

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value, ctx.timer_service().current_watermark()


def watched(cluster: MiniCluster, *scripts: Any, clock: ManualClock | None = None) -> list[Any]:
    env = cluster.environment(parallelism=1, clock=clock)
    stream = env.from_source(ScriptedSource(*scripts), NO_WATERMARKS, "script")
    return list(stream.process(Watch()).execute_and_collect())


def test_a_script_says_where_its_watermarks_are(cluster: MiniCluster) -> None:
    script = [StreamRecord("a", 3), Watermark(5), StreamRecord("b", 9), StreamRecord("c", 4), Watermark(8)]
    assert watched(cluster, script) == [("a", -MAX - 1), ("b", 5), ("c", 5)]


@pytest.mark.row("S-API-05")
def test_the_watermark_is_the_minimum_over_active_splits(cluster: MiniCluster) -> None:
    """Two splits of one subtask, the operator sees the minimum."""
    clock = ManualClock()
    env = cluster.environment(parallelism=1, clock=clock)
    source = ScriptedSource([], [], bounded=False)
    sink = CollectingSink()
    env.from_source(source, NO_WATERMARKS, "script").process(Watch()).sink_to(sink)
    client = env.execute_async()
    seen = []
    for split, events in [
        (0, [Watermark(10)]),
        (1, [Watermark(5)]),
        (1, [IDLE]),
        (1, [ACTIVE, Watermark(7)]),
        (0, [Watermark(12)]),
        (1, [Watermark(13)]),
        (0, [Watermark(15)]),
    ]:
        for step in (events, [StreamRecord("?")]):
            clock.settle()
            source.send(*step, split=split)
            clock.advance(100)
        clock.settle()
        seen.append(sink.values[-1][1])
    assert seen == [-MAX - 1, 5, 10, 10, 12, 12, 13]
    source.end()
    clock.advance(100)
    client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FINISHED


def test_the_sink_keeps_timestamps(cluster: MiniCluster) -> None:
    env = cluster.environment(parallelism=2)
    sink = CollectingSink()
    script = [StreamRecord("a", 1), StreamRecord("b"), StreamRecord("a", 3)]
    stream = env.from_source(ScriptedSource(script), NO_WATERMARKS, "script")
    stream.key_by(identity).process(Count()).sink_to(sink)
    env.execute()
    assert sorted(sink.records, key=str) == [
        StreamRecord(("a", 1), 1),
        StreamRecord(("a", 2), 3),
        StreamRecord(("b", 1), None),
    ]
    assert pickle.loads(pickle.dumps(sink)).records == [], "what was collected stays here"


class At(TimestampAssigner):
    def extract_timestamp(self, value: int, record_timestamp: int) -> int:
        return value


def test_a_strategy_under_test_works_on_a_script(cluster: MiniCluster) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(2)).with_timestamp_assigner(
        At()
    )
    env = cluster.environment(one_record_an_epoch(), parallelism=1)
    script = [StreamRecord(n) for n in (10, 20, 15)]
    stream = env.from_source(ScriptedSource(script), strategy, "script").process(Watch())
    assert list(stream.execute_and_collect()) == [(10, -MAX - 1), (20, 7), (15, 17)]


def one_record_an_epoch() -> Configuration:
    configuration = Configuration()
    configuration.set_string("firesteel.epoch.max-records", "1")
    return configuration


def test_batch_mode_knows_no_watermarks(cluster: MiniCluster) -> None:
    env = cluster.environment(parallelism=1)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    script = [Watermark(5), StreamRecord("a", 1), IDLE, StreamRecord("b", 2)]
    stream = env.from_source(ScriptedSource(script), NO_WATERMARKS, "script").process(Watch())
    assert list(stream.execute_and_collect()) == [("a", -MAX - 1), ("b", -MAX - 1)]


# ---- processing time


class Alarm(KeyedProcessFunction):
    """Says when 500 ms of processing time are over."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 500)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp


def test_processing_time_of_a_whole_job(cluster: MiniCluster) -> None:
    clock = ManualClock(1_000)
    env = cluster.environment(parallelism=2, clock=clock)
    source, sink = ScriptedSource([], bounded=False), CollectingSink()
    env.from_source(source, NO_WATERMARKS, "script").key_by(identity).process(Alarm()).sink_to(sink)
    client = env.execute_async()
    clock.settle()
    source.send(StreamRecord("a"))
    clock.advance_to(1_100)
    clock.settle()
    clock.advance_to(1_599)
    clock.settle()
    assert sink.values == []
    clock.advance_to(1_600)
    clock.settle()
    assert sink.values == [("a", 1_600)]
    client.cancel().result()


def test_what_waits_comes_at_its_time(cluster: MiniCluster) -> None:
    clock = ManualClock()
    env = cluster.environment(parallelism=1, clock=clock)
    sink = CollectingSink()
    script = [
        StreamRecord("now"),
        WaitUntil(5_000),
        StreamRecord("later"),
        WaitUntil(4_000),
        StreamRecord("end"),
    ]
    env.from_source(ScriptedSource(script), NO_WATERMARKS, "script").sink_to(sink)
    client = env.execute_async()
    clock.settle()
    assert sink.values == ["now"]
    clock.advance_to(4_999)
    clock.settle()
    assert sink.values == ["now"]
    clock.advance_to(5_000)
    client.get_job_execution_result().result()
    assert sink.values == ["now", "later", "end"]


def test_waiting_for_records_in_real_time(cluster: MiniCluster) -> None:
    env = cluster.environment(parallelism=1)
    source, sink = ScriptedSource([], bounded=False), CollectingSink()
    env.from_source(source, NO_WATERMARKS, "script").sink_to(sink)
    client = env.execute_async()
    source.send(StreamRecord("a"))
    assert sink.wait_for(1) == ["a"]
    with pytest.raises(TimeoutError, match="1 of 2 records"):
        sink.wait_for(2, timeout_s=0.01)
    client.cancel().result()


def test_nobody_waits_for_the_clock() -> None:
    with pytest.raises(TimeoutError, match="nobody waits"):
        ManualClock().settle(timeout_s=0.01)


# ---- the contract of a source


def test_the_same_range_gives_the_same_chunks() -> None:
    events = tuple(StreamRecord(n, n) if n % 7 else Watermark(n) for n in range(2_500))
    range_ = ReadRange(Split("s", 0), None, 10_000, 10_000, ScriptPart(events, 2_500, True))
    chunks = list(ScriptReader().read(range_))
    assert chunks == list(ScriptReader().read(pickle.loads(pickle.dumps(range_))))
    assert [chunk.end for chunk in chunks] == [False, False, True]
    assert [v for chunk in chunks for v in chunk.values] == [n for n in range(2_500) if n % 7]
    assert sum(len(chunk.marks) for chunk in chunks) == len(range(0, 2_500, 7))


@pytest.mark.parametrize("epoch_records", ["1", "2", "100"])
def test_a_script_is_cut_into_epochs(cluster: MiniCluster, epoch_records: str) -> None:
    configuration = Configuration()
    configuration.set_string("firesteel.epoch.max-records", epoch_records)
    env = cluster.environment(configuration, parallelism=1)
    script = [event for n in range(9) for event in (StreamRecord(n, n), Watermark(n))]
    stream = env.from_source(ScriptedSource(script), NO_WATERMARKS, "script").process(Watch())
    assert list(stream.execute_and_collect()) == [(n, n - 1 if n else -MAX - 1) for n in range(9)]


@pytest.mark.parametrize(
    ("misuse", "said"),
    [
        (lambda: ScriptedSource(), "one for each split"),
        (lambda: ScriptedSource(["a"]), "StreamRecord(value, timestamp)"),
        (lambda: ScriptedSource([]).send(StreamRecord(1)), "bounded=False"),
        (lambda: ScriptedSource([], bounded=False).send(StreamRecord(1), split=1), "split"),
        (lambda: ScriptedSource([], bounded=False).send("a"), "got 'a'"),
        (lambda: StreamRecord(1, 2**63), "timestamp"),
        (lambda: Watermark(1.5), "watermark"),
    ],
)
def test_misuse(misuse: Any, said: str) -> None:
    with pytest.raises(ProgramError) as refused:
        misuse()
    assert said in str(refused.value)


# ---- the cluster in this process


@pytest.mark.row("S-API-01")
def test_a_program_makes_its_own_environment(cluster: MiniCluster) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    assert list(env.from_collection([1, 2]).map(lambda n: n + 1).execute_and_collect()) == [2, 3]


def test_a_cluster_takes_the_place_of_another_one_until_it_stops(cluster: MiniCluster) -> None:
    with MiniCluster.in_process() as other:
        env = other.environment(one_record_an_epoch(), parallelism=1)
        assert list(env.from_collection([1, 2]).execute_and_collect()) == [1, 2]
    env = cluster.environment(parallelism=1)
    assert list(env.from_collection([3]).execute_and_collect()) == [3]


def test_epochs_run_in_several_processes(cluster: MiniCluster) -> None:
    env = cluster.environment(one_record_an_epoch(), parallelism=1)
    stream = env.from_collection(["a"] * 4).key_by(identity)
    assert list(stream.process(CountInSelf()).execute_and_collect()) != [("a", n) for n in (1, 2, 3, 4)]
    with pytest.raises(ProgramError, match="runs already"):
        cluster.start()


def test_two_jobs_at_once(cluster: MiniCluster) -> None:
    sinks = [CollectingSink() for _ in range(2)]
    clients = []
    for sink in sinks:
        env = cluster.environment(one_record_an_epoch(), parallelism=2)
        env.from_collection(list(range(20))).key_by(lambda n: n % 3).process(Count()).sink_to(sink)
        clients.append(env.execute_async())
    for client in clients:
        client.get_job_execution_result().result()
    expected = sorted((n % 3, n // 3 + 1) for n in range(20))
    assert [sorted(sink.values) for sink in sinks] == [expected, expected]


def test_what_runs_is_cancelled_with_the_cluster() -> None:
    with MiniCluster.in_process() as cluster:
        env = cluster.environment(parallelism=1)
        env.from_source(ScriptedSource([], bounded=False), NO_WATERMARKS, "script").print()
        client = env.execute_async()
    assert client.get_job_status().result() is JobStatus.CANCELED
    cluster.stop()  # once more: nothing happens
    with pytest.raises(ProgramError, match="does not run"):
        cluster.environment()


def test_an_error_of_a_job(cluster: MiniCluster) -> None:
    env = cluster.environment(parallelism=1)
    with pytest.raises(JobExecutionError) as failed:
        list(env.from_collection([0]).map(lambda n: 1 / n).execute_and_collect())
    assert isinstance(failed.value.__cause__, ZeroDivisionError)


def test_there_is_no_spark_in_this_process(cluster: MiniCluster) -> None:
    with pytest.raises(ProgramError, match="no Spark session"):
        _ = cluster.spark
    with pytest.raises(ProgramError, match="no Spark session"):
        cluster.kill_python_worker()
    with pytest.raises(ProgramError, match="number of processes"):
        MiniCluster.in_process(0)


def test_what_a_cancelled_job_has_open_is_closed_with_the_cluster(tmp_path: Path) -> None:
    """The worker processes that are played here end, too."""
    (tmp_path / "lines").write_text("".join(f"{n}\n" for n in range(1000)))
    with MiniCluster.in_process() as cluster:
        env = cluster.environment(
            Configuration.from_dict({"firesteel.epoch.max-records": "10"}), parallelism=1
        )
        source = (
            FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
            .monitor_continuously(Duration.of_millis(50))
            .build()
        )
        env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").print()
        job = env.execute_async()
        until(lambda: opened(tmp_path), "the file is not read")
        job.cancel().result()
    assert not opened(tmp_path)


def opened(directory: Path) -> list[str]:
    return [file.path for file in psutil.Process().open_files() if file.path.startswith(str(directory))]
