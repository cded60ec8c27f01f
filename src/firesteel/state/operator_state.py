"""Operator state: lists and broadcast maps of a subtask, which belong to no key (features T19).

It is small, so it is held whole in memory; it is stored as entries of the operator group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeVar

from firesteel.common._map_all import map_all
from firesteel.program.state.kinds import BroadcastState, ListState
from firesteel.state._column import CanonicalKey, Column, canonical_of, in_order, typed_bytes
from firesteel.state._declared import ANY_KEY, ANY_VALUE, DeclaredKey, DeclaredValue
from firesteel.state._list_state import Elements
from firesteel.state._value_codec import (
    NONE_VALUE,
    TOMBSTONE,
    decode_value,
    encode_cached,
    is_atom,
    is_none,
)
from firesteel.state.keys import raw_key
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

#: The kinds of state that belong to no key.
OF_OPERATORS: Final = frozenset(("operator list", "union list", "broadcast"))

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
    def __init__(
        self, core: StateCore, operator: OperatorState, name: str, declared: DeclaredValue = ANY_VALUE
    ) -> None:
        super().__init__(core, operator.uid, name)
        self._to_cached = declared.to_cached
        self._data: dict[CanonicalKey, Any] = {}  # as caches hold values: atoms, everything else encoded
        self._changes: set[CanonicalKey] = set()
        self._order: list[CanonicalKey] | None = None  # the names in order; None: not known

    def load(self, key: bytes, end: int, value: bytes) -> None:
        name = canonical_of(key[len(OPERATOR_PREFIX) + len(self.id) :])
        self._order = None
        if value == TOMBSTONE:
            self._data.pop(name, None)
        else:
            self._data[name] = value

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        return  # always complete

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        head = OPERATOR_PREFIX + self.id
        for name in self._changes:
            keys.append(head + typed_bytes(name))
            values.append(encode_cached(self._data.get(name)))
        self._changes.clear()

    def drop(self) -> None:
        self._data.clear()
        self._changes.clear()
        self._order = None

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

    def _set(self, name: CanonicalKey, value: Any) -> None:
        if name not in self._data:
            self._order = None
        self._data[name] = NONE_VALUE if value is None else self._to_cached(value)
        self._changes.add(name)

    def _value(self, name: CanonicalKey) -> Any:
        cached = self._data[name]
        if type(cached) is not bytes:
            return cached
        value = decode_value(cached)
        if value is not None and is_atom(value):
            self._data[name] = value
        return value

    def _names(self) -> list[CanonicalKey]:
        order = self._order
        if order is None:
            order = self._order = in_order(self._data)
        return order

    def clear(self) -> None:
        self._changes.update(self._data)
        self._data.clear()
        self._order = None


class OperatorListColumn(_OperatorColumn, ListState[Any]):
    """A list of the subtask; its entries are numbered in their order."""

    def __init__(self, core: StateCore, operator: OperatorState, name: str, kind: str) -> None:
        super().__init__(core, operator, name)
        self.kind = kind

    def get(self) -> Elements:
        return Elements(map_all(self._value, self._names()))

    def add(self, value: Any) -> None:
        order = self._names()
        last = order[-1] if order else -1
        assert isinstance(last, int)
        self._set(last + 1, value)
        order.append(last + 1)
        self._order = order

    def add_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.add(value)

    def update(self, values: Iterable[Any]) -> None:
        values = list(values)
        self.clear()
        for number, value in enumerate(values):
            self._set(number, value)


class BroadcastColumn(_OperatorColumn, BroadcastState[Any, Any]):
    """A map that is the same on every subtask; iteration is in an order that depends on the content alone,
    over what is there when it begins."""

    kind = "broadcast"

    def __init__(
        self,
        core: StateCore,
        operator: OperatorState,
        name: str,
        declared: tuple[DeclaredKey, DeclaredValue] = (ANY_KEY, ANY_VALUE),
    ) -> None:
        super().__init__(core, operator, name, declared[1])
        self._canonical = declared[0].canonical

    def get(self, key: Any) -> Any:
        name = self._canonical(key)
        return self._value(name) if name in self._data else None

    def contains(self, key: Any) -> bool:
        return not is_none(self._data.get(self._canonical(key)))

    def put(self, key: Any, value: Any) -> None:
        self._set(self._canonical(key), value)

    def put_all(self, dict_value: Mapping[Any, Any] | Iterable[tuple[Any, Any]]) -> None:
        for key, value in dict_value.items() if isinstance(dict_value, Mapping) else dict_value:
            self.put(key, value)

    def remove(self, key: Any) -> None:
        name = self._canonical(key)
        if self._data.pop(name, None) is not None:
            self._changes.add(name)
            self._order = None

    def items(self) -> Iterator[tuple[Any, Any]]:
        return iter([(raw_key(name), self._value(name)) for name in self._names()])

    def keys(self) -> Iterator[Any]:
        return iter(map_all(raw_key, self._names()))

    def values(self) -> Iterator[Any]:
        return iter(map_all(self._value, self._names()))

    def is_empty(self) -> bool:
        return not self._data
