"""Cache for lookups in an external system."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from firesteel.common.clock import Clock, SystemClock


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """:param entries: number of keys to cache, least recently used ones are evicted first; 0: no cache.
    :param ttl_ms: maximum age of a cached result; None: no limit.
    :param missing: whether to cache that a key has no result.
    """

    entries: int = 0
    ttl_ms: int | None = None
    missing: bool = True


class LookupCache:
    """Caches results by key. Concurrent lookups of the same key share one request."""

    def __init__(self, options: CacheOptions, clock: Clock | None = None) -> None:
        self._options = options
        self._clock = SystemClock() if clock is None else clock
        self._answers: OrderedDict[Any, tuple[float, Any]] = OrderedDict()
        self._asked: dict[Any, asyncio.Task[Any]] = {}

    async def get(self, key: Any, ask: Callable[[], Awaitable[Any]]) -> Any:
        known = self._answers.get(key)
        if known is not None:
            if self._clock.monotonic_s() < known[0]:
                self._answers.move_to_end(key)
                return known[1]
            del self._answers[key]
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.ensure_future(ask())
            task.add_done_callback(lambda done: self._answered(key, done))
        return await asyncio.shield(task)  # cancelling one caller does not affect the others

    def _answered(self, key: Any, task: asyncio.Task[Any]) -> None:
        del self._asked[key]
        if task.cancelled() or task.exception() is not None or self._options.entries == 0:
            return
        answer, ttl_ms = task.result(), self._options.ttl_ms
        if answer or self._options.missing:
            fresh_s = float("inf") if ttl_ms is None else ttl_ms / 1000
            self._answers[key] = (self._clock.monotonic_s() + fresh_s, answer)
            if len(self._answers) > self._options.entries:
                self._answers.popitem(last=False)
