"""A table that is kept whole, and when it is read again."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common.clock import ManualClock
from firesteel.sql.connectors.lookup_cache import CACHE_OPTIONS, CachedLookup, FullLookup, cached
from firesteel.sql.connectors.options import TableOptions
from firesteel.sql.connectors.reloads import DailyReloads, PeriodicReloads
from firesteel.util.exceptions import TableException

Row = tuple[Any, ...]


class Table:
    """Rows of a key and a value, and how often they were read."""

    def __init__(self, rows: list[tuple[str, int]]) -> None:
        self.rows = rows
        self.readings = 0

    def open(self) -> None: ...

    def close(self) -> None: ...

    def lookup(self, keys: list[Row]) -> list[list[Row]]:
        raise AssertionError("it is kept whole")

    def every_row(self) -> Iterator[tuple[Row, Row]]:
        self.readings += 1
        for key, value in self.rows:
            yield (key,), (value,)


def test_all_rows_are_read_once_and_again_when_it_is_time() -> None:
    clock, table = ManualClock(0), Table([("a", 1), ("b", 2), ("a", 3)])
    lookup = FullLookup(table, PeriodicReloads(1000), clock)
    assert lookup.lookup([("a",), ("none",)]) == [[(1,), (3,)], []]
    table.rows = [("a", 4)]
    clock.advance(999)
    assert lookup.lookup([("a",), ("b",)]) == [[(1,), (3,)], [(2,)]]
    clock.advance(1)
    assert lookup.lookup([("a",), ("b",)]) == [[(4,)], []]
    assert table.readings == 2


def instant(text: str) -> int:
    return round(datetime.datetime.fromisoformat(text).timestamp() * 1000)


def test_when_it_is_read_again() -> None:
    assert PeriodicReloads(100).next_ms(1_000, 1_030) == 1_130
    assert PeriodicReloads(100, from_begin=True).next_ms(1_000, 1_030) == 1_100
    reloads = DailyReloads(datetime.time(10, 15), 3, "Europe/Berlin")
    begun = instant("2024-03-29T10:00:00+01:00")
    assert reloads.next_ms(begun, begun) == instant("2024-03-29T10:15:00+01:00")
    begun = instant("2024-03-29T10:15:00+01:00")
    assert reloads.next_ms(begun, begun) == instant("2024-04-01T10:15:00+02:00")  # summer has begun
    fixed = DailyReloads(datetime.time.fromisoformat("10:15+07:00"), 1, "UTC")
    assert fixed.next_ms(begun, begun) == instant("2024-03-30T10:15:00+07:00")


def options(**given: str) -> TableOptions:
    keys = {key.replace("__", ".").replace("_", "-"): value for key, value in given.items()}
    return TableOptions.checked("jdbc", "t", {"lookup.cache": "FULL"} | keys, CACHE_OPTIONS)


def test_options_say_which_cache_it_is() -> None:
    table = Table([])
    assert cached(table, options(lookup__cache="none")) is table
    assert isinstance(cached(table, options(lookup__cache="partial")), CachedLookup)
    made = cached(table, options(lookup__full_cache__periodic_reload__interval="2s"))
    assert isinstance(made, FullLookup)
    assert made.reloads == PeriodicReloads(2000)
    strategy = {"lookup__full_cache__reload_strategy": "timed"}
    made = cached(table, options(**strategy, lookup__full_cache__timed_reload__iso_time="10:15Z"))
    assert isinstance(made, FullLookup)
    assert made.reloads == DailyReloads(datetime.time(10, 15, tzinfo=datetime.UTC), 1, "UTC")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "'PERIODIC' needs 'lookup.full-cache.periodic-reload.interval'"),
        ({"lookup__full_cache__reload_strategy": "TIMED"}, "lookup.full-cache.timed-reload.iso-time"),
        ({"lookup__full_cache__timed_reload__iso_time": "10:15"}, "is 'PERIODIC'"),
        (
            {
                "lookup__full_cache__reload_strategy": "TIMED",
                "lookup__full_cache__timed_reload__iso_time": "noon",
            },
            "10:15+07:00",
        ),
        ({"lookup__partial_cache__max_rows": "5"}, "the cache is FULL"),
        (
            {"lookup__cache": "PARTIAL", "lookup__full_cache__reload_strategy": "TIMED"},
            "the cache is PARTIAL",
        ),
        ({"lookup__cache": "SOME"}, "NONE, PARTIAL, FULL"),
    ],
)
def test_options_that_contradict_each_other(given: dict[str, str], message: str) -> None:
    with pytest.raises(TableException) as caught:
        cached(Table([]), options(**given))
    assert message in str(caught.value)
