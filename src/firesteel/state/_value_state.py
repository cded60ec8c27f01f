"""ValueState and what is built on one value for each key: reducing and aggregating state."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from firesteel.program.state.descriptors import (
    AggregatingStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from firesteel.program.state.kinds import AggregatingState, ReducingState, ValueState
from firesteel.state._column import CanonicalKey, Column, canonical_of, key_data
from firesteel.state._declared import ANY_VALUE, DeclaredValue
from firesteel.state._recoding import recoding
from firesteel.state._ttl import Round, Ttl, shrink
from firesteel.state._value_codec import TOMBSTONE, decode_value, encode_all, is_atom
from firesteel.state.kinds import KINDS, Handles, StateKind
from firesteel.state.rows import rows_by_key, single

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state._merge import Slice
    from firesteel.state.backend import OperatorState


#: As many entries are made between two looks at what other threads want.
_AT_A_TIME: Final = 4096


class ValueColumn(Column, ValueState[Any]):
    """A value for each key: what was there when the epoch began, and over it the changes of the epoch.

    Both hold atoms themselves and everything else as bytes, so a value that the user goes on changing does
    not change in the state.
    """

    kind = "value"

    def __init__(
        self,
        core: StateCore,
        operator: OperatorState,
        name: str,
        ttl: Ttl | None = None,
        declared: DeclaredValue = ANY_VALUE,
    ) -> None:
        super().__init__(core, operator.uid, name, ttl)
        self._operator = operator
        self._plain, self._to_cached, self._encode = declared
        self._cache: dict[CanonicalKey, Any] = {}
        self._cached_value = self._cache.get
        self._changes: dict[CanonicalKey, Any]  # in the order of use, which is kind to CPU caches
        self._forget_changes()

    # ---- the user's side

    def value(self) -> Any:  # hot
        key = self._operator.key
        cached = self._changed_value(key)
        if cached is None:
            cached = self._cached_value(key)
            if cached is None:
                return self._miss()
        if type(cached) is bytes:
            return self._decode(cached)
        return cached

    def update(self, value: Any) -> None:  # hot
        if type(value) in self._plain:
            self._changes[self._operator.key] = value
        elif value is None:
            self.clear()
        else:
            self._changes[self._operator.key] = self._to_cached(value)

    def clear(self) -> None:
        key = self._operator.key
        if key in self._changes or key in self._cache or not self._core.complete:
            self._changes[key] = TOMBSTONE
            self._any_cleared = True

    def _decode(self, cached: bytes) -> Any:
        value = decode_value(cached)
        if value is not None and is_atom(value):
            key = self._operator.key
            if key not in self._changes:
                self._cache[key] = value
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

    def has_content(self) -> bool:
        return self.value() is not None

    @property
    def cache(self) -> dict[CanonicalKey, Any]:
        """For the backend's bulk loading."""
        return self._cache

    def load(self, key: bytes, end: int, value: bytes) -> None:
        if not key[2]:
            return  # of a pane: the operator takes it over (``OperatorState.inherited``)
        canonical = canonical_of(key_data(key, end))
        if value == TOMBSTONE and self._core.complete:
            self._cache.pop(canonical, None)
        else:
            self._cache[canonical] = value

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        known = self._cache
        for key, end, value in entries:
            known.setdefault(canonical_of(key_data(key, end)), value)

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        for some_keys, some_values in self.late():
            keys += some_keys
            values += some_values

    def late(self) -> Iterator[Slice]:
        changes, cleared = self._changes, self._any_cleared
        self._forget_changes()
        self._cache.update(changes)
        if cleared and self._core.complete:
            for key, value in changes.items():
                if value is TOMBSTONE:
                    del self._cache[key]
        return self._entries(changes)

    def _entries(self, changes: dict[CanonicalKey, Any]) -> Iterator[Slice]:  # hot
        heads, column = self._core.group_keys, self.id
        items = iter(changes.items())
        while some := dict(islice(items, _AT_A_TIME)):
            heads.meet(some)
            keys = [head + column for head in map(heads.__getitem__, some)]
            yield keys, encode_all(list(some.values()))

    def _forget_changes(self) -> None:
        self._changes = {}  # another one: what was there may still be written
        self._changed_value = self._changes.get
        self._any_cleared = False

    def drop(self) -> None:
        self._cache.clear()
        self._forget_changes()

    def drop_key(self, key: CanonicalKey) -> None:
        self._cache.pop(key, None)
        self._changes.pop(key, None)

    def changed(self) -> int:
        return len(self._changes)

    def cached(self) -> int:
        return len(self._cache)

    def evict(self, share: float) -> None:
        for key in list(islice(self._cache, int(len(self._cache) * share) + 1)):
            del self._cache[key]

    def cached_keys(self) -> set[CanonicalKey]:
        newest = self._cache | self._changes
        return {key for key, value in newest.items() if type(value) is not bytes or value != TOMBSTONE}


