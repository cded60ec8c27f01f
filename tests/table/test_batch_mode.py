"""Batch mode: a query of bounded input gives its final rows, and only these."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Row, RowKind
from firesteel.common.typeinfo import Types
from firesteel.table import EnvironmentSettings, StreamTableEnvironment
from firesteel.util.exceptions import TableException
from tests.runtime.support import environment, local_platform
from tests.table.support import batch_tables, changes, kept, rows, stream_of, tables

_X = "(VALUES (1), (2), (1)) AS a(x)"
_Y = "(VALUES (2, 'q'), (3, 'r'), (2, 's')) AS b(x, y)"
_COUNTED = f"(SELECT x, COUNT(*) AS n FROM {_X} GROUP BY x)"

QUERIES = [
    f"SELECT a.x, b.y FROM {_X} LEFT JOIN {_Y} ON a.x = b.x",
    f"SELECT a.x, b.y FROM {_X} FULL JOIN {_Y} ON a.x = b.x",
    f"SELECT x FROM {_X} WHERE x NOT IN (SELECT x FROM {_Y})",
    f"SELECT n, COUNT(*) FROM {_COUNTED} AS c GROUP BY n",
    f"SELECT c.x, c.n, d.n FROM {_COUNTED} AS c LEFT JOIN {_COUNTED} AS d ON c.n = d.x",
    "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY x ORDER BY y DESC) AS rn "
    f"FROM {_Y}) WHERE rn <= 1",
    f"SELECT x FROM {_X} INTERSECT ALL SELECT x FROM {_Y}",
    f"SELECT x FROM {_X} EXCEPT SELECT x FROM {_Y}",
    f"SELECT DISTINCT x FROM {_X}",
]


@pytest.mark.row("S-SQL-37")
@pytest.mark.parametrize("query", QUERIES)
def test_the_final_rows_are_those_that_a_stream_leaves(query: str) -> None:
    with batch_tables() as t:
        found = changes(t.execute_sql(query))
        assert all(change.startswith("+I") for change in found)
        given = kept(t.execute_sql(query))
    with tables() as t:
        assert kept(t.execute_sql(query)) == given


def test_what_streams_refuse_has_an_end_in_batch_mode() -> None:
    with batch_tables() as t:
        assert rows(t.execute_sql(f"SELECT x FROM {_X} ORDER BY x DESC")) == [(2,), (1,), (1,)]
        ranked = t.execute_sql(f"SELECT y, RANK() OVER (ORDER BY x) FROM {_Y}")
        assert kept(ranked) == [("q", 1), ("r", 3), ("s", 1)]
        summed = t.execute_sql(f"SELECT x, SUM(n) OVER (ORDER BY x) FROM {_COUNTED} AS c")
        assert kept(summed) == [(1, 2), (2, 3)]


def test_changes_are_no_input_of_batch_mode() -> None:
    with local_platform():
        t = StreamTableEnvironment.create(environment(1), EnvironmentSettings.in_batch_mode())
        given: list[Any] = [Row.of_kind(RowKind.INSERT, 1), Row.of_kind(RowKind.DELETE, 1)]
        table = t.from_changelog_stream(stream_of(t, given, Types.ROW_NAMED(["x"], [Types.INT()])))
        with pytest.raises(TableException, match="only possible for INSERT-only table sources"):
            table.execute()


def test_different_values_are_counted_by_approximation_too() -> None:
    with batch_tables() as t:
        query = "SELECT APPROX_COUNT_DISTINCT(a) FROM (VALUES (1), (2), (2)) AS t(a)"
        assert rows(t.sql_query(query)) == [(2,)]
