"""A table of which several parts of a job read other columns is read once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from firesteel.table import StreamTableEnvironment
from tests.table.support import kept, tables

ROWS = [
    (1, 10, "x", "2024-01-01 00:00:01"),
    (2, 20, "y", "2024-01-01 00:00:02"),
    (1, 30, "z", "2024-01-01 00:00:13"),
]


@pytest.fixture
def t(tmp_path: Path) -> Iterator[StreamTableEnvironment]:
    (tmp_path / "a.csv").write_text("".join(f"{a},{b},{c},{ts}\n" for a, b, c, ts in ROWS))
    with tables() as made:
        made.execute_sql(
            "CREATE TABLE a (a INT, b INT, c STRING, ts TIMESTAMP(3), d AS a + b, "
            "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) "
            f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/a.csv', 'format' = 'csv')"
        )
        for name, columns in {"p": "a INT, d INT", "q": "c STRING", "r": "a INT, n BIGINT"}.items():
            made.execute_sql(
                f"CREATE TABLE {name} ({columns}) "
                f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}/{name}', 'format' = 'csv')"
            )
        yield made


INSERTS = ("INSERT INTO p SELECT a, d FROM a WHERE b > 10", "INSERT INTO q SELECT c FROM a")


def execution_plan(t: StreamTableEnvironment, *inserts: str) -> str:
    several = t.create_statement_set()
    for insert in inserts:
        several.add_insert_sql(insert)
    return several.explain().split("== Optimized Execution Plan ==")[1]


def scans(plan: str) -> list[str]:
    return re.findall(r"TableSourceScan\(.*", plan)


def test_the_inserts_of_a_job_read_a_table_once(t: StreamTableEnvironment) -> None:
    [scan] = scans(execution_plan(t, *INSERTS))
    assert "fields=[a, b, c, ts]" in scan
    assert "(reuse_id=[1])" in scan
    assert "Reused(reference_id=[1])" in execution_plan(t, *INSERTS)


def test_the_columns_of_one_may_be_those_of_all(t: StreamTableEnvironment) -> None:
    plan = execution_plan(t, "INSERT INTO q SELECT c FROM a WHERE a > 0 AND b > 0", INSERTS[1])
    assert len(scans(plan)) == 1
    assert "project=[" not in plan.split("+- TableSourceScan")[0]


def test_each_insert_gets_its_rows(t: StreamTableEnvironment, tmp_path: Path) -> None:
    several = t.create_statement_set()
    for insert in INSERTS:
        several.add_insert_sql(insert)
    several.execute().wait()
    found = {
        name: sorted(
            line
            for part in (tmp_path / name).rglob("*")
            if part.is_file() and not part.name.startswith(".")
            for line in part.read_text().splitlines()
        )
        for name in ("p", "q")
    }
    assert found == {"p": ["1,31", "2,22"], "q": ["x", "y", "z"]}


def test_a_table_beside_itself(t: StreamTableEnvironment) -> None:
    query = (
        "SELECT x.c, y.n FROM a AS x JOIN (SELECT a, COUNT(*) AS n, window_end AS e FROM "
        "TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '10' SECOND)) "
        "GROUP BY a, window_start, window_end) AS y ON x.a = y.a AND x.ts < y.e"
    )
    assert len(scans(t.explain_sql(query).split("== Optimized Execution Plan ==")[1])) == 1
    assert sorted(kept(t.sql_query(query))) == [("x", 1), ("x", 1), ("y", 1), ("z", 1)]


@pytest.mark.parametrize(
    "key", ["table.optimizer.reuse-source-enabled", "table.optimizer.reuse-sub-plan-enabled"]
)
def test_it_can_be_switched_off(t: StreamTableEnvironment, key: str) -> None:
    t.get_config().set(key, "false")
    assert len(scans(execution_plan(t, *INSERTS))) == 2


def test_other_options_are_another_table(t: StreamTableEnvironment) -> None:
    hint = "/*+ OPTIONS('csv.ignore-parse-errors' = 'true') */"
    assert len(scans(execution_plan(t, INSERTS[0], f"INSERT INTO q SELECT c FROM a {hint}"))) == 2


def test_what_inserts_compute_alike_is_computed_once(t: StreamTableEnvironment) -> None:
    count = "INSERT INTO r SELECT a, COUNT(*) FROM a GROUP BY a"
    t.execute_sql("CREATE TABLE s (a INT, n BIGINT) WITH ('connector' = 'blackhole')")
    t.execute_sql("CREATE TABLE u (a INT, n BIGINT) WITH ('connector' = 'blackhole')")
    plan = execution_plan(t, count.replace("INTO r", "INTO s"), count.replace("INTO r", "INTO u"))
    assert plan.count("GroupAggregate(") == 1


def test_a_watermark_that_the_source_makes_is_kept(t: StreamTableEnvironment) -> None:
    """Its text too, by which scans with it are told from others."""
    t.execute_sql(
        "CREATE TABLE k (a INT, b INT, c STRING, ts TIMESTAMP(3), "
        "WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'kafka', 'topic' = 'k', "
        "'properties.bootstrap.servers' = 'h:1', 'format' = 'json', 'scan.startup.mode' = 'earliest-offset')"
    )
    plan = execution_plan(t, "INSERT INTO p SELECT a, b FROM k", "INSERT INTO q SELECT c FROM k")
    [scan] = scans(plan)
    assert "fields=[a, b, c, ts]" in scan
    assert "watermark=[-(ts, 1000:INTERVAL SECOND)]" in scan
