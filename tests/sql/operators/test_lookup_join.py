"""Rows beside what a connector finds for them: filter and projection of the right side, caches, retries."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from firesteel.common.clock import ManualClock
from firesteel.connectors.lookup_cache import CacheOptions
from firesteel.program.registry import Registry
from firesteel.sql.connectors.factory import TABLE_CONNECTORS, TableConnector
from firesteel.sql.connectors.lookup_cache import CachedLookup
from firesteel.sql.parser.errors import SqlValidationError
from firesteel.table import StreamTableEnvironment
from firesteel.util.exceptions import TableException
from tests.table.support import rows, tables

_CITIES = [
    ("de", "Berlin", 3_700),
    ("de", "Bonn", 330),
    ("fr", "Paris", 2_100),
]
_asked: list[list[tuple[Any, ...]]] = []


class Cities:
    """Columns as they are wanted, of rows whose key columns are equal."""

    def __init__(self, keys: tuple[int, ...], columns: tuple[int, ...]) -> None:
        self._keys = keys
        self._columns = columns

    def open(self) -> None: ...

    def close(self) -> None: ...

    def _rows(self, key: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        there = [row for row in _CITIES if tuple(row[k] for k in self._keys) == key]
        return [tuple(row[c] for c in self._columns) for row in there]

    def lookup(self, keys: list[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
        _asked.append(keys)
        return [self._rows(key) for key in keys]


class AsyncCities(Cities):
    """In tasks, at once."""

    async def lookup_async(self, key: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        await asyncio.sleep(0)
        return self._rows(key)


class LateCities(Cities):
    """Finds nothing the first time."""

    def lookup(self, keys: list[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
        return super().lookup(keys) if _asked else (_asked.append(keys) or [[] for _ in keys])


_KINDS = {"cities": Cities, "async-cities": AsyncCities, "late-cities": LateCities}


@pytest.fixture(autouse=True)
def connectors(monkeypatch: pytest.MonkeyPatch) -> None:
    from firesteel.sql.connectors import factory

    factory.load_all()
    registry = Registry("table connector", TableConnector)
    for record in TABLE_CONNECTORS.all():
        registry.register(record)
    for name, kind in _KINDS.items():
        made = TableConnector(name=name, lookup=lambda context, keys, columns, kind=kind: kind(keys, columns))
        registry.register(made)
    monkeypatch.setattr(factory, "TABLE_CONNECTORS", registry)
    _asked.clear()


def _create(t: StreamTableEnvironment, connector: str) -> None:
    t.execute_sql(
        f"CREATE TABLE cities (country STRING, city STRING, size INT) WITH ('connector' = '{connector}')"
    )
    t.execute_sql(
        "CREATE VIEW people AS SELECT name, home, PROCTIME() AS p FROM "
        "(VALUES ('Ada', 'de'), ('Bob', 'fr'), ('Cid', 'it'), ('Eve', CAST(NULL AS STRING))) AS v(name, home)"
    )


_JOIN = "JOIN cities FOR SYSTEM_TIME AS OF p AS c ON c.country = home"


@pytest.mark.row("S-SQL-07")
@pytest.mark.parametrize("connector", ["cities", "async-cities"])
def test_lookup_joins(connector: str) -> None:
    with tables() as t:
        _create(t, connector)
        every = rows(t.execute_sql(f"SELECT name, city, size FROM people {_JOIN}"))
        assert every == [("Ada", "Berlin", 3_700), ("Ada", "Bonn", 330), ("Bob", "Paris", 2_100)]
        # Only one column of the right side, which is not the first.
        assert rows(t.execute_sql(f"SELECT city FROM people {_JOIN}")) == [("Berlin",), ("Bonn",), ("Paris",)]
        left = f"SELECT name, city FROM people LEFT {_JOIN} AND c.size > 1000"
        assert rows(t.execute_sql(left)) == [
            ("Ada", "Berlin"), ("Bob", "Paris"), ("Cid", None), ("Eve", None),
        ]  # fmt: skip
        both = f"SELECT name, city FROM people LEFT {_JOIN} AND CHAR_LENGTH(name) + c.size < 1000"
        assert rows(t.execute_sql(both)) == [("Ada", "Bonn"), ("Bob", None), ("Cid", None), ("Eve", None)]
        where = f"SELECT name, UPPER(city), size * 2 FROM people {_JOIN} WHERE c.size < 3000"
        assert rows(t.execute_sql(where)) == [("Ada", "BONN", 660), ("Bob", "PARIS", 4_200)]
        constant = f"SELECT name, size FROM people {_JOIN} AND c.city = 'Bonn'"
        assert rows(t.execute_sql(constant)) == [("Ada", 330)]
        comma = "SELECT name, city FROM people, cities FOR SYSTEM_TIME AS OF p AS c WHERE c.country = home"
        small = f"{comma} AND CHAR_LENGTH(name) + c.size < 1000"
        assert rows(t.execute_sql(small)) == [("Ada", "Bonn")]


def test_a_key_is_asked_once_in_a_batch() -> None:
    with tables() as t:
        _create(t, "cities")
        rows(t.execute_sql(f"SELECT city FROM (SELECT * FROM people UNION ALL SELECT * FROM people) {_JOIN}"))
        assert all(len(keys) == len(set(keys)) for keys in _asked)
        assert not any(None in key for keys in _asked for key in keys)


def test_the_hint_lookup() -> None:
    retry = (
        "/*+ LOOKUP('table' = 'c', 'retry-predicate' = 'lookup_miss', 'retry-strategy' = 'fixed_delay', "
        "'fixed-delay' = '1ms', 'max-attempts' = '2') */"
    )
    with tables() as t:
        _create(t, "late-cities")
        assert len(rows(t.execute_sql(f"SELECT {retry} city FROM people {_JOIN}"))) == 3
        # Those that have none are asked for twice again.
        assert [key for keys in _asked for key in keys].count(("it",)) == 3
    with tables() as t:
        _create(t, "cities")
        wanted = "/*+ LOOKUP('table' = 'c', 'async' = 'true') */"
        with pytest.raises(TableException, match="cannot be looked up asynchronously"):
            t.execute_sql(f"SELECT {wanted} city FROM people {_JOIN}")
        half = "/*+ LOOKUP('table' = 'c', 'max-attempts' = '2') */"
        with pytest.raises(SqlValidationError, match="retry"):
            t.execute_sql(f"SELECT {half} city FROM people {_JOIN}")


def test_a_cache() -> None:
    clock = ManualClock(0)
    cache = CachedLookup(Cities((0,), (1,)), CacheOptions(2, 100), clock)
    assert cache.lookup([("de",), ("it",)]) == [[("Berlin",), ("Bonn",)], []]
    assert cache.lookup([("it",), ("de",)]) == [[], [("Berlin",), ("Bonn",)]]
    assert _asked == [[("de",), ("it",)]]
    cache.lookup([("fr",)])  # the one that was not used for longest goes
    cache.lookup([("it",), ("de",)])
    assert _asked[1:] == [[("fr",)], [("it",)]]
    clock.advance(100)
    cache.lookup([("de",)])
    assert _asked[-1] == [("de",)]


def test_a_cache_that_forgets_what_is_not_used() -> None:
    clock = ManualClock(0)
    cache = CachedLookup(Cities((0,), (1,)), CacheOptions(None, None, False, 100), clock)
    for _ in range(3):
        cache.lookup([("fr",)])
        clock.advance(60)
    assert _asked == [[("fr",)]]
    cache.lookup([("it",)])
    cache.lookup([("it",)])
    assert _asked[1:] == [[("it",)], [("it",)]]
    clock.advance(100)
    cache.lookup([("fr",)])
    assert len(_asked) == 4
