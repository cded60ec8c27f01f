"""What follows an operator with one subtask has one, too, until rows are exchanged by keys."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from firesteel.datastream import StreamExecutionEnvironment
from firesteel.graph.job_graph import create_job_graph
from firesteel.graph.levels import plan_levels
from firesteel.table import StreamTableEnvironment
from tests.table.support import tables

COUNT = "SELECT COUNT(*) AS n FROM a"
LEVELS = {
    "to the sink": ("INSERT INTO o SELECT n + 1 FROM (" + COUNT + ")", [3, 1]),
    "gathered again": ("INSERT INTO o SELECT MAX(n) FROM (" + COUNT + ")", [3, 1]),
    "not straight from sources": (
        "INSERT INTO o SELECT v.x FROM (VALUES (1)) AS v (x) CROSS JOIN (" + COUNT + ")",
        [3, 1],
    ),
    "until there are keys again": (
        "INSERT INTO o SELECT COUNT(*) FROM (" + COUNT + ") GROUP BY MOD(n, 3)",
        [3, 1, 3],
    ),
    "unless the sink says": ("INSERT INTO two SELECT n FROM (" + COUNT + ")", [3, 1, 2]),
}


@pytest.fixture
def t() -> Iterator[StreamTableEnvironment]:
    with tables(3) as made:
        made.execute_sql("CREATE TABLE a (k INT) WITH ('connector' = 'datagen')")
        for name, more in {"o": "", "two": ", 'sink.parallelism' = '2'"}.items():
            made.execute_sql(f"CREATE TABLE {name} (n BIGINT) WITH ('connector' = 'blackhole'{more})")
        yield made


@pytest.mark.parametrize("case", LEVELS)
def test_how_many_subtasks_a_level_has(t: StreamTableEnvironment, case: str) -> None:
    statement, expected = LEVELS[case]
    several = t.create_statement_set()
    several.add_insert_sql(statement)
    several.attach_as_datastream()
    plan = plan_levels(create_job_graph(environment_of(t).get_stream_graph()))
    assert [level.parallelism for level in plan.levels] == expected


def environment_of(t: StreamTableEnvironment) -> StreamExecutionEnvironment:
    env: StreamExecutionEnvironment = t._session.environment
    return env


@pytest.mark.row("S-SQL-09")
def test_changes_stay_in_order_on_their_way_to_a_stream() -> None:
    with tables(3) as t:
        numbers = ", ".join(f"({n})" for n in range(50))
        counted = t.sql_query(f"SELECT COUNT(*) AS n FROM (VALUES {numbers}) AS v (x)")
        stream = t.to_changelog_stream(counted)
        found = [row[0] for row in stream.execute_and_collect()]
    assert found == sorted(found)
    assert found[-1] == 50
