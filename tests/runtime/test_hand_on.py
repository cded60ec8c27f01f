"""Handing on what is buffered is one thing, the end of an epoch another; and processing time may move while
an epoch goes on. Nothing runs such tasks for hours here: the tests hand on and move time between the steps
of a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.time import Duration, Time
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import (
    DataStream,
    KeyedProcessFunction,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import StateTtlConfig, ValueStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from firesteel.runtime import task
from firesteel.runtime.batch import IDLE, Batch
from firesteel.runtime.chain import Chain
from firesteel.runtime.operators.base import Consumer, SubtaskContext
from firesteel.runtime.operators.source import SourceOperator
from firesteel.runtime.program import OperatorProgram, SubtaskDescriptor
from firesteel.runtime.task_clock import TaskClock
from firesteel.runtime.user_code import UserCode
from firesteel.runtime.watermarks import PERIOD_RECORDS, WatermarkTracker
from firesteel.state.line import EMPTY
from tests.waiting import until

from .async_support import ByHand, Echo, answer, async_wait, operator_of
from .support import SplitsSource, collect, environment

Between = Callable[[Chain], None]
END = 1 << 40


@pytest.fixture
def between_steps(monkeypatch: pytest.MonkeyPatch) -> Callable[[Between], None]:
    """Has something done to the open chains of a task between its steps: chunks of a source, and buffers."""

    def install(act: Between) -> None:
        running: list[Chain] = []
        begin, end_epoch, drain = Chain.begin, Chain.end_epoch, task._drain

        def begun(chain: Chain, *arguments: Any) -> None:
            begin(chain, *arguments)
            running.append(chain)

        def ended(chain: Chain) -> Any:
            running.remove(chain)
            return end_epoch(chain)

        def drained(outbox: list[Any]) -> Iterator[Any]:
            for chain in running:
                act(chain)
            yield from drain(outbox)

        monkeypatch.setattr(Chain, "begin", begun)
        monkeypatch.setattr(Chain, "end_epoch", ended)
        monkeypatch.setattr(task, "_drain", drained)

    return install


# ---- handing on changes nothing


class Sums(KeyedProcessFunction):
    """Each record, a timer for it, and at the end the sum of its key: nothing that depends on the order in
    which records of several splits come."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.sum = runtime_context.get_state(ValueStateDescriptor("sum", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.sum.update((self.sum.value() or 0) + value)
        for at in ((ctx.timestamp() or 0) + 7, END):
            ctx.timer_service().register_event_time_timer(at)
        yield "record", value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "timer", ctx.get_current_key(), timestamp, self.sum.value() if timestamp == END else None


def numbers(env: StreamExecutionEnvironment, first: int = 0) -> DataStream:
    splits = [[(n, n) for n in range(first + s, first + 120, 3)] for s in range(3)]
    return env.from_source(
        SplitsSource(*splits), WatermarkStrategy.for_monotonous_timestamps(), f"numbers {first}"
    )


def keyed(env: StreamExecutionEnvironment) -> DataStream:
    return numbers(env).key_by(lambda n: n % 5).process(Sums())


def windowed(env: StreamExecutionEnvironment) -> DataStream:
    windows = numbers(env).key_by(lambda n: n % 5).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    return windows.reduce(lambda a, b: a + b)


def dealt(env: StreamExecutionEnvironment) -> DataStream:
    return numbers(env).rebalance().map(lambda n: n + 1).broadcast().filter(lambda n: n % 2 == 0).shuffle()


def joined(env: StreamExecutionEnvironment) -> DataStream:
    return numbers(env).union(numbers(env, 1000)).key_by(lambda n: n % 3).process(Sums())


def asked(env: StreamExecutionEnvironment) -> DataStream:
    return async_wait(numbers(env), Echo(0, 1)).key_by(lambda n: n % 5).process(Sums())


@pytest.mark.parametrize("program", [keyed, windowed, dealt, joined, asked])
@pytest.mark.parametrize("epoch_records", [None, 7])
def test_results_are_the_same_however_often_buffers_are_handed_on(
    program: Callable[[StreamExecutionEnvironment], DataStream],
    epoch_records: int | None,
    between_steps: Callable[[Between], None],
) -> None:
    plain = collect(program(environment(2, epoch_records=epoch_records)))
    between_steps(Chain.flush)
    flushed = collect(program(environment(2, epoch_records=epoch_records)))
    assert len(plain) >= 40
    assert sorted(flushed, key=repr) == sorted(plain, key=repr)


