"""The program of docs/cassandra.md."""

from __future__ import annotations

import pytest

from docs.drawing.pages import DOCS, examples
from firesteel.testing import MiniCluster
from tests.servers.cassandra.server import CassandraNode


def test_the_program_prints_what_its_page_says(
    node: CassandraNode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (example,) = examples(DOCS / "cassandra.md")
    monkeypatch.setenv("CASSANDRA_PORT", str(node.port))
    replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    node.run(f"CREATE KEYSPACE example WITH replication = {replication}")
    node.run("CREATE TABLE example.counts (word text PRIMARY KEY, n bigint)")
    with MiniCluster.in_process():
        exec(compile(example.code, f"{example.name}.py", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == example.output
    found = {row.word: row.n for row in node.run("SELECT word, n FROM example.counts")}
    assert found == {"to": 2, "be": 2, "or": 1, "not": 1}
