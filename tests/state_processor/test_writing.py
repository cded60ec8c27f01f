"""Savepoints from DataFrames, and changed ones: a job goes on with what was written."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession, functions as F

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.configuration import Configuration
from firesteel.common.errors import FiresteelError, StateError
from firesteel.common.time import Time
from firesteel.datastream import KeyedProcessFunction
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.datastream.window import (
    ContinuousEventTimeTrigger,
    EventTimeTrigger,
    TumblingEventTimeWindows,
)
from firesteel.jobmanager.requests import SavepointRequest
from firesteel.spark.engine import SparkEngine
from firesteel.spark.platform import SparkPlatform
from firesteel.state_processor import (
    BroadcastStateBootstrapFunction,
    KeyedStateBootstrapFunction,
    OperatorTransformation,
    SavepointWriter,
    StateBootstrapFunction,
    read,
)
from firesteel.state_processor._reading import KeyGroups, OperatorRows
from firesteel.state_processor._snapshot import Snapshot, StoredOperator
from firesteel.testing.collecting_sink import CollectingSink
from tests.jobmanager.checkpoint_support import DIRECTORY, INTERVAL, RECOVERY, RETENTION, env_with, submit
from tests.jobmanager.programs.kept import READ, RECORDS, RULES, Average, KeptJob, to_the_end
from tests.runtime.support import LiveSource, SteppedClock, feed
from tests.waiting import patience

pytestmark = pytest.mark.spark

LONG, TEXT, ANY = Types.LONG(), Types.STRING(), Types.PICKLED_BYTE_ARRAY()


#: A table gives a BIG_DEC 18 digits behind the point.
_ZEROS = re.compile(r"(Decimal\('\d+\.\d*?)0+(?='\))")


def content(path: str) -> dict[Any, list[str]]:
    """The rows of all states of a savepoint, read in this process: by operator and name."""
    found: dict[Any, list[str]] = {}
    for operator in Snapshot(path).operators.by_id.values():
        groups = KeyGroups.of(operator, 1)
        for info in operator.states.values():
            name = (operator.entry.uid, info.name)
            if info.kind in ("operator list", "union list", "broadcast"):
                parts = range(len(operator.lines))
                rows = [row for part in parts for row in of_operator(operator, info.name, part)]
            else:
                overlay = groups.overlay(0)
                rows = [row for g in groups.ranges[0] for row in groups.of_state(overlay, g, info.name)]
            found[name] = sorted(_ZEROS.sub(r"\1", repr(row)) for row in rows)
    return {name: rows for name, rows in found.items() if rows}


def of_operator(operator: StoredOperator, name: str, part: int) -> Any:
    return OperatorRows(operator, name, len(operator.lines), (), lambda n, row: (n, row)).rows(part)


# ---- copied and changed


def test_a_copy_is_equal_and_a_job_goes_on_with_it(
    spark: SparkSession, kept: str, target: str, tmp_path: Path
) -> None:
    """Every kind of state, read and written by tasks; at another parallelism too."""
    path = SavepointWriter.from_existing_savepoint(kept, spark).write(target)
    assert content(path) == content(kept)
    expected = Counter(to_the_end(tmp_path, kept))
    assert Counter(to_the_end(tmp_path, path)) == expected
    assert Counter(to_the_end(tmp_path, path, 3)) == expected


def hour(descriptor: Any) -> Any:
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
    return descriptor


def plus(one: Any, two: Any) -> Any:
    return one + two


KINDS = {
    "value": ValueStateDescriptor("value", LONG),
    "list": ListStateDescriptor("list", TEXT),
    "map": MapStateDescriptor("map", TEXT, LONG),
    "reducing": ReducingStateDescriptor("reducing", plus, LONG),
    "average": AggregatingStateDescriptor("average", Average(), ANY),
    "object": ValueStateDescriptor("object", ANY),
    "row": ValueStateDescriptor(
        "row", Types.ROW_NAMED(["name", "day", "price"], [TEXT, Types.SQL_DATE(), Types.BIG_DEC()])
    ),
    "ttl value": hour(ValueStateDescriptor("ttl value", TEXT)),
    "ttl list": hour(ListStateDescriptor("ttl list", LONG)),
    "ttl map": hour(MapStateDescriptor("ttl map", TEXT, LONG)),
}


def test_every_table_can_be_written_again(
    spark: SparkSession, kept: str, target: str, tmp_path: Path
) -> None:
    """Read each state as a table, write it from that table alone: equal, and the job goes on with it."""
    reader = read(kept, spark, parts=3)
    writer = SavepointWriter.from_existing_savepoint(kept, spark)
    for uid in ("kinds", "lists", "rules"):
        writer.remove_operator(uid)
    for name, descriptor in KINDS.items():
        writer.with_keyed_state("kinds", descriptor, reader.keyed_state("kinds", name), TEXT)
    writer.with_timers("kinds", reader.timers("kinds"), TEXT)
    writer.with_list_state("lists", ListStateDescriptor("split", ANY), reader.list_state("lists", "split"))
    union = reader.union_state("lists", "union")
    writer.with_union_state("lists", ListStateDescriptor("union", ANY), union)
    rules = MapStateDescriptor("rules", TEXT, LONG)
    writer.with_broadcast_state("rules", rules, reader.broadcast_state("rules", "rules"))
    path = writer.write(target)
    assert content(path) == content(kept)
    assert Counter(to_the_end(tmp_path, path, 3)) == Counter(to_the_end(tmp_path, kept))


def test_one_value_is_changed(spark: SparkSession, kept: str, target: str) -> None:
    """What is not touched stays what it was."""
    reader = read(kept, spark)
    changed = reader.keyed_state("kinds", "reducing").withColumn(
        "value", F.when(F.col("key") == "ada", F.lit(1_000)).otherwise(F.col("value"))
    )
    writer = SavepointWriter.from_existing_savepoint(kept, spark)
    path = writer.with_keyed_state("kinds", KINDS["reducing"], changed, TEXT).write(target)
    before, after = content(kept), content(path)
    assert {name for name in before if before[name] != after[name]} == {("kinds", "reducing")}
    job = KeptJob(path)
    feed("kept", *((r, r[0]) for r in RECORDS[: READ + 1]))
    job.clock.tick()
    (said,) = (text for text in job.output if text.startswith("('kinds', 'ada'"))
    assert ", 1012, " in said, "1,000 and the record with the number 12"
    job.running.cancel()


def test_operators_are_renamed_and_removed(spark: SparkSession, kept: str, target: str) -> None:
    writer = SavepointWriter.from_existing_savepoint(kept, spark)
    writer.change_operator_identifier("kinds", "new name").remove_operator("panes")
    writer.remove_state("lists", "union").change_operator_identifier("records", "source")
    path = writer.write(target)
    before, after = content(kept), content(path)
    renamed = {("new name" if uid == "kinds" else uid, name): held for (uid, name), held in before.items()}
    del renamed["panes", "window-contents"], renamed["lists", "union"]
    assert after == renamed
    with pytest.raises(FiresteelError, match="'new name'"):
        writer.change_operator_identifier("rules", "new name")


# ---- made from tables


class Totals(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", LONG))
        self.names = runtime_context.get_list_state(ListStateDescriptor("names", TEXT))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.total.update((self.total.value() or 0) + value[1])
        yield value[0], self.total.value(), list(self.names.get())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "timer", ctx.get_current_key(), timestamp, self.total.value()


class Begin(KeyedStateBootstrapFunction):
    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", LONG))
        self.names = runtime_context.get_list_state(ListStateDescriptor("names", TEXT))

    def process_element(self, value: Any, ctx: KeyedStateBootstrapFunction.Context) -> None:
        self.total.update((self.total.value() or 0) + value.amount)
        self.names.add(value.name)
        ctx.timer_service().register_event_time_timer(5_000)
        ctx.timer_service().register_processing_time_timer(1)  # long ago: it fires in the job


def run(build: Any, path: str, *records: tuple[Any, int], parallelism: int = 3) -> list[Any]:
    """What a job gives out that begins with a savepoint and gets records with their timestamps."""
    clock, sink = SteppedClock(10_000), CollectingSink()
    env = env_with(parallelism, clock=clock, **{RECOVERY: path})
    watermarks = WatermarkStrategy.for_monotonous_timestamps()
    build(env.from_source(LiveSource("t"), watermarks, "source").uid("source")).sink_to(sink)
    job = submit(env)
    clock.settle()
    feed("t", *records)
    clock.tick()
    job.savepoint(SavepointRequest(str(Path(path).parent), stop=True, drain=True)).result(patience(20))
    assert job.wait(patience(20))
    return sink.values


def test_a_job_goes_on_with_keyed_state_from_a_table(spark: SparkSession, target: str) -> None:
    frame = spark.createDataFrame([(f"k{n % 50}", n) for n in range(1_000)], "name string, amount long")
    made = OperatorTransformation.bootstrap_with(frame.repartition(4)).key_by("name", TEXT).transform(Begin())
    writer = SavepointWriter.new_savepoint(64, parallelism=2, spark=spark)
    path = writer.with_operator("totals", made).write(target)
    sums = {f"k{n}": sum(range(n, 1_000, 50)) for n in range(50)}
    table = read(path, spark).keyed_state("totals", "total")
    assert {row["key"]: row["value"] for row in table.collect()} == sums

    def totals(stream: Any) -> Any:
        return stream.key_by(lambda r: r[0], key_type=TEXT).process(Totals()).uid("totals")

    found = run(totals, path, (("k7", 1), 1), (("new", 2), 2))
    counted = [value for value in found if value[0] != "timer"]
    assert counted == [("k7", sums["k7"] + 1, ["k7"] * 20), ("new", 2, [])]
    timers = Counter((value[1], value[2]) for value in found if value[0] == "timer")
    assert timers == Counter((key, at) for key in sums for at in (1, 5_000))


class Lists(StateBootstrapFunction):
    def __init__(self) -> None:
        self.rows: list[int] = []

    def process_element(self, value: Any) -> None:
        self.rows.append(value.id)

    def snapshot_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        store.get_list_state(ListStateDescriptor("split", ANY)).update(self.rows)
        store.get_union_list_state(ListStateDescriptor("union", ANY)).update(self.rows[:3])


class Rules(BroadcastStateBootstrapFunction):
    def process_element(self, value: Any, ctx: BroadcastStateBootstrapFunction.Context) -> None:
        ctx.get_broadcast_state(MapStateDescriptor("rules", TEXT, LONG)).put(value.name, value.factor)


def test_operator_state_from_tables(spark: SparkSession, target: str) -> None:
    rules = OperatorTransformation.bootstrap_with(spark.createDataFrame(RULES, "name string, factor long"))
    lists = OperatorTransformation.bootstrap_with(spark.range(0, 100, 1, 5))
    writer = SavepointWriter.new_savepoint(parallelism=3, spark=spark)
    writer.with_operator("rules", rules.transform(Rules())).with_operator("lists", lists.transform(Lists()))
    reader = read(writer.write(target), spark)
    split = reader.list_state("lists", "split", value_type=LONG).collect()
    assert sorted(row["value"] for row in split) == list(range(100))
    assert {row["subtask"] for row in split} == {0, 1, 2}
    assert {row["key"]: row["value"] for row in reader.broadcast_state("rules", "rules").collect()} == dict(
        RULES
    )


def windowed(stream: Any, trigger: Any = None) -> Any:
    windows = stream.key_by(lambda r: r[0], key_type=TEXT).window(
        TumblingEventTimeWindows.of(Time.seconds(10))
    )
    windows = windows.allowed_lateness(1) if trigger is None else windows.trigger(trigger)
    return windows.reduce(lambda a, b: (a[0], a[1] + b[1])).uid("windows")


@pytest.mark.parametrize("trigger", [None, ContinuousEventTimeTrigger(60_000)])
def test_windows_from_a_table_fire_in_the_job(spark: SparkSession, target: str, trigger: Any) -> None:
    """Those of the fast operators and those of the general one."""
    frame = spark.createDataFrame(
        [(f"k{n % 5}", n, n * 1_000) for n in range(20)], "name string, n long, at long"
    )
    windows = (
        OperatorTransformation.bootstrap_with(frame)
        .assign_timestamps(lambda row: row.at)
        .key_by(lambda row: row.name, TEXT)
        .window(TumblingEventTimeWindows.of(Time.seconds(10)))
        .trigger(trigger or EventTimeTrigger.create())
        .reduce(lambda a, b: (a[0], a[1] + b[1]) if isinstance(a, tuple) else (a.name, a.n + b.n))
    )
    path = SavepointWriter.new_savepoint(spark=spark).with_operator("windows", windows).write(target)
    found = run(lambda stream: windowed(stream, trigger), path, (("k0", 100), 15_000))
    expected = {
        (f"k{key}", sum(range(start + key, start + 10, 5)) + (100 if (key, start) == (0, 10) else 0)): 1
        for key in range(5)
        for start in (0, 10)
    }
    assert Counter(found) == Counter(expected)


# ---- other keys, checkpoints, misuse


def test_a_savepoint_gets_other_keys(spark: SparkSession, kept: str, target: str) -> None:
    """What no job can do on the way: the operator's states are written anew under keys of another type."""
    reader = read(kept, spark)
    number = F.when(F.col("key") == "ada", 1).when(F.col("key") == "bob", 2).otherwise(3).cast("long")
    values = reader.keyed_state("kinds", "value").withColumn("key", number)
    writer = SavepointWriter.from_existing_savepoint(kept, spark)
    with pytest.raises(FiresteelError, match="keys of type String"):
        writer.with_keyed_state("kinds", KINDS["value"], values, LONG).write(target)
    assert not Path(target).exists()
    writer = SavepointWriter.from_existing_savepoint(kept, spark).remove_operator("kinds")
    path = writer.with_keyed_state("kinds", KINDS["value"], values, LONG).write(target)
    found = read(path, spark).keyed_state("kinds", "value").collect()
    assert {row["key"]: row["value"] for row in found} == {1: 4, 2: 4, 3: 4}


