"""The sink keeps the contract, drivers that are killed included."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Row, Types
from firesteel.connectors.cassandra import log
from firesteel.connectors.cassandra.client import ClusterSettings
from firesteel.connectors.cassandra.log import LogOptions
from firesteel.connectors.cassandra.sink import CassandraRowSink
from firesteel.datastream.connectors.cassandra import ClusterBuilder
from firesteel.testing.connectors import KillPoint, SinkContract, SinkPromise
from firesteel.testing.connectors._writing import SinkRun
from tests.servers.cassandra.server import CassandraNode

PAIR = Types.ROW_NAMED(["id", "text"], [Types.LONG(), Types.STRING()])


class _IntoTable(SinkContract):
    type_info = PAIR

    @pytest.fixture(autouse=True)
    def _table(self, node: CassandraNode, keyspace: str, builder: ClusterBuilder) -> None:
        self.node = node
        self.builder = builder
        self.keyspace = keyspace
        node.run(f"CREATE TABLE {keyspace}.out (id bigint PRIMARY KEY, text text)")

    def make_sink(self, directory: Path) -> CassandraRowSink:
        query = f"INSERT INTO {self.keyspace}.out (id, text) VALUES (?, ?)"
        types = tuple(PAIR.get_field_types())
        return CassandraRowSink(query, types, ClusterSettings("127.0.0.1", self.node.port), log=self.log())

    def log(self) -> LogOptions | None:
        return None

    def record(self, number: int) -> Row:
        return Row(id=number, text=f"text {number} é")

    def read(self, directory: Path) -> list[Any]:
        rows = self.node.run(f"SELECT id, text FROM {self.keyspace}.out")
        return [Row(id=row.id, text=row.text) for row in rows]


@pytest.mark.row("S-CONN-08")
class TestSink(_IntoTable):
    promise = SinkPromise.UPSERT


@pytest.mark.row("S-CONN-08")
class TestSinkWithLog(_IntoTable):
    promise = SinkPromise.EXACTLY_ONCE

    def log(self) -> LogOptions:
        return LogOptions(self.builder.settings, self.keyspace)

    def test_what_has_a_marker_is_not_written_again(self, tmp_path: Path) -> None:
        """From this driver or the next, whatever has become of the rows since."""
        run = SinkRun(self.make_sink(tmp_path), tmp_path)
        staged = run.stage(1, [self.record(n) for n in range(4)])
        run.commit(staged)
        assert len(self.read(tmp_path)) == 4
        self.node.run(f"TRUNCATE {self.keyspace}.out")
        run.commit(staged)
        run.restart()
        run.recover(staged)
        run.commit(staged, recovered=True)
        assert self.read(tmp_path) == []

    def kill_points(self) -> Mapping[str, KillPoint]:
        return {
            "before anything is written": KillPoint(log.LogCommitter, "commit", True),
            "after the rows, before their marker": KillPoint(log._Markers, "add", True),
            "after the marker": KillPoint(log._Markers, "add", False),
        }
