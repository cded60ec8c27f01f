"""Process functions: the full access to elements, state, timers and side outputs.

``process_element`` and ``on_timer`` emit what they yield (or return as an iterable); ``yield tag, value``
with an ``OutputTag`` emits to a side output.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from firesteel.program.functions.base import Function
from firesteel.program.time_domain import TimeDomain
from firesteel.program.timerservice import TimerService

if TYPE_CHECKING:
    from firesteel.program.state.descriptors import MapStateDescriptor, StateDescriptor
    from firesteel.program.state.kinds import BroadcastState, ReadOnlyBroadcastState

IN1 = TypeVar("IN1")
IN2 = TypeVar("IN2")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")

Output = Iterable[Any] | None


class _Context(ABC):
    @abstractmethod
    def timer_service(self) -> TimerService: ...

    @abstractmethod
    def timestamp(self) -> int | None:
        """The timestamp of the element or timer in epoch milliseconds; None when the element has none."""


class _KeyedContext(_Context):
    @abstractmethod
    def get_current_key(self) -> Any: ...


class _OnTimerContext(_KeyedContext):
    @abstractmethod
    def time_domain(self) -> TimeDomain:
        """Which kind of timer has fired."""


class ProcessFunction(Function):
    """For streams without a key: it may read time but has no state and no timers."""

    class Context(_Context):
        """The element that is being processed and the time."""

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Output: ...


class KeyedProcessFunction(Function):
    """For keyed streams: keyed state and timers of both kinds."""

    class Context(_KeyedContext):
        """The element that is being processed, its key, time and timers."""

    class OnTimerContext(Context, _OnTimerContext):
        """The timer that has fired."""

    @abstractmethod
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Output: ...

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Output:
        """Called when a timer of the current key fires; does nothing unless it is overridden."""
        return None


class CoProcessFunction(Function):
    """For two connected streams."""

    class Context(_Context):
        """The element that is being processed and the time."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: CoProcessFunction.Context) -> Output: ...

    @abstractmethod
    def process_element2(self, value: Any, ctx: CoProcessFunction.Context) -> Output: ...


class KeyedCoProcessFunction(Function):
    """For two connected keyed streams, which share the state of a key."""

    class Context(_KeyedContext):
        """The element that is being processed, its key, time and timers."""

    class OnTimerContext(Context, _OnTimerContext):
        """The timer that has fired."""

    @abstractmethod
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Output: ...

    @abstractmethod
    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Output: ...

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Output:
        """Called when a timer of the current key fires; does nothing unless it is overridden."""
        return None


class ProcessJoinFunction(Function):
    """For the pairs of an interval join; it may use keyed state, and has no timers."""

    class Context(ABC):
        """The timestamps of the pair, in epoch milliseconds."""

        @abstractmethod
        def get_left_timestamp(self) -> int: ...

        @abstractmethod
        def get_right_timestamp(self) -> int: ...

        @abstractmethod
        def get_timestamp(self) -> int:
            """The larger one of both, which is the timestamp of what is emitted."""

    @abstractmethod
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Output: ...


class BaseBroadcastProcessFunction(Function):
    """What both broadcast process functions have in common."""

    class BaseContext(ABC):
        @abstractmethod
        def timestamp(self) -> int | None: ...

        @abstractmethod
        def current_processing_time(self) -> int: ...

        @abstractmethod
        def current_watermark(self) -> int: ...

    class Context(BaseContext):
        """For the broadcast side, which may write broadcast state."""

        @abstractmethod
        def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]: ...

    class ReadOnlyContext(BaseContext):
        """For the other side, which may only read it."""

        @abstractmethod
        def get_broadcast_state(
            self, state_descriptor: MapStateDescriptor
        ) -> ReadOnlyBroadcastState[Any, Any]: ...


class BroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[IN1, IN2, OUT]):
    """For a stream without a key that is connected to a broadcast stream."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """For the broadcast side."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """For the other side."""

    @abstractmethod
    def process_element(self, value: IN1, ctx: ReadOnlyContext) -> Iterable[OUT] | None: ...

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: Context) -> Iterable[OUT] | None: ...


class KeyedBroadcastProcessFunction(BaseBroadcastProcessFunction, Generic[KEY, IN1, IN2, OUT]):
    """For a keyed stream that is connected to a broadcast stream."""

    class Context(BaseBroadcastProcessFunction.Context, ABC):
        """For the broadcast side."""

        @abstractmethod
        def apply_to_keyed_state(
            self, state_descriptor: StateDescriptor, function: Callable[[Any, Any], None]
        ) -> None:
            """Call ``function(key, state)`` for each key of this subtask that has the keyed state, with the
            state of that key (Flink: ``applyToKeyedState``). In BATCH mode no key has any state yet."""

    class ReadOnlyContext(BaseBroadcastProcessFunction.ReadOnlyContext, ABC):
        """For the keyed side."""

        @abstractmethod
        def timer_service(self) -> TimerService: ...

        @abstractmethod
        def get_current_key(self) -> Any: ...

    class OnTimerContext(ReadOnlyContext, ABC):
        """The timer that has fired."""

        @abstractmethod
        def time_domain(self) -> TimeDomain: ...

        @abstractmethod
        def get_current_key(self) -> Any: ...

    @abstractmethod
    def process_element(self, value: IN1, ctx: ReadOnlyContext) -> Iterable[OUT] | None: ...

    @abstractmethod
    def process_broadcast_element(self, value: IN2, ctx: Context) -> Iterable[OUT] | None: ...

    def on_timer(self, timestamp: int, ctx: OnTimerContext) -> Iterable[OUT] | None:
        """Called when a timer of the current key fires; does nothing unless it is overridden."""
        return None
