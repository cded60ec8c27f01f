"""The contexts of assigners, triggers and evictors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.metrics import MetricGroup
from firesteel.program.functions.base import RuntimeContext
from firesteel.program.state.descriptors import StateDescriptor
from firesteel.program.windows.assigner import WindowAssigner
from firesteel.program.windows.evictors import Evictor
from firesteel.program.windows.triggers import Trigger
from firesteel.runtime.windowing.scopes import Scoped, scoped
from firesteel.state.kinds import KINDS

if TYPE_CHECKING:
    from firesteel.runtime.operators.windows import WindowOperator


class EvictorContext(Evictor.EvictorContext):
    def __init__(self, operator: WindowOperator, runtime_context: RuntimeContext) -> None:
        self._operator = operator
        self._runtime_context = runtime_context

    def get_current_processing_time(self) -> int:
        return self._operator.context.clock.read()

    def get_metric_group(self) -> MetricGroup:
        return self._runtime_context.get_metrics_group()

    def get_current_watermark(self) -> int:
        return self._operator.watermark


class AssignerContext(WindowAssigner.WindowAssignerContext):
    def __init__(self, operator: WindowOperator, runtime_context: RuntimeContext) -> None:
        self._operator = operator
        self._runtime_context = runtime_context

    def get_current_processing_time(self) -> int:
        return self._operator.context.clock.read()

    def get_runtime_context(self) -> RuntimeContext:
        return self._runtime_context


class TriggerContext(Trigger.OnMergeContext):
    """Time, timers and state of one key and window. The operator calls ``enter`` before each use."""

    def __init__(self, operator: WindowOperator, runtime_context: RuntimeContext) -> None:
        self._operator = operator
        self._runtime_context = runtime_context
        self._state = operator.state
        self._register_event = operator.state.event_timers.register
        self._register_processing = operator.state.processing_timers.register
        self._delete_event = operator.state.event_timers.delete
        self._delete_processing = operator.state.processing_timers.delete
        self._namespace = b""
        self._merged: Sequence[bytes] = ()

    def enter(self, namespace: bytes, merged: Sequence[bytes] = ()) -> None:
        """From here on it is about this window of the current key; ``merged``: those that became it."""
        self._namespace = namespace
        self._merged = merged

    def get_current_processing_time(self) -> int:
        return self._operator.context.clock.read()

    def get_metric_group(self) -> MetricGroup:
        return self._runtime_context.get_metrics_group()

    def get_current_watermark(self) -> int:
        return self._operator.watermark

    def register_processing_time_timer(self, time: int) -> None:
        self._register_processing(time, self._namespace)

    def register_event_time_timer(self, time: int) -> None:
        self._register_event(time, self._namespace)

    def delete_processing_time_timer(self, time: int) -> None:
        self._delete_processing(time, self._namespace)

    def delete_event_time_timer(self, time: int) -> None:
        self._delete_event(time, self._namespace)

    def get_partitioned_state(self, state_descriptor: StateDescriptor) -> Any:
        return self._scoped(state_descriptor, self._namespace)

    def merge_partitioned_state(self, state_descriptor: StateDescriptor) -> None:
        target = self._scoped(state_descriptor, self._namespace)
        merge = KINDS.named(state_descriptor.kind).asked_for.merge
        for namespace in self._merged:
            source = self._scoped(state_descriptor, namespace)
            if merge is None:
                raise UnsupportedFeatureError(
                    f"The state {state_descriptor.name!r} cannot be merged.",
                    operator=self._operator.program.name,
                    hint="a trigger of merging windows keeps reducing, aggregating or list state",
                )
            merge(target, source)
            source.clear()

    def _scoped(self, descriptor: StateDescriptor, namespace: bytes) -> Scoped:
        return scoped(self._state, descriptor, self._operator.scoped_key(namespace))
