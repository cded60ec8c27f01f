"""Triggers that remember something of each key and window, and those around another trigger."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Final, TypeVar

from firesteel.common.errors import ProgramError
from firesteel.common.time import Length, as_millis
from firesteel.common.typeinfo import Types
from firesteel.program.checks import WrongArgumentError, require_int
from firesteel.program.state.descriptors import ReducingStateDescriptor, ValueStateDescriptor
from firesteel.program.state.kinds import ReducingState
from firesteel.program.windows.triggers import Trigger, TriggerResult, _Silent
from firesteel.program.windows.windows import TimeWindow, Window

T = TypeVar("T", contravariant=True)


def _positive_millis(length: Length, what: str) -> int:
    millis = as_millis(length, what)
    if millis < 1:
        raise ProgramError(f"{what} must be at least one millisecond.", detail=f"got {millis} ms")
    return millis


def _require_trigger(trigger: Any, outer: str) -> None:
    if not isinstance(trigger, Trigger):
        raise WrongArgumentError(f"{outer}.of() takes a trigger.", detail=f"got {trigger!r}")


class _ContinuousTrigger(_Silent[T, TimeWindow]):
    """Fires at each multiple of ``interval``; the next one is kept as state of the window."""

    def __init__(self, interval: int) -> None:
        self.interval = require_int(interval, f"interval of a {type(self).__name__}", 1)
        self.state_desc = ReducingStateDescriptor("fire-time", min, Types.LONG())
        self.fire_timestamp_state: ReducingState[int] | None = None  # PyFlink has it, and does not use it

    def can_merge(self) -> bool:
        return True

    def register_next_fire_timestamp(
        self,
        time: int,
        window: TimeWindow,
        ctx: Trigger.TriggerContext,
        fire_timestamp_state: ReducingState[int],
    ) -> None:
        """Fire an interval after ``time``, or at the end of the window."""
        fire_time = min(time + self.interval, window.max_timestamp())
        fire_timestamp_state.add(fire_time)
        self._register(fire_time, ctx)

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self.state_desc)
        fire_time = ctx.get_partitioned_state(self.state_desc).get()
        if fire_time is not None:
            self._register(fire_time, ctx)

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        state = ctx.get_partitioned_state(self.state_desc)
        fire_time = state.get()
        if fire_time is not None:
            self._delete(fire_time, ctx)
            state.clear()

    def _start(self, now: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        state = ctx.get_partitioned_state(self.state_desc)
        if state.get() is None:
            self.register_next_fire_timestamp(now - now % self.interval, window, ctx, state)
        return TriggerResult.CONTINUE

    def _fire_if_due(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        state = ctx.get_partitioned_state(self.state_desc)
        if state.get() != time:
            return TriggerResult.CONTINUE
        state.clear()
        self.register_next_fire_timestamp(time, window, ctx, state)
        return TriggerResult.FIRE

    @abstractmethod
    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None: ...

    @abstractmethod
    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None: ...


class ContinuousEventTimeTrigger(_ContinuousTrigger[T]):
    """Fires each time the watermark passes a multiple of the interval, and at the end of the window."""

    @staticmethod
    def of(interval: Length) -> ContinuousEventTimeTrigger[Any]:
        return ContinuousEventTimeTrigger(_positive_millis(interval, "the interval"))

    def on_element(
        self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return self._start(timestamp, window, ctx)

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        if time == window.max_timestamp():
            return TriggerResult.FIRE
        return self._fire_if_due(time, window, ctx)

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_event_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(time)


class ContinuousProcessingTimeTrigger(_ContinuousTrigger[T]):
    """Fires each time the clock passes a multiple of the interval."""

    @staticmethod
    def of(interval: Length) -> ContinuousProcessingTimeTrigger[Any]:
        return ContinuousProcessingTimeTrigger(_positive_millis(interval, "the interval"))

    def on_element(
        self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return self._start(ctx.get_current_processing_time(), window, ctx)

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return self._fire_if_due(time, window, ctx)

    def _register(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.register_processing_time_timer(time)

    def _delete(self, time: int, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(time)


class CountTrigger(_Silent[T, Window]):
    """Fires at each ``window_size``-th element of a key and window. The elements stay in the window: wrap it
    in a ``PurgingTrigger`` to drop them."""

    def __init__(self, window_size: int) -> None:
        self._window_size = require_int(window_size, "count of a CountTrigger", 1)
        self._count_state_descriptor = ReducingStateDescriptor("count", operator.add, Types.LONG())

    @staticmethod
    def of(window_size: int) -> CountTrigger[Any]:
        return CountTrigger(window_size)

    def on_element(
        self, element: T, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        count = ctx.get_partitioned_state(self._count_state_descriptor)
        count.add(1)
        if count.get() < self._window_size:
            return TriggerResult.CONTINUE
        count.clear()
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        ctx.merge_partitioned_state(self._count_state_descriptor)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._count_state_descriptor).clear()


class DeltaTrigger(_Silent[T, Window]):
    """Fires when an element is further than ``threshold`` from the one that fired last, the first one at
    the start (Flink: ``DeltaTrigger``).

    :param delta_function: ``delta_function(element that fired, new element)`` gives the distance.
    """

    def __init__(self, threshold: float, delta_function: Callable[[T, T], float]) -> None:
        if not callable(delta_function):
            raise WrongArgumentError(
                "The delta function of a DeltaTrigger must be callable.", detail=f"got {delta_function!r}"
            )
        self.threshold = threshold
        self._delta_function = delta_function
        self._last_descriptor = ValueStateDescriptor("last-element", Types.PICKLED_BYTE_ARRAY())

    @staticmethod
    def of(threshold: float, delta_function: Callable[[Any, Any], float]) -> DeltaTrigger[Any]:
        return DeltaTrigger(threshold, delta_function)

    def on_element(
        self, element: T, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        last = ctx.get_partitioned_state(self._last_descriptor)
        fired = last.value()
        if fired is None:
            last.update(element)
        elif self._delta_function(fired, element) > self.threshold:
            last.update(element)
            return TriggerResult.FIRE
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        ctx.get_partitioned_state(self._last_descriptor).clear()


class PurgingTrigger(Trigger[T, Window]):
    """Fires when ``nested_trigger`` does, and drops the elements of the window then."""

    def __init__(self, nested_trigger: Trigger[T, Any]) -> None:
        _require_trigger(nested_trigger, "PurgingTrigger")
        self.nested_trigger = nested_trigger

    @staticmethod
    def of(nested_trigger: Trigger[Any, Any]) -> PurgingTrigger[Any]:
        return PurgingTrigger(nested_trigger)

    def on_element(
        self, element: T, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return _purging(self.nested_trigger.on_element(element, timestamp, window, ctx))

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_event_time(time, window, ctx))

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return _purging(self.nested_trigger.on_processing_time(time, window, ctx))

    def can_merge(self) -> bool:
        return self.nested_trigger.can_merge()

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        self.nested_trigger.on_merge(window, ctx)

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        self.nested_trigger.clear(window, ctx)


_FIRING: Final = (TriggerResult.FIRE, TriggerResult.FIRE_AND_PURGE)


def _purging(result: TriggerResult) -> TriggerResult:
    """Return *result*, purging if it fires. Anything that is not a trigger result passes unchanged, for the
    operator to refuse."""
    return TriggerResult.FIRE_AND_PURGE if result in _FIRING else result


class ProcessingTimeoutTrigger(Trigger[T, Window]):
    """Fires when ``nested_trigger`` does, or when ``timeout`` has passed since the first element, or since
    the newest one with ``reset_timer_on_new_record`` (Flink: ``ProcessingTimeoutTrigger``).

    :param should_clear_on_timeout: forget what the nested trigger remembers when the time is over.
    """

    def __init__(
        self,
        nested_trigger: Trigger[T, Any],
        timeout: int,
        reset_timer_on_new_record: bool,
        should_clear_on_timeout: bool,
    ) -> None:
        _require_trigger(nested_trigger, "ProcessingTimeoutTrigger")
        self.nested_trigger = nested_trigger
        self.timeout = require_int(timeout, "timeout of a ProcessingTimeoutTrigger", 1)
        self._reset_timer_on_new_record = reset_timer_on_new_record
        self._should_clear_on_timeout = should_clear_on_timeout
        self._timeout_descriptor = ValueStateDescriptor("timeout", Types.LONG())

    @staticmethod
    def of(
        nested_trigger: Trigger[Any, Any],
        timeout: Length,
        reset_timer_on_new_record: bool = False,
        should_clear_on_timeout: bool = True,
    ) -> ProcessingTimeoutTrigger[Any]:
        return ProcessingTimeoutTrigger(
            nested_trigger,
            _positive_millis(timeout, "the timeout"),
            reset_timer_on_new_record,
            should_clear_on_timeout,
        )

    def on_element(
        self, element: T, timestamp: int, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        result = self.nested_trigger.on_element(element, timestamp, window, ctx)
        if result in _FIRING:
            self.clear(window, ctx)
            return result
        state = ctx.get_partitioned_state(self._timeout_descriptor)
        due = state.value()
        if due is not None and self._reset_timer_on_new_record:
            ctx.delete_processing_time_timer(due)
            due = None
        if due is None:
            due = ctx.get_current_processing_time() + self.timeout
            state.update(due)
            ctx.register_processing_time_timer(due)
        return result

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        result = self.nested_trigger.on_processing_time(time, window, ctx)
        return self._fire(result, window, ctx)

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        result = self.nested_trigger.on_event_time(time, window, ctx)
        return self._fire(result, window, ctx)

    def _fire(self, result: TriggerResult, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        if self._should_clear_on_timeout:
            self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE if result.is_purge() else TriggerResult.FIRE

    def on_merge(self, window: Window, ctx: Trigger.OnMergeContext) -> None:
        pass  # never called: it cannot merge

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        state = ctx.get_partitioned_state(self._timeout_descriptor)
        due = state.value()
        if due is not None:
            ctx.delete_processing_time_timer(due)
            state.clear()
        self.nested_trigger.clear(window, ctx)
