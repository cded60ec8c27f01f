"""Functions of two inputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.common.time import Time
from firesteel.datastream import (
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import (
    MapStateDescriptor,
)

from .core import ANY, PLACES, Written, here, numbers, parity, place, slip, timed


class Both(CoMapFunction, CoFlatMapFunction):
    def __init__(self, side: int) -> None:
        self.side = side

    def map1(self, value: Any) -> Any:
        return slip(value) if self.side == 1 else value

    def map2(self, value: Any) -> Any:
        return slip(value) if self.side == 2 else value

    def flat_map1(self, value: Any) -> Iterator[Any]:
        yield self.map1(value)

    def flat_map2(self, value: Any) -> Iterator[Any]:
        yield self.map2(value)


class BothProcess(CoProcessFunction):
    def __init__(self, side: int) -> None:
        self.side = side

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield slip(value) if self.side == 1 else value

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield slip(value) if self.side == 2 else value


class BothKeyed(KeyedCoProcessFunction):
    def __init__(self, side: int) -> None:
        self.side = side

    def process_element1(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield slip(value) if self.side == 1 else value

    def process_element2(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(value)
        yield slip(value) if self.side == 2 else value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield slip(timestamp) if self.side == 3 else timestamp


def connected(env: StreamExecutionEnvironment, keyed: bool) -> Any:
    streams = timed(env).connect(timed(env))
    return streams.key_by(parity, parity) if keyed else streams


for _side in (1, 2):
    for _keyed in (False, True):
        _name = f"{'keyed_' if _keyed else ''}co_{{}}_{_side}"
        PLACES[_name.format("map")] = lambda env, s=_side, k=_keyed: here(connected(env, k).map(Both(s)))  # type: ignore[misc]
        PLACES[_name.format("flat_map")] = lambda env, s=_side, k=_keyed: here(  # type: ignore[misc]
            connected(env, k).flat_map(Both(s))
        )
        PLACES[_name.format("process")] = lambda env, s=_side, k=_keyed: here(  # type: ignore[misc]
            connected(env, k).process(BothKeyed(s) if k else BothProcess(s))
        )


@place
def timer_of_two_inputs(env: StreamExecutionEnvironment) -> DataStream:
    return here(connected(env, True).process(BothKeyed(3)))


RULES = MapStateDescriptor("rules", ANY, ANY)


class Broadcast(BroadcastProcessFunction):
    def __init__(self, side: int) -> None:
        self.side = side

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield slip(value) if self.side == 1 else value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(value, Written(value) if self.side == 3 else value)
        yield slip(value) if self.side == 2 else value


class KeyedBroadcast(KeyedBroadcastProcessFunction):
    def __init__(self, side: int) -> None:
        self.side = side

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(value)
        yield slip(value) if self.side == 1 else value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield slip(value) if self.side == 2 else value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield slip(timestamp) if self.side == 3 else timestamp


for _side in (1, 2, 3):
    PLACES[f"broadcast_{_side}"] = lambda env, s=_side: here(  # type: ignore[misc]
        numbers(env).connect(numbers(env).broadcast(RULES)).process(Broadcast(s))
    )
    PLACES[f"keyed_broadcast_{_side}"] = lambda env, s=_side: here(  # type: ignore[misc]
        timed(env).key_by(parity).connect(timed(env).broadcast(RULES)).process(KeyedBroadcast(s))
    )


class Pair(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Any]:
        yield slip((left, right))


@place
def interval_join(env: StreamExecutionEnvironment) -> DataStream:
    left, right = timed(env).key_by(parity), timed(env).key_by(parity)
    return here(
        left.interval_join(right).between(Time.milliseconds(-2), Time.milliseconds(2)).process(Pair())
    )
