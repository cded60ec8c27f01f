"""``lookup.full-cache.*``: when a table that is kept whole is read again."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from firesteel.connectors.files.row_types import local_zone
from firesteel.sql.connectors.options import Option, TableOptions, duration, integer, text, word

__all__ = ["RELOAD_OPTIONS", "DailyReloads", "PeriodicReloads", "Reloads", "reloads_of"]

_PREFIX: Final = "lookup.full-cache."
_STRATEGY: Final = f"{_PREFIX}reload-strategy"
_INTERVAL: Final = f"{_PREFIX}periodic-reload.interval"
_MODE: Final = f"{_PREFIX}periodic-reload.schedule-mode"
_TIME: Final = f"{_PREFIX}timed-reload.iso-time"
_DAYS: Final = f"{_PREFIX}timed-reload.interval-in-days"
RELOAD_OPTIONS: Final[tuple[Option, ...]] = (
    word(_STRATEGY, ("PERIODIC", "TIMED"), "PERIODIC"),
    duration(_INTERVAL),
    word(_MODE, ("FIXED_DELAY", "FIXED_RATE"), "FIXED_DELAY"),
    text(_TIME),
    integer(_DAYS, 1),
)


class Reloads(Protocol):
    """When a table is read again."""

    def next_ms(self, began_ms: int, ended_ms: int) -> int:
        """Return the instant after a reading that took from *began_ms* to *ended_ms*."""


@dataclass(frozen=True, slots=True)
class PeriodicReloads:
    """:param from_begin: the interval is that between two begins, not from an end to the next begin."""

    interval_ms: int
    from_begin: bool = False

    def next_ms(self, began_ms: int, ended_ms: int) -> int:
        return (began_ms if self.from_begin else ended_ms) + self.interval_ms


@dataclass(frozen=True, slots=True)
class DailyReloads:
    """At a time of the day, every few days. :param zone: where *time* has no offset of its own."""

    time: datetime.time
    days: int
    zone: str

    def next_ms(self, began_ms: int, ended_ms: int) -> int:
        zone = self.time.tzinfo or ZoneInfo(self.zone)
        now = datetime.datetime.fromtimestamp(began_ms / 1000, zone)
        at = datetime.datetime.combine(now.date(), self.time.replace(tzinfo=None), zone)
        if at <= now:
            at += datetime.timedelta(days=self.days)
        return round(at.timestamp() * 1000)


def reloads_of(options: TableOptions) -> Reloads:
    """Return when the options of a table say that it is read again.

    :raises TableException: options are missing, or belong to the other strategy.
    """
    strategy = options[_STRATEGY]
    needed, others = (_INTERVAL, (_TIME, _DAYS)) if strategy == "PERIODIC" else (_TIME, (_INTERVAL, _MODE))
    strange = [key for key in others if key in options]
    if strange:
        raise options.error(strange[0], f"'{_STRATEGY}' is '{strategy}'", "leave one of them out")
    if needed not in options:
        raise options.error(_STRATEGY, f"'{strategy}' needs '{needed}'", f"set '{needed}'")
    if strategy == "PERIODIC":
        if options[_INTERVAL] < 1:
            raise options.error(_INTERVAL, "it must be positive")
        return PeriodicReloads(options[_INTERVAL], options[_MODE] == "FIXED_RATE")
    if options[_DAYS] < 1:
        raise options.error(_DAYS, "it must be at least 1")
    try:
        time = datetime.time.fromisoformat(options[_TIME])
    except ValueError as error:
        raise options.error(_TIME, f"it is not a time: {error}", "10:15, 10:15Z or 10:15+07:00") from error
    return DailyReloads(time, options[_DAYS], "UTC" if time.tzinfo else local_zone())
