"""Triggers and evictors against a context by hand; what they do in a job is in tests/runtime."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cloudpickle
import pytest

from firesteel.common.time import Duration, Time
from firesteel.datastream import (
    Trigger,
    TriggerResult,
)
from firesteel.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeTrigger,
    Evictor,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    TimeEvictor,
    TimestampedValue,
    TimeWindow,
)

from .window_support import W10, FakeContext, ms

CONTINUE, FIRE, PURGE, FIRE_AND_PURGE = (
    TriggerResult.CONTINUE,
    TriggerResult.FIRE,
    TriggerResult.PURGE,
    TriggerResult.FIRE_AND_PURGE,
)


TRIGGERS: list[Trigger[Any, Any]] = [
    EventTimeTrigger.create(),
    ProcessingTimeTrigger.create(),
    ContinuousEventTimeTrigger.of(ms(2)),
    ContinuousProcessingTimeTrigger.of(ms(2)),
    CountTrigger.of(2),
    PurgingTrigger.of(EventTimeTrigger()),
    NeverTrigger(),
    DeltaTrigger.of(3, lambda a, b: b - a),
    ProcessingTimeoutTrigger.of(CountTrigger.of(2), ms(5)),
]


def element(trigger: Trigger[Any, Any], context: FakeContext, value: Any = 1, timestamp: int = 1) -> Any:
    return trigger.on_element(value, timestamp, W10, context)


def test_trigger_results() -> None:
    assert [(r.is_fire(), r.is_purge()) for r in (CONTINUE, FIRE, PURGE, FIRE_AND_PURGE)] == [
        (False, False),
        (True, False),
        (False, True),
        (True, True),
    ]


def test_which_triggers_merge() -> None:
    assert [t.can_merge() for t in TRIGGERS] == [True] * 6 + [False] * 3


@pytest.mark.parametrize("trigger", TRIGGERS, ids=lambda t: type(t).__name__)
def test_triggers_leave_nothing_behind(trigger: Trigger[Any, Any]) -> None:
    context = FakeContext()
    element(trigger, context)
    trigger.clear(W10, context)
    assert (context.store, context.processing) == ({}, set())
    # as in Flink a continuous trigger leaves the timer at the end of the window, which finds nothing to fire
    assert context.event <= ({9} if isinstance(trigger, ContinuousEventTimeTrigger) else set())


@pytest.mark.parametrize("trigger", TRIGGERS, ids=lambda t: type(t).__name__)
def test_triggers_travel_to_the_workers(trigger: Trigger[Any, Any]) -> None:
    copy = cloudpickle.loads(cloudpickle.dumps(trigger))
    context, other = FakeContext(), FakeContext()
    assert [element(trigger, context, n) for n in range(9)] == [element(copy, other, n) for n in range(9)]
    assert context.store == other.store


def test_event_time_trigger() -> None:
    trigger = EventTimeTrigger()
    context = FakeContext(watermark=8)
    assert element(trigger, context) is CONTINUE
    assert context.event == {9}
    assert trigger.on_event_time(9, W10, context) is FIRE
    assert trigger.on_event_time(11, W10, context) is CONTINUE  # the timer that ends the lateness
    assert trigger.on_processing_time(9, W10, context) is CONTINUE
    context = FakeContext(watermark=9)
    assert element(trigger, context) is FIRE  # late, but within the allowed lateness
    assert context.event == set()
    trigger.on_merge(TimeWindow(0, 20), context)
    trigger.on_merge(W10, context)
    assert context.event == {19}


def test_processing_time_trigger() -> None:
    trigger = ProcessingTimeTrigger()
    context = FakeContext(now_ms=5)
    assert element(trigger, context) is CONTINUE
    assert context.processing == {9}
    assert trigger.on_processing_time(9, W10, context) is FIRE
    assert trigger.on_event_time(9, W10, context) is CONTINUE
    context.now_ms = 9
    trigger.on_merge(TimeWindow(0, 20), context)
    trigger.clear(W10, context)
    trigger.on_merge(W10, context)
    assert context.processing == {19}


def test_continuous_event_time_trigger() -> None:  # 2 s in a 10 s window
    trigger = ContinuousEventTimeTrigger.of(Time.seconds(2))
    window = TimeWindow(0, 10_000)
    context = FakeContext()
    assert trigger.on_element("a", 500, window, context) is CONTINUE
    fired = []
    while context.event:
        time = min(context.event)
        context.event.discard(time)
        if trigger.on_event_time(time, window, context) is FIRE:
            fired.append(time)
        if time == window.max_timestamp():
            break
    assert fired == [2000, 4000, 6000, 8000, 9999]
    context.watermark = 9999
    assert trigger.on_element("late", 500, window, context) is FIRE


@pytest.mark.row("S-WIN-18")
def test_continuous_processing_time_trigger() -> None:
    trigger = ContinuousProcessingTimeTrigger.of(Time.seconds(2))
    window = TimeWindow(0, 5000)
    context = FakeContext(now_ms=700)
    assert trigger.on_element("a", 0, window, context) is CONTINUE
    assert trigger.on_element("b", 0, window, context) is CONTINUE
    assert context.processing == {2000}
    assert trigger.on_processing_time(1999, window, context) is CONTINUE
    assert trigger.on_processing_time(2000, window, context) is FIRE
    assert trigger.on_processing_time(4000, window, context) is FIRE
    assert context.processing == {2000, 4000, 4999}


@pytest.mark.parametrize(
    ("trigger", "timers"),
    [
        (ContinuousEventTimeTrigger.of(ms(4)), lambda c: c.event),
        (ContinuousProcessingTimeTrigger.of(ms(4)), lambda c: c.processing),
    ],
)
def test_merged_continuous_triggers_keep_the_earliest(
    trigger: Trigger[Any, Any], timers: Callable[[FakeContext], set[int]]
) -> None:
    context = FakeContext()
    for context.window, context.now_ms in (("one", 5), ("two", 1)):
        trigger.on_element(None, context.now_ms, TimeWindow(0, 10), context)
    context.event, context.processing = set(), set()
    context.window, context.merged = "both", ["one", "two"]
    trigger.on_merge(TimeWindow(0, 20), context)
    assert timers(context) == {4}
    assert context.store == {("fire-time", "both"): 4}


def test_count_trigger() -> None:  # it fires and keeps, purging drops
    trigger, context = CountTrigger.of(2), FakeContext()
    assert [element(trigger, context) for _ in range(4)] == [CONTINUE, FIRE, CONTINUE, FIRE]
    assert context.store == {}
    purging = PurgingTrigger.of(trigger)
    assert [element(purging, context) for _ in range(2)] == [CONTINUE, FIRE_AND_PURGE]
    for context.window in ("one", "two", "two", "three"):
        element(trigger, context)
    assert context.store == {("count", "one"): 1, ("count", "three"): 1}
    context.window, context.merged = "both", ["one", "three"]
    trigger.on_merge(W10, context)
    assert context.store == {("count", "both"): 2}


def test_purging_trigger_asks_its_trigger() -> None:
    class Purges(NeverTrigger[Any]):
        def on_event_time(self, time: int, window: Any, ctx: Trigger.TriggerContext) -> TriggerResult:
            return PURGE

    context = FakeContext()
    event, processing = PurgingTrigger.of(EventTimeTrigger()), PurgingTrigger.of(ProcessingTimeTrigger())
    assert element(event, context) is CONTINUE
    assert event.on_event_time(9, W10, context) is FIRE_AND_PURGE
    assert processing.on_processing_time(9, W10, context) is FIRE_AND_PURGE
    assert PurgingTrigger.of(Purges()).on_event_time(9, W10, context) is PURGE
    event.on_merge(TimeWindow(0, 20), context)
    assert context.event == {9, 19}
    event.clear(W10, context)
    assert context.event == {19}
    assert not PurgingTrigger.of(NeverTrigger()).can_merge()


def test_never_trigger() -> None:
    trigger, context = NeverTrigger[Any](), FakeContext()
    assert element(trigger, context) is CONTINUE
    assert trigger.on_event_time(9, W10, context) is CONTINUE
    assert trigger.on_processing_time(9, W10, context) is CONTINUE


@pytest.mark.row("S-WIN-18")
def test_delta_trigger() -> None:
    trigger, context = DeltaTrigger.of(3, lambda last, new: new - last), FakeContext()
    results = [element(trigger, context, value) for value in (10, 13, 14, 17, 18, 5)]
    assert results == [CONTINUE, CONTINUE, FIRE, CONTINUE, FIRE, CONTINUE]


def test_processing_timeout_trigger() -> None:
    trigger, context = ProcessingTimeoutTrigger.of(CountTrigger.of(3), ms(100)), FakeContext(now_ms=1000)
    assert element(trigger, context) is CONTINUE
    context.now_ms = 1050
    assert element(trigger, context) is CONTINUE
    assert context.processing == {1100}  # since the first element
    assert trigger.on_processing_time(1100, W10, context) is FIRE
    assert (context.store, context.processing) == ({}, set())  # the count starts anew
    assert [element(trigger, context) for _ in range(3)] == [CONTINUE, CONTINUE, FIRE]
    assert (context.store, context.processing) == ({}, set())


def test_processing_timeout_trigger_with_its_options() -> None:
    nested = PurgingTrigger.of(CountTrigger.of(3))
    trigger = ProcessingTimeoutTrigger.of(
        nested, Duration.of_millis(100), reset_timer_on_new_record=True, should_clear_on_timeout=False
    )
    context = FakeContext(now_ms=1000)
    element(trigger, context)
    context.now_ms = 1050
    element(trigger, context)
    assert context.processing == {1150}  # since the newest element
    assert trigger.on_processing_time(1150, W10, context) is FIRE
    assert element(trigger, context) is FIRE_AND_PURGE  # the count went on
    timeout = ProcessingTimeoutTrigger.of(PurgingTrigger.of(EventTimeTrigger()), ms(100))
    assert timeout.on_event_time(9, W10, context) is FIRE_AND_PURGE


# ---- evictors ----


def evicted(evictor: Evictor[Any, Any], elements: list[TimestampedValue], after: bool = False) -> list[Any]:
    left = list(elements)
    method = evictor.evict_after if after else evictor.evict_before
    method(left, len(left), W10, FakeContext())
    return [e.value for e in left]


def at(*timestamps: int) -> list[TimestampedValue]:
    return [TimestampedValue(t, t) for t in timestamps]


@pytest.mark.parametrize(
    ("make", "elements", "left"),
    [
        (lambda after: TimeEvictor.of(ms(5), after), at(1, 5, 10), [10]),  # 5 goes too
        (lambda after: TimeEvictor.of(ms(5), after), at(10, 6, 5), [10, 6]),
        (lambda after: TimeEvictor.of(ms(5), after), [], []),
        (lambda after: TimeEvictor.of(ms(5), after), [TimestampedValue("x"), *at(9)], ["x", 9]),
        (lambda after: CountEvictor.of(2, after), at(3, 1, 2), [1, 2]),
        (lambda after: CountEvictor.of(3, after), at(3, 1, 2), [3, 1, 2]),
        (lambda after: CountEvictor.of(0, after), at(3, 1), []),
        (lambda after: DeltaEvictor.of(3, lambda e, last: abs(last - e), after), at(1, 8, 7, 10), [8, 10]),
        (lambda after: DeltaEvictor.of(0, lambda e, last: 0, after), at(1, 2), []),
        (lambda after: DeltaEvictor.of(1, lambda e, last: 0, after), [], []),
    ],
)
@pytest.mark.row("S-WIN-20", "S-WIN-21")
def test_evictors(make: Callable[[bool], Any], elements: list[TimestampedValue], left: list[Any]) -> None:
    before, after = make(False), make(True)
    everything = [e.value for e in elements]
    assert evicted(before, elements) == left
    assert evicted(before, elements, after=True) == everything
    assert evicted(after, elements, after=True) == left
    assert evicted(after, elements) == everything


def test_timestamped_value() -> None:
    assert TimestampedValue("a", 5).has_timestamp()
    assert not TimestampedValue("a").has_timestamp()


@pytest.mark.parametrize("trigger", [ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger])
def test_continuous_triggers_have_the_attribute_of_pyflink(trigger: Any) -> None:
    assert trigger.of(Time.seconds(1)).fire_timestamp_state is None
