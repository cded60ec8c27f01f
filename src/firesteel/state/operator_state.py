"""Operator state: lists and broadcast maps of a subtask, which belong to no key (features T19).

It is small, so it is held whole in memory; it is stored as entries of the operator group.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from firesteel.datastream.state import BroadcastState, ListState
from firesteel.state._column import CanonicalKey, Column, canonical_of
from firesteel.state._key_codec import encode_key
from firesteel.state._map_state import in_order
from firesteel.state._value_codec import NONE_VALUE, TOMBSTONE, decode_value, encode_value
from firesteel.state.keys import canonical, raw_key
from firesteel.state.line import OPERATOR_GROUP

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state.backend import OperatorState

__all__ = [
    "BroadcastColumn",
    "OperatorListColumn",
    "redistribute_broadcast",
    "redistribute_split",
    "redistribute_union",
]

T = TypeVar("T")

#: The beginning of every entry of the operator group: group, 0 (beside the keys), "S" (state).
OPERATOR_PREFIX = OPERATOR_GROUP.to_bytes(2, "big") + b"\0S"


def redistribute_split(lists: Sequence[Sequence[T]], parallelism: int) -> list[list[T]]:
    """Deal the entries of all subtasks out anew: in order, in contiguous parts, the remainder one each to the
    first subtasks. With an unchanged parallelism everyone keeps its own.

    >>> redistribute_split([["a", "b", "c"], ["d"]], 3)
    [['a', 'b'], ['c'], ['d']]
    """
    if len(lists) == parallelism:
        return [list(part) for part in lists]
    entries = [entry for part in lists for entry in part]
    size, rest = divmod(len(entries), parallelism)
    parts = []
    at = 0
    for subtask in range(parallelism):
        stop = at + size + (subtask < rest)
        parts.append(entries[at:stop])
        at = stop
    return parts


def redistribute_union(lists: Sequence[Sequence[T]], parallelism: int) -> list[list[T]]:
    """Every subtask gets the entries of all."""
    entries = [entry for part in lists for entry in part]
    return [list(entries) for _ in range(parallelism)]


def redistribute_broadcast(maps: Sequence[Mapping[Any, T]], parallelism: int) -> list[dict[Any, T]]:
    """Every subtask gets one whole copy: at an unchanged or smaller parallelism its own, new subtasks the
    copies of the old ones in turn."""
    if not maps:
        return [{} for _ in range(parallelism)]
    return [dict(maps[subtask % len(maps)]) for subtask in range(parallelism)]


class _OperatorColumn(Column):
    def __init__(self, core: StateCore, operator: OperatorState, name: str) -> None:
        super().__init__(core, operator.uid, name)
        self._data: dict[CanonicalKey, bytes] = {}
        self._changes: set[CanonicalKey] = set()

    def load(self, key: bytes, end: int, value: bytes) -> None:
        name = canonical_of(key[len(OPERATOR_PREFIX) + len(self.id) :])
        if value == TOMBSTONE:
            self._data.pop(name, None)
        else:
            self._data[name] = value

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        return  # always complete

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        head = OPERATOR_PREFIX + self.id
        for name in self._changes:
            keys.append(head + (name if type(name) is bytes else encode_key(name)))
            values.append(self._data.get(name, TOMBSTONE))
        self._changes.clear()

    def drop(self) -> None:
        self._data.clear()
        self._changes.clear()

    def drop_key(self, key: CanonicalKey) -> None:
        return  # belongs to no key

    def changed(self) -> int:
        return len(self._changes)

    def cached(self) -> int:
        return 0  # never evicted

    def evict(self, share: float) -> None:
        return

    def cached_keys(self) -> set[CanonicalKey]:
        return set()

    def _set(self, name: CanonicalKey, value: bytes) -> None:
        self._data[name] = value
        self._changes.add(name)

    def clear(self) -> None:
        self._changes.update(self._data)
        self._data.clear()


def _encode(value: Any) -> bytes:
    return NONE_VALUE if value is None else encode_value(value)


class OperatorListColumn(_OperatorColumn, ListState[Any]):
    """A list of the subtask; its entries are numbered in their order."""

    def __init__(self, core: StateCore, operator: OperatorState, name: str, kind: str) -> None:
        super().__init__(core, operator, name)
        self.kind = kind

    def get(self) -> list[Any]:
        return [decode_value(self._data[number]) for number in in_order(self._data)]

    def add(self, value: Any) -> None:
        last = next(reversed(in_order(self._data)), -1) if self._data else -1
        assert isinstance(last, int)
        self._set(last + 1, _encode(value))

    def add_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.add(value)

    def update(self, values: Iterable[Any]) -> None:
        values = list(values)
        self.clear()
        for number, value in enumerate(values):
            self._set(number, _encode(value))


class BroadcastColumn(_OperatorColumn, BroadcastState[Any, Any]):
    """A map that is the same on every subtask; iteration is in an order that depends on the content alone."""

    kind = "broadcast"

    def get(self, key: Any) -> Any:
        stored = self._data.get(canonical(key))
        return None if stored is None else decode_value(stored)

    def contains(self, key: Any) -> bool:
        return canonical(key) in self._data

    def put(self, key: Any, value: Any) -> None:
        self._set(canonical(key), _encode(value))

    def put_all(self, dict_value: Mapping[Any, Any]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: Any) -> None:
        name = canonical(key)
        if self._data.pop(name, None) is not None:
            self._changes.add(name)

    def items(self) -> list[tuple[Any, Any]]:
        return [(raw_key(name), decode_value(self._data[name])) for name in in_order(self._data)]

    def keys(self) -> list[Any]:
        return [raw_key(name) for name in in_order(self._data)]

    def values(self) -> list[Any]:
        return [decode_value(self._data[name]) for name in in_order(self._data)]

    def is_empty(self) -> bool:
        return not self._data
