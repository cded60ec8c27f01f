"""State of one key and window: handles that work on it whatever the current key of the operator is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.program.functions.base import KeyedStateStore
from firesteel.program.state.descriptors import StateDescriptor
from firesteel.runtime.descriptors import require_descriptor
from firesteel.state.backend import OperatorState


def scoped(state: OperatorState, descriptor: StateDescriptor, key: bytes) -> Scoped:
    """The keyed state of a descriptor of any kind, for one key and window."""
    if not isinstance(descriptor, StateDescriptor):
        require_descriptor(descriptor, StateDescriptor)
    return Scoped(state.get_partitioned_state(descriptor), state, key)


class Scoped:
    """A state handle bound to one key and window: each call runs with that as the current key."""

    __slots__ = ("_handle", "_key", "_state")

    def __init__(self, handle: Any, state: OperatorState, key: bytes) -> None:
        self._handle = handle
        self._state = state
        self._key = key

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._handle, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            state = self._state
            before = state.key
            state.key = self._key
            try:
                return method(*args, **kwargs)
            finally:
                state.key = before

        return call

    # Operators look special methods up on the class.

    def __iter__(self) -> Iterator[Any]:
        items: Iterator[Any] = self.__getattr__("__iter__")()
        return items

    def __contains__(self, key: Any) -> bool:
        found: bool = self.__getattr__("__contains__")(key)
        return found

    def __getitem__(self, key: Any) -> Any:
        return self.__getattr__("__getitem__")(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.__getattr__("__setitem__")(key, value)

    def __delitem__(self, key: Any) -> None:
        self.__getattr__("__delitem__")(key)


class WindowStateStore(KeyedStateStore):
    """Per-window state of a process window function; ``key`` is that of the current key and window."""

    def __init__(self, state: OperatorState) -> None:
        self._state = state
        self.key = b""

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        return scoped(self._state, state_descriptor, self.key)

    def get_state(self, state_descriptor: Any) -> Any:
        return self.get_partitioned_state(state_descriptor)

    def get_list_state(self, state_descriptor: Any) -> Any:
        return self.get_partitioned_state(state_descriptor)

    def get_map_state(self, state_descriptor: Any) -> Any:
        return self.get_partitioned_state(state_descriptor)

    def get_reducing_state(self, state_descriptor: Any) -> Any:
        return self.get_partitioned_state(state_descriptor)

    def get_aggregating_state(self, state_descriptor: Any) -> Any:
        return self.get_partitioned_state(state_descriptor)


class NoWindowState(KeyedStateStore):
    """Per-window state of windows that merge: there is none, because it could not be merged."""

    def __init__(self, operator: str) -> None:
        self._operator = operator

    def get_partitioned_state(self, state_descriptor: Any) -> Any:
        self._refuse()

    def _refuse(self) -> Any:
        raise UnsupportedFeatureError(
            "Per-window state is not allowed when using merging windows.",
            operator=self._operator,
            hint="use context.global_state(), which belongs to the key, or windows that do not merge",
        )

    def get_state(self, state_descriptor: Any) -> Any:
        self._refuse()

    def get_list_state(self, state_descriptor: Any) -> Any:
        self._refuse()

    def get_map_state(self, state_descriptor: Any) -> Any:
        self._refuse()

    def get_reducing_state(self, state_descriptor: Any) -> Any:
        self._refuse()

    def get_aggregating_state(self, state_descriptor: Any) -> Any:
        self._refuse()
