"""Looks up rows of a table for the elements of a stream."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from firesteel.common.types import Row, _make_row
from firesteel.connectors.jdbc.connections import RETRY_S
from firesteel.connectors.jdbc.databases import Database, database_of
from firesteel.connectors.jdbc.options import ConnectionOptions
from firesteel.connectors.jdbc.statements import parse


@dataclass(frozen=True, slots=True)
class LookupOptions:
    """:param connections: number of concurrent queries in a subtask."""

    max_retries: int = 3
    connections: int = 4


class LookupClient:
    """Runs one query with many keys over pooled connections. Used from one event loop."""

    def __init__(self, query: str, connection: ConnectionOptions, options: LookupOptions) -> None:
        self._database: Database = database_of(connection)
        self._query = parse(query)
        self._sql = self._database.sql(self._query)
        self._options = options
        self._free: queue.SimpleQueue[Any] = queue.SimpleQueue()  # idle connections, for any thread
        self._threads = ThreadPoolExecutor(options.connections, "firesteel-jdbc-lookup")

    async def check(self) -> None:
        """:raises FiresteelError: the database cannot be reached or rejects the query."""
        await asyncio.get_running_loop().run_in_executor(self._threads, self._check)

    def _check(self) -> None:
        connection = self._database.connect()
        try:
            self._database.check(connection, self._query)
        except BaseException:
            connection.close()
            raise
        self._free.put(connection)

    async def rows(self, key: Sequence[Any]) -> list[Row]:
        for retry in range(self._options.max_retries + 1):
            try:
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._threads, self._ask, tuple(key))
            except Exception as e:
                if retry == self._options.max_retries or not self._database.is_transient(e):
                    raise
                await asyncio.sleep(RETRY_S * 2**retry)
        raise AssertionError("unreachable")

    def _ask(self, key: tuple[Any, ...]) -> list[Row]:
        try:
            connection = self._free.get_nowait()
        except queue.Empty:
            connection = self._database.connect()
        try:
            cursor = connection.execute(self._sql, key)
            names = [column[0] for column in cursor.description]
            rows = [_make_row(list(row), names) for row in cursor.fetchall()]
        except BaseException:
            connection.close()
            raise
        self._free.put(connection)
        return rows

    def close(self) -> None:
        self._threads.shutdown()
        while not self._free.empty():
            self._free.get().close()
