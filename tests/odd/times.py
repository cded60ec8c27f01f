"""Timestamps, watermarks, windows and timers at and beyond their edges."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import numpy as np

from firesteel.common import Duration, Instant, Time, WatermarkStrategy
from firesteel.common.watermark_strategy import WatermarkGenerator
from firesteel.datastream import DataStream, KeyedProcessFunction, OutputTag, ProcessWindowFunction
from firesteel.datastream.functions import ProcessFunction
from firesteel.datastream.window import (
    EventTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)

from .core import Case, Here, area

CASES: list[Case] = []
case = area("times", CASES)
LAST = 2**63 - 1


class AfterEach(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        output.emit_watermark(event_timestamp - 1)

    def on_periodic_emit(self, output: Any) -> None: ...


def timed(here: Here, *instants: Any, assigner: Any = lambda v, t: v) -> DataStream:
    """A stream of instants that are their own timestamps; the watermark is one less after each."""
    strategy = WatermarkStrategy.for_generator(AfterEach).with_timestamp_assigner(assigner)
    return here.of(*instants).assign_timestamps_and_watermarks(strategy)


class Bounds(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield context.window().start, context.window().end, len(list(elements))


def windowed(here: Here, window: Any, *instants: int) -> DataStream:
    return timed(here, *sorted(instants)).key_by(lambda v: 0).window(window).process(Bounds())


class Gap(SessionWindowTimeGapExtractor):
    def __init__(self, of: Callable[[Any], Any]) -> None:
        self.of = of

    def extract(self, element: Any) -> Any:
        return self.of(element)


ms = Time.milliseconds
ASSIGNED: list[tuple[str, Any]] = [
    ("an assigner that gives None", lambda v, t: None),
    ("an assigner that gives a text", lambda v, t: "2020-01-01"),
    ("an assigner that gives a float", lambda v, t: 1.5),
    ("an assigner that gives NaN", lambda v, t: float("nan")),
    ("an assigner that gives True", lambda v, t: True),
    ("an assigner that gives a datetime", lambda v, t: dt.datetime(2020, 1, 1)),
    ("an assigner that gives an Instant", lambda v, t: Instant.of_epoch_milli(5)),
    ("an assigner that gives a numpy int", lambda v, t: np.int64(5)),
    ("an assigner that gives 2**63", lambda v, t: 2**63),
    ("an assigner that gives the largest instant", lambda v, t: LAST),
    ("an assigner that gives the smallest instant", lambda v, t: -(2**63)),
    ("an assigner of one argument", lambda v: 5),
]
for _words, _assigner in ASSIGNED:

    def _windows(here: Here, assigner: Any = _assigner) -> Any:
        stream = timed(here, 1, assigner=assigner).key_by(lambda v: 0)
        return stream.window(TumblingEventTimeWindows.of(ms(10))).process(Bounds())

    case(_words)(_windows)

BUILT: list[tuple[str, Callable[[], Any]]] = [
    ("a tumbling window of no length", lambda: TumblingEventTimeWindows.of(ms(0))),
    ("a tumbling window of a negative length", lambda: TumblingEventTimeWindows.of(ms(-5))),
    ("a tumbling window with an int for its length", lambda: TumblingEventTimeWindows.of(5)),
    ("a tumbling window with a float for its length", lambda: TumblingEventTimeWindows.of(ms(1.5))),
    ("a tumbling window with a text for its length", lambda: TumblingEventTimeWindows.of("5 s")),
    (
        "a tumbling window with a timedelta for its length",
        lambda: TumblingEventTimeWindows.of(dt.timedelta(seconds=5)),
    ),
    (
        "a tumbling window with an offset as long as it is",
        lambda: TumblingEventTimeWindows.of(ms(10), ms(10)),
    ),
    ("a tumbling window with a negative offset", lambda: TumblingEventTimeWindows.of(ms(10), ms(-3))),
    ("a sliding window that does not slide", lambda: SlidingEventTimeWindows.of(ms(10), ms(0))),
    (
        "a sliding window that slides further than it is long",
        lambda: SlidingEventTimeWindows.of(ms(2), ms(10)),
    ),
    (
        "a sliding window that slides by a fraction of itself that is not whole",
        lambda: SlidingEventTimeWindows.of(ms(10), ms(3)),
    ),
    ("a session without a gap", lambda: EventTimeSessionWindows.with_gap(ms(0))),
    ("a session with a negative gap", lambda: EventTimeSessionWindows.with_gap(ms(-1))),
    (
        "a session whose gap is None for an element",
        lambda: EventTimeSessionWindows.with_dynamic_gap(Gap(lambda v: None)),
    ),
    (
        "a session whose gap is 0 for an element",
        lambda: EventTimeSessionWindows.with_dynamic_gap(Gap(lambda v: 0)),
    ),
    (
        "a session whose gap is a float for an element",
        lambda: EventTimeSessionWindows.with_dynamic_gap(Gap(lambda v: 2.5)),
    ),
    (
        "a session whose gap is a Time for an element",
        lambda: EventTimeSessionWindows.with_dynamic_gap(Gap(lambda v: ms(5))),
    ),
    (
        "a session whose gap extractor raises",
        lambda: EventTimeSessionWindows.with_dynamic_gap(Gap(lambda v: {}["gap"])),
    ),
    ("a tumbling window of 2**62 ms", lambda: TumblingEventTimeWindows.of(ms(2**62))),
    ("a tumbling window of 2**63 ms", lambda: TumblingEventTimeWindows.of(ms(2**63))),
    ("a window that slides by 1 ms", lambda: SlidingEventTimeWindows.of(ms(5), ms(1))),
]
for _words, _make in BUILT:
    case(_words)(lambda here, make=_make: windowed(here, make(), 1, 25, -7))


@case("windows of instants below zero")
def _(here: Here) -> Any:
    return windowed(here, TumblingEventTimeWindows.of(ms(10), ms(3)), -11, -1, 0, 2, 3)


@case("windows in the years 1 and 9999")
def _(here: Here) -> Any:
    first = int(dt.datetime(1, 1, 1, tzinfo=dt.UTC).timestamp() * 1000)
    last = int(dt.datetime(9999, 12, 31, tzinfo=dt.UTC).timestamp() * 1000)
    return windowed(here, TumblingEventTimeWindows.of(Time.days(1)), first, last)


@case("a window class, not called, as the assigner")
def _(here: Here) -> Any:
    return timed(here, 1).key_by(lambda v: 0).window(TumblingEventTimeWindows)


@case("a Duration for the length of a window")
def _(here: Here) -> Any:
    return windowed(here, TumblingEventTimeWindows.of(Duration.of_seconds(1)), 1)


@case("an element late by nothing, by the last and by one more millisecond")
def _(here: Here) -> Any:
    tag = OutputTag("late")
    stream = timed(here, 9, 10 + 4, 5, 10 + 5, 6, 100)
    found = (
        stream.key_by(lambda v: 0)
        .window(TumblingEventTimeWindows.of(ms(10)))
        .allowed_lateness(6)
        .side_output_late_data(tag)
        .process(Bounds())
    )
    return found.union(found.get_side_output(tag))


@case("a negative lateness")
def _(here: Here) -> Any:
    return timed(here, 1).key_by(lambda v: 0).window(TumblingEventTimeWindows.of(ms(10))).allowed_lateness(-1)


@case("a lateness that is a text")
def _(here: Here) -> Any:
    return (
        timed(here, 1).key_by(lambda v: 0).window(TumblingEventTimeWindows.of(ms(10))).allowed_lateness("1 s")
    )


@case("a lateness of 2**62 ms")
def _(here: Here) -> Any:
    stream = timed(here, 1, 100, 2).key_by(lambda v: 0)
    return stream.window(TumblingEventTimeWindows.of(ms(10))).allowed_lateness(2**62).process(Bounds())


@case("a lateness of 2**63 - 1 ms")
def _(here: Here) -> Any:
    stream = timed(here, 1, 100, 2).key_by(lambda v: 0)
    return stream.window(TumblingEventTimeWindows.of(ms(10))).allowed_lateness(LAST).process(Bounds())


STRATEGIES: list[tuple[str, Callable[[], Any]]] = [
    (
        "a negative out-of-orderness",
        lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-1)),
    ),
    (
        "an out-of-orderness of 2**62 ms",
        lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(2**62)),
    ),
    ("an out-of-orderness that is an int", lambda: WatermarkStrategy.for_bounded_out_of_orderness(5)),
    (
        "no time to be idle in",
        lambda: WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(0)),
    ),
    (
        "a negative time to be idle in",
        lambda: WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(-1)),
    ),
    ("None as the supplier of generators", lambda: WatermarkStrategy.for_generator(None)),
    ("a supplier of None", lambda: WatermarkStrategy.for_generator(lambda: None)),
    (
        "None for the timestamp assigner",
        lambda: WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(None),
    ),
    ("None for the strategy", lambda: None),
    ("the class WatermarkStrategy for the strategy", lambda: WatermarkStrategy),
]
for _words, _strategy in STRATEGIES:

    def _assigned(here: Here, make: Any = _strategy) -> Any:
        strategy = make()
        if isinstance(strategy, WatermarkStrategy):
            strategy = strategy.with_timestamp_assigner(lambda v, t: v)
        stream = here.of(1, 25).assign_timestamps_and_watermarks(strategy).key_by(lambda v: 0)
        return stream.window(TumblingEventTimeWindows.of(ms(10))).process(Bounds())

    case(_words)(_assigned)


class Emitting(WatermarkGenerator):
    """Emits what `of` makes of a record."""

    def __init__(self, of: Callable[[Any], Any]) -> None:
        self.of = of

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        output.emit_watermark(self.of(event))

    def on_periodic_emit(self, output: Any) -> None: ...


class Marks(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


EMITTED: list[tuple[str, Any]] = [
    ("a watermark that goes back", lambda v: 10 - v),
    ("a watermark that is a float", lambda v: 1.5),
    ("a watermark that is None", lambda v: None),
    ("a watermark that is a text", lambda v: "5"),
    ("a watermark of 2**63", lambda v: 2**63),
    ("the last watermark before the end", lambda v: LAST),
    ("a generator that raises", lambda v: v // 0),
]
for _words, _of in EMITTED:

    def _marked(here: Here, of: Any = _of) -> Any:
        strategy = WatermarkStrategy.for_generator(lambda: Emitting(of)).with_timestamp_assigner(
            lambda v, t: v
        )
        return here.of(1, 2, 3).assign_timestamps_and_watermarks(strategy).process(Marks())

    case(_words)(_marked)


class Timers(KeyedProcessFunction):
    """Calls `register` with the context of the first element and notes the timers that fire."""

    def __init__(self, register: Any, again: Any = None) -> None:
        self.register = register
        self.again = again

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        self.register(ctx.timer_service(), value)
        yield "element", value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Any:
        if self.again is not None:
            self.again(ctx.timer_service(), timestamp)
        yield "timer", timestamp


SET: list[tuple[str, Any]] = [
    ("a timer in the past", lambda s, v: s.register_event_time_timer(-5)),
    ("a timer at the last instant", lambda s, v: s.register_event_time_timer(LAST)),
    ("a timer at 2**63", lambda s, v: s.register_event_time_timer(2**63)),
    ("a timer at None", lambda s, v: s.register_event_time_timer(None)),
    ("a timer at a text", lambda s, v: s.register_event_time_timer("5")),
    ("a timer at True", lambda s, v: s.register_event_time_timer(True)),
    ("a timer set twice", lambda s, v: [s.register_event_time_timer(7), s.register_event_time_timer(7)]),
    ("a timer deleted that was never set", lambda s, v: s.delete_event_time_timer(7)),
    ("a timer set and deleted", lambda s, v: [s.register_event_time_timer(7), s.delete_event_time_timer(7)]),
    (
        "a timer of the other kind deleted",
        lambda s, v: [s.register_event_time_timer(7), s.delete_processing_time_timer(7)],
    ),
    (
        "a timer of processing time in the past, at the end of the input",
        lambda s, v: s.register_processing_time_timer(1),
    ),
    (
        "a timer of processing time in a century, at the end of the input",
        lambda s, v: s.register_processing_time_timer(2**42),
    ),
]
for _words, _register in SET:
    case(_words)(lambda here, r=_register: timed(here, 1).key_by(lambda v: 0).process(Timers(r)))


@case("a timer that sets itself again ten times")
def _(here: Here) -> Any:
    again = lambda s, t: s.register_event_time_timer(t + 1) if t < 10 else None  # noqa: E731
    first = lambda s, v: s.register_event_time_timer(5)  # noqa: E731
    return timed(here, 1).key_by(lambda v: 0).process(Timers(first, again))


@case("a timer that sets itself at its own time once")
def _(here: Here) -> Any:
    seen: list[int] = []

    def again(service: Any, timestamp: int) -> None:
        if not seen:
            seen.append(1)
            service.register_event_time_timer(timestamp)

    return (
        timed(here, 1).key_by(lambda v: 0).process(Timers(lambda s, v: s.register_event_time_timer(5), again))
    )


@case("a timer in a function that is not keyed")
def _(here: Here) -> Any:
    class Unkeyed(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            ctx.timer_service().register_event_time_timer(5)
            yield value

    return here.of(1).process(Unkeyed())
