"""What the tests of windows share: a context with the timers and state of a trigger in the open."""

from __future__ import annotations

from typing import Any

from firesteel.common.time import Time
from firesteel.datastream import Trigger, WindowAssigner
from firesteel.datastream.functions import RuntimeContext
from firesteel.datastream.state import StateDescriptor
from firesteel.datastream.window import Evictor, SessionWindowTimeGapExtractor, TimeWindow
from firesteel.metrics import MetricGroup
from firesteel.program.windows.windows import NO_TIMESTAMP

W10 = TimeWindow(0, 10)


def ms(n: int) -> Time:
    return Time.milliseconds(n)


class ElementIsGap(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return int(element)


class FakeState:
    """Any kind of keyed state, for one key and window."""

    def __init__(self, store: dict[Any, Any], place: Any, descriptor: StateDescriptor) -> None:
        self.store, self.place, self.descriptor = store, place, descriptor

    def get(self) -> Any:
        return self.store.get(self.place)

    value = get

    def update(self, value: Any) -> None:
        self.store[self.place] = value

    def add(self, value: Any) -> None:
        if self.place in self.store:
            value = self.descriptor.get_reduce_function().reduce(self.store[self.place], value)  # type: ignore[attr-defined]
        self.store[self.place] = value

    def clear(self) -> None:
        self.store.pop(self.place, None)


class FakeContext(Trigger.OnMergeContext, WindowAssigner.WindowAssignerContext, Evictor.EvictorContext):
    """Time by hand, timers and state in the open."""

    def __init__(self, now_ms: int = 0, watermark: int = NO_TIMESTAMP) -> None:
        self.now_ms = now_ms
        self.watermark = watermark
        self.window: Any = None
        self.merged: list[Any] = []
        self.event: set[int] = set()
        self.processing: set[int] = set()
        self.store: dict[Any, Any] = {}

    def get_current_processing_time(self) -> int:
        return self.now_ms

    def get_current_watermark(self) -> int:
        return self.watermark

    def get_metric_group(self) -> MetricGroup:
        raise NotImplementedError

    def get_runtime_context(self) -> RuntimeContext:
        return self  # type: ignore[return-value]  # get_state is all that assigners ask for

    def register_processing_time_timer(self, time: int) -> None:
        self.processing.add(time)

    def register_event_time_timer(self, time: int) -> None:
        self.event.add(time)

    def delete_processing_time_timer(self, time: int) -> None:
        self.processing.discard(time)

    def delete_event_time_timer(self, time: int) -> None:
        self.event.discard(time)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        return FakeState(self.store, (state_descriptor.name, self.window), state_descriptor)

    get_state = get_partitioned_state

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        target = self.get_partitioned_state(state_descriptor)
        for merged in self.merged:
            value = self.store.pop((state_descriptor.name, merged), None)
            if value is not None:
                target.add(value)
