"""Operator state: lists and broadcast maps of a subtask, which belong to no key.

It is small, so it is held whole in memory; it is stored as entries of the operator group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from firesteel.common._map_all import map_all
from firesteel.program.state.descriptors import ListStateDescriptor, MapStateDescriptor
from firesteel.program.state.kinds import BroadcastState, ListState
from firesteel.state._column import (
    OPERATOR_PREFIX,
    CanonicalKey,
    Column,
    canonical_of,
    in_order,
    typed_bytes,
)
from firesteel.state._declared import ANY_KEY, ANY_VALUE, DeclaredKey, DeclaredValue
from firesteel.state._key_codec import encode_key
from firesteel.state._list_state import Elements, element_type
from firesteel.state._map_state import map_value_type
from firesteel.state._recoding import recoding_but_none
from firesteel.state._ttl import Ttl
from firesteel.state._value_codec import (
    NONE_VALUE,
    TOMBSTONE,
    decode_value,
    encode_cached,
    is_atom,
    is_none,
)
from firesteel.state.keys import raw_key
from firesteel.state.kinds import KINDS, Dealing, Handles, Place, StateKind
from firesteel.state.rows import operator_rows

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state.backend import OperatorState

__all__ = [
    "BROADCAST",
    "OPERATOR_LIST",
    "UNION_LIST",
    "BroadcastColumn",
    "OperatorListColumn",
    "redistribute_broadcast",
    "redistribute_split",
    "redistribute_union",
]

T = TypeVar("T")


def redistribute_split(lists: Sequence[Sequence[T]], parallelism: int) -> list[list[T]]:
    """Redistribute the entries of all subtasks in order, in contiguous parts of equal size; the first
    subtasks get one more each of what remains. With an unchanged parallelism each subtask keeps its own.

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


# ---- kinds

_Entries = Mapping[bytes, bytes]


def _dealt_lists(
    redistribute: Callable[[Sequence[Sequence[bytes]], int], list[list[bytes]]],
    old: Sequence[_Entries],
    parallelism: int,
) -> list[dict[bytes, bytes]]:
    lists = [_in_list_order(entries) for entries in old]
    return [
        {encode_key(number): value for number, value in enumerate(part)}
        for part in redistribute(lists, parallelism)
    ]


def _in_list_order(entries: _Entries) -> list[bytes]:
    numbered = {canonical_of(rest): value for rest, value in entries.items()}
    return [numbered[number] for number in in_order(numbered)]


def _list_kind(name: str, dealing: Dealing) -> StateKind:
    def column(operator: OperatorState, name_: str, descriptor: Any, ttl: Ttl | None) -> OperatorListColumn:
        return OperatorListColumn(operator.core, operator, name_, name)

    return KINDS.register(
        StateKind(
            name=name,
            place=Place.OPERATOR,
            rows=operator_rows,
            part=element_type,
            recoding=recoding_but_none,
            dealing=dealing,
            handles=Handles(
                descriptor=ListStateDescriptor,
                column=column,
                content=lambda handle: list(handle.get() or ()),
            ),
        )
    )


def _broadcast_column(
    operator: OperatorState, name: str, descriptor: Any, ttl: Ttl | None
) -> BroadcastColumn:
    return BroadcastColumn(operator.core, operator, name, operator.declared.map(descriptor.type_info, name))


OPERATOR_LIST: Final = _list_kind("operator list", Dealing(partial(_dealt_lists, redistribute_split)))
UNION_LIST: Final = _list_kind("union list", Dealing(partial(_dealt_lists, redistribute_union), always=True))
BROADCAST: Final = KINDS.register(
    StateKind(
        name=BroadcastColumn.kind,
        place=Place.OPERATOR,
        rows=operator_rows,
        part=map_value_type,
        recoding=recoding_but_none,
        dealing=Dealing(redistribute_broadcast),
        handles=Handles(
            descriptor=MapStateDescriptor,
            column=_broadcast_column,
            content=lambda handle: dict(handle.items()),
        ),
    )
)
