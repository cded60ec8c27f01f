"""The kinds of state as a function sees them. The engine implements these interfaces.

Keyed state always belongs to the key of the element or timer that is being processed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from firesteel.datastream._state_descriptors import ListStateDescriptor, MapStateDescriptor

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
IN = TypeVar("IN")
OUT = TypeVar("OUT")


class State(ABC):
    """Root of all kinds of state."""

    @abstractmethod
    def clear(self) -> None:
        """Remove the state of the current key."""


class ValueState(State, Generic[T]):
    """One value for each key."""

    @abstractmethod
    def value(self) -> T | None:
        """The value of the current key, None when there is none."""

    @abstractmethod
    def update(self, value: T) -> None:
        """Set the value of the current key; None removes it."""


class AppendingState(State, Generic[IN, OUT]):
    """State that values are added to and that gives something else back."""

    @abstractmethod
    def get(self) -> OUT | None:
        """What has been made of the added values; None when there are none."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Take one value in."""


class MergingState(AppendingState[IN, OUT]):
    """Appending state of which several may be merged into one, as session windows do."""


class ReducingState(MergingState[T, T]):
    """One value for each key: all added values folded by a ``ReduceFunction``."""


class AggregatingState(MergingState[IN, OUT]):
    """One accumulator for each key, kept by an ``AggregateFunction``; ``get`` gives its result."""


class ListState(MergingState[T, Iterable[T]]):
    """A list for each key, in the order of adding."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Put ``values`` in the place of the list; an empty list clears it."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Append all of ``values``."""

    def __iter__(self) -> Iterator[T]:
        return iter(self.get() or ())


class _ReadOnlyMap(State, Generic[K, V]):
    """What map state and broadcast state have in common."""

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value of ``key``, None when there is none."""

    @abstractmethod
    def contains(self, key: K) -> bool: ...

    @abstractmethod
    def items(self) -> Iterable[tuple[K, V]]: ...

    @abstractmethod
    def keys(self) -> Iterable[K]: ...

    @abstractmethod
    def values(self) -> Iterable[V]: ...

    @abstractmethod
    def is_empty(self) -> bool: ...

    def __getitem__(self, key: K) -> V | None:
        return self.get(key)

    def __contains__(self, key: K) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[K]:
        return iter(self.keys())


class _WritableMap(_ReadOnlyMap[K, V]):
    @abstractmethod
    def put(self, key: K, value: V) -> None: ...

    @abstractmethod
    def put_all(self, dict_value: dict[K, V]) -> None: ...

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove ``key``; nothing happens when it is not there."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class MapState(_WritableMap[K, V]):
    """A map for each key. Entries are stored one by one: a large map costs only what is touched of it."""


class ReadOnlyBroadcastState(_ReadOnlyMap[K, V]):
    """Broadcast state as the other side of a broadcast sees it."""


class BroadcastState(_WritableMap[K, V], ReadOnlyBroadcastState[K, V]):
    """Broadcast state as the broadcast side sees it: it may be written."""


class OperatorStateStore(ABC):
    """Gives access to operator state, which belongs to a subtask and not to a key."""

    @abstractmethod
    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState[Any, Any]:
        """A map that must be the same on every subtask; each restores all of it."""

    @abstractmethod
    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list whose entries are dealt out anew over the subtasks when the parallelism changes."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list of which every subtask restores the entries of all subtasks."""
