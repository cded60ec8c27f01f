"""Jobs in real time on Spark: their results, their failures, and their savepoints."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.common.errors import JobExecutionError, UnsupportedFeatureError
from firesteel.common.job_client import JobClient
from firesteel.common.job_status import JobStatus
from firesteel.common.restart_strategy import RestartStrategies
from firesteel.datastream import DataStream, KeyedProcessFunction, OutputTag, StreamExecutionEnvironment
from firesteel.datastream.connectors import NumberSequenceSource
from firesteel.datastream.window import TumblingProcessingTimeWindows
from firesteel.program.execution import get_executor
from firesteel.spark import pipelined, platform
from firesteel.spark.machines import slots_of
from firesteel.testing.collecting_sink import CollectingSink
from tests.realtime.conftest import SLOTS, MakeEnvironment
from tests.realtime.support import Count, generated
from tests.waiting import until

pytestmark = pytest.mark.spark

RECORDS = 5_000
KEYS = 7


def numbers(
    env: StreamExecutionEnvironment, rate: float | None = 2_000.0, count: int = RECORDS
) -> DataStream:
    return generated(env, count, rate)


def counted(stream: DataStream) -> DataStream:
    return stream.key_by(lambda n: n % KEYS, Types.LONG()).process(Count()).uid("count")


def each_once(count: int) -> list[tuple[int, int]]:
    """What ``counted`` gives of the numbers below ``count``, sorted."""
    sizes = Counter(n % KEYS for n in range(count))
    return sorted((key, i) for key, size in sizes.items() for i in range(1, size + 1))


@pytest.mark.row("S-SPARK-10")
def test_results_are_exact(environment: MakeEnvironment) -> None:
    env = environment()
    env.enable_checkpointing(300)
    with counted(numbers(env)).execute_and_collect() as results:
        assert sorted(results) == each_once(RECORDS)


def test_workers_begin_with_the_engine_in_them(environment: MakeEnvironment) -> None:
    """They are forked by a process that has imported it."""

    def forked_by(n: int) -> str:
        main = sys.modules["__main__"]
        return "" if main.__spec__ is None else main.__spec__.name

    with numbers(environment(), count=10).map(forked_by, Types.STRING()).execute_and_collect() as found:
        assert set(found) == {"firesteel.spark.daemon"}


def test_deep_programs(environment: MakeEnvironment) -> None:
    """Five levels, with a union, a side output and a diamond in them."""
    odd = OutputTag("odd", Types.LONG())
    env = environment(2)
    stream = env.from_source(
        NumberSequenceSource(1, 1_000), WatermarkStrategy.no_watermarks(), "numbers"
    ).rebalance()

    class Split(KeyedProcessFunction):
        def process_element(self, value: int, ctx: Any) -> Iterator[Any]:
            yield (odd, value) if value % 2 else value

    split = stream.key_by(lambda n: n % KEYS).process(Split(), Types.LONG())
    joined = split.union(split.get_side_output(odd)).key_by(lambda n: n % 3).map(lambda n: (n % 3, n))
    summed = joined.key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))
    with summed.key_by(lambda pair: pair[0]).map(lambda pair: pair).execute_and_collect() as results:
        last = dict[int, int]()
        for key, total in results:
            last[key] = max(total, last.get(key, 0))
    assert last == {key: sum(n for n in range(1, 1_001) if n % 3 == key) for key in range(3)}


def test_what_a_function_raises_is_what_the_job_fails_with(environment: MakeEnvironment) -> None:
    def fails(n: int) -> int:
        if n == 1_000:
            raise ValueError("a thousand")
        return n

    env = environment()
    env.set_restart_strategy(RestartStrategies.no_restart())
    stream = numbers(env)
    counted(stream).map(lambda pair: pair[0]).name("beside it").key_by(lambda n: n).map(str).print()
    stream.key_by(lambda n: n % KEYS).map(fails).name("the one that fails").print()
    with pytest.raises(JobExecutionError, match="ValueError: a thousand") as caught:
        env.execute("fails")
    assert caught.value.operator == "the one that fails"
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("how", ["raises", "kills its process"])
def test_a_job_without_an_exchange_fails_at_once(environment: MakeEnvironment, how: str) -> None:
    """Spark would run its task again, which nobody would tell what to do."""

    def fails(n: int) -> int:
        if n == 1_000:
            ended(how)
        return n

    env = environment()
    env.set_restart_strategy(RestartStrategies.no_restart())
    numbers(env).map(fails).print()
    client = env.execute_async("fails")
    job = client._handle.job  # type: ignore[attr-defined]
    until(lambda: job.status is JobStatus.FAILED)


def ended(how: str) -> None:
    if how == "raises":
        raise RuntimeError("once")
    if how == "kills its process":
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(3)


@pytest.mark.parametrize("how", ["raises", "kills its process", "leaves"])
@pytest.mark.parametrize("behind_the_exchange", [False, True])
def test_a_job_goes_on_after_a_failure(
    environment: MakeEnvironment, tmp_path: Path, how: str, behind_the_exchange: bool
) -> None:
    marker = tmp_path / "failed"

    def fails_once(n: int) -> int:
        if n == RECORDS // 2 and not marker.exists():
            marker.write_text("")
            ended(how)
        return n

    env = environment()
    env.enable_checkpointing(200)
    env.set_restart_strategy(RestartStrategies.fixed_delay_restart(2, 100))
    stream = numbers(env)
    if behind_the_exchange:
        stream = stream.key_by(lambda n: n % KEYS)
    with counted(stream.map(fails_once, Types.LONG())).execute_and_collect() as results:
        assert sorted(results) == each_once(RECORDS)
    assert marker.exists()


@pytest.mark.parametrize(
    ("first", "second"), [("real-time", "epochs"), ("epochs", "real-time"), ("real-time", "real-time")]
)
def test_a_savepoint_takes_a_job_to_the_other_mode(
    environment: MakeEnvironment, tmp_path: Path, first: str, second: str
) -> None:
    """The first job would go on for most of a minute, so that it is stopped in mid-stream on a busy machine,
    too."""
    results: list[tuple[int, int]] = []

    def build(mode: str, rate: float, **options: str) -> tuple[StreamExecutionEnvironment, CollectingSink]:
        env = environment(2, **{"execution.mode": mode, **options})
        env.enable_checkpointing(200)
        sink = CollectingSink()
        counted(numbers(env, rate)).sink_to(sink).uid("sink")
        return env, sink

    env, sink = build(first, 100.0)
    client = env.execute_async("first")
    until(lambda: len(sink.values) > RECORDS // 50)
    path = client.stop_with_savepoint(False, str(tmp_path)).result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    results += sink.values
    assert len(results) < RECORDS
    env, sink = build(second, 2_000.0, **{"execution.state-recovery.path": path})
    env.execute("second")
    results += sink.values
    assert sorted(results) == each_once(RECORDS)


def test_a_job_is_cancelled(environment: MakeEnvironment) -> None:
    env = environment()
    sink = CollectingSink()
    counted(numbers(env, 100.0, 1 << 40)).sink_to(sink)
    client = env.execute_async("without end")
    until(lambda: len(sink.values) > 10)
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED


@pytest.mark.parametrize("behind_the_exchange", [False, True])
def test_slow_functions_do_not_keep_checkpoints_away(
    environment: MakeEnvironment, behind_the_exchange: bool
) -> None:
    """Records that are all there at once, and would take half an hour."""

    def slow(n: int) -> int:
        time.sleep(0.05)
        return n

    env = environment()
    env.enable_checkpointing(500)
    stream = numbers(env, None, 100_000)
    if behind_the_exchange:
        stream = stream.key_by(lambda n: n % 100)
    stream.map(slow).print()
    client = env.execute_async("slow")
    job = client._handle.job  # type: ignore[attr-defined]
    until(lambda: job.view.checkpoints.completed >= 4)
    client.cancel().result()
    assert max(report.records for report in job.view.reports) <= 1_000


@pytest.mark.parametrize("behind_the_exchange", [False, True])
def test_records_of_a_collection_do_not_wait_for_each_other(
    environment: MakeEnvironment, behind_the_exchange: bool, tmp_path: Path
) -> None:
    """Each is held up by a map until the one before has come to the function behind it."""

    def after_the_one_before(n: int) -> int:
        if n:
            until((tmp_path / str(n - 1)).exists)
        return n

    def has_come(n: int) -> int:
        (tmp_path / str(n)).touch()
        return n

    env = environment()
    env.set_parallelism(1)
    stream = env.from_collection(list(range(9)), Types.LONG())
    if behind_the_exchange:
        stream = stream.key_by(lambda n: 0, Types.INT())
    held_up = stream.map(after_the_one_before, Types.LONG())
    with held_up.key_by(lambda n: 0, Types.INT()).map(has_come).execute_and_collect() as results:
        assert list(results) == list(range(9))


@pytest.mark.row("S-SCHED-02")
def test_slots_that_are_taken_for_a_while(environment: MakeEnvironment, spark_session: SparkSession) -> None:
    """They are waited for: tasks of an attempt that failed, for example, still end while the next one begins,
    and no restart is spent on that."""
    busy = SLOTS - 3  # a job of two levels with parallelism 2 needs four
    sleeping = spark_session.range(0, busy, 1, busy).selectExpr("reflect('java.lang.Thread', 'sleep', 6000L)")
    holder = threading.Thread(target=sleeping.collect)
    holder.start()
    tracker = spark_session.sparkContext.statusTracker()
    until(lambda: bool(tracker.getActiveStageIds()))
    time.sleep(1.0)  # until its tasks have begun
    env = environment()
    env.set_restart_strategy(RestartStrategies.no_restart())
    with counted(numbers(env, None, 100)).execute_and_collect() as results:
        assert sorted(results) == each_once(100)
    holder.join()


@pytest.mark.row("S-SCHED-02")
def test_slots_that_are_not_there(environment: MakeEnvironment) -> None:
    env = environment(SLOTS // 2)
    counted(numbers(env)).print()
    with pytest.raises(
        UnsupportedFeatureError, match=f"needs {SLOTS + 2} slots at the same time.* has {SLOTS}"
    ):
        env.execute()


def works(env: StreamExecutionEnvironment) -> JobClient:
    """A job without end, which has given its first results."""
    sink = CollectingSink()
    counted(generated(env, None, 100.0)).sink_to(sink)
    client = env.execute_async()
    until(lambda: bool(sink.values))
    return client


@pytest.mark.row("S-SPARK-10")
def test_auto_takes_epochs_where_there_are_too_few_slots(
    environment: MakeEnvironment, caplog: pytest.LogCaptureFixture
) -> None:
    client = works(environment(SLOTS // 2, **{"execution.mode": "auto"}))
    client.cancel().result()
    assert f"in epochs, not in real time: it needs {SLOTS + 2} slots" in caplog.text


@pytest.mark.row("S-SPARK-10")
def test_auto_takes_epochs_where_other_jobs_hold_the_slots(
    environment: MakeEnvironment,
    caplog: pytest.LogCaptureFixture,
    spark_session: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Those of this process count as soon as they are submitted; those of others that share the session, as
    Spark knows of them."""

    def held() -> int:
        with monkeypatch.context() as another_process:
            another_process.setattr(pipelined, "OWN_TAG", "that of another process")
            return len(pipelined.why_not(spark_session, SLOTS - 1, must=False))

    def started() -> list[JobClient]:
        return [works(environment(4, **{"execution.mode": "auto"})) for _ in range(2)]

    assert not held()
    clients = started()
    assert held()
    until(lambda: sorted(job.view.held_slots for job in get_executor().running_jobs) == [0, 8])
    for client in clients:
        client.cancel().result()
    assert (
        f"needs 10 slots at the same time, one for each subtask of all levels and some for commits, and "
        f"local[{SLOTS},4] has {SLOTS}, 8 of which other jobs in real time hold" in caplog.text
    )
    caplog.clear()
    until(lambda: not held())
    works(environment(4, **{"execution.mode": "auto"})).cancel().result()
    assert "not in real time" not in caplog.text


