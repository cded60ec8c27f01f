"""Values of a Redis server for the elements of a stream."""

from __future__ import annotations

from firesteel.connectors.redis.builders import RedisLookupFunction

__all__ = ["RedisLookupFunction"]
