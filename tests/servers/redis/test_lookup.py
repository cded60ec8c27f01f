"""RedisLookupFunction against a real server."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from firesteel.common.errors import ConfigurationError, FiresteelError, ProgramError
from firesteel.common.time import Time
from firesteel.datastream import AsyncDataStream
from firesteel.datastream.connectors.redis import RedisLookupFunction
from tests.runtime import support
from tests.runtime.support import environment, note
from tests.servers.redis.conftest import RedisServer
from tests.waiting import in_time


def look_up(records: list[Any], function: RedisLookupFunction, parallelism: int = 1) -> list[Any]:
    env = environment(parallelism)
    stream = env.from_collection(records)
    with AsyncDataStream.unordered_wait(stream, function, Time.seconds(20), 100).execute_and_collect() as out:
        return sorted(out, key=str)


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.row("S-CONN-16")
def test_each_order_gets_its_customer(server: RedisServer, parallelism: int) -> None:
    for n in range(50):
        server.client.set(f"customer:{n}", f"name {n} é")
    orders = [(n, n % 60) for n in range(3000)]
    found = look_up(orders, RedisLookupFunction(server.url, lambda o: f"customer:{o[1]}"), parallelism)
    names = {n: f"name {n} é" for n in range(50)}
    assert found == sorted(((order, names.get(order[1])) for order in orders), key=str)
    assert 60 <= server.asked() <= 3000, "those who ask for the same key at once share the answer"


def test_hashes_and_results_of_ones_own(server: RedisServer) -> None:
    server.client.hset("user:1", mapping={"name": "Ann", "city": "Bern"})

    def result(value: int, answer: dict[str, str]) -> list[Any]:
        return [(value, field, answer[field]) for field in sorted(answer)]

    function = RedisLookupFunction(server.url, lambda n: f"user:{n}", result, command="HGETALL")
    assert look_up([1, 2], function) == [(1, "city", "Bern"), (1, "name", "Ann")]


@pytest.mark.parametrize(("missing", "asked"), [(True, 4), (False, 4 + 24)])
def test_answers_are_kept(server: RedisServer, missing: bool, asked: int) -> None:
    for key in "abc":
        server.client.set(key, key.upper())
    function = RedisLookupFunction(
        server.url, lambda v: v[0], cache_max_entries=10, cache_missing_key=missing, max_connections=1
    )
    env = environment(1, **{"firesteel.epoch.max-records": "4"})
    stream = env.from_collection([(key, n) for n in range(25) for key in "abc-"])
    waited = AsyncDataStream.ordered_wait(stream, function, Time.seconds(20), 100)
    with waited.execute_and_collect() as out:
        assert [answer for _, answer in out] == ["A", "B", "C", None] * 25
    assert server.asked() == asked


def test_a_server_that_comes_back_is_asked_again(server: RedisServer, request: pytest.FixtureRequest) -> None:
    server.client.set("k", "v")
    topic = request.node.name

    def key(value: int) -> str:
        if value == 1:
            note(topic)
            while len(support.notes[topic]) < 2:  # until the server is gone
                time.sleep(0.01)
        return "k"

    def restart() -> None:
        while not support.notes[topic]:
            time.sleep(0.01)
        server.kill()
        note(topic)
        time.sleep(0.5)
        server.start()

    thread = threading.Thread(target=restart)
    thread.start()
    function = RedisLookupFunction(server.url, key, max_retries=100, max_connections=1)
    assert look_up([0, 1, 2], function) == [(0, "v"), (1, "v"), (2, "v")]
    thread.join()


@pytest.mark.parametrize(
    ("url", "reason"),
    [("redis://127.0.0.1:1/0", "127.0.0.1:1/0"), ("redis://:wrong@127.0.0.1:{port}/0", "WRONGPASS|invalid")],
)
def test_a_server_that_cannot_be_used(server: RedisServer, url: str, reason: str) -> None:
    function = RedisLookupFunction(url.format(port=server.port), str)
    with in_time(), pytest.raises(FiresteelError, match=reason):
        look_up([1], function)


def test_settings_that_make_no_sense() -> None:
    with pytest.raises(ConfigurationError, match="Not the URL"):
        RedisLookupFunction("http://somewhere", str)
    with pytest.raises(ConfigurationError, match="looks something up: 'SET'"):
        RedisLookupFunction("redis://h", str, command="SET")
    with pytest.raises(ProgramError, match="time to live"):
        RedisLookupFunction("redis://h", str, cache_ttl_ms=0)