@pytest.mark.row("S-SPARK-10")
def test_auto_goes_on_in_epochs_where_the_slots_are_gone_when_its_tasks_begin(
    environment: MakeEnvironment, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two jobs were submitted at the same time, or an executor was lost. No strategy allows a restart."""
    monkeypatch.setattr(platform, "why_not", lambda *_, **__: [])
    monkeypatch.setattr(pipelined, "_PATIENCE_S", 0.5)
    client = works(environment(SLOTS, **{"execution.mode": "auto"}))
    until(lambda: [job.view.held_slots for job in get_executor().running_jobs] == [0])
    client.cancel().result()
    assert "the job runs in epochs from now on" in caplog.text
    assert not get_executor().jobs.running_ids
    caplog.clear()
    works(environment(4, **{"execution.mode": "auto"})).cancel().result()
    assert "in epochs" not in caplog.text, "its slots are held no longer"


@pytest.mark.row("S-SPARK-10")
def test_a_job_that_must_be_in_real_time_fails_where_the_slots_are_gone(
    environment: MakeEnvironment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "why_not", lambda *_, **__: [])
    monkeypatch.setattr(pipelined, "_PATIENCE_S", 0.5)
    env = environment(SLOTS)
    counted(generated(env, None, 100.0)).print()
    with pytest.raises(JobExecutionError, match="no room for the tasks of the job at the same time"):
        env.execute()


@pytest.mark.parametrize(
    ("master", "conf", "most"),
    [
        ("local[4,2]", {}, 3),  # of the session, see below
        ("local", {}, 3),
        ("local-cluster[2, 3, 1024]", {}, 6),
        ("local-cluster[2,3,1024]", {"spark.task.cpus": "2"}, 3),
        ("spark://host:7077", {"spark.cores.max": "5"}, 5),
        ("spark://host:7077", {}, None),
        ("yarn", {"spark.executor.instances": "3", "spark.executor.cores": "2"}, 6),
        ("yarn", {"spark.executor.instances": "3", "spark.executor.cores": "4", "spark.task.cpus": "3"}, 3),
    ],
)
def test_how_many_slots_there_will_ever_be(
    master: str, conf: dict[str, str], most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelined, "slots_of", lambda _: 3)
    context: Any = SimpleNamespace(master=master, getConf=lambda: conf)
    assert pipelined._most_slots(context) == most


def test_slots_are_those_of_the_executors_whatever_the_program_says_of_its_parallelism(
    spark_session: SparkSession,
) -> None:
    context: Any = spark_session.sparkContext
    conf = context._jsc.sc().conf()
    conf.set("spark.default.parallelism", "100")
    try:
        assert context.defaultParallelism == 100
        assert slots_of(context) == SLOTS
    finally:
        conf.remove("spark.default.parallelism")


def test_time_moves_without_data(environment: MakeEnvironment) -> None:
    """A record, then none for ten seconds: its window ends by the clock."""

    def seconds(values: Iterable[int]) -> int:
        return sum(values)

    env = environment(2)
    sink = CollectingSink()
    stream = numbers(env, 0.1, 1 << 40)
    windowed = stream.key_by(lambda n: 0).window(TumblingProcessingTimeWindows.of(Time.milliseconds(300)))
    windowed.reduce(lambda a, b: a + b).sink_to(sink)
    client = env.execute_async("one record")
    try:
        until(lambda: bool(sink.values))
    finally:
        client.cancel().result()
