"""The context objects that user functions receive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.common.configuration import Configuration
from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.options.pipeline import GLOBAL_JOB_PARAMETERS
from firesteel.metrics import MetricGroup
from firesteel.program.distributed_cache import DistributedCache
from firesteel.program.functions.base import RuntimeContext
from firesteel.program.functions.process import (
    CoProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
)
from firesteel.program.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from firesteel.program.time_domain import TimeDomain
from firesteel.program.timerservice import TimerService
from firesteel.runtime.batch import NO_TIMESTAMP
from firesteel.runtime.descriptors import require_descriptor
from firesteel.state.backend import OperatorState

if TYPE_CHECKING:
    from firesteel.runtime.operators.base import SubtaskContext
    from firesteel.runtime.program import OperatorProgram


class TaskRuntimeContext(RuntimeContext):
    """Where a function runs, and the way to its state (Flink: ``RuntimeContext``)."""

    def __init__(
        self, context: SubtaskContext, program: OperatorProgram, state: OperatorState | None
    ) -> None:
        self._context = context
        self._program = program
        self._state = state
        self._job_parameters: dict[str, str] | None = None

    def get_task_name(self) -> str:
        return self._context.vertex_name

    def get_number_of_parallel_subtasks(self) -> int:
        return self._context.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        return self._context.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        return self._context.subtask

    def get_attempt_number(self) -> int:
        return self._context.attempt

    def get_task_name_with_subtasks(self) -> str:
        c = self._context
        return f"{c.vertex_name} ({c.subtask + 1}/{c.parallelism})#{c.attempt}"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        if self._job_parameters is None:
            configuration = Configuration.from_dict(self._context.settings)
            self._job_parameters = configuration.get(GLOBAL_JOB_PARAMETERS)
        return self._job_parameters.get(key, default_value)

    def get_distributed_cache(self) -> DistributedCache:
        return DistributedCache(self._context.cached_files)

    def get_metrics_group(self) -> MetricGroup:
        return self._context.metric_group(self._program)

    def add_accumulator(self, name: str, accumulator: Any) -> None:
        """Register an accumulator (``add(value)``, ``get_local_value()``, ``merge(other)``)."""
        self._context.accumulators[name] = accumulator

    def get_accumulator(self, name: str) -> Any:
        return self._context.accumulators.get(name)

    def _keyed(self) -> OperatorState:
        if self._state is None or not self._program.keyed:
            raise UnsupportedFeatureError(
                "Keyed state can only be used on a keyed stream",
                operator=self._program.name,
                hint="call key_by(...) before this operator",
            )
        return self._state

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        return self._keyed().get_partitioned_state(require_descriptor(state_descriptor, StateDescriptor))

    def get_state(self, state_descriptor: Any) -> Any:
        return self._keyed().get_state(require_descriptor(state_descriptor, ValueStateDescriptor))

    def get_list_state(self, state_descriptor: Any) -> Any:
        return self._keyed().get_list_state(require_descriptor(state_descriptor, ListStateDescriptor))

    def get_map_state(self, state_descriptor: Any) -> Any:
        return self._keyed().get_map_state(require_descriptor(state_descriptor, MapStateDescriptor))

    def get_reducing_state(self, state_descriptor: Any) -> Any:
        return self._keyed().get_reducing_state(require_descriptor(state_descriptor, ReducingStateDescriptor))

    def get_aggregating_state(self, state_descriptor: Any) -> Any:
        return self._keyed().get_aggregating_state(
            require_descriptor(state_descriptor, AggregatingStateDescriptor)
        )


class NoTimers(TimerService):
    """The timer service where there is no key: it tells the time and refuses timers."""

    REASON = "Setting timers is only supported on a keyed stream"
    HINT = "call key_by(...) and use a keyed process function"

    def __init__(self, context: SubtaskContext, operator: Any) -> None:
        self._context = context
        self._operator = operator

    def current_processing_time(self) -> int:
        return self._context.clock.read()

    def current_watermark(self) -> int:
        return int(self._operator.watermark)

    def _refuse(self) -> UnsupportedFeatureError:
        return UnsupportedFeatureError(self.REASON, operator=self._operator.program.name, hint=self.HINT)

    def register_processing_time_timer(self, timestamp: int) -> None:
        raise self._refuse()

    def register_event_time_timer(self, timestamp: int) -> None:
        raise self._refuse()

    def delete_processing_time_timer(self, timestamp: int) -> None:
        raise self._refuse()

    def delete_event_time_timer(self, timestamp: int) -> None:
        raise self._refuse()


class KeyedTimerService(TimerService):
    """Timers of the current key (Flink: ``TimerService`` over ``InternalTimerService``)."""

    def __init__(self, context: SubtaskContext, operator: Any, state: OperatorState) -> None:
        self._context = context
        self._operator = operator
        # Shadow the methods below: one call less for each timer.
        for method, of_queue in (
            ("register_processing_time_timer", state.processing_timers.register),
            ("register_event_time_timer", state.event_timers.register),
            ("delete_processing_time_timer", state.processing_timers.delete),
            ("delete_event_time_timer", state.event_timers.delete),
        ):
            setattr(self, method, of_queue)

    def current_processing_time(self) -> int:
        return self._context.clock.read()

    def current_watermark(self) -> int:
        return int(self._operator.watermark)

    # Never called:

    def register_processing_time_timer(self, timestamp: int) -> None: ...

    def register_event_time_timer(self, timestamp: int) -> None: ...

    def delete_processing_time_timer(self, timestamp: int) -> None: ...

    def delete_event_time_timer(self, timestamp: int) -> None: ...


class ProcessContext(ProcessFunction.Context, CoProcessFunction.Context):
    """Context of ProcessFunction and CoProcessFunction."""

    def __init__(self, context: SubtaskContext, operator: Any) -> None:
        self._timers = NoTimers(context, operator)
        self._timestamp = NO_TIMESTAMP

    def set_timestamp(self, timestamp: int) -> None:
        self._timestamp = timestamp

    def timer_service(self) -> TimerService:
        return self._timers

    def timestamp(self) -> int:
        return self._timestamp


class KeyedContext(
    KeyedProcessFunction.OnTimerContext,
    KeyedCoProcessFunction.OnTimerContext,
):
    """Context of the keyed process functions, for elements and timers. ``stamp`` and ``domain`` are set by
    the operator before each call."""

    def __init__(self, timers: TimerService, state: OperatorState) -> None:
        self._timers = timers
        self._state = state
        self.stamp = NO_TIMESTAMP
        self.domain: TimeDomain | None = None

    def get_current_key(self) -> Any:
        return self._state.current_key

    def timer_service(self) -> TimerService:
        return self._timers

    def timestamp(self) -> int:
        return self.stamp

    def time_domain(self) -> TimeDomain:
        return self.domain  # type: ignore[return-value]  # set in on_timer, which alone is to ask
