"""Functions on keyed streams, their timers and their state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.datastream import (
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

from .core import ANY, PLACES, Mean, Written, here, numbers, parity, place, slip, timed


class Keyed(KeyedProcessFunction):
    """Slips where it is told to."""

    def __init__(self, where: str) -> None:
        self.where = where

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", ANY))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if self.where == "element":
            slip()
        if self.where == "timer":
            ctx.timer_service().register_event_time_timer(value)
        if self.where == "processing timer":
            ctx.timer_service().register_processing_time_timer(value)
        if self.where == "state":
            self.last.update(Written(value))
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield slip(timestamp)


@place
def keyed_process_element(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).key_by(parity).process(Keyed("element")))


@place
def event_timer(env: StreamExecutionEnvironment) -> DataStream:
    return here(timed(env).key_by(parity).process(Keyed("timer")))


@place
def processing_timer(env: StreamExecutionEnvironment) -> DataStream:
    return here(timed(env).key_by(parity).process(Keyed("processing timer")))


@place
def pickling_of_a_state(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).key_by(parity).process(Keyed("state")))


class RichMap(MapFunction):
    def map(self, value: Any) -> Any:
        return slip(value)


class RichFlatMap(FlatMapFunction):
    def flat_map(self, value: Any) -> Iterator[Any]:
        yield slip(value)


class RichFilter(FilterFunction):
    def filter(self, value: Any) -> bool:
        return bool(slip(value) % 3)


@place
def keyed_map(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).key_by(parity).map(RichMap()))


@place
def keyed_flat_map(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).key_by(parity).flat_map(RichFlatMap()))


@place
def keyed_filter(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).key_by(parity).filter(RichFilter()))


@place
def keyed_reduce(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).key_by(parity).reduce(lambda a, b: slip(a + b)))


class Adds(int):
    def __add__(self, other: Any) -> Adds:
        return Adds(slip(int(self) + int(other)))

    __radd__ = __add__


@place
def addition_of_a_sum(env: StreamExecutionEnvironment) -> DataStream:
    pairs = numbers(env).map(lambda v: (v % 2, Adds(v)))
    return here(pairs.key_by(lambda v: v[0]).sum(1)).map(lambda v: (v[0], int(v[1])))


class States(KeyedProcessFunction):
    def __init__(self, kind: str) -> None:
        self.kind = kind

    def open(self, runtime_context: RuntimeContext) -> None:
        self.reducing = runtime_context.get_reducing_state(
            ReducingStateDescriptor("reducing", lambda a, b: slip(a + b), ANY)
        )
        self.aggregating = runtime_context.get_aggregating_state(
            AggregatingStateDescriptor("aggregating", Mean(self.kind), ANY)
        )
        self.listing = runtime_context.get_list_state(ListStateDescriptor("listing", ANY))
        self.mapping = runtime_context.get_map_state(MapStateDescriptor("mapping", ANY, ANY))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if self.kind == "reducing":
            self.reducing.add(value)
            yield self.reducing.get()
        elif self.kind == "list":
            self.listing.update(slip(v) for v in (value, value))
            yield list(self.listing.get())
        elif self.kind == "map":
            self.mapping.put_all({value: Written(value)}.items())
            yield value
        else:
            self.aggregating.add(value)
            yield self.aggregating.get()


for _kind in ("reducing", "list", "map", "create_accumulator", "add", "get_result"):

    def _state(env: StreamExecutionEnvironment, kind: str = _kind) -> DataStream:
        return here(numbers(env).key_by(parity).process(States(kind)))

    PLACES[f"state_{_kind}"] = _state
