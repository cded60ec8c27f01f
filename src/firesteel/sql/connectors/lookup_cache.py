"""``lookup.cache``: what was looked up before is not asked for again (Flink: ``DefaultLookupCache``), or the
whole table is read and asked here (Flink: ``CachingLookupFunction`` with a full cache)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from firesteel.common.clock import Clock, SystemClock
from firesteel.connectors.lookup_cache import NOT_KEPT, CacheOptions, KeptAnswers
from firesteel.sql.connectors.factory import LookupSource
from firesteel.sql.connectors.options import Option, TableOptions, boolean, duration, integer, refused, word
from firesteel.sql.connectors.reloads import RELOAD_OPTIONS, Reloads, reloads_of

__all__ = ["CACHE_OPTIONS", "CachedLookup", "FullLookup", "WholeTable", "cached"]

_CACHE: Final = "lookup.cache"
_PREFIX: Final = "lookup.partial-cache."
_ROWS: Final = f"{_PREFIX}max-rows"
_ACCESS: Final = f"{_PREFIX}expire-after-access"
_WRITE: Final = f"{_PREFIX}expire-after-write"
_MISSING: Final = f"{_PREFIX}cache-missing-key"
_PARTIAL_OPTIONS: Final = (integer(_ROWS), duration(_ACCESS), duration(_WRITE), boolean(_MISSING, True))
_OLD: Final = "the name was given up by Flink, too"
CACHE_OPTIONS: Final[tuple[Option, ...]] = (
    word(_CACHE, ("NONE", "PARTIAL", "FULL"), "NONE"),
    *_PARTIAL_OPTIONS,
    *RELOAD_OPTIONS,
    refused("lookup.cache.max-rows", _OLD, f"'{_CACHE}' = 'PARTIAL' and '{_ROWS}'"),
    refused("lookup.cache.ttl", _OLD, f"'{_CACHE}' = 'PARTIAL' and '{_WRITE}'"),
    refused("lookup.cache.caching-missing-key", _OLD, f"'{_CACHE}' = 'PARTIAL' and '{_MISSING}'"),
)

Key = tuple[Any, ...]
Rows = list[Key]


class WholeTable(LookupSource, Protocol):
    """A source that can give all rows, too."""

    def every_row(self) -> Iterator[tuple[Key, Key]]:
        """Yield the key and the wanted columns of each row."""


@dataclass(slots=True)
class CachedLookup:
    """Asks *inner* for what it has not kept. It is sent to tasks without what it has."""

    inner: LookupSource
    options: CacheOptions
    clock: Clock = field(default_factory=SystemClock)
    _kept: KeptAnswers = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self._kept = KeptAnswers(self.options, self.clock)

    def __reduce__(self) -> tuple[Any, ...]:
        return CachedLookup, (self.inner, self.options, self.clock)

    def open(self) -> None:
        self.inner.open()

    def close(self) -> None:
        self.inner.close()

    def lookup(self, keys: list[Key]) -> list[Rows]:
        found = {key: rows for key in keys if (rows := self._kept.find(key)) is not NOT_KEPT}
        wanted = [key for key in keys if key not in found]
        if wanted:
            found.update(zip(wanted, self.inner.lookup(wanted), strict=True))
            for key in wanted:
                self._kept.keep(key, found[key])
        return [found[key] for key in keys]


@dataclass(slots=True)
class FullLookup:
    """Has all rows of *inner*, by key. It is sent to tasks without them.

    They are read when the first key is asked for, and again by the first one after a reload is due: who asks
    waits for it.
    """

    inner: WholeTable
    reloads: Reloads
    clock: Clock = field(default_factory=SystemClock)
    _rows: dict[Key, Rows] | None = field(default=None, compare=False, repr=False)
    _due_ms: int = field(default=0, compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return FullLookup, (self.inner, self.reloads, self.clock)

    def open(self) -> None:
        self.inner.open()

    def close(self) -> None:
        self.inner.close()

    def lookup(self, keys: list[Key]) -> list[Rows]:
        rows = self._rows
        if rows is None or self.clock.now_ms() >= self._due_ms:
            rows = self._rows = self._load()
        return [rows.get(key, []) for key in keys]

    def _load(self) -> dict[Key, Rows]:
        began_ms = self.clock.now_ms()
        found: dict[Key, Rows] = {}
        for key, row in self.inner.every_row():
            found.setdefault(key, []).append(row)
        self._due_ms = self.reloads.next_ms(began_ms, self.clock.now_ms())
        return found


def cached(source: WholeTable, options: TableOptions) -> LookupSource:
    """Return a source behind the cache that the options of a table say.

    :raises TableException: options contradict each other.
    """
    kind = options[_CACHE]
    _refuse_others(options, kind)
    if kind == "FULL":
        return FullLookup(source, reloads_of(options))
    if kind == "NONE":
        return source
    most = options[_ROWS]
    if most is not None and most < 1:
        raise options.error(_ROWS, "it must be at least 1")
    return CachedLookup(source, CacheOptions(most, options[_WRITE], options[_MISSING], options[_ACCESS]))


def _refuse_others(options: TableOptions, kind: str) -> None:
    """:raises TableException: there are options of another kind of cache."""
    for needed, known in (("PARTIAL", _PARTIAL_OPTIONS), ("FULL", RELOAD_OPTIONS)):
        given = [option.key for option in known if option.key in options]
        if given and kind != needed:
            why = "there is no cache" if kind == "NONE" else f"the cache is {kind}"
            raise options.error(given[0], why, f"set '{_CACHE}' to '{needed}'")
