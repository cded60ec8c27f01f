"""ValueState and what is built on one value for each key: reducing and aggregating state."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from firesteel.datastream.state import AggregatingState, ReducingState, ValueState
from firesteel.state._column import CanonicalKey, Column, canonical_of, key_data
from firesteel.state._ttl import Round, Ttl, shrink
from firesteel.state._value_codec import (
    ATOMS,
    TOMBSTONE,
    decode_value,
    encode_all,
    encode_value,
    is_atom,
    to_cached,
)

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state.backend import OperatorState


class ValueColumn(Column, ValueState[Any]):
    """A value for each key. The cache holds atoms themselves and everything else as bytes, so a value that
    the user goes on changing does not change in the state."""

    kind = "value"

    def __init__(self, core: StateCore, operator: OperatorState, name: str, ttl: Ttl | None = None) -> None:
        super().__init__(core, operator.uid, name, ttl)
        self._operator = operator
        self._cache: dict[CanonicalKey, Any] = {}
        self._get = self._cache.get
        self._dirty: dict[CanonicalKey, None] = {}  # a set in the order of use, which is kind to CPU caches

    # ---- the user's side

    def value(self) -> Any:  # hot
        cached = self._get(self._operator.key)
        if type(cached) is bytes:
            return self._decode(cached)
        if cached is None:
            return self._miss()
        return cached

    def update(self, value: Any) -> None:  # hot
        key = self._operator.key
        if type(value) in ATOMS:
            self._cache[key] = value
        elif value is None:
            self.clear()
            return
        else:
            self._cache[key] = to_cached(value)
        self._dirty[key] = None

    def clear(self) -> None:
        key = self._operator.key
        if not self._core.complete:
            self._cache[key] = TOMBSTONE
            self._dirty[key] = None
        elif key in self._cache:
            del self._cache[key]
            self._dirty[key] = None

    def _decode(self, cached: bytes) -> Any:
        value = decode_value(cached)
        if value is not None and is_atom(value):
            self._cache[self._operator.key] = value
        return value

    def _miss(self) -> Any:
        core = self._core
        if core.complete:
            return None
        key = self._operator.key
        stored = core.fetch(key, self.id)
        self._cache[key] = cached = TOMBSTONE if stored is None else stored
        return self._decode(cached)

    # ---- the backend's side

    @property
    def cache(self) -> dict[CanonicalKey, Any]:
        """For the backend's bulk loading."""
        return self._cache

    def load(self, key: bytes, end: int, value: bytes) -> None:
        canonical = canonical_of(key_data(key, end))
        if value == TOMBSTONE and self._core.complete:
            self._cache.pop(canonical, None)
        else:
            self._cache[canonical] = value

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        known = self._cache
        for key, end, value in entries:
            known.setdefault(canonical_of(key_data(key, end)), value)

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:  # hot
        dirty = self._dirty
        if not dirty:
            return
        column = self.id
        keys += [head + column for head in map(self._core.group_keys.__getitem__, dirty)]
        values += encode_all(list(map(self._get, dirty)))  # what is gone gives None: the tombstone
        dirty.clear()

    def drop(self) -> None:
        self._cache.clear()
        self._dirty.clear()

    def drop_key(self, key: CanonicalKey) -> None:
        self._cache.pop(key, None)
        self._dirty.pop(key, None)

    def changed(self) -> int:
        return len(self._dirty)

    def cached(self) -> int:
        return len(self._cache)

    def evict(self, share: float) -> None:
        for key in list(islice(self._cache, int(len(self._cache) * share) + 1)):
            del self._cache[key]

    def cached_keys(self) -> set[CanonicalKey]:
        return {key for key, value in self._cache.items() if value is not TOMBSTONE and value != TOMBSTONE}


class TtlValueColumn(ValueColumn):
    """A value that expires. The cache holds bytes: the time of the last write (8 bytes), then the value."""

    def __init__(self, core: StateCore, operator: OperatorState, name: str, ttl: Ttl) -> None:
        super().__init__(core, operator, name, ttl)
        self._ttl = ttl
        self._round = Round(self._look_for_gone, ttl)

    def value(self) -> Any:
        cached = self._get(self._operator.key)
        if cached is None:
            return self._miss()
        return self._decode(cached)

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
            return
        key = self._operator.key
        self._cache[key] = self._core.ttl_stamp + encode_value(value)
        self._dirty[key] = None

    def _decode(self, cached: bytes) -> Any:
        if cached == TOMBSTONE:
            return None
        core = self._core
        if self._ttl.expired(cached, core.now_ms):
            self.clear()
            return decode_value(cached[8:]) if self._ttl.visible(cached, core.now_ms) else None
        if self._ttl.refresh_on_read and cached[:8] != core.ttl_stamp:
            key = self._operator.key
            self._cache[key] = core.ttl_stamp + cached[8:]
            self._dirty[key] = None
        return decode_value(cached[8:])

    def clean(self, changed: int) -> None:
        self._round.go(changed)

    def _look_for_gone(self) -> Iterator[int]:
        cache, ttl, core = self._cache, self._ttl, self._core
        keys = list(cache)
        for key in keys:
            cached = cache.get(key)
            if cached is not None and cached != TOMBSTONE and ttl.gone(cached, core.now_ms):
                del cache[key]
            yield 1
        shrink(cache, len(keys))

    def drop(self) -> None:
        super().drop()
        self._round.reset()


class ReducingHandle(ReducingState[Any]):
    """Reducing state over a value column: the first value is kept as it is."""

    def __init__(self, column: ValueColumn, function: Any) -> None:
        self._column = column
        self._reduce = function.reduce

    def get(self) -> Any:
        return self._column.value()

    def add(self, value: Any) -> None:  # hot
        column = self._column
        current = column.value()
        column.update(value if current is None else self._reduce(current, value))

    def clear(self) -> None:
        self._column.clear()


class AggregatingHandle(AggregatingState[Any, Any]):
    """Aggregating state over a value column that holds the accumulator. Adding None clears it."""

    def __init__(self, column: ValueColumn, function: Any) -> None:
        self._column = column
        self._function = function

    def get(self) -> Any:
        accumulator = self._column.value()
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: Any) -> None:  # hot
        column = self._column
        if value is None:
            column.clear()
            return
        accumulator = column.value()
        if accumulator is None:
            accumulator = self._function.create_accumulator()
        column.update(self._function.add(value, accumulator))

    def clear(self) -> None:
        self._column.clear()

    def accumulator(self) -> Any:
        """What is kept for the current key, None when there is nothing."""
        return self._column.value()

    def merge(self, accumulator: Any) -> None:
        """Merge another accumulator into that of the current key."""
        held = self._column.value()
        self._column.update(accumulator if held is None else self._function.merge(held, accumulator))
