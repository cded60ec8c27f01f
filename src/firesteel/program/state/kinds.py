"""The kinds of state as a function sees them. The engine implements these interfaces.

Keyed state always belongs to the key of the element or timer that is being processed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from firesteel.program.state.futures import in_future

if TYPE_CHECKING:
    from firesteel.program.state.descriptors import ListStateDescriptor, MapStateDescriptor

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

    async_clear = in_future("clear")


class ValueState(State, Generic[T]):
    """One value for each key."""

    @abstractmethod
    def value(self) -> T | None:
        """The value of the current key, None when there is none."""

    @abstractmethod
    def update(self, value: T) -> None:
        """Set the value of the current key; None removes it."""

    async_value = in_future("value")
    async_update = in_future("update")


class AppendingState(State, Generic[IN, OUT]):
    """State that values are added to and that gives something else back."""

    @abstractmethod
    def get(self) -> OUT | None:
        """What has been made of the added values; None when there are none."""

    @abstractmethod
    def add(self, value: IN) -> None:
        """Take one value in."""

    async_get = in_future("get")
    async_add = in_future("add")


class MergingState(AppendingState[IN, OUT]):
    """Appending state of which several may be merged into one, as session windows do."""


class ReducingState(MergingState[T, T]):
    """One value for each key: all added values folded by a ``ReduceFunction``."""


class AggregatingState(MergingState[IN, OUT]):
    """One accumulator for each key, kept by an ``AggregateFunction``; ``get`` gives its result."""


class ListState(MergingState[T, Iterable[T]]):
    """A list for each key, in the order of adding. Adding costs the same however long the list is."""

    @abstractmethod
    def get(self) -> Iterable[T]:
        """The list as it is now, nothing when there is none. It may be iterated over again and again while
        the function is called, and what is done to it or its elements does not change the state. As in
        PyFlink it has no length: ``list(state.get())`` has."""

    @abstractmethod
    def update(self, values: list[T]) -> None:
        """Put ``values`` in the place of the list; an empty list clears it."""

    @abstractmethod
    def add_all(self, values: list[T]) -> None:
        """Append all of ``values``."""

    async_update = in_future("update")
    async_add_all = in_future("add_all")

    def __iter__(self) -> Iterator[T]:
        return iter(self.get())


class _ReadOnlyMap(State, Generic[K, V]):
    """What map state and broadcast state have in common.

    Iteration is over what is there when it begins, in an order that depends on the keys alone: text and
    numbers in their natural order. The map may be changed meanwhile.
    """

    @abstractmethod
    def get(self, key: K) -> V | None:
        """The value of ``key``, None when there is none."""

    @abstractmethod
    def contains(self, key: K) -> bool:
        """Whether ``key`` has a value; as in PyFlink None is not one, though iteration gives it."""

    @abstractmethod
    def items(self) -> Iterator[tuple[K, V]]: ...

    @abstractmethod
    def keys(self) -> Iterator[K]: ...

    @abstractmethod
    def values(self) -> Iterator[V]: ...

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
    def put_all(self, dict_value: Mapping[K, V] | Iterable[tuple[K, V]]) -> None:
        """Put all entries of a map, or all of the given pairs."""

    @abstractmethod
    def remove(self, key: K) -> None:
        """Remove ``key``; nothing happens when it is not there."""

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)


class MapState(_WritableMap[K, V]):
    """A map for each key. Entries are stored one by one: a large map costs only what is touched of it, and is
    not held in memory to iterate over it. The iterators have a ``remove()`` for the entry they gave last."""

    async_get = in_future("get")
    async_put = in_future("put")
    async_put_all = in_future("put_all")
    async_remove = in_future("remove")
    async_contains = in_future("contains")
    async_items = in_future("items")
    async_keys = in_future("keys")
    async_values = in_future("values")
    async_is_empty = in_future("is_empty")


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
        """Return a list whose elements are redistributed when the parallelism changes."""

    @abstractmethod
    def get_union_list_state(self, state_descriptor: ListStateDescriptor) -> ListState[Any]:
        """A list of which every subtask restores the entries of all subtasks."""
