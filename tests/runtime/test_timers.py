"""Timers of keyed process functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common.errors import JobExecutionError, UnsupportedFeatureError
from firesteel.common.time import Duration
from firesteel.common.typeinfo import Types
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import (
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
    RuntimeExecutionMode,
)
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.datastream.time_domain import TimeDomain
from firesteel.datastream.window import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from firesteel.testing.local_platform import LocalEngine
from tests.waiting import patience

from .support import (
    MAX,
    NO_TIMESTAMP,
    At,
    LiveSource,
    Probe,
    SteppedClock,
    collect,
    environment,
    feed,
    local_platform,
    note,
    notes,
    punctuated,
)


class Script(KeyedProcessFunction):
    """Each record is (key, [(what, instant), ...]) in ``At.value``; tells of each call of on_timer."""

    def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        for what, instant in value.value[1]:
            getattr(timers, what)(instant)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark()


EVENT, NO_EVENT = "register_event_time_timer", "delete_event_time_timer"
PROC, NO_PROC = "register_processing_time_timer", "delete_processing_time_timer"


def fired(
    records: list[At], epoch_records: int | None, function: KeyedProcessFunction | None = None
) -> list[Any]:
    env = environment(1, epoch_records=epoch_records)
    stream = env.from_collection(records).assign_timestamps_and_watermarks(punctuated())
    return collect(stream.key_by(lambda r: r.value[0]).process(function or Script()))


@pytest.mark.parametrize("epoch_records", [1, 2, None])
@pytest.mark.row("S-TIMER-03", "T11")
def test_timers_are_a_set_for_each_key(epoch_records: int | None) -> None:
    calls = fired(
        [
            At(0, ("a", [(EVENT, 10), (EVENT, 10), (EVENT, 20)])),
            At(0, ("b", [(EVENT, 10)])),
            At(0, ("a", [(NO_EVENT, 20), (NO_EVENT, 777)]), watermark=30),
            At(0, ("a", [(EVENT, 5)])),
            At(0, ("b", []), watermark=31),
        ],
        epoch_records,
    )
    assert sorted(calls[:2]) == [("a", 10, 30), ("b", 10, 30)]
    assert calls[2:] == [("a", 5, 31)], "set behind the watermark: it waits for the next one, then fires once"


class ByKeyword(KeyedProcessFunction):
    def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> None:
        timers = ctx.timer_service()
        timers.register_event_time_timer(timestamp=10)
        timers.register_event_time_timer(timestamp=20)
        timers.delete_event_time_timer(timestamp=20)
        timers.register_processing_time_timer(timestamp=MAX)
        timers.delete_processing_time_timer(timestamp=MAX)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield timestamp


def test_timers_are_set_by_keyword_too() -> None:
    assert fired([At(0, ("a", []))], None, ByKeyword()) == [10]


@pytest.mark.parametrize("epoch_records", [1, None])
@pytest.mark.row("S-TIMER-01")
def test_a_timer_fires_when_the_watermark_reaches_it_and_not_before(epoch_records: int | None) -> None:
    first = At(0, ("a", [(EVENT, 10)]), watermark=9)
    rest = [At(0, ("a", [(EVENT, 100)]), watermark=10), At(0, ("a", []), watermark=11)]
    assert fired([first, *rest], epoch_records) == [("a", 10, 10), ("a", 100, MAX)]


@pytest.mark.parametrize("epoch_records", [1, None])
@pytest.mark.row("S-TIMER-07")
def test_a_deleted_timer_does_not_fire(epoch_records: int | None) -> None:
    records = [At(0, ("a", [(EVENT, 10)])), At(0, ("a", [(NO_EVENT, 10)])), At(0, ("a", []), watermark=20)]
    assert fired(records, epoch_records) == []


def test_the_timer_of_another_key_is_not_deleted() -> None:
    records = [At(0, ("a", [(EVENT, 10)])), At(0, ("b", [(NO_EVENT, 10)])), At(0, ("a", []), watermark=20)]
    assert fired(records, None) == [("a", 10, 20)]


class Jump(KeyedProcessFunction):
    """Timers 10 and 30; the one at 10 sets 20 and says "x"."""

    def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> None:
        if value.ts == 1:
            ctx.timer_service().register_event_time_timer(30)
            ctx.timer_service().register_event_time_timer(10)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        note(
            "timers", (timestamp, ctx.timestamp(), ctx.timer_service().current_watermark(), ctx.time_domain())
        )
        if timestamp == 10:
            ctx.timer_service().register_event_time_timer(20)
            yield "x"


@pytest.mark.row("S-PROC-04", "T12")
def test_a_watermark_jump_fires_in_time_order_with_what_is_set_meanwhile_before_it_goes_on() -> None:
    env = environment(1)
    stream = env.from_collection([At(1, "k", 0), At(2, "k", 100), At(3, "k")])
    stream = stream.assign_timestamps_and_watermarks(punctuated())
    seen = collect(stream.key_by(lambda r: r.value).process(Jump()).process(Probe()))
    event = TimeDomain.EVENT_TIME
    assert notes["timers"] == [(10, 10, 100, event), (20, 20, 100, event), (30, 30, 100, event)]
    assert seen == [("x", 10, 0)], "the output has the timer's time and comes before the watermark"


def test_timers_of_several_keys_fire_in_time_order() -> None:
    records = [At(0, (k, [(EVENT, t)])) for t, k in ((30, "a"), (10, "b"), (20, "a"), (15, "c"), (5, "b"))]
    calls = fired([*records, At(0, ("z", []), watermark=100)], None)
    assert [(t, k) for k, t, _ in calls] == [(5, "b"), (10, "b"), (15, "c"), (20, "a"), (30, "a")]


def test_a_timer_that_sets_itself_again_at_its_own_instant_does_not_fire_forever_behind_its_back() -> None:
    class Thrice(Jump):
        def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> None:
            ctx.timer_service().register_event_time_timer(10)

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
            if timestamp < 13:
                ctx.timer_service().register_event_time_timer(timestamp + 1)
            yield timestamp

    assert fired([At(0, ("a", []), watermark=50)], None, Thrice()) == [10, 11, 12, 13]


@pytest.mark.row("S-PROC-04", "T11")
def test_event_and_processing_time_timers_of_one_number_are_two() -> None:
    class Both(Jump):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
            ctx.timer_service().register_event_time_timer(10)
            ctx.timer_service().register_processing_time_timer(10)

        def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
            yield timestamp, ctx.time_domain()

    env = environment(1, clock=None)
    calls = collect(env.from_collection([1]).key_by(lambda v: v).process(Both()))
    assert sorted(calls, key=str) == [(10, TimeDomain.EVENT_TIME), (10, TimeDomain.PROCESSING_TIME)]


@pytest.mark.row("S-TIME-22", "T13")
def test_at_the_end_of_the_input_event_time_timers_fire_and_processing_time_timers_are_dropped() -> None:
    """STREAMING."""
    clock = SteppedClock(1_000)
    env = environment(1, clock=clock)
    stream = env.from_collection([At(0, ("a", [(EVENT, 3_600_000), (PROC, 6_000)]))])
    calls = collect(stream.key_by(lambda r: r.value[0]).process(Script()))
    assert calls == [("a", 3_600_000, MAX)]


@pytest.mark.parametrize(("mode", "in_processing_time"), [("STREAMING", []), ("BATCH", [10])])
@pytest.mark.row("T13")
def test_at_the_end_windows_of_event_time_fire_and_those_of_processing_time_only_in_batch_mode(
    mode: str, in_processing_time: list[int]
) -> None:
    """Ten records, a window of an hour of event time, one of 5 s of processing time, no time passes."""
    for assigner, expected in (
        (TumblingEventTimeWindows.of(Duration.of_hours(1)), [10]),
        (TumblingProcessingTimeWindows.of(Duration.of_seconds(5)), in_processing_time),
    ):
        env = environment(1, clock=SteppedClock(1_000))
        env.set_runtime_mode(RuntimeExecutionMode[mode])
        stream = env.from_collection([At(n, 1) for n in range(10)])
        stream = stream.assign_timestamps_and_watermarks(punctuated()).map(lambda r: r.value)
        counted = stream.key_by(lambda v: 0).window(assigner).reduce(lambda a, b: a + b)
        assert collect(counted) == expected


@pytest.mark.row("T11")
def test_a_processing_time_timer_in_the_past_fires_as_soon_as_possible() -> None:
    clock = SteppedClock(10_000)
    env = environment(1, clock=clock)
    stream = env.from_collection([At(0, ("a", [(PROC, 3), (PROC, 10_000), (PROC, 10_001)]))])
    calls = collect(stream.key_by(lambda r: r.value[0]).process(Script()))
    assert [t for _, t, _ in calls] == [3, 10_000]


class SessionTimeout(KeyedProcessFunction):
    """One "timeout" when a key was silent for 10 ms of event time."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> None:
        self.last.update(value.ts)
        ctx.timer_service().register_event_time_timer(value.ts + 10)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        if self.last.value() + 10 == timestamp:
            self.last.clear()
            yield ctx.get_current_key(), timestamp


