"""One instant for each key, taken when the time has come: when a state must be looked after again.

A leaner ``TimerQueue``: a key has one deadline or none, and those that are due come all at once, in no
order that matters. They are stored as timers are, so a process always knows all of them.
"""

from __future__ import annotations

import builtins
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final

from firesteel.state._column import COLUMN_ID_BYTES, CanonicalKey, Column, canonical_of, key_data, key_end
from firesteel.state._value_codec import TOMBSTONE
from firesteel.state.timers import TimerQueue

if TYPE_CHECKING:
    from firesteel.state._core import StateCore

__all__ = ["Deadlines"]

_SET: Final = b"\xc3"
_BIAS: Final = 1 << 63  # makes signed instants sort as unsigned bytes
_HEAD: Final = 3 + COLUMN_ID_BYTES  # group, 0, column id


class Deadlines(Column):
    """Instants are those of the watermark, in epoch milliseconds."""

    kind = TimerQueue.kind

    def __init__(self, core: StateCore, uid: str, name: str) -> None:
        super().__init__(core, uid, name)
        self.due: dict[CanonicalKey, int] = {}  # to be read only; always the same object
        self._buckets: dict[int, list[CanonicalKey]] = {}  # a key counts where ``due`` says the same
        self._heap: list[int] = []  # the instants that have a bucket
        self._before: dict[CanonicalKey, int | None] = {}  # what is stored of the keys that changed

    def set(self, key: CanonicalKey, instant_ms: int) -> None:  # hot
        """Give a key that has no deadline one."""
        if key not in self._before:
            self._before[key] = None
        self._put(key, instant_ms)

    def bring_forward(self, key: CanonicalKey, instant_ms: int) -> None:  # hot
        """Give a key a deadline unless it has an earlier one."""
        current = self.due.get(key)
        if current is None or instant_ms < current:
            self._before.setdefault(key, current)
            self._put(key, instant_ms)

    def next_ms(self) -> int | None:
        """Return the earliest deadline, None when there is none; a key may have given that one up since."""
        return self._heap[0] if self._heap else None

    def take(self, until_ms: int) -> list[CanonicalKey]:
        """The keys whose deadline is at or before ``until_ms``, without it from now on."""
        heap, due, before = self._heap, self.due, self._before
        taken = []
        while heap and heap[0] <= until_ms:
            instant = heappop(heap)
            for key in self._buckets.pop(instant):
                if due.get(key) == instant:
                    del due[key]
                    if key not in before:
                        before[key] = instant
                    taken.append(key)
        return taken

    def _put(self, key: CanonicalKey, instant_ms: int) -> None:
        self.due[key] = instant_ms
        bucket = self._buckets.get(instant_ms)
        if bucket is None:
            self._buckets[instant_ms] = [key]
            heappush(self._heap, instant_ms)
        else:
            bucket.append(key)

    # ---- the backend's side

    def load(self, key: bytes, end: int, value: bytes) -> None:
        instant = int.from_bytes(key[_HEAD : _HEAD + 8], "big") - _BIAS
        rest = b"\0\0" + key[_HEAD + 8 :]
        name = canonical_of(key_data(rest, key_end(rest)))
        current = self.due.get(name)
        if value != TOMBSTONE:
            if current != instant:
                self._put(name, instant)
        elif current == instant:
            del self.due[name]

    def absorb(self, entries: list[tuple[bytes, int, bytes]]) -> None:
        return  # always complete

    def collect(self, keys: list[bytes], values: list[bytes]) -> None:
        self._core.group_keys.meet(self._before)
        for key, before in self._before.items():
            now = self.due.get(key)
            if now == before:
                continue
            if before is not None:
                keys.append(self._entry_key(before, key))
                values.append(TOMBSTONE)
            if now is not None:
                keys.append(self._entry_key(now, key))
                values.append(_SET)
        self._before.clear()

    def _entry_key(self, instant_ms: int, key: CanonicalKey) -> bytes:
        head = self._core.group_keys[key]
        return head[:2] + b"\0" + self.id + (instant_ms + _BIAS).to_bytes(8, "big") + head[2:]

    def drop(self) -> None:
        self.due.clear()
        self._buckets.clear()
        self._heap.clear()
        self._before.clear()

    def drop_key(self, key: CanonicalKey) -> None:
        self.due.pop(key, None)
        self._before.pop(key, None)

    def changed(self) -> int:
        return len(self._before)

    def cached(self) -> int:
        return 0  # deadlines are never evicted

    def evict(self, share: float) -> None:
        return

    def cached_keys(self) -> builtins.set[CanonicalKey]:
        return builtins.set(self.due)
