"""Runs the windows of a scene, one event after the other, and writes down what happens with each.

The assigner, trigger and evictor are those of the example. Only its window function gives way to one that
shows what it is called with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from docs.drawing.runs import Element, Firing, Run, feed
from docs.drawing.scenes import Clock, Fed, Scene
from firesteel.datastream import DataStream, OutputTag, ProcessWindowFunction, Trigger, TriggerResult
from firesteel.datastream._joined_streams import _KeyOfEither
from firesteel.datastream.window import MergingWindowAssigner, TimeWindow
from firesteel.program.functions.base import function_behind
from firesteel.program.operators import Window
from firesteel.program.transformations import OneInputTransformation
from firesteel.testing import OperatorHarness, StreamRecord

_LATE = OutputTag("late")


@dataclass
class WindowRun(Run):
    spec: Window
    homes: dict[tuple[Any, Any], list[int]] = field(default_factory=dict, init=False)
    """(key, window) -> the numbers of the elements that came into it"""

    @property
    def timed(self) -> bool:
        """Windows of numbers have no place in time."""
        return self.in_processing_time or all(isinstance(window, TimeWindow) for _, window in self.homes)

    @property
    def merges(self) -> bool:
        return isinstance(self.spec.assigner, MergingWindowAssigner)


class _Show(ProcessWindowFunction[Any, Any, Any, Any]):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        yield key, context.window(), list(elements)


class _EachElement(Trigger[Any, Any]):
    """Shows the windows of every element as soon as it is in them."""

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    on_processing_time = on_event_time

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None: ...

    def clear(self, window: Any, ctx: Any) -> None: ...


def run_windows(scene: Scene, operator: OneInputTransformation, spec: Window) -> WindowRun:
    """Two harnesses get all events: one with the trigger of the example, for the firings, and one that shows
    each element in its windows, for those that never fire."""
    fires, shows = _harness(operator, spec, spec.trigger), _harness(operator, spec, _EachElement())
    run = WindowRun(scene, spec)
    numbers: dict[Any, int] = {}  # of the elements, by value
    clock = 0
    for step, fed in enumerate(scene.feed):
        value = _value(fed, operator)
        if isinstance(fed.event, Clock):
            clock = fed.event.time
        elif isinstance(fed.event, StreamRecord):
            assert value not in numbers, f"two elements are alike: {value}"
            time = clock if run.in_processing_time else fed.event.timestamp or 0
            number = numbers[value] = len(numbers)
            run.elements[step] = Element(number, fed.event.value, time, _key(operator, value), fed.input)
        feed(fires, fed.event, value)
        feed(shows, fed.event, value)
        if spec.assigner.is_event_time() and fires.side_output(_LATE):
            run.late.add(numbers[value])
        for key, window, members in fires.values:
            found = tuple(numbers[member] for member in members)
            run.firings.append(Firing(len(run.firings) + 1, step, key, window, found))
        for key, window, members in shows.values:
            _note_home(run, key, window, [numbers[member] for member in members])
        fires.clear_output()
        shows.clear_output()
    return run


def _value(fed: Fed, operator: OneInputTransformation) -> Any:
    """The record as the window gets it: those of a join have the number of their stream."""
    if not isinstance(fed.event, StreamRecord):
        return None
    joins = isinstance(function_behind(operator.key_selector), _KeyOfEither)
    return (fed.input, fed.event.value) if joins else fed.event.value


def _key(operator: OneInputTransformation, value: Any) -> Any:
    assert operator.key_selector is not None
    return operator.key_selector(value)


def _harness(operator: OneInputTransformation, spec: Window, trigger: Trigger[Any, Any]) -> OperatorHarness:
    in_event_time, select = spec.assigner.is_event_time(), operator.key_selector
    assert select is not None

    def windows(stream: DataStream) -> DataStream:
        windows = stream.key_by(select).window(spec.assigner).trigger(trigger)
        if spec.evictor is not None and trigger is spec.trigger:
            windows.evictor(spec.evictor)
        if in_event_time:
            windows.allowed_lateness(spec.allowed_lateness_ms).side_output_late_data(_LATE)
        return windows.process(_Show())

    return OperatorHarness(windows, side_outputs=[_LATE] if in_event_time else ())


def _note_home(run: WindowRun, key: Any, window: Any, members: list[int]) -> None:
    """A window that others have merged into takes their place."""
    if run.merges:
        merged = [w for k, w in run.homes if k == key and window.start <= w.start and w.end <= window.end]
        for other in merged:
            del run.homes[key, other]
    run.homes[key, window] = members
