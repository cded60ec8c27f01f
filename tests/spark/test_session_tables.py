"""Tables that the session of Spark knows, as a catalog of SQL; results as DataFrames."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.spark.session_tables import SessionTables
from firesteel.sql.catalog import CatalogError
from firesteel.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment
from firesteel.util.exceptions import TableException
from tests.spark.conftest import MakeEnvironment
from tests.spark.support import python, run

pytestmark = pytest.mark.spark

DAY = dt.date(2024, 2, 29)


@pytest.fixture
def shop(spark_session: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A database of Spark's with a table and a view."""
    spark = spark_session
    spark.sql(f"CREATE DATABASE shop LOCATION '{tmp_path / 'shop'}'")
    spark.sql(
        "CREATE TABLE shop.orders (id INT, `the customer` STRING, cents DECIMAL(10, 2), `at` TIMESTAMP, "
        "day DATE) USING parquet PARTITIONED BY (day)"
    )
    spark.sql(
        "INSERT INTO shop.orders SELECT id, CASE WHEN id % 5 > 0 THEN concat('c', id % 5) END, id + 0.25, "
        "timestamp_seconds(id), DATE'2024-02-28' + CAST(id % 3 AS INT) FROM range(20)"
    )
    spark.sql("CREATE VIEW shop.small AS SELECT id, day FROM shop.orders WHERE id < 4")
    yield "shop"
    spark.sql("DROP DATABASE shop CASCADE")


@pytest.fixture
def tables(environment: MakeEnvironment, shop: str) -> StreamTableEnvironment:
    made = StreamTableEnvironment.create(environment(2))
    made.execute_sql("CREATE CATALOG lake WITH ('type' = 'spark', 'default-database' = 'shop')")
    return made


def rows(tables: TableEnvironment, query: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in tables.execute_sql(query).collect())


@pytest.mark.row("S-CONN-06")
def test_a_catalog_shows_what_spark_has(tables: StreamTableEnvironment, spark_session: SparkSession) -> None:
    spark_session.range(1).createOrReplaceTempView("passing")
    tables.execute_sql("USE CATALOG lake")
    assert {"default", "shop"} <= set(tables.list_databases())
    assert (tables.get_current_database(), tables.list_tables()) == ("shop", ["orders", "small"])
    kinds = {row[0]: row[1] for row in tables.execute_sql("DESCRIBE orders").collect()}
    assert kinds == {
        "id": "INT",
        "the customer": "STRING",
        "cents": "DECIMAL(10, 2)",
        "at": "TIMESTAMP_LTZ(6)",
        "day": "DATE",
    }
    found = rows(
        tables, f"SELECT id, `the customer`, cents, `day` FROM orders WHERE `day` = DATE '{DAY}' AND id < 6"
    )
    assert found == [(1, "c1", Decimal("1.25"), DAY), (4, "c4", Decimal("4.25"), DAY)]
    assert rows(tables, "SELECT id FROM shop.small") == [(i,) for i in range(4)]
    spark_session.sql("DROP VIEW passing")


