"""What the states of one subtask share: the line they stand on, their key bytes, the clock of the epoch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from firesteel.state._column import CanonicalKey, GroupKeys
from firesteel.state._overlay import Overlay


@dataclass(frozen=True, slots=True)
class StateLimits:
    """Limits of one subtask's state.

    :param cache_entries: above it, entries that are not changed are forgotten and read again when needed.
    :param warm_entries: a state of up to so many entries is loaded whole by a process that has none of it.
    :param inline_bytes: a delta of up to so many bytes rides in the ack of the task.
    :param compaction_entries: at least so many entries may be rewritten by an epoch's compaction.
    :param batch: no epochs: changes are not tracked, and state is dropped key by key.
    """

    cache_entries: int = 1_000_000
    warm_entries: int = 20_000
    inline_bytes: int = 64 * 1024
    compaction_entries: int = 10_000
    batch: bool = False


class StateCore:
    """Held by every state handle of a subtask.

    ``complete``: the caches hold all there is, so what is not in them does not exist.
    """

    __slots__ = (
        "complete",
        "complete_cache",
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
        self.now_ms = 0
        self.ttl_stamp = bytes(8)
        self.sequence = 0

    def fetch(self, key: CanonicalKey, rest: bytes) -> bytes | None:
        """The committed value of the entry of a key whose key goes on with ``rest``; None when there is
        none."""
        self._count_miss()
        return self.overlay.get(self.group_keys[key] + rest)

    def fetch_all(self, key: CanonicalKey, column: bytes) -> dict[bytes, bytes]:
        """The committed entries of a key in a column: rest of the entry's key -> value."""
        self._count_miss()
        prefix = self.group_keys[key] + column
        cut = len(prefix)
        return {name[cut:]: value for name, value in self.overlay.scan(prefix).items()}

    def _count_miss(self) -> None:
        self.misses += 1
        if self.misses > self.miss_limit and not self.complete:
            self.complete_cache()
