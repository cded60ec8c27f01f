"""What the states of one subtask share: the line they stand on, their key bytes, the clock of the epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from firesteel.common.memory_budget import ManagedState
from firesteel.state._column import CanonicalKey, GroupKeys
from firesteel.state._merge import Slice
from firesteel.state._overlay import RECENT_BYTES, Overlay
from firesteel.state._ttl import stamp

#: What a cached entry costs beside its bytes: the key, two objects, a place in a dictionary.
_OBJECT_BYTES: Final = 150
#: What an epoch should change of one state at most: a worker holds it, and some copies when it writes.
CHANGES_BYTES: Final = 128 << 20
#: Of the memory of a state; the newest deltas may take twice their part.
_CACHE_SHARE: Final = 0.6
_RECENT_SHARE: Final = 0.1
_CHANGES_SHARE: Final = 0.2


@dataclass(frozen=True, slots=True)
class StateLimits:
    """Limits of one subtask's state, and how it works.

    :param cache_bytes: approximately how much memory the cache of a process may use. Beyond that, unchanged
        entries are evicted and read again when needed.
    :param recent_bytes: the same of the newest deltas, which are held beside it; twice as much for a moment.
    :param changes_bytes: how much an epoch should change at most.
    :param managed: the memory that all states of an executor share; None: there is no such bound.
    :param cache_entries: the same limit in entries.
    :param warm_entries: the largest state, in entries, that a process without any of it loads completely.
    :param inline_bytes: the largest delta, in bytes of its entries, that travels in the ack of the task.
    :param compaction_entries: how many entries the compaction of an epoch may always rewrite, but no more
        than fit in ``compaction_bytes``.
    :param local_store: whether a store on the host's disk may be used.
    :param typed_values: states return what the declared type makes of a value, instead of the value put in.
    :param batch: no epochs: changes are not tracked, and state is dropped key by key.
    """

    cache_bytes: int = 512 << 20
    recent_bytes: int = RECENT_BYTES
    changes_bytes: int = CHANGES_BYTES
    managed: ManagedState | None = None
    cache_entries: int = 1 << 62
    warm_entries: int = 20_000
    inline_bytes: int = 64 * 1024
    compaction_entries: int = 10_000
    compaction_bytes: int = 4 << 20
    local_store: bool = True
    typed_values: bool = False
    batch: bool = False

    def within(self, share: int) -> StateLimits:
        """Return the limits of a state that has *share* bytes for everything that it keeps in memory."""
        return replace(
            self,
            cache_bytes=int(share * _CACHE_SHARE),
            recent_bytes=min(self.recent_bytes, int(share * _RECENT_SHARE)),
            changes_bytes=min(self.changes_bytes, int(share * _CHANGES_SHARE)),
        )

    def fitted(self, entry_bytes: int) -> StateLimits:
        """Return the limits in entries, for entries of *entry_bytes* bytes."""
        cache = min(self.cache_entries, self.cache_bytes // (entry_bytes + _OBJECT_BYTES))
        return replace(
            self,
            cache_entries=cache,
            warm_entries=min(self.warm_entries, cache),
            compaction_entries=max(1, min(self.compaction_entries, self.compaction_bytes // entry_bytes)),
        )


class StateCore:
    """Held by every state handle of a subtask.

    ``complete``: the caches hold all there is, so what is not in them does not exist.
    """

    __slots__ = (
        "complete",
        "complete_cache",
        "epoch",
        "group_keys",
        "limits",
        "miss_limit",
        "misses",
        "now_ms",
        "overlay",
        "sequence",
        "ttl_stamp",
    )

    def __init__(
        self, limits: StateLimits, max_parallelism: int, key_groups: range, overlay: Overlay
    ) -> None:
        self.limits = limits
        self.overlay = overlay
        self.group_keys = GroupKeys(max_parallelism, key_groups)
        self.complete = True
        self.complete_cache: Callable[[], None] = lambda: None
        self.misses = 0
        self.miss_limit = 0
        self.epoch = 0  # number of epochs that this process has begun
        self.now_ms = 0
        self.ttl_stamp = bytes(8)
        self.sequence = 0

    def begin(self, sequence: int, now_ms: int) -> None:
        """An epoch begins, number ``sequence`` on its line, at the processing time ``now_ms``."""
        self.epoch += 1
        self.sequence = sequence
        self.move_time(now_ms)

    def move_time(self, now_ms: int) -> None:
        """The processing time by which states with a time to live are read and written from here on."""
        self.now_ms = now_ms
        self.ttl_stamp = stamp(now_ms)

    def fetch(self, key: CanonicalKey, rest: bytes) -> bytes | None:
        """The committed value of the entry of a key whose key goes on with ``rest``; None when there is
        none."""
        self._count_miss()
        return self.overlay.get(self.group_keys[key] + rest)

    def fetch_all(self, key: CanonicalKey, column: bytes) -> dict[bytes, bytes]:
        """The committed entries of a key in a column, in order: rest of the entry's key -> value."""
        return {
            rest: value for slice in self.entries(key, column) for rest, value in zip(*slice, strict=True)
        }

    def entries(self, key: CanonicalKey, column: bytes) -> Iterator[Slice]:
        """The committed entries of a key in a column, in order, some at a time, read as they are asked for:
        the rests of their keys, and their values. Good for this epoch only."""
        return self.entries_of(self.group_keys[key] + column)

    def entries_of(self, head: bytes) -> Iterator[Slice]:
        """The same of the key and the column that the keys of their entries begin with."""
        self._count_miss()
        return self._rests(head)

    def _rests(self, head: bytes) -> Iterator[Slice]:
        cut = len(head)
        for keys, values in self.overlay.entries_of(head):
            self.misses += 1  # a slice costs about as much
            yield [key[cut:] for key in keys], values

    def _count_miss(self) -> None:
        self.expect_misses(1)

    def expect_misses(self, count: int) -> None:
        """As many entries are about to be read that the cache does not hold; it may be completed for them."""
        self.misses += count
        if self.misses > self.miss_limit and not self.complete:
            self.complete_cache()
