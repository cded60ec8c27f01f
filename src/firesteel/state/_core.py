"""What the states of one subtask share: the line they stand on, their key bytes, the clock of the epoch."""

from __future__ import annotations

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
    compaction_entries: int = 20_000
    batch: bool = False


class StateCore:
    """Held by every state handle of a subtask.

    ``complete``: the caches hold all there is, so what is not in them does not exist.
    """

    __slots__ = ("complete", "group_keys", "limits", "now_ms", "overlay", "sequence", "ttl_stamp")

    def __init__(self, limits: StateLimits, max_parallelism: int, overlay: Overlay) -> None:
        self.limits = limits
        self.overlay = overlay
        self.group_keys = GroupKeys(max_parallelism)
        self.complete = True
        self.now_ms = 0
        self.ttl_stamp = bytes(8)
        self.sequence = 0

    def fetch(self, key: CanonicalKey, column: bytes) -> bytes | None:
        """The committed value of a key in a column, None when there is none."""
        return self.overlay.get(self.group_keys[key] + column)

    def fetch_all(self, key: CanonicalKey, column: bytes) -> dict[bytes, bytes]:
        """The committed entries of a key in a column: rest of the entry's key -> value."""
        prefix = self.group_keys[key] + column
        cut = len(prefix)
        return {name[cut:]: value for name, value in self.overlay.scan(prefix).items()}
