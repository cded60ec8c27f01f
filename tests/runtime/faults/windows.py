"""Windows: assigners, triggers, evictors, functions, joins."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from firesteel.common.time import Duration, Time
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import (
    DataStream,
    ProcessWindowFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.functions import CoGroupFunction, JoinFunction
from firesteel.datastream.window import (
    CountTrigger,
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeWindow,
    TimeWindowSerializer,
    TriggerResult,
    TumblingEventTimeWindows,
    WindowAssigner,
)

from .core import PLACES, Mean, here, numbers, parity, place, slip, timed

TEN = TumblingEventTimeWindows.of(Time.milliseconds(5))
SLIDING = SlidingEventTimeWindows.of(Time.milliseconds(6), Time.milliseconds(3))
SESSIONS = EventTimeSessionWindows.with_gap(Time.milliseconds(3))
KEEPING = CountTrigger.of(2)


class Window(ProcessWindowFunction):
    def __init__(self, where: str = "process") -> None:
        self.where = where

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        if self.where == "process":
            slip()
        yield key, context.window().start, sorted(map(str, elements))

    def clear(self, context: Any) -> None:
        if self.where == "clear":
            slip()


class Total(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return slip(value1 + value2)


def windowed(env: StreamExecutionEnvironment, assigner: Any) -> Any:
    return timed(env).key_by(parity).window(assigner)


for _title, _assigner in (("tumbling", TEN), ("sliding", SLIDING), ("session", SESSIONS)):
    PLACES[f"{_title}_reduce"] = lambda env, a=_assigner: here(windowed(env, a).reduce(Total()))  # type: ignore[misc]
    PLACES[f"{_title}_reduce_general"] = lambda env, a=_assigner: here(  # type: ignore[misc]
        windowed(env, a).trigger(KEEPING).reduce(Total())
    )
    for _where in ("create_accumulator", "add", "get_result"):
        PLACES[f"{_title}_{_where}"] = lambda env, a=_assigner, w=_where: here(  # type: ignore[misc]
            windowed(env, a).aggregate(Mean(w))
        )
        PLACES[f"{_title}_{_where}_general"] = lambda env, a=_assigner, w=_where: here(  # type: ignore[misc]
            windowed(env, a).trigger(KEEPING).aggregate(Mean(w))
        )
    for _where in ("process", "clear"):
        PLACES[f"{_title}_window_{_where}"] = lambda env, a=_assigner, w=_where: here(  # type: ignore[misc]
            windowed(env, a).process(Window(w))
        )
        PLACES[f"{_title}_reduced_window_{_where}"] = lambda env, a=_assigner, w=_where: here(  # type: ignore[misc]
            windowed(env, a).reduce(lambda a, b: a + b, window_function=Window(w))
        )


@place
def merge_of_accumulators(env: StreamExecutionEnvironment) -> DataStream:
    shuffled = env.from_collection([0, 4, 2, 10, 14, 12]).map(
        lambda v: v
    )  # each third one joins two sessions
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(9))
    stream = shuffled.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(lambda v, t: v))
    return here(stream.key_by(lambda v: 0).window(SESSIONS).aggregate(Mean("merge")))


@place
def aggregation_before_the_exchange(env: StreamExecutionEnvironment) -> DataStream:
    env.configuration.set_string("firesteel.window.pre-aggregation", "true")
    return here(windowed(env, TEN).aggregate(Mean("add")))


@place
def window_of_all(env: StreamExecutionEnvironment) -> DataStream:
    return here(timed(env).window_all(TEN).reduce(Total()))


@place
def count_window(env: StreamExecutionEnvironment) -> DataStream:
    return here(numbers(env).key_by(parity).count_window(2).reduce(Total()))


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return slip(3)  # type: ignore[no-any-return]


@place
def session_gap(env: StreamExecutionEnvironment) -> DataStream:
    return here(
        windowed(env, DynamicEventTimeSessionWindows.with_dynamic_gap(Gap())).reduce(lambda a, b: a + b)
    )


@place
def session_gap_general(env: StreamExecutionEnvironment) -> DataStream:
    return here(
        windowed(env, DynamicEventTimeSessionWindows.with_dynamic_gap(Gap())).process(Window("nowhere"))
    )


class Fives(WindowAssigner[Any, TimeWindow]):
    """Slips in its methods, in those of its windows' serializer, or not at all."""

    def __init__(self, where: str) -> None:
        self.where = where

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> list[TimeWindow]:
        if self.where == "assigner":
            slip()
        start = timestamp - timestamp % 5
        return [TimeWindow(start, start + 5)]

    def get_default_trigger(self, env: Any) -> Any:
        return EventTimeTrigger()

    def get_window_serializer(self) -> Any:
        return TimeWindowSerializer() if self.where != "serializer" else SlippingSerializer()

    def is_event_time(self) -> bool:
        return True


