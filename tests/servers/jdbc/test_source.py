from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.connectors.base import ReadRange, Split
from firesteel.connectors.jdbc.databases import Postgres, Sqlite
from firesteel.connectors.jdbc.source import JdbcQuerySource
from firesteel.datastream.connectors.jdbc import JdbcNumericBetweenParametersProvider
from firesteel.testing.connectors import SourceRun, chunks_of
from firesteel.testing.connectors._reading import BYTES

from .conftest import Target

ROW = Types.ROW_NAMED(["id", "text"], [Types.LONG(), Types.STRING()])
QUERY = "SELECT id, text FROM journal"


def fill(target: Target, count: int) -> None:
    with closing(target.connect()) as db:
        db.execute("CREATE TABLE journal (id BIGINT, text TEXT)")
        for start in range(0, count, 500):
            values = ", ".join(f"({n}, 'text {n}')" for n in range(start, min(start + 500, count)))
            db.execute(f"INSERT INTO journal VALUES {values}")


@pytest.mark.row("S-CONN-05")
def test_the_order_is_that_of_the_content_not_of_the_table(target: Target) -> None:
    """PostgreSQL puts a row elsewhere when it is updated, be it with what it held before."""
    fill(target, 30)
    source = JdbcQuerySource(QUERY, ROW, target.options)
    split = Split("partition-0", ())
    first = chunks_of(source, ReadRange(split, None, 10, BYTES))
    target.run("UPDATE journal SET text = text WHERE id < 5")
    rest = chunks_of(source, ReadRange(split, first[-1].position, 100, BYTES))
    found = [row.id for chunk in (*first, *rest) for row in chunk.values]
    assert found == list(range(30))


def test_a_reader_goes_on_where_it_stands(target: Target, tmp_path: Any, monkeypatch: Any) -> None:
    """One query for a split, however many epochs read it, and none that holds it all in memory."""
    fill(target, 5_000)
    source = JdbcQuerySource(
        QUERY + " WHERE id BETWEEN ? AND ?", ROW, target.options, ((0, 2499), (2500, 4999))
    )
    queries: list[str] = []
    for kind in (Postgres, Sqlite):
        rows = kind.rows

        def counted(self: Any, connection: Any, query: str, *args: Any, rows: Any = rows) -> Any:
            queries.append(query)
            return rows(self, connection, query, *args)

        monkeypatch.setattr(kind, "rows", counted)
    with SourceRun(source, tmp_path, 2) as run:
        run.read(max_records=300)
    assert sorted(row.id for row in run.values) == list(range(5_000))
    assert len(queries) == 2


def test_partitions_without_rows_and_bounds_that_leave_some_out(target: Target, tmp_path: Any) -> None:
    fill(target, 10)
    ranges = JdbcNumericBetweenParametersProvider(3, 40).of_batch_num(4).get_parameter_values()
    source = JdbcQuerySource(
        QUERY + " WHERE id BETWEEN ? AND ?", ROW, target.options, tuple(map(tuple, ranges))
    )
    with SourceRun(source, tmp_path, 2) as run:
        run.read()
    assert sorted(row.id for row in run.values) == list(range(3, 10))
    assert len(run.splits) == 4
