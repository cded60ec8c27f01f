"""Lists and maps in accumulators (PyFlink: ``pyflink.table.data_view``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

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
