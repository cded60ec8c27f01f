"""The databases of these tests: PostgreSQL, one server for all, and SQLite."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from firesteel.connectors.jdbc.options import ConnectionOptions
from firesteel.datastream.connectors.jdbc import JdbcConnectionOptions
from tests.servers.jdbc.server import PASSWORD, USER, Server, running

_numbers = itertools.count()


@dataclass(frozen=True)
class Target:
    """An empty database."""

    kind: str
    options: ConnectionOptions
    server: Server | None = None
    name: str = ""

    @property
    def connection(self) -> JdbcConnectionOptions:
        return JdbcConnectionOptions(self.options)

    def connect(self) -> Any:
        if self.server is not None:
            return self.server.connect(self.name)
        return sqlite3.connect(self.options.url.removeprefix("jdbc:sqlite:"), isolation_level=None)

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        with closing(self.connect()) as db:
            cursor = db.execute(sql)
            return [] if cursor.description is None else cursor.fetchall()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("postgres")) as found:
        yield found


@pytest.fixture
def postgres(server: Server) -> Target:
    """A new database of the server."""
    name = f"test_{next(_numbers)}"
    with server.connect() as db:
        db.execute(f"CREATE DATABASE {name} STRATEGY file_copy")
    return Target("postgresql", ConnectionOptions(server.url(name), None, USER, PASSWORD), server, name)


@pytest.fixture
def sqlite(tmp_path: Path) -> Target:
    path = tmp_path / "test.db"
    sqlite3.connect(path).close()
    return Target("sqlite", ConnectionOptions(f"jdbc:sqlite:{path}"))


@pytest.fixture(params=["postgres", "sqlite"])
def target(request: pytest.FixtureRequest) -> Target:
    found: Target = request.getfixturevalue(request.param)
    return found