@pytest.mark.row("S-SPARK-09", "S-SQL-03")
def test_spark_runs_what_it_can_of_a_query(
    tables: StreamTableEnvironment, spark_session: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    frame = SessionTables.frame

    def remembered(self: SessionTables, name: str, columns: list[str], condition: str) -> object:
        made = frame(self, name, columns, condition)
        asked.append(made._jdf.queryExecution().explainString(_formatted(spark_session)))
        return made

    monkeypatch.setattr(SessionTables, "frame", remembered)
    query = (
        f"SELECT cents FROM lake.shop.orders WHERE `day` = DATE '{DAY}' AND id > 3 AND `the customer` = 'c1'"
    )
    assert rows(tables, query) == [(Decimal("16.25"),)]
    [plan] = asked
    assert "Python" not in plan
    assert "ArrowEval" not in plan
    assert "PartitionFilters: [isnotnull(day" in plan
    assert "GreaterThan(id,3)" in plan
    assert re.search(r"PushedFilters: .*EqualTo\(.?the customer.?,c1\)", plan)
    [read] = [line for line in plan.splitlines() if line.startswith("ReadSchema")]
    assert "at:" not in read
    assert "filter=[" in tables.explain_sql(query)


def _formatted(session: SparkSession) -> object:
    return session._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")  # type: ignore[union-attr]


def test_conditions_that_spark_would_judge_otherwise_stay(tables: StreamTableEnvironment) -> None:
    tables.execute_sql("USE CATALOG lake")
    assert rows(tables, "SELECT id FROM orders WHERE `the customer` <> 'c1' AND NOT (id < 17)") == [
        (17,),
        (18,),
        (19,),
    ]
    assert rows(tables, "SELECT id FROM orders WHERE id IN (3, 5) OR `the customer` IS NULL AND id > 9") == [
        *((3,), (5,), (10,), (15,))
    ]
    assert rows(tables, "SELECT id FROM orders WHERE id = 3 OR CHAR_LENGTH(`the customer`) > 2") == [(3,)]
    assert rows(tables, "SELECT COUNT(*) FROM small")[-1] == (4,)


def test_a_declared_table_is_that_of_spark(tables: StreamTableEnvironment) -> None:
    tables.execute_sql(
        "CREATE TABLE mine (id INT, w AS id * 2) WITH ('connector' = 'spark', 'table-name' = 'shop.small')"
    )
    assert rows(tables, "SELECT w FROM mine") == [(0,), (2,), (4,), (6,)]
    for column, where, message in (
        ("id BIGINT", "shop.small", "there it is INT"),
        ("nr INT", "shop.small", "no such column"),
        ("id INT", "shop.none", "Spark has no table shop.none"),
    ):
        tables.execute_sql("DROP TEMPORARY TABLE IF EXISTS other")
        tables.execute_sql(
            f"CREATE TEMPORARY TABLE other ({column}) WITH ('connector' = 'spark', 'table-name' = '{where}')"
        )
        with pytest.raises(TableException) as error:
            tables.execute_sql("SELECT * FROM other")
        assert message in str(error.value)


def test_what_the_catalog_refuses(tables: StreamTableEnvironment) -> None:
    for statement in (
        "CREATE TABLE lake.shop.t (a INT) WITH ('connector' = 'blackhole')",
        "DROP TABLE lake.shop.orders",
        "CREATE DATABASE lake.d",
    ):
        with pytest.raises(CatalogError, match="lake cannot"):
            tables.execute_sql(statement)
    with pytest.raises(TableException, match="can only be used as a source"):
        tables.execute_sql("INSERT INTO lake.shop.small VALUES (1, DATE '2024-01-01')")
    with pytest.raises(TableException, match="Unsupported options: metastore"):
        tables.execute_sql("CREATE CATALOG other WITH ('type' = 'spark', 'metastore' = 'x')")


@pytest.mark.row("S-CONN-18", "S-SPARK-09")
def test_a_result_is_a_data_frame(environment: MakeEnvironment, spark_session: SparkSession) -> None:
    tables = StreamTableEnvironment.create(environment(2), EnvironmentSettings.in_batch_mode())
    tables.get_config().set_local_timezone("UTC")
    frame = tables.sql_query(
        "SELECT k, COUNT(*) AS n, SUM(v) AS s, CAST(MAX(v) AS DECIMAL(9, 3)) AS d, ARRAY[k, 'x'] AS parts, "
        "MAP[k, 1] AS m, ROW(k, 2) AS r, DATE '2024-02-29' AS dd, "
        "TIMESTAMP '2024-02-29 12:00:00.123456' AS ts, "
        "CAST(TIMESTAMP '2024-02-29 12:00:00.123456' AS TIMESTAMP_LTZ(6)) AS i, X'00ff' AS b, k = 'a' AS yes "
        "FROM (VALUES ('a', 1), ('b', 2), ('a', 3)) AS t (k, v) GROUP BY k"
    ).to_spark()
    assert frame.dtypes == [
        *(("k", "string"), ("n", "bigint"), ("s", "int"), ("d", "decimal(9,3)"), ("parts", "array<string>")),
        *(("m", "map<string,int>"), ("r", "struct<EXPR$0:string,EXPR$1:int>"), ("dd", "date")),
        *(("ts", "timestamp_ntz"), ("i", "timestamp"), ("b", "binary"), ("yes", "boolean")),
    ]
    first, second = frame.sort("k").collect()
    at = dt.datetime(2024, 2, 29, 12, 0, 0, 123456)
    assert tuple(first)[:6] == ("a", 2, 4, Decimal(3), ["a", "x"], {"a": 1})
    assert (tuple(first.r), first.dd, first.ts, bytes(first.b), first.yes) == (
        ("a", 2),
        DAY,
        at,
        b"\0\xff",
        True,
    )
    assert first.i.timestamp() == at.replace(tzinfo=dt.UTC).timestamp()
    assert (second.k, second.n, second.yes) == ("b", 1, False)
    again = tables.from_spark(frame.where("n > 1"))
    assert [tuple(row) for row in again.select(again.k, again.s).execute().collect()] == [("a", 4)]
    empty = tables.sql_query("SELECT k FROM (VALUES ('a')) AS t (k) WHERE k = 'b'").to_spark()
    assert (empty.dtypes, empty.count()) == ([("k", "string")], 0)


def test_what_cannot_be_a_data_frame(environment: MakeEnvironment) -> None:
    tables = StreamTableEnvironment.create(environment(2))
    for expression, message in (
        ("LOCALTIME", "cast it to STRING"),
        ("INTERVAL '1' DAY", "cast it to STRING"),
        ("CAST(LOCALTIMESTAMP AS TIMESTAMP(9))", r"TIMESTAMP\(6\)"),
        ("1 AS a, 2 AS A", "for one"),
    ):
        with pytest.raises(TableException, match=message):
            tables.sql_query(f"SELECT {expression}").to_spark()
    changing = tables.sql_query("SELECT k, COUNT(*) FROM (VALUES ('a')) AS t (k) GROUP BY k")
    with pytest.raises(TableException, match=r"update changes(.|\n)*batch mode"):
        changing.to_spark()
    tables.execute_sql("CREATE TABLE endless (a INT) WITH ('connector' = 'datagen')")
    with pytest.raises(UnsupportedFeatureError, match="bounded"):
        tables.from_path("endless").to_spark()
    assert (
        tables.sql_query("SELECT 1 AS a").to_spark().collect()[0].a == 1
    )  # nothing of it stays in the program


@pytest.mark.row("S-CONN-06")
def test_tables_of_hive(tmp_path: Path) -> None:
    done = run(python("hive.py"), tmp_path)
    assert done.code == 0, done.err
    said = json.loads(done.lines[-1])
    assert said["provider"] == "hive"
    assert said["databases"] == ["default", "shop"]
    assert said["tables"] == ["orders", "totals"]
    assert said["described"] == [
        ["id", "INT"],
        ["customer", "STRING"],
        ["cents", "BIGINT"],
        ["day", "STRING"],
    ]
    assert said["query"] == [["c0", 2, 6], ["c1", 1, 4], ["c2", 2, 10]]
    assert said["totals"] == said["query"]
    assert said["streamed"] == [[i, f"c{i % 3}"] for i in range(10)]