def test_a_checkpoint_becomes_a_savepoint(spark: SparkSession, target: str, tmp_path: Path) -> None:
    """Chains are taken apart, deltas folded."""

    def counting(stream: Any) -> Any:
        return stream.key_by(lambda r: r[0], key_type=TEXT).process(Totals()).uid("totals")

    options = {INTERVAL: "10 s", DIRECTORY: str(tmp_path / "chk"), RETENTION: "RETAIN_ON_CANCELLATION"}
    clock = SteppedClock()
    env = env_with(2, clock=clock, **options)
    source = env.from_source(LiveSource("t"), WatermarkStrategy.for_monotonous_timestamps(), "source")
    counting(source.uid("source")).sink_to(CollectingSink())
    job = submit(env)
    for n in range(5):
        feed("t", *(((f"k{key}", n), n) for key in range(20)))
        clock.tick()
    clock.tick(10_000)
    checkpoint = job.view.checkpoints.retained[-1]
    reader = read(checkpoint, spark)
    table = {row["key"]: row["value"] for row in reader.keyed_state("totals", "total").collect()}
    assert table == {f"k{key}": 10 for key in range(20)}
    path = SavepointWriter.from_existing_savepoint(checkpoint, spark).write(target)
    job.cancel()
    assert job.wait(patience(10))
    copied = read(path, spark).keyed_state("totals", "total")
    assert {row["key"]: row["value"] for row in copied.collect()} == table
    found = run(counting, path, (("k3", 5), 100), parallelism=1)
    assert found[100:] == [("k3", 15, [])], (
        "the source goes on; what the checkpoint covers is committed again"
    )