@pytest.mark.parametrize("epoch_records", [1, None])
@pytest.mark.row("S-TIMER-05", "S-PROC-01")
def test_session_timeout(epoch_records: int | None) -> None:
    """A@0, a@3, nothing until W20: one timeout at 13."""
    env = environment(2, epoch_records=epoch_records)
    stream = env.from_collection([At(0, "a"), At(3, "a"), At(20, "b", 20)])
    stream = stream.assign_timestamps_and_watermarks(punctuated())
    assert sorted(collect(stream.key_by(lambda r: r.value).process(SessionTimeout()))) == [
        ("a", 13),
        ("b", 30),
    ]


class Forgets(KeyedProcessFunction):
    """Counts of each key, forgotten 100 ms of event time after the last record."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.cleanup = runtime_context.get_state(ValueStateDescriptor("cleanup", Types.LONG()))

    def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if self.cleanup.value() is not None:
            ctx.timer_service().delete_event_time_timer(self.cleanup.value())
        self.cleanup.update(value.ts + 100)
        ctx.timer_service().register_event_time_timer(value.ts + 100)
        self.count.update((self.count.value() or 0) + 1)
        yield value.value, self.count.value()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        note("forgotten", (ctx.get_current_key(), timestamp))
        self.count.clear()
        self.cleanup.clear()
        yield from ()


@pytest.mark.parametrize("epoch_records", [1, None])
@pytest.mark.row("S-TIMER-05")
def test_delayed_cleanup(epoch_records: int | None) -> None:
    env = environment(1, epoch_records=epoch_records)
    times = [(0, "a", 0), (50, "a", 50), (60, "b", 149), (149, "a", 160), (300, "c", 300), (301, "a", None)]
    stream = env.from_collection([At(*record) for record in times])
    stream = stream.assign_timestamps_and_watermarks(punctuated())
    assert collect(stream.key_by(lambda r: r.value).process(Forgets())) == [
        ("a", 1), ("a", 2), ("b", 1), ("a", 3), ("c", 1), ("a", 1),
    ]  # fmt: skip
    assert notes["forgotten"] == [("b", 160), ("a", 249), ("c", 400), ("a", 401)]


class EverySecond(KeyedProcessFunction):
    """How many records a key had in each second of processing time, as long as there are any."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> None:
        if self.count.value() is None:
            now = ctx.timer_service().current_processing_time()
            ctx.timer_service().register_processing_time_timer(now - now % 1_000 + 1_000)
        self.count.update((self.count.value() or 0) + 1)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, self.count.value()
        if self.count.value():
            self.count.update(0)
            ctx.timer_service().register_processing_time_timer(timestamp + 1_000)
        else:
            self.count.clear()


