"""``lookup.cache``: what was looked up before is not asked for again (Flink: ``DefaultLookupCache``)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final

from firesteel.common.clock import Clock, SystemClock
from firesteel.sql.connectors.factory import LookupSource
from firesteel.sql.connectors.options import Option, TableOptions, boolean, duration, integer, word

__all__ = ["CACHE_OPTIONS", "CachedLookup", "cached"]

_PREFIX: Final = "lookup.partial-cache."
_ROWS: Final = f"{_PREFIX}max-rows"
_ACCESS: Final = f"{_PREFIX}expire-after-access"
_WRITE: Final = f"{_PREFIX}expire-after-write"
_MISSING: Final = f"{_PREFIX}cache-missing-key"
CACHE_OPTIONS: Final[tuple[Option, ...]] = (
    word("lookup.cache", ("NONE", "PARTIAL", "FULL"), "NONE"),
    integer(_ROWS),
    duration(_ACCESS),
    duration(_WRITE),
    boolean(_MISSING, True),
)

Key = tuple[Any, ...]


@dataclass(slots=True)
class _Entry:
    rows: list[Key]
    written_ms: int
    used_ms: int


@dataclass(slots=True)
class CachedLookup:
    """Asks *inner* for what it has not kept. It is sent to tasks without what it has.

    :param max_rows: how many keys are kept at most; the one that was not used for longest goes first.
    :param missing: keep that a key has no rows, too.
    """

    inner: LookupSource
    max_rows: int | None = None
    after_access_ms: int | None = None
    after_write_ms: int | None = None
    missing: bool = True
    clock: Clock = field(default_factory=SystemClock)
    _kept: OrderedDict[Key, _Entry] = field(default_factory=OrderedDict, compare=False, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return CachedLookup, (
            self.inner,
            self.max_rows,
            self.after_access_ms,
            self.after_write_ms,
            self.missing,
            self.clock,
        )

    def open(self) -> None:
        self.inner.open()

    def close(self) -> None:
        self.inner.close()

    def lookup(self, keys: list[Key]) -> list[list[Key]]:
        now_ms = self.clock.now_ms()
        found = {key: rows for key in keys if (rows := self._rows(key, now_ms)) is not None}
        wanted = [key for key in keys if key not in found]
        if wanted:
            found.update(zip(wanted, self.inner.lookup(wanted), strict=True))
            for key in wanted:
                self._keep(key, found[key], now_ms)
        return [found[key] for key in keys]

    def _rows(self, key: Key, now_ms: int) -> list[Key] | None:
        entry = self._kept.get(key)
        if entry is None:
            return None
        if self._is_over(entry, now_ms):
            del self._kept[key]
            return None
        entry.used_ms = now_ms
        self._kept.move_to_end(key)
        return entry.rows

    def _is_over(self, entry: _Entry, now_ms: int) -> bool:
        written, used = self.after_write_ms, self.after_access_ms
        return (written is not None and now_ms - entry.written_ms >= written) or (
            used is not None and now_ms - entry.used_ms >= used
        )

    def _keep(self, key: Key, rows: list[Key], now_ms: int) -> None:
        if not rows and not self.missing:
            return
        self._kept[key] = _Entry(rows, now_ms, now_ms)
        if self.max_rows is not None and len(self._kept) > self.max_rows:
            self._kept.popitem(last=False)


def cached(source: LookupSource, options: TableOptions) -> LookupSource:
    """Return a source behind the cache that the options of a table say.

    :raises TableException: it cannot be had.
    """
    kind = options["lookup.cache"]
    if kind == "FULL":
        raise options.error("lookup.cache", f"'{options.connector}' has no FULL cache", "use PARTIAL or NONE")
    if kind == "NONE":
        given = [o.key for o in CACHE_OPTIONS[1:] if o.key in options]
        if given:
            raise options.error(given[0], "there is no cache", "set 'lookup.cache' to 'PARTIAL'")
        return source
    most = options[_ROWS]
    if most is not None and most < 1:
        raise options.error(_ROWS, "it must be at least 1")
    return CachedLookup(source, most, options[_ACCESS], options[_WRITE], options[_MISSING])
