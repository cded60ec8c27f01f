"""The functions that read and write state (Flink: ``state.api.functions``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

from firesteel.datastream import RuntimeContext
from firesteel.datastream.functions import KeyedStateStore
from firesteel.datastream.state import BroadcastState, MapStateDescriptor
from firesteel.datastream.timerservice import TimerService

__all__ = [
    "BroadcastStateBootstrapFunction",
    "KeyedStateBootstrapFunction",
    "KeyedStateReaderFunction",
    "StateBootstrapFunction",
    "WindowReaderFunction",
]


class _Function:
    def open(self, runtime_context: RuntimeContext) -> None:
        """Called once for each task, before the first call. Here one asks for states."""

    def close(self) -> None:
        """Called once for each task, after the last call."""


class KeyedStateReaderFunction(_Function, ABC):
    """Reads the keyed state of one operator, key by key (Flink: ``KeyedStateReaderFunction``).

    It is called for each key that has something in one of the states that ``open`` asks for. States must be
    asked for with the descriptors that the job uses: another type is refused, or converted
    (``migrate_from``). Nothing that the function does to a state is kept.
    """

    class Context(ABC):
        """The timers of the key at hand, in epoch milliseconds, in order."""

        @abstractmethod
        def registered_event_time_timers(self) -> list[int]: ...

        @abstractmethod
        def registered_processing_time_timers(self) -> list[int]: ...

    @abstractmethod
    def read_key(self, key: Any, ctx: Context) -> Iterable[Any] | None:
        """Yield the rows for one key."""


class WindowReaderFunction(_Function, ABC):
    """Reads the state of a window operator, window by window (Flink: ``WindowReaderFunction``)."""

    class Context(KeyedStateReaderFunction.Context):
        """Of the key and window at hand; the timers are those of the window."""

        @abstractmethod
        def window(self) -> Any: ...

        @abstractmethod
        def trigger_state(self, descriptor: Any) -> Any:
            """State that the trigger keeps for the window."""

        @abstractmethod
        def window_state(self) -> KeyedStateStore:
            """State that the window function keeps for the window."""

        @abstractmethod
        def global_state(self) -> KeyedStateStore:
            """State that the window function keeps for the key."""

    @abstractmethod
    def read_window(self, key: Any, context: Context, elements: list[Any]) -> Iterable[Any] | None:
        """Yield the rows for one window; ``elements`` is what the window function would get."""


class KeyedStateBootstrapFunction(_Function, ABC):
    """Writes keyed state and timers (Flink: ``KeyedStateBootstrapFunction``)."""

    class Context(ABC):
        @abstractmethod
        def timer_service(self) -> TimerService: ...

        @abstractmethod
        def get_current_key(self) -> Any: ...

    @abstractmethod
    def process_element(self, value: Any, ctx: Context) -> None:
        """Put into the state of the key of ``value`` what it is to hold."""


class StateBootstrapFunction(_Function, ABC):
    """Writes operator state: lists and union lists (Flink: ``StateBootstrapFunction``)."""

    @abstractmethod
    def process_element(self, value: Any) -> None: ...

    def initialize_state(self, context: Any) -> None:
        """As of a CheckpointedFunction: called first; the states are in ``get_operator_state_store()``."""

    @abstractmethod
    def snapshot_state(self, context: Any) -> None:
        """Called when all elements were processed: put them into the states."""


class BroadcastStateBootstrapFunction(_Function, ABC):
    """Writes broadcast state (Flink: ``BroadcastStateBootstrapFunction``)."""

    class Context(ABC):
        @abstractmethod
        def get_broadcast_state(self, descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]: ...

    @abstractmethod
    def process_element(self, value: Any, ctx: Context) -> None: ...