class TtlValueColumn(ValueColumn):
    """A value that expires. The cache holds bytes: the time of the last write (8 bytes), then the value."""

    def __init__(
        self,
        core: StateCore,
        operator: OperatorState,
        name: str,
        ttl: Ttl,
        declared: DeclaredValue = ANY_VALUE,
    ) -> None:
        super().__init__(core, operator, name, ttl, declared)
        self._ttl = ttl
        self._round = Round(self._look_for_gone, ttl)

    def value(self) -> Any:
        key = self._operator.key
        cached = self._changed_value(key) or self._cached_value(key)
        return self._miss() if cached is None else self._decode(cached)

    def update(self, value: Any) -> None:
        if value is None:
            self.clear()
        else:
            self._changes[self._operator.key] = self._core.ttl_stamp + self._encode(value)

    def _decode(self, cached: bytes) -> Any:
        if cached == TOMBSTONE:
            return None
        core = self._core
        if self._ttl.expired(cached, core.now_ms):
            self.clear()
            return decode_value(cached[8:]) if self._ttl.visible(cached, core.now_ms) else None
        if self._ttl.refresh_on_read and cached[:8] != core.ttl_stamp:
            self._changes[self._operator.key] = core.ttl_stamp + cached[8:]
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
        self.column = column
        self._reduce = function.reduce

    def get(self) -> Any:
        return self.column.value()

    def add(self, value: Any) -> None:  # hot
        column = self.column
        current = column.value()
        column.update(value if current is None else self._reduce(current, value))

    def clear(self) -> None:
        self.column.clear()


class AggregatingHandle(AggregatingState[Any, Any]):
    """Aggregating state over a value column that holds the accumulator. Adding None clears it."""

    def __init__(self, column: ValueColumn, function: Any) -> None:
        self.column = column
        self._function = function

    def get(self) -> Any:
        accumulator = self.column.value()
        return None if accumulator is None else self._function.get_result(accumulator)

    def add(self, value: Any) -> None:  # hot
        column = self.column
        if value is None:
            column.clear()
            return
        accumulator = column.value()
        if accumulator is None:
            accumulator = self._function.create_accumulator()
        column.update(self._function.add(value, accumulator))

    def clear(self) -> None:
        self.column.clear()

    def accumulator(self) -> Any:
        """What is kept for the current key, None when there is nothing."""
        return self.column.value()

    def merge(self, accumulator: Any) -> None:
        """Merge another accumulator into that of the current key."""
        held = self.column.value()
        self.column.update(accumulator if held is None else self._function.merge(held, accumulator))


# ---- kinds


def value_column(operator: OperatorState, name: str, descriptor: Any, ttl: Ttl | None) -> ValueColumn:
    """A new column with a value of the descriptor's type for each key."""
    declared = operator.declared.value(descriptor.type_info, name)
    if ttl is None:
        return ValueColumn(operator.core, operator, name, None, declared)
    return TtlValueColumn(operator.core, operator, name, ttl, declared)


def _put(column: ValueColumn, value: Any) -> bool:
    taken = column.value() is not None
    column.update(value)
    return taken


def _put_folded(handle: ReducingHandle | AggregatingHandle, value: Any) -> bool:
    """What is kept as it is: the value of a reducing, the accumulator of an aggregating state."""
    return _put(handle.column, value)


def _merge_reduced(target: ReducingHandle, source: ReducingHandle) -> None:
    value = source.get()
    if value is not None:
        target.add(value)


def _merge_accumulators(target: AggregatingHandle, source: AggregatingHandle) -> None:
    accumulator = source.accumulator()
    if accumulator is not None:
        target.merge(accumulator)


VALUE: Final = KINDS.register(
    StateKind(
        name=ValueColumn.kind,
        rows=rows_by_key(single),
        recoding=recoding,
        takes_over=frozenset(("panes",)),
        handles=Handles(
            descriptor=ValueStateDescriptor,
            column=value_column,
            content=ValueColumn.value,
            put=_put,
            expires=True,
        ),
    )
)
KINDS.register(
    StateKind(
        name="reducing",
        rows=rows_by_key(single),
        recoding=recoding,
        handles=Handles(
            descriptor=ReducingStateDescriptor,
            column=value_column,
            of=lambda column, descriptor: ReducingHandle(column, descriptor.get_reduce_function()),
            content=ReducingHandle.get,
            put=_put_folded,
            merge=_merge_reduced,
            expires=True,
        ),
    )
)
KINDS.register(
    StateKind(
        name="aggregating",
        rows=rows_by_key(single),
        recoding=recoding,
        handles=Handles(
            descriptor=AggregatingStateDescriptor,
            column=value_column,
            of=lambda column, descriptor: AggregatingHandle(column, descriptor.get_agg_function()),
            content=AggregatingHandle.get,
            put=_put_folded,
            merge=_merge_accumulators,
            expires=True,
        ),
    )
)
