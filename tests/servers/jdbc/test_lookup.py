from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import Row, Time
from firesteel.common.clock import ManualClock
from firesteel.common.errors import JobExecutionError
from firesteel.connectors.lookup_cache import CacheOptions, LookupCache
from firesteel.datastream import AsyncDataStream
from firesteel.datastream.connectors.jdbc import JdbcLookupFunction
from firesteel.testing import MiniCluster

from .conftest import Target

LOOKUP = "SELECT name, age FROM people WHERE id = ?"


def looked_up(function: JdbcLookupFunction, values: list[Any]) -> list[Any]:
    with MiniCluster.in_process() as cluster:
        env = cluster.environment(parallelism=1)
        stream = AsyncDataStream.ordered_wait(env.from_collection(values), function, Time.seconds(20), 20)
        return list(stream.execute_and_collect())


@pytest.fixture
def people(target: Target) -> Target:
    target.run("CREATE TABLE people (id BIGINT, name TEXT, age INT)")
    target.run("INSERT INTO people VALUES (1, 'Ann', 30), (2, 'Bob', 40), (2, 'Bo', 41)")
    return target


@pytest.mark.parametrize("cache", [0, 100])
@pytest.mark.row("S-CONN-05")
def test_each_element_has_its_rows(people: Target, cache: int) -> None:
    function = JdbcLookupFunction(LOOKUP, people.connection, lambda v: v, cache_max_rows=cache)
    found = looked_up(function, [1, 3, 2, 1])
    ann = Row(name="Ann", age=30)
    assert found[:2] == [(1, ann), (3, None)]
    assert sorted(row.name for value, row in found if value == 2) == ["Bo", "Bob"]
    assert found[-1] == (1, ann)
    assert found[0][1].as_dict() == {"name": "Ann", "age": 30}


def test_keys_of_several_parts_and_results_of_ones_own(people: Target) -> None:
    function = JdbcLookupFunction(
        "SELECT name FROM people WHERE id = ? AND age > ?",
        people.connection,
        lambda pair: pair,
        lambda pair, rows: [f"{pair[0]}: {[row.name for row in rows]}"],
    )
    assert looked_up(function, [(2, 40), (1, 40)]) == ["2: ['Bo']", "1: []"]


def test_what_the_database_refuses_fails_the_job(people: Target) -> None:
    function = JdbcLookupFunction("SELECT nothing FROM people WHERE id = ?", people.connection, lambda v: v)
    with pytest.raises(JobExecutionError, match="The database refuses a statement") as error:
        looked_up(function, [1])
    assert "nothing" in str(error.value)


class Asked:
    """Counts what the database is asked."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def __call__(self, key: str) -> Callable[[], Any]:
        async def ask() -> list[Row]:
            self.keys.append(key)
            await asyncio.sleep(0)
            if key == "bad":
                raise OSError("gone")
            return [] if key == "none" else [Row(key)]

        return ask


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (CacheOptions(0), ["a", "b", "none", "a", "b", "none", "a"]),
        (CacheOptions(10), ["a", "b", "none"]),
        (CacheOptions(10, missing=False), ["a", "b", "none", "none"]),
        (CacheOptions(10, ttl_ms=1500), ["a", "b", "none", "a"]),
        (CacheOptions(2), ["a", "b", "none", "a", "b", "none", "a"]),
    ],
)
def test_the_cache(options: CacheOptions, asked: list[str]) -> None:
    clock, database = ManualClock(), Asked()

    async def play() -> None:
        cache = LookupCache(options, clock)
        for key in ("a", "b", "none", "a", "b", "none", "a"):
            assert await cache.get(key, database(key)) == ([] if key == "none" else [Row(key)])
            clock.advance(300)

    asyncio.run(play())
    assert database.keys == asked


def test_those_who_ask_at_once_share_an_answer_and_a_failure_is_not_kept() -> None:
    database = Asked()

    async def play() -> None:
        cache = LookupCache(CacheOptions(10), ManualClock())
        assert await asyncio.gather(*(cache.get("a", database("a")) for _ in range(5))) == [[Row("a")]] * 5
        for _ in range(2):
            with pytest.raises(OSError, match="gone"):
                await cache.get("bad", database("bad"))
        waiting = asyncio.ensure_future(cache.get("b", database("b")))
        other = asyncio.ensure_future(cache.get("b", database("b")))
        await asyncio.sleep(0)
        waiting.cancel()
        assert await other == [Row("b")]

    asyncio.run(play())
    assert database.keys == ["a", "bad", "bad", "b"]
