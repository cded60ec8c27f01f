"""Async I/O in Spark's worker processes, with a server that counts."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Time
from firesteel.datastream import AsyncDataStream, AsyncFunction, RuntimeContext
from firesteel.runtime.event_loop import EventLoop
from tests.spark.conftest import MakeEnvironment

pytestmark = pytest.mark.spark


class Server:
    """Doubles numbers, one for each connection, a little later; knows how many were open at once."""

    def __init__(self) -> None:
        self.open = 0
        self.most = 0

    async def start(self) -> int:
        self.server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        port: int = self.server.sockets[0].getsockname()[1]
        return port

    async def stop(self) -> None:
        self.server.close()
        await self.server.wait_closed()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        self.most = max(self.most, self.open)
        number = int(await reader.readline())
        await asyncio.sleep(0.005)
        writer.write(b"%d\n" % (2 * number))
        await writer.drain()
        self.open -= 1
        writer.close()


@pytest.fixture
def served() -> Iterator[tuple[Server, int]]:
    loop, server = EventLoop("server"), Server()
    yield server, loop.run(server.start())
    loop.run(server.stop())
    loop.close()


class Doubled(AsyncFunction):
    """Asks the server; notes (subtask, process) in a file when it is opened."""

    def __init__(self, port: int, opened: Path) -> None:
        self.port = port
        self.opened = opened

    def open(self, runtime_context: RuntimeContext) -> None:
        with self.opened.open("a") as file:
            file.write(f"{runtime_context.get_index_of_this_subtask()} {os.getpid()}\n")

    async def async_invoke(self, value: int) -> list[Any]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"%d\n" % value)
        answer = await reader.readline()
        writer.close()
        return [(value, int(answer))]


@pytest.mark.parametrize("ordered", [False, True])
def test_every_record_has_its_answer_and_the_client_is_made_once(
    environment: MakeEnvironment, served: tuple[Server, int], tmp_path: Path, ordered: bool
) -> None:
    server, port = served
    env = environment(2, epoch_records=100)
    wait = AsyncDataStream.ordered_wait if ordered else AsyncDataStream.unordered_wait
    stream = env.from_sequence(0, 1999).rebalance()
    answers = wait(stream, Doubled(port, tmp_path / "opened"), Time.seconds(60), 20)
    counted = answers.key_by(lambda answer: answer[0] % 10).map(lambda answer: answer)
    assert sorted(counted.execute_and_collect()) == [(v, 2 * v) for v in range(2000)]
    assert 2 < server.most <= 2 * 20
    opened = Counter((tmp_path / "opened").read_text().splitlines())
    assert {line.split()[0] for line in opened} == {"0", "1"}
    assert set(opened.values()) == {1}, f"opened twice in one place: {opened}"
