"""Functions as users write them, for the tests of the harness."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.common import Types
from firesteel.datastream import (
    CheckpointedFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    RuntimeContext,
)
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.datastream.time_domain import TimeDomain

COUNT = ValueStateDescriptor("count", Types.LONG())
LATE = OutputTag("late", Types.STRING())


def identity(value: Any) -> Any:
    return value


class Count(KeyedProcessFunction):
    """(key, how many records it has had)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


class CountInSelf(KeyedProcessFunction):
    """The mistake that a harness should show: state in an attribute."""

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        key = ctx.get_current_key()
        self.counts[key] = self.counts.get(key, 0) + 1
        yield key, self.counts[key]


class SessionTimeout(KeyedProcessFunction):
    """Says when a key was silent for ``gap`` ms."""

    def __init__(self, gap: int) -> None:
        self.gap = gap

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None:
        timestamp = ctx.timestamp()
        self.last.update(max(timestamp, self.last.value() or 0))
        ctx.timer_service().register_event_time_timer(timestamp + self.gap)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        if timestamp == self.last.value() + self.gap:
            self.last.clear()
            yield ctx.get_current_key(), "timeout"


class Reminder(KeyedProcessFunction):
    """State, timers of both kinds and a side output in one function.

    Sums amounts by key. Emits the sum when event time passes the end of the minute, and what has come since
    the last reminder every 10 s of processing time. Records behind the watermark go to ``LATE``.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))
        self.fresh = runtime_context.get_list_state(ListStateDescriptor("fresh", Types.LONG()))
        self.ends = runtime_context.get_map_state(MapStateDescriptor("ends", Types.LONG(), Types.INT()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        timers = ctx.timer_service()
        if ctx.timestamp() <= timers.current_watermark():
            yield LATE, f"{value[0]}@{ctx.timestamp()}"
            return
        self.total.update((self.total.value() or 0) + value[1])
        if not list(self.fresh.get()):
            timers.register_processing_time_timer(timers.current_processing_time() + 10_000)
        self.fresh.add(value[1])
        end = ctx.timestamp() - ctx.timestamp() % 60_000 + 60_000
        self.ends.put(end, (self.ends.get(end) or 0) + 1)
        timers.register_event_time_timer(end)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        key = ctx.get_current_key()
        if ctx.time_domain() is TimeDomain.EVENT_TIME:
            yield key, "total", self.total.value(), self.ends.get(timestamp)
            self.ends.remove(timestamp)
            if self.ends.is_empty():
                self.total.clear()
        else:
            yield key, "fresh", sorted(self.fresh.get())
            self.fresh.clear()


class Converter(KeyedCoProcessFunction):
    """Input 1: (currency, amount); input 2: (currency, rate). Amounts wait for the first rate."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.rate = runtime_context.get_state(ValueStateDescriptor("rate", Types.DOUBLE()))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.DOUBLE()))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        rate = self.rate.value()
        if rate is None:
            self.waiting.add(value[1])
        else:
            yield value[0], value[1] * rate

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        self.rate.update(value[1])
        for amount in self.waiting.get():
            yield value[0], amount * value[1]
        self.waiting.clear()
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 100)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), "rate expired", ctx.timer_service().current_watermark()
        self.rate.clear()


class Numbering(MapFunction, CheckpointedFunction):
    """(number of the record in its subtask, record): the number is operator state."""

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.stored = store.get_list_state(ListStateDescriptor("seen", Types.STRING()))
        self.seen = list(self.stored.get())

    def snapshot_state(self, context: Any) -> None:
        self.stored.update(self.seen)

    def map(self, value: str) -> tuple[int, str]:
        self.seen.append(value)
        return len(self.seen), value
