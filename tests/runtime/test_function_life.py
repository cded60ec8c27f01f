"""The life of a user's function object, and what is said about its ``self``."""

from __future__ import annotations

import logging
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from firesteel.common.errors import JobExecutionError
from firesteel.common.time import Time
from firesteel.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from firesteel.datastream import (
    CoMapFunction,
    DataStream,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ReduceFunction,
    RuntimeContext,
)
from firesteel.datastream.functions import CheckpointedFunction
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.program.sources import Chunk, ReadRange, SourceReader
from firesteel.runtime import worker
from firesteel.testing.local_platform import LocalEngine

from .support import SplitsSource, collect, environment, in_both_modes, local_platform, note, notes


class Life(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.index = runtime_context.get_index_of_this_subtask()
        note("open", self.index)

    def map(self, value: Any) -> Any:
        note("map", self.index)
        return value

    def close(self) -> None:
        note("close", self.index)


@pytest.mark.row("S-OPS-14", "X6")
def test_fifty_epochs_at_parallelism_two_open_twice_and_close_twice() -> None:
    """Broken by hand: ``acquire_level`` opens the level anew for each epoch."""
    with local_platform() as platform:
        env = environment(2, epoch_records=2)
        out = collect(env.from_collection(range(100)).map(Life()))
        assert sorted(out) == list(range(100))
        assert platform.engines[0].epochs >= 50
        assert sorted(notes["open"]) == [0, 1]
        assert sorted(notes["close"]) == [0, 1]
        assert Counter(notes["map"]) == {0: 50, 1: 50}


def test_in_fresh_processes_a_subtask_is_opened_once_in_each() -> None:
    chance = random.Random(5)
    fresh: list[bool] = []

    def decide() -> bool:
        fresh.append(chance.random() < 0.2)
        return fresh[-1]

    with local_platform(lambda: LocalEngine(fresh_process=decide)) as platform:
        env = environment(1, epoch_records=1)
        # A chain of its own behind the source: one task for the source's level, and one for this.
        out = collect(env.from_collection(range(50)).rebalance().map(Life()))
        assert out == list(range(50))
        assert len(fresh) == 2 * platform.engines[0].epochs
        # One in-process "process" hosts both levels: whichever task starts anew takes the other's with it.
        starts, kept = 0, False
        for at in range(0, len(fresh), 2):
            kept = kept and not (fresh[at] or fresh[at + 1])
            starts += not kept
            kept = True
        assert 5 < starts < 50
        assert len(notes["open"]) == starts


def test_two_subtasks_and_two_jobs_never_share_a_function_object() -> None:
    class Marked(Life):
        def open(self, runtime_context: RuntimeContext) -> None:
            assert not hasattr(self, "mine"), "this object was opened before"
            self.mine = True
            super().open(runtime_context)

    function = Marked()
    env = environment(3)
    for _ in range(2):
        collect(env.from_sequence(1, 6).map(function))
    assert sorted(notes["open"]) == [0, 0, 1, 1, 2, 2]
    assert not hasattr(function, "mine"), "the object of the program stays as it is"


class Named(MapFunction):
    def __init__(self, name: str, fails: bool = False) -> None:
        self.name = name
        self.fails = fails

    def open(self, runtime_context: RuntimeContext) -> None:
        note("life", f"open {self.name}")
        if self.fails:
            raise RuntimeError("no connection")

    def map(self, value: Any) -> Any:
        return value

    def close(self) -> None:
        note("life", f"close {self.name}")


def test_the_last_of_a_chain_is_opened_first_and_the_first_is_closed_first() -> None:
    """As Flink does it: when an operator is open, everything behind it is."""
    env = environment(1)
    collect(env.from_collection([1]).map(Named("a")).map(Named("b")).map(Named("c")))
    assert notes["life"] == ["open c", "open b", "open a", "close a", "close b", "close c"]


@pytest.mark.row("S-OPS-14")
def test_what_was_opened_before_a_function_that_cannot_be_opened_is_closed() -> None:
    """In the order of the chain; the one that fails and those before it were never open."""
    env = environment(1)
    stream = env.from_collection([1]).map(Named("a")).map(Named("b", fails=True)).map(Named("c"))
    with pytest.raises(JobExecutionError, match="no connection"):
        collect(stream.map(Named("d")))
    assert notes["life"] == ["open d", "open c", "open b", "close c", "close d"]


def test_close_is_called_after_a_failure_too() -> None:
    class Fails(Life):
        def map(self, value: Any) -> Any:
            raise RuntimeError("no")

    env = environment(1)
    with pytest.raises(Exception, match="no"):
        collect(env.from_collection([1]).map(Fails()))
    assert notes["close"] == [0]


class LeftInTime(SourceReader):
    """Says when the reading of a range ends, and when the reader is closed."""

    def __init__(self, reader: SourceReader) -> None:
        self.reader = reader

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        note("reading", f"begin {range_.split.id}")
        try:
            yield from self.reader.read(range_)
        finally:
            note("reading", f"end {range_.split.id}")

    def close(self) -> None:
        note("reading", "close")


class LeftInTimeSource(SplitsSource):
    def create_reader(self) -> SourceReader:
        return LeftInTime(super().create_reader())


def test_ranges_that_a_failure_interrupts_are_left_before_the_reader_is_closed() -> None:
    """Left to the garbage collector, a file would be destroyed before the generator that would close it."""

    def fails_at_7(value: int) -> int:
        if value == 7:
            raise RuntimeError("no 7")
        return value

    env = environment(1)
    splits = LeftInTimeSource(*([(n, None) for n in range(start, start + 10)] for start in (0, 10)))
    stream = env.from_source(splits, WatermarkStrategy.no_watermarks(), "splits")
    with pytest.raises(JobExecutionError, match="no 7"):
        collect(stream.map(fails_at_7))
    *before, last = notes["reading"]
    begun, ended = (
        Counter(said.split()[1] for said in before if said.startswith(w)) for w in ("begin", "end")
    )
    assert begun == ended != Counter()
    assert last == "close"


def test_the_functions_of_a_job_that_has_ended_are_forgotten_with_the_next_job() -> None:
    env = environment(1)
    with pytest.raises(Exception, match="boom"):
        collect(env.from_collection([1]).map(Life()).rebalance().map(lambda v: 1 / 0 if False else boom()))
    collect(env.from_collection([1]).map(lambda v: v))
    jobs = {key[0] for key in worker._levels}
    assert len(jobs) == 1, "of the ended job nothing is kept"
    assert notes["close"] == [0]


def boom() -> None:
    raise RuntimeError("boom")


@pytest.mark.row("S-ARCH-11", "S-API-02")
def test_the_runtime_context_tells_where_the_function_runs() -> None:
    class Tells(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            c = runtime_context
            self.facts = (
                c.get_index_of_this_subtask(),
                c.get_number_of_parallel_subtasks(),
                c.get_max_number_of_parallel_subtasks(),
                c.get_attempt_number(),
            )
            self.text = c.get_task_name_with_subtasks()

        def map(self, value: Any) -> Any:
            return self.facts, self.text

    env = environment(2)
    out = collect(env.from_collection([1, 2]).map(Tells()).name("telling"))
    assert sorted(facts for facts, _ in out) == [(0, 2, 128, 0), (1, 2, 128, 0)]
    assert any("telling" in text and "(2/2)" in text for _, text in out)


class Collects(MapFunction):
    """Keeps what it should not keep."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen: list[Any] = []
        self.limit = 3

    def map(self, value: Any) -> Any:
        self.seen.append(value)
        return value


def test_a_function_whose_self_changes_is_named_once_with_the_attribute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    env = environment(1, epoch_records=1)
    with caplog.at_level(logging.WARNING):
        collect(env.from_collection([1, 2, 3]).map(Collects()).name("collecting"))
    warnings = [r.getMessage() for r in caplog.records if "collecting" in r.getMessage()]
    assert len(warnings) == 1
    assert "self.seen" in warnings[0]
    assert "self.limit" not in warnings[0]
    assert "ListState" in warnings[0]


def test_a_function_whose_self_does_not_change_is_not_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    env = environment(1, epoch_records=1)
    with caplog.at_level(logging.WARNING):
        collect(env.from_collection([1, 2, 3]).map(Life()))
    assert caplog.records == []


class SubtaskTotal(MapFunction, CheckpointedFunction):
    """Operator state: the sum of all that this subtask has seen."""

    def open(self, runtime_context: RuntimeContext) -> None:
        note("calls", "open")

    def initialize_state(self, context: Any) -> None:
        note("calls", ("initialize", context.is_restored()))
        self.total = sum(context.get_operator_state_store().get_list_state(_descriptor()).get())

    def snapshot_state(self, context: Any) -> None:
        note("calls", "snapshot")
        context.get_operator_state_store().get_list_state(_descriptor()).update([self.total])

    def map(self, value: Any) -> Any:
        note("calls", "map")
        self.total += value
        return self.total


def _descriptor() -> Any:
    from firesteel.common.typeinfo import Types
    from firesteel.datastream.state import ListStateDescriptor

    return ListStateDescriptor("total", Types.LONG())


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.row("S-STATE-10", "S-STATE-14", "S-SCHED-10")
def test_operator_state_is_there_in_whatever_process_the_next_epoch_runs(fresh: bool) -> None:
    with local_platform(lambda: LocalEngine(fresh_process=lambda: fresh)):
        env = environment(1, epoch_records=1)
        out = collect(env.from_collection([1, 2, 3, 4]).map(SubtaskTotal()))
        assert out == [1, 3, 6, 10]
        assert notes["calls"][:4] == [("initialize", False), "open", "map", "snapshot"]
        again = notes["calls"].count(("initialize", True))
        assert (again >= 3) if fresh else (again == 0)


def test_a_copy_that_is_not_the_newest_is_initialized_again() -> None:
    """Two processes take turns: each one's copy of ``self`` is old when its turn comes."""
    from .engines import TurnsEngine

    with local_platform(lambda: TurnsEngine(2)):
        env = environment(1, epoch_records=1)
        out = collect(env.from_collection(range(1, 9)).map(SubtaskTotal()))
        assert out == [1, 3, 6, 10, 15, 21, 28, 36]
        assert notes["calls"].count("open") == 2


def test_keyed_functions_are_opened_once_too() -> None:
    class Keyed(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            note("open")

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            yield value

    env = environment(2, epoch_records=3)
    assert sorted(collect(env.from_collection(range(30)).key_by(lambda v: v).process(Keyed()))) == list(
        range(30)
    )
    assert len(notes["open"]) == 2


class SameTwice(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    map2 = map1


class ByRest(KeySelector):
    """Does not work where it was not opened."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.divisor = 3
        note("open", runtime_context.get_index_of_this_subtask())

    def get_key(self, value: Any) -> Any:
        return value % self.divisor

    def close(self) -> None:
        note("close")


class ToRest(Partitioner):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.opened = True
        note("open", runtime_context.get_index_of_this_subtask())

    def partition(self, key: Any, num_partitions: int) -> int:
        return int(key % num_partitions) if self.opened else -1

    def close(self) -> None:
        note("close")


class Larger(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return max(value1, value2)


def _joined(stream: DataStream) -> DataStream:
    stamped = stream.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(At())
    )
    joined = stamped.join(stamped).where(ByRest()).equal_to(ByRest())
    return joined.window(TumblingEventTimeWindows.of(Time.days(1))).apply(lambda a, b: a * b)


class At(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return 0


SELECTED: dict[str, tuple[Callable[[DataStream], DataStream], int]] = {
    "key_by": (lambda s: s.key_by(ByRest()).reduce(Larger()), 1),
    "connect": (lambda s: s.connect(s).key_by(ByRest(), ByRest()).map(SameTwice()), 2),
    "partition_custom": (lambda s: s.partition_custom(ToRest(), ByRest()).map(lambda v: v), 2),
    "salted": (lambda s: s.key_by(ByRest()).salted(2).reduce(Larger()), 1),
    "join": (_joined, 2),
}


@pytest.mark.parametrize("how", SELECTED)
def test_key_selectors_and_partitioners_are_opened_and_closed(how: str) -> None:
    build, lives = SELECTED[how]
    with local_platform():
        env = environment(2, epoch_records=1)
        assert collect(build(env.from_collection(range(6)).rebalance().map(lambda v: v)))
    assert Counter(notes["open"]) == {0: lives, 1: lives}
    assert len(notes["close"]) == 2 * lives


def test_a_key_selector_that_cannot_be_opened_fails_the_operator_before_it() -> None:
    class Failing(ByRest):
        def open(self, runtime_context: RuntimeContext) -> None:
            raise ValueError("no config")

    with local_platform(), pytest.raises(JobExecutionError, match="no config") as failed:
        collect(
            environment(1)
            .from_collection([1])
            .map(lambda v: v)
            .name("mine")
            .key_by(Failing())
            .reduce(Larger())
        )
    assert failed.value.operator == "mine"


class AllCallbacks(KeyedProcessFunction):
    """Notes the thread of each call."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self._note("open")

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[int]:
        self._note("element")
        ctx.timer_service().register_event_time_timer(value + 1)
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        self._note("timer")

    def close(self) -> None:
        self._note("close")

    def _note(self, what: str) -> None:
        note("calls", (self.subtask, what, threading.get_ident()))


@in_both_modes
@pytest.mark.row("S-GRAPH-20", "S-SLOT-12")
def test_all_calls_of_a_subtask_come_from_one_thread(mode: str) -> None:
    env = environment(2, epoch_records=10, execution_mode=mode)
    source = SplitsSource([(n, n) for n in range(60)])
    stream = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "numbers")
    assert sorted(collect(stream.key_by(lambda v: v % 7).process(AllCallbacks()))) == list(range(60))
    for subtask in (0, 1):
        calls = [(what, thread) for own, what, thread in notes["calls"] if own == subtask]
        assert {what for what, _ in calls} == {"open", "element", "timer", "close"}
        assert len({thread for _, thread in calls}) == 1


@pytest.mark.row("S-SLOT-28")
def test_operators_of_a_chain_have_one_state_and_one_context() -> None:
    """Broken by hand: the worker gives each operator a context of its own."""
    env = environment(1)
    keyed = env.from_collection([1, 2, 3]).key_by(lambda v: v).process(AllCallbacks())
    assert sorted(collect(keyed.map(Life()).map(Life()))) == [1, 2, 3]
    chains = [chain for level in worker._levels.values() for chain in level.chains]
    (chain,) = [chain for chain in chains if len(chain.operators) > 2]
    assert chain.state is not None
    assert {id(operator.context) for operator in chain.operators.values()} == {id(chain.context)}
