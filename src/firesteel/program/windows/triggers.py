"""What a trigger is, and the triggers that follow time alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from firesteel.program.windows.windows import TimeWindow, Window

if TYPE_CHECKING:
    from firesteel.metrics import MetricGroup
    from firesteel.program.state.descriptors import StateDescriptor

T = TypeVar("T", contravariant=True)
W = TypeVar("W", contravariant=True)


class TriggerResult(Enum):
    """What happens to a window: fired, its function is called; purged, its elements are dropped."""

    CONTINUE = (False, False)
    FIRE_AND_PURGE = (True, True)
    FIRE = (True, False)
    PURGE = (False, True)

    def is_fire(self) -> bool:
        return self.value[0]

    def is_purge(self) -> bool:
        return self.value[1]


class Trigger(ABC, Generic[T, W]):
    """Says when a window of a key is evaluated (Flink: ``Trigger``).

    One object serves all keys and windows, so that what it has to remember belongs into state of its
    context, which is state of the key and window.
    """

    class TriggerContext(ABC):
        """Time, timers and state of the key and window."""

        @abstractmethod
        def get_current_processing_time(self) -> int:
            """The time of the clock, in epoch milliseconds."""

        @abstractmethod
        def get_metric_group(self) -> MetricGroup:
            """The metrics of the window operator."""

        @abstractmethod
        def get_current_watermark(self) -> int:
            """The watermark of the window operator; ``-(2**63)`` before the first one."""

        @abstractmethod
        def register_processing_time_timer(self, time: int) -> None:
            """Have ``on_processing_time`` called when the clock reaches ``time``."""

        @abstractmethod
        def register_event_time_timer(self, time: int) -> None:
            """Have ``on_event_time`` called when the watermark reaches ``time``."""

        @abstractmethod
        def delete_processing_time_timer(self, time: int) -> None: ...

        @abstractmethod
        def delete_event_time_timer(self, time: int) -> None: ...

        @abstractmethod
        def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
            """The state of this key and window that ``state_descriptor`` asks for."""

    class OnMergeContext(TriggerContext):
        """The context of ``on_merge``."""

        @abstractmethod
        def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
            """Merge the state of the merged windows into that of the new one; needs state that merges:
            reducing, aggregating or list state."""

    @abstractmethod
    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """``element`` came into ``window``."""

    @abstractmethod
    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """A processing-time timer of ``window`` is due."""

    @abstractmethod
    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        """An event-time timer of ``window`` is due."""

    def can_merge(self) -> bool:
        """True if ``on_merge`` can bring timers and state of several windows into one."""
        return False

    @abstractmethod
    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        """Several windows became ``window``."""

    @abstractmethod
    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        """``window`` is gone: delete its timers and state."""


class _Silent(Trigger[T, W]):
    """Base of the triggers here: what one does not speak of changes nothing."""

    def on_element(self, element: T, timestamp: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: W, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_merge(self, window: W, ctx: Trigger.OnMergeContext) -> None:
        pass

    def clear(self, window: W, ctx: Trigger.TriggerContext) -> None:
        pass


class EventTimeTrigger(_Silent[T, TimeWindow]):
    """Fires when the watermark reaches the end of the window, and for each late element after that."""

    @staticmethod
    def create() -> EventTimeTrigger[Any]:
        return EventTimeTrigger()

    def on_element(
        self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return TriggerResult.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        # The operator's own timer, which ends the lateness, comes along here too.
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        # Otherwise the element that made the windows merge fires in on_element.
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


class ProcessingTimeTrigger(_Silent[T, TimeWindow]):
    """Fires when the clock reaches the end of the window."""

    @staticmethod
    def create() -> ProcessingTimeTrigger[Any]:
        return ProcessingTimeTrigger()

    def on_element(
        self, element: T, timestamp: int, window: TimeWindow, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        ctx.register_processing_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: TimeWindow, ctx: Trigger.OnMergeContext) -> None:
        if window.max_timestamp() > ctx.get_current_processing_time():
            ctx.register_processing_time_timer(window.max_timestamp())

    def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
        ctx.delete_processing_time_timer(window.max_timestamp())


class NeverTrigger(_Silent[T, Window]):
    """Never fires: the default trigger of ``GlobalWindows``."""