@pytest.mark.row("S-TIMER-05")
def test_a_periodic_count() -> None:
    clock = SteppedClock(0)
    env = environment(1, clock=clock)
    stream = env.from_source(LiveSource("s"), WatermarkStrategy.no_watermarks(), "live")
    stream.key_by(lambda v: v).process(EverySecond()).map(lambda v: note("counts", v))
    client = env.execute_async()
    clock.settle()
    for n in range(15):
        feed("s", ("a", 0), *([("b", 0)] if n == 0 else []))
        clock.tick(100)
    for _ in range(30):
        clock.tick(100)
    assert notes["counts"] == [
        ("a", 1_000, 9), ("b", 1_000, 1), ("a", 2_000, 6), ("b", 2_000, 0), ("a", 3_000, 0),
    ]  # fmt: skip
    client.cancel().result(patience(10))


SIDE = OutputTag("timers", Types.STRING())


class Everything(KeyedProcessFunction):
    """State, both kinds of timers and a side output in one function."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: At, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(value.ts + 1)
        ctx.timer_service().register_processing_time_timer(
            ctx.timer_service().current_processing_time() + 500
        )
        yield ctx.get_current_key(), self.count.value(), ctx.timestamp()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        kind = "event" if ctx.time_domain() is TimeDomain.EVENT_TIME else "processing"
        yield SIDE, f"{ctx.get_current_key()} {kind} {timestamp} {self.count.value()}"


@pytest.mark.row("S-PROC-02")
def test_state_both_timers_and_a_side_output_in_one_function() -> None:
    clock = SteppedClock(1_000)
    env = environment(1, clock=clock)
    stream = (
        env.from_source(LiveSource("e"), punctuated(), "live").key_by(lambda r: r.value).process(Everything())
    )
    stream.map(lambda v: note("main", v))
    stream.get_side_output(SIDE).map(lambda v: note("side", v))
    client = env.execute_async()
    clock.settle()
    feed("e", (At(5, "a"), 0), (At(6, "b", 6), 0))
    clock.tick()
    assert notes["main"] == [("a", 1, 5), ("b", 1, 6)]
    assert notes["side"] == ["a event 6 1"]
    feed("e", (At(7, "a"), 0))
    clock.tick()
    assert notes["main"][2:] == [("a", 2, 7)]
    clock.tick(400)
    clock.tick(600)
    assert sorted(notes["side"][1:]) == [
        "a processing 1600 2",
        "a processing 1700 2",
        "b processing 1600 1",
    ]
    client.cancel().result()


def test_timers_need_a_keyed_stream() -> None:
    class Plain(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> None:
            ctx.timer_service().register_event_time_timer(1)

    env = environment(1)
    with pytest.raises(JobExecutionError) as failed:
        collect(env.from_collection([1]).process(Plain()).name("plain one"))
    cause = failed.value.__cause__
    assert isinstance(cause, UnsupportedFeatureError)
    assert "keyed" in str(cause)
    assert "plain one" in str(cause)


def test_the_output_of_a_record_has_its_timestamp() -> None:
    class Twice(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
            yield value
            yield value

    env = environment(1)
    stamped = env.from_collection([At(5), At(9)]).assign_timestamps_and_watermarks(punctuated())
    seen = collect(stamped.key_by(lambda r: 0).process(Twice()).process(Probe()))
    assert [t for _, t, _ in seen] == [5, 5, 9, 9]
    seen = collect(env.from_collection([1]).key_by(lambda r: 0).process(Twice()).process(Probe()))
    assert [t for _, t, _ in seen] == [NO_TIMESTAMP] * 2


@pytest.mark.parametrize("chained", [True, False])
def test_what_a_due_timer_emits_at_the_start_of_an_epoch_reaches_the_next_operator(chained: bool) -> None:
    """Also when that is another vertex of the same level, which has not begun the epoch by then."""

    class Second(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.opened = True

        def map(self, value: Any) -> Any:
            return value[1], self.opened

    with local_platform(lambda: LocalEngine(fresh_process=lambda: True)):
        clock = SteppedClock(0)
        env = environment(1, clock=clock)
        timers = (
            env.from_source(LiveSource("p"), punctuated(), "live")
            .key_by(lambda r: r.value[0])
            .process(Script())
        )
        after = timers.map(Second())
        if not chained:
            after.disable_chaining()
        after.rebalance().map(lambda v: note("after", v))
        client = env.execute_async()
        clock.settle()
        feed("p", (At(0, ("a", [(PROC, 1_000), (PROC, 2_000)])), 0))
        clock.tick()
        clock.tick(1_000)
        clock.tick(1_000)
        assert notes["after"] == [(1_000, True), (2_000, True)]
        client.cancel().result()
