"""A kind of state from outside with a column of its own: a number for each key, in eight bytes."""

from __future__ import annotations

from itertools import islice
from typing import Any

from firesteel.common.typeinfo import Types
from firesteel.datastream.state import StateDescriptor
from firesteel.state.columns import (
    TOMBSTONE,
    CanonicalKey,
    Column,
    canonical_of,
    key_data,
    rows_by_key,
)
from firesteel.state.kinds import KINDS, Handles, StateKind


class CounterStateDescriptor(StateDescriptor):
    """Asks for a counter for each key, which begins at 0."""

    kind = "counter"

    def __init__(self, name: str) -> None:
        super().__init__(name, Types.LONG())


def _encoded(count: int) -> bytes:
    return count.to_bytes(8, "big", signed=True)


def _decoded(stored: bytes | None) -> int:
    return 0 if stored is None or stored == TOMBSTONE else int.from_bytes(stored, "big", signed=True)


class CounterColumn(Column):
    """A counter that is 0 is not stored."""

    kind = "counter"

    def __init__(self, operator: Any, name: str, descriptor: Any, ttl: Any) -> None:
        super().__init__(operator.core, operator.uid, name, ttl)
        self._operator = operator
        self._counts: dict[CanonicalKey, int] = {}
        self._changed: set[CanonicalKey] = set()

    # ---- what functions call

    def add(self, number: int) -> None:
        key = self._operator.key
        self._counts[key] = self.get() + number
        self._changed.add(key)

    def get(self) -> int:
        key = self._operator.key
        if key not in self._counts and not self._core.complete:
            self._counts[key] = _decoded(self._core.fetch(key, self.id))
        return self._counts.get(key, 0)

    def clear(self) -> None:
        self.add(-self.get())

    # ---- what keeps it

    def has_content(self) -> bool:
        return self.get() != 0

    def load(self, key: bytes, end: int, value: bytes) -> None:
        self._counts[canonical_of(key_data(key, end))] = _decoded(value)

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        for key, end, value in entries:
            self._counts.setdefault(canonical_of(key_data(key, end)), _decoded(value))

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        for key in self._changed:
            count = self._counts[key]
            keys.append(self._core.group_keys[key] + self.id)
            values.append(_encoded(count) if count else TOMBSTONE)
        self._changed.clear()

    def drop(self) -> None:
        self._counts.clear()
        self._changed.clear()

    def drop_key(self, key: CanonicalKey) -> None:
        self._counts.pop(key, None)
        self._changed.discard(key)

    def changed(self) -> int:
        return len(self._changed)

    def cached(self) -> int:
        return len(self._counts)

    def evict(self, share: float) -> None:
        for key in list(islice(self._counts, int(len(self._counts) * share) + 1)):
            del self._counts[key]

    def cached_keys(self) -> set[CanonicalKey]:
        return {key for key, count in self._counts.items() if count}


KINDS.register(
    StateKind(
        name=CounterColumn.kind,
        rows=rows_by_key(lambda parts: _decoded(parts[0][1])),
        handles=Handles(
            descriptor=CounterStateDescriptor,
            column=CounterColumn,
            content=CounterColumn.get,
            is_collection=True,  # nothing is kept of 0
        ),
    )
)
