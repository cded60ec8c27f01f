"""A program with every kind of state. ``tests/data`` keeps a savepoint of it from each version of the format.

``python -m tests.jobmanager.programs.kept NAME`` writes ``tests/data/NAME``: the savepoint, and beside it as
text what the job had given out by then. One that is kept is never written again.
"""

from __future__ import annotations

import decimal
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

from firesteel.common import Row, Types, WatermarkStrategy
from firesteel.common.time import Time
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import (
    AggregateFunction,
    BroadcastProcessFunction,
    CheckpointedFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from firesteel.datastream.functions import ProcessJoinFunction
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.datastream.window import (
    CountEvictor,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from firesteel.jobmanager.requests import SavepointRequest
from firesteel.testing.collecting_sink import CollectingSink
from tests.jobmanager.checkpoint_support import RECOVERY, env_with, submit
from tests.runtime.support import LiveSource, SteppedClock, feed, feeds, local_platform

DATA = Path(__file__).parents[2] / "data"
ANY, LONG, TEXT = Types.PICKLED_BYTE_ARRAY(), Types.LONG(), Types.STRING()
KEYS = ("ada", "bob", "cyd")
#: (event time, key, number): one a second, the keys in turn.
RECORDS = [(n * 1_000, KEYS[n % 3], n) for n in range(24)]
RULES = [("double", 2), ("triple", 3)]
#: So many records are read when the savepoint is taken.
READ = 12


class EventTime(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[0])


class Average(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value[2], accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, one: Any, two: Any) -> Any:
        return one[0] + two[0], one[1] + two[1]


class Kinds(KeyedProcessFunction):
    """The five kinds of keyed state, three of them with a time to live too, and timers of both domains."""

    def open(self, runtime_context: RuntimeContext) -> None:
        hour = StateTtlConfig.new_builder(Time.hours(1)).build()
        with_ttl = (
            ValueStateDescriptor("ttl value", TEXT),
            ListStateDescriptor("ttl list", LONG),
            MapStateDescriptor("ttl map", TEXT, LONG),
        )
        for descriptor in with_ttl:
            descriptor.enable_time_to_live(hour)
        row = Types.ROW_NAMED(["name", "day", "price"], [TEXT, Types.SQL_DATE(), Types.BIG_DEC()])
        context = runtime_context
        self.value = context.get_state(ValueStateDescriptor("value", LONG))
        self.row = context.get_state(ValueStateDescriptor("row", row))
        self.object = context.get_state(ValueStateDescriptor("object", ANY))
        self.list = context.get_list_state(ListStateDescriptor("list", TEXT))
        self.map = context.get_map_state(MapStateDescriptor("map", TEXT, LONG))
        self.reducing = context.get_reducing_state(
            ReducingStateDescriptor("reducing", lambda a, b: a + b, LONG)
        )
        self.average = context.get_aggregating_state(AggregatingStateDescriptor("average", Average(), ANY))
        self.ttl_value = context.get_state(with_ttl[0])
        self.ttl_list = context.get_list_state(with_ttl[1])
        self.ttl_map = context.get_map_state(with_ttl[2])

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        _, key, number = value
        self.value.update((self.value.value() or 0) + 1)
        self.row.update(Row(name=key, day=date(2024, 1, 1 + number), price=decimal.Decimal(number) / 4))
        self.object.update({"numbers": {number}, "key": key})
        self.list.add(f"{key}-{number}")
        self.map.put(f"m{number % 2}", number)
        self.reducing.add(number)
        self.average.add(value)
        self.ttl_value.update(f"at {number}")
        self.ttl_list.add(number)
        self.ttl_map.put(f"t{number % 2}", number)
        if self.value.value() == 1:
            ctx.timer_service().register_event_time_timer(100_000)
            ctx.timer_service().register_processing_time_timer(10**15)
        yield "kinds", key, number, repr(self._content())

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "timer", ctx.get_current_key(), timestamp, repr(self._content())

    def _content(self) -> list[Any]:
        single = (self.value, self.row, self.object, self.ttl_value)
        return [
            *(state.value() for state in single),
            list(self.list.get()),
            list(self.ttl_list.get()),
            dict(self.map.items()),
            dict(self.ttl_map.items()),
            self.reducing.get(),
            self.average.get(),
        ]


class Lists(MapFunction, CheckpointedFunction):
    """What this subtask has seen, in a list and in a union list."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.split = store.get_list_state(ListStateDescriptor("split", ANY))
        self.union = store.get_union_list_state(ListStateDescriptor("union", ANY))
        self.mine, self.all = list(self.split.get() or ()), sorted(set(self.union.get() or ()))

    def snapshot_state(self, context: Any) -> None:
        self.split.update(self.mine)
        self.union.update(self.all)

    def map(self, value: Any) -> Any:
        self.mine.append(value[2])
        self.all = sorted({*self.all, value[2]})
        return "lists", value[1], value[2]


class Rules(BroadcastProcessFunction):
    descriptor = MapStateDescriptor("rules", TEXT, LONG)

    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        if value[2] >= READ:  # before that it depends on the order in which the inputs come
            yield "rules", value[2], sorted(ctx.get_broadcast_state(self.descriptor).items())

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> None:
        ctx.get_broadcast_state(self.descriptor).put(*value)


class Shown(ProcessWindowFunction):
    """The elements of a window, and how often the key has had one before."""

    def __init__(self, name: str) -> None:
        self.name = name

    def process(self, key: Any, context: ProcessWindowFunction.Context, elements: Any) -> Iterator[Any]:
        count = context.global_state().get_state(ValueStateDescriptor("fired", LONG))
        count.update((count.value() or 0) + 1)
        yield self.name, key, repr(context.window()), [e[2] for e in elements], count.value()


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterator[Any]:
        yield "pair", left[2], right[2]


def build(env: Any, sink: CollectingSink) -> None:
    in_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    records = env.from_source(LiveSource("kept"), in_time, "records").uid("records")
    rules = env.from_source(LiveSource("kept rules"), WatermarkStrategy.no_watermarks(), "rules").uid(
        "rules source"
    )
    keyed = records.key_by(lambda r: r[1], key_type=TEXT)
    minute = Time.seconds(60)
    ten = TumblingEventTimeWindows.of(Time.seconds(10))
    gap = EventTimeSessionWindows.with_gap(Time.seconds(5))
    results = (
        keyed.process(Kinds()).uid("kinds"),
        records.map(Lists()).uid("lists"),
        records.connect(rules.broadcast(Rules.descriptor)).process(Rules()).uid("rules"),
        keyed.window(ten).reduce(lambda a, b: (b[0], b[1], a[2] + b[2])).uid("panes"),
        keyed.window(SlidingEventTimeWindows.of(minute, Time.seconds(30)))
        .aggregate(Average())
        .uid("sliding"),
        keyed.window(gap).aggregate(Average()).uid("sessions"),
        keyed.window(ten).allowed_lateness(1).aggregate(Average()).uid("late"),
        keyed.window(ten).process(Shown("list")).uid("window list"),
        keyed.window(gap).process(Shown("merging")).uid("merging"),
        keyed.window(ten).evictor(CountEvictor.of(2)).process(Shown("evicting")).uid("evicting"),
        keyed.count_window(3).reduce(lambda a, b: (b[0], b[1], a[2] + b[2])).uid("counting"),
        keyed.interval_join(keyed)
        .between(Time.seconds(0), Time.seconds(3))
        .process(Pairs())
        .uid("interval join"),
    )
    for result in results:
        result.map(str).sink_to(sink)


class KeptJob:
    """The program on a stepped clock."""

    def __init__(self, begin: str | None = None, parallelism: int = 2) -> None:
        options = {RECOVERY: begin} if begin is not None else {}
        self.clock = SteppedClock(1_000_000)
        self.sink = CollectingSink()
        env = env_with(parallelism, clock=self.clock, **options)
        build(env, self.sink)
        self.running = submit(env, "kept")
        self.clock.settle()

    def give(self, *records: Any) -> None:
        """Each four of them are an epoch."""
        for start in range(0, len(records), 4):
            feed("kept", *((r, r[0]) for r in records[start : start + 4]))
            self.clock.tick()

    def stop(self, directory: Path, drain: bool) -> str:
        result = self.running.savepoint(SavepointRequest(str(directory), stop=True, drain=drain)).result(120)
        assert self.running.wait(120)
        return result

    @property
    def output(self) -> list[str]:
        return sorted(self.sink.values)


def half_way(directory: Path) -> tuple[str, list[str]]:
    """Give the program its first records: the savepoint, and what came out."""
    feeds.clear()
    feed("kept rules", *((rule, 0) for rule in RULES))
    job = KeptJob()
    job.give(*RECORDS[:READ])
    return job.stop(directory, drain=False), job.output


def to_the_end(directory: Path, begin: str | None = None, parallelism: int = 2) -> list[str]:
    """Give it the rest, from a savepoint on, or all without one: what came out."""
    feeds.clear()
    feed("kept rules", *((rule, 0) for rule in RULES))
    feed("kept", *((r, r[0]) for r in RECORDS[:READ]))
    job = KeptJob(begin, parallelism)
    job.give(*RECORDS[READ:])
    job.stop(directory, drain=True)
    return job.output


def write(name: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path, output = half_way(Path(directory))
        shutil.move(path, DATA / name)
    (DATA / f"{name}.txt").write_text("".join(f"{line}\n" for line in output), encoding="utf-8")


if __name__ == "__main__":
    with local_platform():
        write(sys.argv[1])
