"""Count windows, triggers, evictors and window functions that misbehave."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.datastream import ProcessWindowFunction
from firesteel.datastream.functions import AggregateFunction
from firesteel.datastream.window import (
    ContinuousEventTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaTrigger,
    EventTimeTrigger,
    GlobalWindows,
    PurgingTrigger,
    TimeEvictor,
    TriggerResult,
    TumblingEventTimeWindows,
)

from .core import Case, Here, area
from .times import Bounds, ms, timed

CASES: list[Case] = []
case = area("windows", CASES)

COUNTS: list[tuple[str, tuple[Any, ...]]] = [
    ("a count window of 0", (0,)),
    ("a count window of -1", (-1,)),
    ("a count window of True", (True,)),
    ("a count window of '3'", ("3",)),
    ("a count window of 2.0", (2.0,)),
    ("a count window that slides by more than it holds", (2, 3)),
    ("a count window that slides by -1", (2, -1)),
]
for _words, _sizes in COUNTS:
    case(_words)(
        lambda here, sizes=_sizes: here.of(1, 2, 3, 4).key_by(lambda v: 0).count_window(*sizes).reduce(max)
    )


class Answering(EventTimeTrigger[Any]):
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> Any:
        return self.answer


ANSWERS: list[tuple[str, Any]] = [
    ("a trigger that answers None", None),
    ("a trigger that answers True", True),
    ("a trigger that answers 'FIRE'", "FIRE"),
    ("a trigger that purges each time", TriggerResult.PURGE),
    ("a trigger that fires and purges each time", TriggerResult.FIRE_AND_PURGE),
]
for _words, _answer in ANSWERS:

    def _triggered(here: Here, answer: Any = _answer) -> Any:
        stream = timed(here, 1, 2).key_by(lambda v: 0).window(TumblingEventTimeWindows.of(ms(10)))
        return stream.trigger(Answering(answer)).process(Bounds())

    case(_words)(_triggered)


PARTS: list[tuple[str, Callable[[Any], Any]]] = [
    (
        "a purging trigger around a purging trigger",
        lambda w: w.trigger(PurgingTrigger.of(PurgingTrigger.of(CountTrigger.of(1)))),
    ),
    ("a count trigger of 0", lambda w: w.trigger(CountTrigger.of(0))),
    ("a continuous trigger of no interval", lambda w: w.trigger(ContinuousEventTimeTrigger.of(ms(0)))),
    ("a trigger class, not called", lambda w: w.trigger(EventTimeTrigger)),
    ("two triggers", lambda w: w.trigger(CountTrigger.of(1)).trigger(CountTrigger.of(2))),
    ("an evictor of 0 elements", lambda w: w.evictor(CountEvictor.of(0))),
    ("an evictor of -1 elements", lambda w: w.evictor(CountEvictor.of(-1))),
    ("an evictor of no time", lambda w: w.evictor(TimeEvictor.of(ms(0)))),
    ("an evictor of a negative time", lambda w: w.evictor(TimeEvictor.of(ms(-5)))),
    (
        "a delta trigger whose function gives None",
        lambda w: w.trigger(DeltaTrigger.of(1.0, lambda a, b: None)),
    ),
]
for _words, _change in PARTS:

    def _changed(here: Here, change: Any = _change) -> Any:
        stream = timed(here, 1, 2).key_by(lambda v: 0).window(TumblingEventTimeWindows.of(ms(10)))
        return change(stream).process(Bounds())

    case(_words)(_changed)


@case("a global window without a trigger")
def _(here: Here) -> Any:
    return here.of(1).key_by(lambda v: 0).window(GlobalWindows.create()).process(Bounds())


class Aggregate(AggregateFunction):
    """One accumulator for all, of the class's own."""

    shared: list[Any] = []

    def create_accumulator(self) -> Any:
        return self.shared

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return list(accumulator)

    def merge(self, a: Any, b: Any) -> Any:
        return a + b


@case("an aggregate that gives each window the same accumulator")
def _(here: Here) -> Any:
    Aggregate.shared = []
    return (
        timed(here, 1, 15, 25)
        .key_by(lambda v: 0)
        .window(TumblingEventTimeWindows.of(ms(10)))
        .aggregate(Aggregate())
    )


@case("an aggregate whose add gives nothing back")
def _(here: Here) -> Any:
    class Forgetful(Aggregate):
        def create_accumulator(self) -> Any:
            return []

        def add(self, value: Any, accumulator: Any) -> Any:
            accumulator.append(value)

    return (
        timed(here, 1, 2)
        .key_by(lambda v: 0)
        .window(TumblingEventTimeWindows.of(ms(10)))
        .aggregate(Forgetful())
    )


@case("a reduce of a window that gives nothing back")
def _(here: Here) -> Any:
    def appended(one: Any, other: Any) -> None:
        one.append(other)

    windows = timed(here, 1, 2).map(lambda v: [v]).key_by(lambda v: 0).count_window(2)
    return windows.reduce(appended)


@case("a window function that returns a number")
def _(here: Here) -> Any:
    class Number(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            return 5

    return timed(here, 1).key_by(lambda v: 0).window(TumblingEventTimeWindows.of(ms(10))).process(Number())


@case("an interval join with its bounds the wrong way round")
def _(here: Here) -> Any:
    stream = timed(here, 1).key_by(lambda v: 0)
    return stream.interval_join(stream).between(ms(5), ms(-5))


@case("a stream joined with itself")
def _(here: Here) -> Any:
    stream = timed(here, 1, 2)
    joined = stream.join(stream).where(lambda v: 0).equal_to(lambda v: 0)
    return joined.window(TumblingEventTimeWindows.of(ms(10))).apply(lambda a, b: (a, b))
