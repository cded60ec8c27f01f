"""Cache for lookups in an external system."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.clock import Clock, SystemClock

__all__ = ["NOT_KEPT", "CacheOptions", "KeptAnswers", "LookupCache"]

#: What ``KeptAnswers.find`` returns for a key whose answer is not kept.
NOT_KEPT: Final = object()


@dataclass(frozen=True, slots=True)
class CacheOptions:
    """:param entries: number of keys to cache, least recently used ones are evicted first; 0: no cache; None:
        no limit.
    :param ttl_ms: maximum age of a cached result; None: no limit.
    :param missing: whether to cache that a key has no result.
    :param idle_ms: how long a result is kept that nobody asks for; None: no limit.
    """

    entries: int | None = 0
    ttl_ms: int | None = None
    missing: bool = True
    idle_ms: int | None = None


class KeptAnswers:
    """Answers by key, as long as the options say. An answer that is false says that a key has no result."""

    def __init__(self, options: CacheOptions, clock: Clock | None = None) -> None:
        self._options = options
        self._clock = SystemClock() if clock is None else clock
        self._answers: OrderedDict[Any, tuple[Any, float, float]] = OrderedDict()  # with two instants

    def find(self, key: Any) -> Any:
        """Return the answer for a key, or ``NOT_KEPT``."""
        known = self._answers.get(key)
        if known is None:
            return NOT_KEPT
        answer, fresh_s, wanted_s = known
        now_s = self._clock.monotonic_s()
        if now_s >= fresh_s or now_s >= wanted_s:
            del self._answers[key]
            return NOT_KEPT
        if self._options.idle_ms is not None:
            self._answers[key] = (answer, fresh_s, now_s + self._options.idle_ms / 1000)
        self._answers.move_to_end(key)
        return answer

    def keep(self, key: Any, answer: Any) -> None:
        options = self._options
        if options.entries == 0 or not (answer or options.missing):
            return
        now_s = self._clock.monotonic_s()
        fresh_s, wanted_s = (
            float("inf") if limit_ms is None else now_s + limit_ms / 1000
            for limit_ms in (options.ttl_ms, options.idle_ms)
        )
        self._answers[key] = (answer, fresh_s, wanted_s)
        if options.entries is not None and len(self._answers) > options.entries:
            self._answers.popitem(last=False)


class LookupCache:
    """Caches results of coroutines by key. Concurrent lookups of the same key share one request."""

    def __init__(self, options: CacheOptions, clock: Clock | None = None) -> None:
        self._kept = KeptAnswers(options, clock)
        self._asked: dict[Any, asyncio.Task[Any]] = {}

    async def get(self, key: Any, ask: Callable[[], Awaitable[Any]]) -> Any:
        known = self._kept.find(key)
        if known is not NOT_KEPT:
            return known
        task = self._asked.get(key)
        if task is None:
            task = self._asked[key] = asyncio.ensure_future(ask())
            task.add_done_callback(lambda done: self._answered(key, done))
        return await asyncio.shield(task)  # cancelling one caller does not affect the others

    def _answered(self, key: Any, task: asyncio.Task[Any]) -> None:
        del self._asked[key]
        if not task.cancelled() and task.exception() is None:
            self._kept.keep(key, task.result())
