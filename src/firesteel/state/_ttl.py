"""Time to live of entries (Flink: ``StateTtlConfig``), in processing time.

An entry that was written at w expires when w + ttl <= now. It is left out when it is read, then deleted, and
dropped by compaction. Stored values begin with the time of their last write (8 bytes).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ttl:
    ms: int
    refresh_on_read: bool
    hide_expired: bool

    @classmethod
    def of(cls, descriptor: Any) -> Ttl | None:
        """The time to live that a descriptor asks for, None when entries never expire."""
        config = getattr(descriptor, "_ttl_config", None)
        if config is None or not config.is_enabled():
            return None
        ttl = config.get_ttl()
        ms = ttl.to_milliseconds() if hasattr(ttl, "to_milliseconds") else ttl.to_millis()
        return cls(
            int(ms),
            config.get_update_type().name == "OnReadAndWrite",
            config.get_state_visibility().name == "NeverReturnExpired",
        )

    def expired(self, stored: bytes, now_ms: int) -> bool:
        return is_expired(stored, self.ms, now_ms)


def stamp(now_ms: int) -> bytes:
    return now_ms.to_bytes(8, "big", signed=True)


def is_expired(stored: bytes, ttl_ms: int, now_ms: int) -> bool:
    return int.from_bytes(stored[:8], "big", signed=True) + ttl_ms <= now_ms
