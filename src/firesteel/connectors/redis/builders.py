"""Looks up values in Redis for the elements of a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from firesteel.common._requirements import install_command
from firesteel.common.errors import ConfigurationError, ConnectorError
from firesteel.connectors.lookup_cache import CacheOptions, LookupCache
from firesteel.program.checks import require_int, require_text
from firesteel.program.functions.asynchronous import AsyncFunction

_WHO: Final = "RedisLookupFunction"
_PATIENCE_S: Final = 5.0
_COMMANDS: Final = {"GET": "get", "HGETALL": "hgetall"}


class RedisLookupFunction(AsyncFunction[Any, Any]):
    """Looks up a value or a hash for each element, for ``AsyncDataStream``, which adds timeout and capacity.
    Needs the package redis (the extra ``redis``).

    :param url: ``redis://user:password@host:port/database``, ``rediss://`` for TLS, ``unix://`` for a socket.
    :param key: returns the Redis key of an element, a text.
    :param result: returns the output for an element and its value, as a list; by default the pair of both.
    :param command: ``"GET"``: the value is a text, or None if there is none; ``"HGETALL"``: a dict of texts,
        empty if there is none.
    :param cache_max_entries: number of keys whose values each subtask caches in each worker process; 0: no
        cache.
    :param cache_ttl_ms: maximum age of a cached value in milliseconds; None: no limit.
    :param cache_missing_key: whether to cache that there is no value, too.
    :param max_connections: number of commands that a subtask runs concurrently.
    """

    def __init__(
        self,
        url: str,
        key: Callable[[Any], str],
        result: Callable[[Any, Any], list[Any]] | None = None,
        *,
        command: str = "GET",
        cache_max_entries: int = 0,
        cache_ttl_ms: int | None = None,
        cache_missing_key: bool = True,
        max_retries: int = 3,
        max_connections: int = 16,
    ) -> None:
        self._url = require_text(url, "URL", _WHO)
        if command not in _COMMANDS:
            raise ConfigurationError(
                f"Not a command that looks something up: {command!r}.", hint=f"one of {', '.join(_COMMANDS)}"
            )
        if cache_ttl_ms is not None:
            require_int(cache_ttl_ms, "time to live of an answer in milliseconds", 1, None, _WHO)
        entries = require_int(cache_max_entries, "number of cached entries", 0, None, _WHO)
        self._command = _COMMANDS[command]
        self._key = key
        self._result = _pair if result is None else result
        self._kept = CacheOptions(entries, cache_ttl_ms, cache_missing_key)
        self._retries = require_int(max_retries, "number of retries", 0, None, _WHO)
        self._connections = require_int(max_connections, "number of connections", 1, None, _WHO)
        self._pool()  # rejects an invalid URL

    def _pool(self) -> Any:
        try:
            from redis.asyncio import BlockingConnectionPool
            from redis.asyncio.retry import Retry
            from redis.backoff import ExponentialBackoff
            from redis.exceptions import ConnectionError, TimeoutError
        except ImportError as error:
            raise ConfigurationError(
                "A Redis lookup needs the package redis.", hint=install_command("redis", "redis")
            ) from error
        try:
            return BlockingConnectionPool.from_url(
                self._url,
                max_connections=self._connections,
                timeout=None,  # wait for a free connection; the stream's timeout applies
                decode_responses=True,
                socket_connect_timeout=_PATIENCE_S,
                retry=Retry(ExponentialBackoff(cap=1.0, base=0.05), self._retries),
                retry_on_error=[ConnectionError, TimeoutError],
            )
        except ValueError as error:
            raise ConfigurationError(
                "Not the URL of a Redis server.",
                detail=str(error),
                hint="redis://user:password@host:port/database",
            ) from error

    async def open(self, runtime_context: Any) -> None:  # type: ignore[override]  # may be async here
        from redis.asyncio import Redis
        from redis.exceptions import RedisError

        self._client = Redis.from_pool(self._pool())
        self._cache = LookupCache(self._kept)
        try:
            await self._client.ping()
        except (RedisError, OSError) as error:
            raise ConnectorError(
                f"No connection to Redis at {self._url.rpartition('@')[2].rpartition('//')[2]}.",
                detail=str(error),
                hint="check host, port, user and password, and that the server runs",
            ) from error

    async def async_invoke(self, value: Any) -> list[Any]:
        key = self._key(value)
        ask = getattr(self._client, self._command)
        return self._result(value, await self._cache.get(key, lambda: ask(key)))

    async def close(self) -> None:  # type: ignore[override]  # may be async here
        await self._client.aclose()


def _pair(value: Any, answer: Any) -> list[Any]:
    return [(value, answer)]
