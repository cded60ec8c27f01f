"""Lists and maps in accumulators (PyFlink: ``pyflink.table.data_view``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Generic, TypeVar

from firesteel.common.errors import ProgramError

__all__ = ["DataView", "ListView", "MapView"]

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")


class DataView(ABC):
    """A collection in an accumulator."""

    @abstractmethod
    def clear(self) -> None:
        """Remove everything."""


class ListView(DataView, Generic[T]):
    """A list in an accumulator; it is part of the accumulator's state."""

    def __init__(self) -> None:
        self._list: list[T] = []

    def get(self) -> Iterable[T]:
        return self._list

    def add(self, value: T) -> None:
        self._list.append(value)

    def add_all(self, values: list[T]) -> None:
        self._list.extend(values)

    def clear(self) -> None:
        self._list = []

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListView) and self._list == other._list

    def __hash__(self) -> int:
        return hash(tuple(self._list))

    def __iter__(self) -> Iterator[T]:
        return iter(self._list)


class MapView(Generic[K, V]):
    """A map in an accumulator; it is part of the accumulator's state."""

    def __init__(self) -> None:
        self._map: dict[K, V] = {}

    def get(self, key: K) -> V:
        return self._map[key]

    def put(self, key: K, value: V) -> None:
        self._map[key] = value

    def put_all(self, dict_value: dict[K, V]) -> None:
        self._map.update(dict_value)

    def remove(self, key: K) -> None:
        del self._map[key]

    def contains(self, key: K) -> bool:
        return key in self._map

    def items(self) -> Iterable[tuple[K, V]]:
        return self._map.items()

    def keys(self) -> Iterable[K]:
        return self._map.keys()

    def values(self) -> Iterable[V]:
        return self._map.values()

    def is_empty(self) -> bool:
        return not self._map

    def clear(self) -> None:
        self._map = {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MapView) and self._map == other._map

    def __hash__(self) -> int:
        return hash(tuple(self._map))

    def __getitem__(self, key: K) -> V:
        return self._map[key]

    def __setitem__(self, key: K, value: V) -> None:
        self._map[key] = value

    def __delitem__(self, key: K) -> None:
        del self._map[key]

    def __contains__(self, key: Any) -> bool:
        return key in self._map

    def __iter__(self) -> Iterator[K]:
        return iter(self._map)


class StateMapView(MapView[K, V]):
    """A map view where the type of the accumulator declares one (``DataTypes.MAP_VIEW``).

    It answers as a MapState does: there is no value for a key that is not there, and nothing to remove.
    ``keys``, ``values`` and ``items`` are iterators, whose ``remove`` takes the last entry away; any other
    change ends them with an error.
    """

    def __init__(self, content: MapView[K, V] | None = None) -> None:
        super().__init__()
        if content is not None:
            self._map.update(content._map)
        self._changes = 0

    def __getstate__(self) -> dict[str, Any]:
        return {"_map": self._map}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._changes = 0

    def get(self, key: K) -> V:
        """None: there is no value."""
        return self._map.get(key)  # type: ignore[return-value]  # as a MapState

    def put(self, key: K, value: V) -> None:
        self._changes += 1
        self._map[key] = value

    def put_all(self, dict_value: Any) -> None:
        """:param dict_value: a dictionary, or pairs of keys and values."""
        self._changes += 1
        self._map.update(dict_value)

    def remove(self, key: K) -> None:
        self._changes += 1
        self._map.pop(key, None)

    def contains(self, key: K) -> bool:
        """Whether there is a value that is not None."""
        return self._map.get(key) is not None

    def clear(self) -> None:
        self._changes += 1
        self._map = {}

    def items(self) -> Iterable[tuple[K, V]]:
        return _Entries(self, lambda key: (key, self._map[key]))

    def keys(self) -> Iterable[K]:
        return _Entries(self, lambda key: key)

    def values(self) -> Iterable[V]:
        return _Entries(self, lambda key: self._map[key])

    def __getitem__(self, key: K) -> V:
        return self.get(key)

    def __setitem__(self, key: K, value: V) -> None:
        self.put(key, value)

    def __delitem__(self, key: K) -> None:
        self.remove(key)

    def __contains__(self, key: Any) -> bool:
        return self.contains(key)


_NONE: Final = object()


class _Entries(Iterator[Any]):
    """The entries of a view, of which the last one seen can be removed."""

    def __init__(self, view: StateMapView[Any, Any], shown: Callable[[Any], Any]) -> None:
        self._view = view
        self._shown = shown
        self._keys: Iterator[Any] = iter(view._map)
        self._of_dictionary = True  # which ends when a key is removed
        self._changes = view._changes
        self._last: Any = _NONE

    def __next__(self) -> Any:
        self._check()
        self._last = next(self._keys)
        return self._shown(self._last)

    def remove(self) -> None:
        """Remove the entry that was given last.

        :raises ProgramError: there is none, or it is removed already.
        """
        if self._last is _NONE:
            raise ProgramError(
                "You need to call the '__next__' method before calling this method.",
                detail="remove() takes away the entry that the iterator gave last",
            )
        self._check()
        if self._of_dictionary:
            self._keys, self._of_dictionary = iter(list(self._keys)), False
        self._view.remove(self._last)
        self._changes = self._view._changes
        self._last = _NONE

    def _check(self) -> None:
        if self._changes != self._view._changes:
            raise ProgramError(
                "Concurrent modification detected. You can not modify the map state when iterating it except "
                "using the 'remove' method of this iterator.",
                hint="iterate over list(view.keys())",
            )
