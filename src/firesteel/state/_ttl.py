"""Time to live of entries (Flink: ``StateTtlConfig``), in processing time.

An entry that was written at w expires when w + ttl <= now. It is left out when it is read, and then deleted.
One that nobody reads any more is *gone* in the end (``Ttl.gone_ms``) and removed bit by bit: from the caches
(``Column.clean``), from the local store, and by compaction from the segments. What a function sees depends on
the times alone, never on how far that has come. Stored values begin with the time of their
last write (8 bytes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from firesteel.state._column import COLUMN_ID_BYTES, Column, key_end
from firesteel.state._merge import Slice
from firesteel.state._value_codec import TOMBSTONE

STAMP_BYTES: Final = 8
#: The minimum number of cached entries of a state that are checked at the end of an epoch.
LEAST_LOOKS: Final = 1000
_DEFAULT_LOOKS: Final = 5
_LINGER_MS: Final = 10 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Ttl:
    """
    :param ms: how long an entry lives.
    :param refresh_on_read: whether reading an entry restarts its time to live.
    :param hide_expired: whether an expired entry is never returned; otherwise it is until it is removed.
    :param gone_ms: how long after its last write an entry is removed without being read; 0: never.
    :param looks: how many cached entries are checked for each one that an epoch changes.
    """

    ms: int
    refresh_on_read: bool = False
    hide_expired: bool = True
    gone_ms: int = 0
    looks: int = _DEFAULT_LOOKS

    @classmethod
    def of(cls, descriptor: Any) -> Ttl | None:
        """The time to live that a descriptor asks for, None when entries never expire.

        Flink's strategies belong to its backends. Here any that is on, and one is unless
        ``disable_cleanup_in_background`` was called, removes what has expired from memory and from disk. What
        may be seen after it has expired is kept for a while, for as long again at least.
        """
        config = getattr(descriptor, "ttl_config", None)
        if config is None:
            return None
        strategies = config.get_cleanup_strategies()
        incremental = strategies.get_incremental_cleanup_strategy()
        compaction = strategies.get_rocksdb_compact_filter_cleanup_strategy()
        cleaned = incremental is not None or compaction is not None or strategies.in_full_snapshot()
        hide_expired = config.get_state_visibility().name == "NeverReturnExpired"
        return cls(
            ms=config.ttl_ms,
            refresh_on_read=config.get_update_type().name == "OnReadAndWrite",
            hide_expired=hide_expired,
            gone_ms=config.ttl_ms + (0 if hide_expired else max(config.ttl_ms, _LINGER_MS)) if cleaned else 0,
            looks=incremental.get_cleanup_size() if incremental is not None else _DEFAULT_LOOKS,
        )

    def expired(self, stored: bytes, now_ms: int) -> bool:
        return written_ms(stored) + self.ms <= now_ms

    def gone(self, stored: bytes, now_ms: int) -> bool:
        return self.gone_ms > 0 and written_ms(stored) + self.gone_ms <= now_ms

    def visible(self, stored: bytes, now_ms: int) -> bool:
        """Whether a function may see the entry."""
        return not (self.hide_expired and self.expired(stored, now_ms)) and not self.gone(stored, now_ms)


def stamp(now_ms: int) -> bytes:
    return now_ms.to_bytes(STAMP_BYTES, "big", signed=True)


def written_ms(stored: bytes) -> int:
    return int.from_bytes(stored[:STAMP_BYTES], "big", signed=True)


class Round:
    """Visits the cached entries of a column, a few at a time, and starts over at the end.

    :param begin: returns an iterator that visits one more entry in each step and yields 1.
    """

    def __init__(self, begin: Callable[[], Iterator[int]], ttl: Ttl | None) -> None:
        self._begin = begin
        self._looks = ttl.looks if ttl is not None and ttl.gone_ms else 0
        self._steps: Iterator[int] | None = None

    def go(self, changed: int) -> None:
        """Look at as many entries as an epoch should that has changed ``changed``."""
        if self._looks:
            looks = max(LEAST_LOOKS, self._looks * changed)
            steps = self._steps or self._begin()
            self._steps = steps if sum(islice(steps, looks)) == looks else None

    def reset(self) -> None:
        """The cache is another one."""
        self._steps = None


def shrink(cache: dict[Any, Any], before: int) -> None:
    """Give back the room of a dictionary that held ``before`` entries: Python keeps it for later."""
    if len(cache) < before // 2:
        kept = cache.copy()
        cache.clear()
        cache.update(kept)


class Expiry:
    """Which stored entries of a subtask are gone at ``now_ms``."""

    def __init__(self, columns: Iterable[Column], now_ms: int) -> None:
        self.now_ms = now_ms
        self._ttls = {c.id: c.ttl for c in columns if c.ttl is not None and c.ttl.gone_ms}

    def __bool__(self) -> bool:
        return bool(self._ttls)

    def gone(self, key: bytes, value: bytes) -> bool:
        ttl = self._ttls.get(_column_of(key)) if value != TOMBSTONE else None
        return ttl is not None and ttl.gone(value, self.now_ms)

    def sweep(self, remove: bool) -> Sweep:
        return Sweep(self._ttls, self.now_ms, remove)


class Sweep:
    """Goes through the entries of a segment that is being written.

    :param remove: whether what is gone may be left out.
    """

    def __init__(self, ttls: dict[bytes, Ttl], now_ms: int, remove: bool) -> None:
        self._ttls = ttls
        self._now_ms = now_ms
        self._remove = remove
        self._newest: dict[bytes, int] = {}  # by column: when its last entry will be gone

    def of(self, entries: Slice) -> Slice:
        """What stays of some entries."""
        keys, values = entries
        stays: list[int] = []
        for at, (key, value) in enumerate(zip(keys, values, strict=True)):
            column = _column_of(key)
            ttl = self._ttls.get(column) if value != TOMBSTONE else None
            if ttl is not None:
                gone_at = written_ms(value) + ttl.gone_ms
                if self._remove and gone_at <= self._now_ms:
                    continue
                if gone_at > self._newest.get(column, 0):
                    self._newest[column] = gone_at
            stays.append(at)
        if len(stays) == len(keys):
            return entries
        return [keys[at] for at in stays], [values[at] for at in stays]

    @property
    def expires_ms(self) -> int:
        """When all that was left here of some state will be gone, 0 if nothing ever will."""
        return min(self._newest.values(), default=0)


def _column_of(key: bytes) -> bytes:
    if not key[2]:
        return b""  # beside the keys: none that has a time to live
    end = key_end(key)
    return key[end : end + COLUMN_ID_BYTES]
