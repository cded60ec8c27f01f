"""A dictionary for each key: distinct values with their counts, rows of a join by their unique key, and their
like.

What it is keyed by within a key (*inner*) is plain: a value, or a tuple of plain values. Each pair is an
entry of its own, so an epoch writes what it has changed.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from firesteel.sql.operators.row_state import ttl_of
from firesteel.state._ttl import Ttl, written_ms
from firesteel.state._value_codec import encode_value
from firesteel.state.column_keys import identity_of_canonical
from firesteel.state.columns import TOMBSTONE, CanonicalKey, Column, canonical_of, decode_value, key_data
from firesteel.state.kinds import KINDS, StateKind
from firesteel.state.rows import Entry, rows_by_key

if TYPE_CHECKING:
    from firesteel.state._core import StateCore
    from firesteel.state.backend import OperatorState

__all__ = ["MAPS", "MapsColumn", "maps_state"]

Inner = Hashable
_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder().decode
_unpack_tuple: Final = msgspec.msgpack.Decoder(tuple).decode


def _decode_inner(data: bytes) -> Inner:
    first = data[0]
    of_tuple = 0x90 <= first <= 0x9F or first in (0xDC, 0xDD)
    return _unpack_tuple(data) if of_tuple else _unpack(data)


class MapsColumn(Column):
    """Dictionaries by key. What ``of`` gives is read alone; it is changed by ``put`` and ``remove``."""

    kind = "table maps"

    def __init__(self, core: StateCore, uid: str, name: str, shape: str = "", ttl: Ttl | None = None) -> None:
        super().__init__(core, uid, name, ttl)
        #: Counts how often what is held may have changed by other hands than the operator's.
        self.generation = 0
        self.type = json.dumps(["OTHER", shape]) if shape else ""
        self._reset()

    def _reset(self) -> None:
        self.generation += 1
        self._maps: dict[Any, dict[Inner, Any]] = {}
        self._keys: dict[Any, CanonicalKey] = {}  # of the keys that have a map here
        self._encoded: dict[Any, tuple[CanonicalKey, dict[bytes, bytes]]] = {}  # not asked for yet
        self._partial: set[Any] = set()  # maps that do not hold all there is
        #: Keys of which nothing is committed: what their maps hold is what the epoch has changed.
        self._fresh: set[Any] = set()
        self._dirty: dict[Any, dict[Inner, bool]] = {}  # of the others; whether the committed state has it
        self._changes = 0  # how many pairs are dirty
        self._written: dict[tuple[Any, Inner], int] = {}
        self._size = 0

    # ---- the operator's side

    def of(self, name: Any, key: CanonicalKey) -> dict[Inner, Any]:
        """All pairs of a key, of which *name* is the identity and *key* the canonical form."""
        held = self._maps.get(name)
        if held is None:
            held = self._opened(name, key)
        if name in self._partial:
            self._complete(name, key, held)
        return held if self.ttl is None else self._living(name, held)

    def look(self, names: Sequence[Any], keys: Sequence[CanonicalKey]) -> list[dict[Inner, Any] | None]:
        """All pairs of each of some keys; None or an empty map: there are none."""
        if self.ttl is not None or not self._core.complete:
            return list(map(self.of, names, keys))
        maps, encoded = self._maps, self._encoded
        return [
            self.of(name, key) if name in encoded else maps.get(name)
            for name, key in zip(names, keys, strict=True)
        ]

    def learn(self, keys: Sequence[CanonicalKey], codes: Any) -> None:
        """Know keys of columns, of which *codes* are the hash codes, before they are written one by one."""
        self._core.group_keys.learn(keys, codes)

    def get(self, name: Any, key: CanonicalKey, inner: Inner) -> Any:
        """The value of one pair; None: there is none."""
        held = self._maps.get(name)
        if held is None:
            held = self._opened(name, key)
        value = held.get(inner)
        if value is None and name in self._partial and inner not in self._dirty.get(name, ()):
            stored = self._core.fetch(key, self.id + _pack(inner))
            if stored is not None and stored != TOMBSTONE:
                self._take(name, held, inner, stored)
                value = held.get(inner)
        if value is not None and self.ttl is not None and self._is_gone(name, inner):
            self.remove(name, inner)
            return None
        return value

    def put(self, name: Any, inner: Inner, value: Any) -> None:
        """Set a pair of a key whose map or value was asked for before."""
        held = self._maps[name]
        is_there = inner in held
        self._size += not is_there
        self._touch(name, inner, is_there)
        held[inner] = value
        if self.ttl is not None:
            self._written[name, inner] = self._core.now_ms

    def _touch(self, name: Any, inner: Inner, is_stored: bool) -> None:
        if name in self._fresh:
            self._changes += not is_stored
            return
        changes = self._dirty.setdefault(name, {})
        if inner not in changes:
            changes[inner] = is_stored
            self._changes += 1

    def count_up(
        self,
        names: Sequence[Any],
        keys: Sequence[CanonicalKey],
        stops: Sequence[int],
        inners: Sequence[Inner],
    ) -> None:  # hot
        """Add one to the values of pairs, which are numbers.

        :param inners: those of the first key up to the first of *stops*, then those of the second, ...
        """
        maps, fresh = self._maps, self._fresh
        start = 0
        for name, key, stop in zip(names, keys, stops, strict=True):
            held = maps.get(name)
            if held is None:
                held = self._opened(name, key)
            some = inners[start:stop]
            start = stop
            if self.ttl is None and name in fresh:
                size = len(held)
                for inner in some:
                    held[inner] = held.get(inner, 0) + 1
                self._size += len(held) - size
                self._changes += len(held) - size
                continue
            fetches = self.ttl is not None or name in self._partial
            for inner in some:
                count = self.get(name, key, inner) if fetches else held.get(inner)
                self._touch(name, inner, count is not None)
                if count is None:
                    held[inner] = 1
                    self._size += 1
                else:
                    held[inner] = count + 1
                if self.ttl is not None:
                    self._written[name, inner] = self._core.now_ms

    def remove(self, name: Any, inner: Inner) -> None:
        """Delete a pair that is there."""
        del self._maps[name][inner]
        self._size -= 1
        self._touch(name, inner, True)
        self._written.pop((name, inner), None)

    def clear(self, name: Any, key: CanonicalKey) -> None:
        """Delete all pairs of a key."""
        for inner in list(self.of(name, key)):
            self.remove(name, inner)

    def names(self) -> Iterator[tuple[Any, CanonicalKey]]:
        """All keys that may have a map, with their canonical forms."""
        if not self._core.complete:
            self._core.complete_cache()
        yield from list(self._keys.items())
        yield from [(name, key) for name, (key, _) in list(self._encoded.items())]

    def _opened(self, name: Any, key: CanonicalKey) -> dict[Inner, Any]:
        held: dict[Inner, Any] = {}
        self._maps[name] = held
        self._keys[name] = key
        encoded = self._encoded.pop(name, None)
        if encoded is not None:
            self._size -= len(encoded[1])
            for inner, value in encoded[1].items():
                self._take(name, held, _decode_inner(inner), value)
        elif self._core.complete:
            self._fresh.add(name)
        else:
            self._partial.add(name)
        return held

    def _complete(self, name: Any, key: CanonicalKey, held: dict[Inner, Any]) -> None:
        changes = self._dirty.get(name, ())
        for rest, value in self._core.fetch_all(key, self.id).items():
            inner = _decode_inner(rest)
            if inner not in held and inner not in changes:
                self._take(name, held, inner, value)
        self._partial.discard(name)

    def _take(self, name: Any, held: dict[Inner, Any], inner: Inner, stored: bytes) -> None:
        if self.ttl is not None:
            self._written[name, inner] = written_ms(stored)
            stored = stored[8:]
        held[inner] = decode_value(stored)
        self._size += 1

    def _is_gone(self, name: Any, inner: Inner) -> bool:
        assert self.ttl is not None
        return self._written.get((name, inner), 0) + self.ttl.ms <= self._core.now_ms

    def _living(self, name: Any, held: dict[Inner, Any]) -> dict[Inner, Any]:
        for inner in [inner for inner in held if self._is_gone(name, inner)]:
            self.remove(name, inner)
        return held

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        self.generation += 1
        canonical = canonical_of(key_data(key, end))
        name = identity_of_canonical(canonical)
        rest = key[end + len(self.id) :]
        held = self._maps.get(name)
        if held is not None:
            self._fresh.discard(name)
            inner = _decode_inner(rest)
            if held.pop(inner, None) is not None:
                self._size -= 1
            if value != TOMBSTONE:
                self._take(name, held, inner, value)
        elif name in self._encoded or self._core.complete:
            entries = self._encoded.setdefault(name, (canonical, {}))[1]
            self._size -= len(entries)
            if value == TOMBSTONE:
                entries.pop(rest, None)
            else:
                entries[rest] = value
            self._size += len(entries)
            if not entries:
                del self._encoded[name]

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        whole = self._maps.keys() - self._partial
        cut = len(self.id)
        for key, end, value in entries:
            canonical = canonical_of(key_data(key, end))
            name = identity_of_canonical(canonical)
            if name in whole:
                continue
            held = self._maps.get(name)
            if held is None:
                self._encoded.setdefault(name, (canonical, {}))[1][key[end + cut :]] = value
                self._size += 1
            else:
                inner = _decode_inner(key[end + cut :])
                if inner not in held and inner not in self._dirty.get(name, ()):
                    self._take(name, held, inner, value)
        self._partial.clear()

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        fresh, self._fresh = self._fresh, set()
        for name in fresh:
            held = self._maps[name]
            if not held:
                self._forget(name)
                continue
            head = self._core.group_keys[self._keys[name]] + self.id
            keys += [head + _pack(inner) for inner in held]
            values += [self._body(name, held, inner) for inner in held]
        for name, changes in self._dirty.items():
            held = self._maps[name]
            head = self._core.group_keys[self._keys[name]] + self.id
            for inner, stored in changes.items():
                if inner in held:
                    keys.append(head + _pack(inner))
                    values.append(self._body(name, held, inner))
                elif stored:
                    keys.append(head + _pack(inner))
                    values.append(TOMBSTONE)
            if not held and name not in self._partial:
                self._forget(name)
        self._dirty.clear()
        self._changes = 0

    def _body(self, name: Any, held: dict[Inner, Any], inner: Inner) -> bytes:
        """What is stored of a pair."""
        body = encode_value(held[inner])
        if self.ttl is None:
            return body
        return self._written[name, inner].to_bytes(8, "big", signed=True) + body

    def clean(self, changed: int) -> None:
        if self.ttl is None:
            return
        limit = self._core.now_ms - self.ttl.gone_ms
        for name, inner in [pair for pair, written in self._written.items() if written <= limit]:
            del self._written[name, inner]
            if self._maps.get(name, {}).pop(inner, None) is not None:
                self._size -= 1

    def _forget(self, name: Any) -> None:
        held = self._maps.pop(name)
        self._size -= len(held)
        if self._written:
            for inner in held:
                self._written.pop((name, inner), None)
        self._keys.pop(name, None)
        self._fresh.discard(name)
        self._partial.discard(name)

    def drop(self) -> None:
        self._reset()

    def drop_key(self, key: CanonicalKey) -> None:
        name = identity_of_canonical(key)
        self._encoded.pop(name, None)
        if name in self._maps:
            self._changes -= len(self._maps[name] if name in self._fresh else self._dirty.pop(name, ()))
            self._forget(name)

    def changed(self) -> int:
        return self._changes

    def cached(self) -> int:
        return self._size + len(self._maps)

    def evict(self, share: float) -> None:
        self.generation += 1
        for name in list(islice(self._encoded, int(len(self._encoded) * share) + 1)):
            self._size -= len(self._encoded.pop(name)[1])
        for name in list(islice(self._maps, int(len(self._maps) * share) + 1)):
            self._forget(name)

    def cached_keys(self) -> set[CanonicalKey]:
        here = {self._keys[name] for name, held in self._maps.items() if held}
        return here | {key for key, _ in self._encoded.values()}


def maps_state(state: OperatorState, name: str, shape: str = "", ttl_ms: int = 0) -> MapsColumn:
    """The dictionaries of an operator under a name; *shape* as in ``rows_state``."""
    ttl = ttl_of(ttl_ms)
    return state.engine_state(
        name, MAPS, lambda core, uid, name: MapsColumn(core, uid, name, shape, ttl), ttl
    )


def _pairs(parts: list[Entry]) -> dict[Inner, Any]:
    return {_decode_inner(inner): decode_value(value) for inner, value in parts}


MAPS: Final = KINDS.register(StateKind(name=MapsColumn.kind, rows=rows_by_key(_pairs)))