class SlippingSerializer(TimeWindowSerializer):
    def serialize(self, element: Any, stream: Any) -> None:
        slip()
        super().serialize(element, stream)


@place
def window_assigner(env: StreamExecutionEnvironment) -> DataStream:
    return here(windowed(env, Fives("assigner")).reduce(lambda a, b: a + b))


class SlippingTrigger(EventTimeTrigger[Any]):
    def __init__(self, where: str) -> None:
        self.where = where

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        if self.where == "on_element":
            slip()
        return super().on_element(element, timestamp, window, ctx)

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        if self.where == "on_event_time":
            slip()
        return super().on_event_time(time, window, ctx)

    def on_merge(self, window: Any, ctx: Any) -> None:
        if self.where == "on_merge":
            slip()
        super().on_merge(window, ctx)

    def clear(self, window: Any, ctx: Any) -> None:
        if self.where == "clear":
            slip()
        super().clear(window, ctx)


for _where in ("on_element", "on_event_time", "clear", "on_merge"):
    PLACES[f"trigger_{_where}"] = lambda env, w=_where: here(  # type: ignore[misc]
        windowed(env, SESSIONS if w == "on_merge" else TEN)
        .trigger(SlippingTrigger(w))
        .reduce(lambda a, b: a + b)
    )


class SlippingEvictor(Evictor[Any, Any]):
    def __init__(self, before: bool) -> None:
        self.before = before

    def evict_before(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
        if self.before:
            slip()

    def evict_after(self, elements: Any, size: int, window: Any, ctx: Any) -> None:
        if not self.before:
            slip()


@place
def evictor_before(env: StreamExecutionEnvironment) -> DataStream:
    return here(windowed(env, TEN).evictor(SlippingEvictor(True)).reduce(lambda a, b: a + b))


@place
def evictor_after(env: StreamExecutionEnvironment) -> DataStream:
    return here(windowed(env, TEN).evictor(SlippingEvictor(False)).process(Window("nowhere")))


@place
def reduce_of_what_an_evictor_leaves(env: StreamExecutionEnvironment) -> DataStream:
    class Leaves(SlippingEvictor):
        def evict_before(self, elements: Any, size: int, window: Any, ctx: Any) -> None: ...

        evict_after = evict_before

    return here(windowed(env, TEN).evictor(Leaves(True)).reduce(Total()))


class Match(JoinFunction):
    def join(self, first: Any, second: Any) -> Any:
        return slip((first, second))


class Group(CoGroupFunction):
    def co_group(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        yield slip((sorted(first), sorted(second)))


@place
def join(env: StreamExecutionEnvironment) -> DataStream:
    return here(timed(env).join(timed(env)).where(parity).equal_to(parity).window(TEN).apply(Match()))


@place
def co_group(env: StreamExecutionEnvironment) -> DataStream:
    return here(timed(env).co_group(timed(env)).where(parity).equal_to(parity).window(TEN).apply(Group()))
