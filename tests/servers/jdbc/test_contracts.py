"""The JDBC connectors keep the contract, drivers that are killed included."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Row, Types
from firesteel.connectors.jdbc import sink as jdbc_sink
from firesteel.datastream.connectors.jdbc import (
    JdbcExecutionOptions,
    JdbcNumericBetweenParametersProvider,
    JdbcSink,
    JdbcSource,
    insert_statement,
    upsert_statement,
)
from firesteel.testing.connectors import KillPoint, SinkContract, SinkPromise, SourceContract

from .conftest import Target

NAMES = ["id", "text"]
ROW = Types.ROW_NAMED(NAMES, [Types.LONG(), Types.STRING()])


class _IntoTable(SinkContract):
    type_info = ROW
    target: Target

    @pytest.fixture(autouse=True)
    def _table(self, target: Target) -> None:
        self.target = target
        key = " PRIMARY KEY" if self.promise is SinkPromise.UPSERT else ""
        target.run(f"CREATE TABLE out (id BIGINT{key}, text TEXT)")

    def record(self, number: int) -> Row:
        return Row(id=number, text=f"text {number} é")

    def read(self, directory: Path) -> list[Any]:
        return [Row(id=n, text=t) for n, t in self.target.run("SELECT id, text FROM out")]


@pytest.mark.row("S-CONN-05")
class TestExactlyOnceSink(_IntoTable):
    def make_sink(self, directory: Path) -> JdbcSink:
        return JdbcSink.exactly_once_sink(insert_statement("out", NAMES), ROW, self.target.connection)

    def kill_points(self) -> Mapping[str, KillPoint]:
        rows = jdbc_sink._MarkedRows
        return {
            "before the transaction of a subtask": KillPoint(rows, "__call__", True),
            "between a marker and its rows": KillPoint(jdbc_sink, "loads_block", True),
            "in the transaction, before it ends": KillPoint(rows, "_write", False),
            "after the transaction of a subtask": KillPoint(rows, "__call__", False),
        }


class TestExactlyOnceSinkWithLargeRows(TestExactlyOnceSink):
    """What a task stages is in a file of the job's, which the next driver must find."""

    @pytest.fixture
    def target(self, sqlite: Target) -> Target:
        return sqlite

    def record(self, number: int) -> Row:
        return Row(id=number, text=f"text {number} " + "x" * 70_000)


@pytest.mark.row("S-SINK-13")
class TestUpsertSink(_IntoTable):
    promise = SinkPromise.UPSERT

    def make_sink(self, directory: Path) -> JdbcSink:
        sql = upsert_statement("out", NAMES, ["id"])
        batches = JdbcExecutionOptions.builder().with_batch_size(3).build()
        return JdbcSink.sink(sql, ROW, self.target.connection, batches)


class TestAppendingSink(_IntoTable):
    promise = SinkPromise.AT_LEAST_ONCE

    @pytest.fixture
    def target(self, sqlite: Target) -> Target:
        """One of them will do: the upsert runs through the same lines."""
        return sqlite

    def make_sink(self, directory: Path) -> JdbcSink:
        return JdbcSink.sink(insert_statement("out", NAMES), ROW, self.target.connection)


class TestSource(SourceContract):
    """In three partitions; some rows are equal, and some have no text."""

    target: Target

    @pytest.fixture(autouse=True)
    def _table(self, target: Target) -> None:
        self.target = target
        target.run("CREATE TABLE journal (id BIGINT, text TEXT)")

    def produce(self, directory: Path, portion: int) -> list[Any]:
        rows = [(n // 2, None if n % 7 == 0 else f"text {n % 3}") for n in range(40)]
        with closing(self.target.connect()) as db:
            for id_, text in rows:
                value = "NULL" if text is None else f"'{text}'"
                db.execute(f"INSERT INTO journal VALUES ({id_}, {value})")
        return [Row(id=id_, text=text) for id_, text in rows]

    def make_source(self, directory: Path) -> Any:
        options = self.target.options
        builder = JdbcSource.builder().set_sql("SELECT id, text FROM journal WHERE id BETWEEN ? AND ?")
        builder.set_type_information(ROW).set_db_url(options.url)
        if options.user is not None and options.password is not None:
            builder.set_username(options.user).set_password(options.password)
        provider = JdbcNumericBetweenParametersProvider(0, 19).of_batch_num(3)
        return builder.set_jdbc_parameter_values_provider(provider).build()
