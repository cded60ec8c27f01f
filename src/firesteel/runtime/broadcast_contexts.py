"""The contexts of broadcast process functions, and the view of broadcast state that is only read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from firesteel.common.errors import ProgramError, StateError
from firesteel.program.functions.process import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from firesteel.program.state.descriptors import MapStateDescriptor, StateDescriptor
from firesteel.program.state.kinds import BroadcastState, ReadOnlyBroadcastState
from firesteel.program.time_domain import TimeDomain
from firesteel.program.timerservice import TimerService
from firesteel.runtime.batch import NO_TIMESTAMP
from firesteel.runtime.contexts import NoTimers
from firesteel.runtime.descriptors import require_descriptor
from firesteel.state.backend import NO_KEY, OperatorState
from firesteel.state.keys import raw_key

if TYPE_CHECKING:
    from firesteel.runtime.operators.base import SubtaskContext


class ReadOnlyView(ReadOnlyBroadcastState[Any, Any]):
    """Broadcast state for the side that is not broadcast: what would change it is refused."""

    def __init__(self, name: str, state: BroadcastState[Any, Any]) -> None:
        self._name = name
        # Shadow what is below: one call less for each access.
        for method in ("get", "contains", "items", "keys", "values", "is_empty"):
            setattr(self, method, getattr(state, method))

    def _shadowed(self, key: Any = None) -> Any:
        """Never called."""

    get = contains = items = keys = values = is_empty = _shadowed

    def _refuse(self, *arguments: Any) -> NoReturn:
        raise StateError(
            f"Broadcast state {self._name!r} can only be changed on the broadcast side.",
            detail="subtasks do not talk to each other: their copies stay the same because only elements "
            "that all of them see change them",
            hint="change it in process_broadcast_element(), and keep what belongs to a key in keyed state",
        )

    put = put_all = remove = clear = __setitem__ = __delitem__ = _refuse


class _BroadcastTimers(NoTimers):
    REASON = "A broadcast element has no key that a timer could be set for"
    HINT = "set timers in process_element() or on_timer()"


class _Context:
    """The element or timer that is being processed; ``stamp`` is set before each call."""

    def __init__(self, timers: TimerService, state: OperatorState) -> None:
        self._timers = timers
        self._state = state
        self.stamp = NO_TIMESTAMP

    def set_timestamp(self, timestamp: int) -> None:
        self.stamp = timestamp

    def timestamp(self) -> int:
        return self.stamp

    def current_processing_time(self) -> int:
        return self._timers.current_processing_time()

    def current_watermark(self) -> int:
        return self._timers.current_watermark()

    def timer_service(self) -> TimerService:
        return self._timers


class _Reading(_Context):
    def __init__(self, timers: TimerService, state: OperatorState) -> None:
        super().__init__(timers, state)
        self._views: dict[str, ReadOnlyView] = {}

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyView:
        name = require_descriptor(state_descriptor, MapStateDescriptor).name
        view = self._views.get(name)
        if view is None:
            view = self._views[name] = ReadOnlyView(name, _declared(self._state, state_descriptor))
        return view


class _Writing(_Context):
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        return _declared(self._state, require_descriptor(state_descriptor, MapStateDescriptor))


def _declared(state: OperatorState, descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
    """One that was not passed to ``broadcast`` is a slip (as in Flink)."""
    if not state.has(descriptor.name):
        raise StateError(
            f"There is no broadcast state {descriptor.name!r}.",
            hint="pass its descriptor to broadcast(...), or correct the name",
        )
    return state.broadcast_state(descriptor)


class ReadingContext(_Reading, BroadcastProcessFunction.ReadOnlyContext):
    """For the side that is not broadcast, of a stream without a key."""


class WritingContext(_Writing, BroadcastProcessFunction.Context):
    """For the broadcast side beside a stream without a key."""


class KeyedReadingContext(_Reading, KeyedBroadcastProcessFunction.OnTimerContext):
    """For the keyed side, elements and timers. ``domain`` is set before each timer."""

    domain: TimeDomain

    def get_current_key(self) -> Any:
        return self._state.raw_key

    def time_domain(self) -> TimeDomain:
        return self.domain


class KeyedWritingContext(_Writing, KeyedBroadcastProcessFunction.Context):
    """For the broadcast side beside a keyed stream: it has no key, and reaches the state of all keys."""

    def __init__(self, context: SubtaskContext, operator: Any, state: OperatorState) -> None:
        super().__init__(_BroadcastTimers(context, operator), state)

    def apply_to_keyed_state(self, state_descriptor: Any, function: Callable[[Any, Any], None]) -> None:
        state = self._state
        handle = _keyed_handle(state, state_descriptor)
        try:
            for key in state.canonical_keys(state_descriptor.name):
                state.key, state.raw_key = key, raw_key(key)
                function(state.raw_key, handle)
        finally:
            state.key, state.raw_key = NO_KEY, None


def _keyed_handle(state: OperatorState, descriptor: Any) -> Any:
    if isinstance(descriptor, StateDescriptor):
        return state.get_partitioned_state(descriptor)
    raise ProgramError(
        "apply_to_keyed_state() takes the descriptor of a keyed state.",
        detail=f"got {descriptor!r}",
        hint="pass the descriptor that the state is asked for with in open()",
    )