def test_misuse_of_writing(spark: SparkSession, kept: str, tmp_path: Path) -> None:
    frame = spark.createDataFrame([("a", 1), ("a", 2)], "key string, value long")
    value = ValueStateDescriptor("v", LONG)
    new = SavepointWriter.new_savepoint
    existing = SavepointWriter.from_existing_savepoint
    made = OperatorTransformation.bootstrap_with(frame).key_by("key", TEXT).transform(Begin())
    for ask, text in (
        (
            lambda: new(spark=spark).with_keyed_state("op", value, frame, TEXT).write(str(tmp_path / "a")),
            "several rows",
        ),
        (
            lambda: new(spark=spark).with_keyed_state("op", value, frame.drop("value"), TEXT),
            "no column 'value'",
        ),
        (lambda: existing(kept, spark).with_operator("kinds", made), "state already"),
        (lambda: existing(kept, spark).remove_operator("nobody"), "nobody"),
        (lambda: new(spark=spark).with_operator("op", Begin()), "transformation"),  # type: ignore[arg-type]
        (lambda: new(spark=spark).write(kept), "not empty"),
        (lambda: new(0), "max_parallelism"),
        (lambda: OperatorTransformation.bootstrap_with([1]), "DataFrame"),  # type: ignore[arg-type]
        (
            lambda: new(spark=spark).with_timers("op", frame.withColumn("window_start", F.lit(1)), TEXT),
            "windows cannot be written",
        ),
    ):
        with pytest.raises(FiresteelError, match=text):
            ask()

    class Fails(Begin):
        def process_element(self, value: Any, ctx: Any) -> None:
            raise ZeroDivisionError("user's own")

    failing = OperatorTransformation.bootstrap_with(frame).key_by("key", TEXT).transform(Fails())
    with pytest.raises(FiresteelError, match=r"function of op failed: ZeroDivisionError: user's own"):
        new(spark=spark).with_operator("op", failing).write(str(tmp_path / "a"))
    assert not (tmp_path / "a").exists(), "nothing is left of what failed"


def test_an_engine_does_parts_in_tasks(spark: SparkSession) -> None:
    """Large savepoints of jobs are copied so."""
    here = os.getpid()
    platform = SparkPlatform()
    platform.prepare(Configuration(), spark)
    answers = SparkEngine(platform, "job", "name").do(
        3, lambda part: f"{part} {os.getpid() != here}".encode(), "a test"
    )
    assert answers == [b"0 True", b"1 True", b"2 True"]

    def fails(part: int) -> bytes:
        raise StateError(f"part {part} is damaged")

    with pytest.raises(StateError, match="part 0 is damaged"):
        SparkEngine(platform, "job", "name").do(2, fails, "a test")