def test_what_is_handed_on_leaves_before_the_epoch_ends(between_steps: Callable[[Between], None]) -> None:
    sent: list[int] = []

    def act(chain: Chain) -> None:
        for router in chain.routers:
            before = sum(router.sent.values())
            chain.flush()
            sent.append(sum(router.sent.values()) - before)

    between_steps(act)
    collect(numbers(environment(1)).rebalance().map(lambda n: n))
    assert sum(map(bool, sent)) > 30, "a buffer for each chunk, and not one for all"


# ---- time that moves


class AtOnce(KeyedProcessFunction):
    """Each record asks for a timer 5 ms later."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        service = ctx.timer_service()
        service.register_processing_time_timer(service.current_processing_time() + 5)
        yield "record", value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "timer", timestamp


def a_millisecond_later(chain: Chain) -> None:
    chain.move_time(chain.context.clock.now_ms + 1)
    chain.tick()
    chain.flush()


def test_timers_fire_in_the_middle_of_an_epoch(between_steps: Callable[[Between], None]) -> None:
    between_steps(a_millisecond_later)
    kinds = [kind for kind, _ in collect(numbers(environment(1)).key_by(lambda n: n % 2).process(AtOnce()))]
    assert "timer" in kinds[: kinds.index("record", 20)]


def test_windows_of_processing_time_fire_in_the_middle_of_an_epoch(
    between_steps: Callable[[Between], None],
) -> None:
    between_steps(a_millisecond_later)
    one_key = numbers(environment(1)).map(lambda n: 1).key_by(lambda n: 0)
    windows = one_key.window(TumblingProcessingTimeWindows.of(Time.milliseconds(10)))
    counts = collect(windows.reduce(lambda a, b: a + b))
    assert len(counts) >= 3
    assert sum(counts) <= 120, "the last window need not be over"


class Remembers(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("seen", Types.LONG())
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(4)).build())
        self.seen = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        yield self.seen.value()
        if value < 12:
            self.seen.update(value)


def test_state_with_a_time_to_live_expires_in_the_middle_of_an_epoch(
    between_steps: Callable[[Between], None],
) -> None:
    assert None not in collect(numbers(environment(1)).key_by(lambda n: 0).process(Remembers()))[1:]
    between_steps(a_millisecond_later)
    assert collect(numbers(environment(1)).key_by(lambda n: 0).process(Remembers()))[-1] is None


def test_the_clock_of_a_task_never_goes_back() -> None:
    clock = TaskClock(10)
    clock.move_to(7)
    assert clock.now_ms == 10
    clock.move_to(12)
    assert clock.now_ms == 12


def test_an_epoch_that_runs_again_sees_the_time_that_its_first_attempt_saw(
    between_steps: Callable[[Between], None],
) -> None:
    """Broken by hand: ``Chain.begin`` moves the clock on instead of setting it."""
    chains: list[Chain] = []
    between_steps(chains.append)
    collect(numbers(environment(1)).key_by(lambda n: n % 2).process(AtOnce()))
    chain = next(chain for chain in chains if chain.state is not None)
    now_ms = chain.context.clock.now_ms
    chain.move_time(now_ms + 1000)
    chain.begin(SubtaskDescriptor(EMPTY), 1, now_ms, lambda row: None)
    assert chain.context.clock.now_ms == now_ms


class Now(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield *value, ctx.timer_service().current_processing_time()


class Stamped(AtOnce):
    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield "timer", ctx.timer_service().current_processing_time()


def test_chains_of_one_task_have_one_clock(between_steps: Callable[[Between], None]) -> None:
    """What a timer gives out goes in memory to a second chain, which sees the instant at which it fired.
    Broken by hand: a ``TaskClock`` for each chain."""
    clocks: dict[str, TaskClock] = {}

    def move_the_first(chain: Chain) -> None:
        clocks[chain.vertex.name] = chain.context.clock
        if chain.state is not None:
            a_millisecond_later(chain)
        chain.flush()

    between_steps(move_the_first)
    timers = numbers(environment(1)).key_by(lambda n: n % 2).process(Stamped())
    seen = collect(timers.process(Now()).disable_chaining())
    moved = [(fired, seen_ms) for kind, fired, seen_ms in seen if kind == "timer"]
    assert len(clocks) > 2
    assert len(moved) > 10
    assert [pair for pair in moved if pair[0] != pair[1]] == []


# ---- watermarks by the clock


def context() -> SubtaskContext:
    return SubtaskContext("", "", "", 0, 1, 128, 0, False, "", {}, clock=TaskClock(1000))


def test_a_periodic_watermark_comes_when_its_interval_is_over() -> None:
    tracker = WatermarkTracker(WatermarkStrategy.for_monotonous_timestamps(), context())
    assert tracker.observe([1], [50], 1000) == []
    assert tracker.tick(1199) == []
    assert tracker.tick(1200) == [49]
    assert tracker.tick(1400) == [], "nothing came since"
    tracker.observe([2], [60], 1410)
    assert tracker.tick(1420) == [59]


def test_idleness_comes_by_the_clock() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(300))
    tracker = WatermarkTracker(strategy, context())
    tracker.observe([1], [50], 1100)
    assert tracker.tick(1399) == [49]
    assert tracker.tick(1400) == [IDLE]
    assert tracker.tick(5000) == []
    assert [mark for _, mark in tracker.observe([2], [60], 5001)] == ["active"]


def test_a_source_subtask_without_a_split_becomes_idle_by_the_clock() -> None:
    """Nobody waits for it until the epoch ends. Broken by hand: ``SourceOperator.tick`` without
    ``_add_no_split``."""
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(300))
    reader = SplitsSource([(1, 1)]).create_reader()
    operator = SourceOperator(OperatorProgram("uid", "name", reader, watermark_strategy=strategy), reader)
    marks: list[object] = []
    see = lambda batch: marks.extend(mark for _, mark in batch.marks)  # noqa: E731
    operator.outputs.main.consumers.append(Consumer(see, UserCode("see", "see")))
    operator.open(context(), None)
    operator.begin_epoch()
    operator.tick()
    operator.context.clock.move_to(1299)
    operator.tick()
    assert marks == []
    operator.context.clock.move_to(1300)
    operator.tick()
    assert marks == [IDLE]


def test_the_end_of_an_epoch_does_not_wait_for_the_interval() -> None:
    tracker = WatermarkTracker(WatermarkStrategy.for_monotonous_timestamps(), context())
    tracker.observe([1], [50], 1000)
    assert tracker.tick(1001) == []
    assert tracker.end_epoch(1001) == [49]
    assert PERIOD_RECORDS > 1


# ---- answers from outside


def test_answers_are_handed_on_when_they_are_there_and_nobody_waits_for_the_others() -> None:
    function = ByHand()
    operator, seen = operator_of(function, False)
    operator.process(Batch([0, 1, 2], [0, 1, 2]))
    for value in (2, 1):
        answer(operator, function, value)
        while not any(known == value for known, _ in seen):
            operator.flush()
    assert [value for value, _ in seen] == [2, 1]
    answer(operator, function, 0)
    operator.end_epoch()
    assert [value for value, _ in seen] == [2, 1, 0]
    operator.close()


@pytest.mark.parametrize("ordered", [False, True])
def test_answers_are_handed_on_while_records_wait_for_room(ordered: bool) -> None:
    """Broken by hand: ``flush`` asks for what the loop has handed over by itself, which is nothing yet."""
    function = ByHand()
    operator, seen = operator_of(function, ordered, capacity=2)
    operator.process(Batch([0, 1, 2, 3], [0, 1, 2, 3]))
    answer(operator, function, 0)

    def handed_on() -> bool:
        operator.flush()
        return bool(seen)

    until(handed_on)
    assert [value for value, _ in seen] == [0]
    for value in (1, 2, 3):
        answer(operator, function, value)
    operator.end_epoch()
    assert sorted(value for value, _ in seen) == [0, 1, 2, 3]
    operator.close()
