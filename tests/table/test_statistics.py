"""Statistics: ANALYZE TABLE counts, catalogs keep, and the planner puts joins into another order by them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from firesteel.common.errors import FiresteelError
from firesteel.table import TableEnvironment
from firesteel.table.catalog import (
    CatalogColumnStatistics,
    CatalogPartitionSpec,
    CatalogTableStatistics,
    ColumnStatistics,
    ObjectPath,
)
from tests.table.support import batch_tables, files, tables

REORDER = "table.optimizer.join-reorder-enabled"


@pytest.fixture
def batch() -> Iterator[TableEnvironment]:
    with batch_tables() as env:
        yield env


def path(name: str) -> ObjectPath:
    return ObjectPath("default_database", name)


def catalog(env: TableEnvironment):  # type: ignore[no-untyped-def]
    found = env.get_catalog("default_catalog")
    assert found is not None
    return found


def fill(env: TableEnvironment, place: Path, name: str, columns: str, values: str, more: str = "") -> None:
    env.execute_sql(f"CREATE TABLE {name} ({columns}) {more} {files(place / name, 'json')}")
    env.execute_sql(f"INSERT INTO {name} VALUES {values}").wait()


@pytest.mark.row("S-SQL-03")
def test_a_table_is_counted(batch: TableEnvironment, tmp_path: Path) -> None:
    columns = "a INT, s STRING, d DECIMAL(5, 2), `day` DATE, m MAP<STRING, INT>, twice AS a * 2"
    some, other = "DATE '2024-02-01', MAP['k', 1]", "DATE '2024-03-01', MAP['k', 1]"
    fill(
        batch,
        tmp_path,
        "t",
        columns,
        f"(1, 'x', 1.5, {some}), (2, 'x', 2.5, {other}), (CAST(NULL AS INT), 'y', 0.5, {some})",
    )
    batch.execute_sql("ANALYZE TABLE t COMPUTE STATISTICS")
    assert catalog(batch).get_table_statistics(path("t")).get_row_count() == 3
    assert catalog(batch).get_table_column_statistics(path("t")).get_column_statistics_data() == {}
    batch.execute_sql("ANALYZE TABLE t COMPUTE STATISTICS FOR ALL COLUMNS")
    assert catalog(batch).get_table_column_statistics(path("t")).get_column_statistics_data() == {
        "a": ColumnStatistics(2, 1, 1, 2),
        "s": ColumnStatistics(2, 0),
        "d": ColumnStatistics(3, 0, Decimal("0.50"), Decimal("2.50")),
        "day": ColumnStatistics(2, 0, dt.date(2024, 2, 1), dt.date(2024, 3, 1)),
        "m": ColumnStatistics(None, 0),
    }
    batch.execute_sql("INSERT INTO t VALUES (7, 'z', 9.5, DATE '2024-04-01', MAP['k', 1])").wait()
    batch.execute_sql("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a")
    found = catalog(batch).get_table_column_statistics(path("t")).get_column_statistics_data()
    assert (found["a"], found["s"]) == (ColumnStatistics(3, 1, 1, 7), ColumnStatistics(2, 0)), "others stay"
    with pytest.raises(FiresteelError, match="twice is a computed column, ANALYZE TABLE does not support"):
        batch.execute_sql("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS twice")
    batch.execute_sql("ALTER TABLE t RENAME TO u")
    assert catalog(batch).get_table_statistics(path("u")).get_row_count() == 4
    batch.execute_sql("DROP TABLE u")
    batch.execute_sql(f"CREATE TABLE u (a INT) {files(tmp_path, 'json')}")
    assert catalog(batch).get_table_statistics(path("u")).get_row_count() == -1


def test_partitions_are_counted_by_themselves(batch: TableEnvironment, tmp_path: Path) -> None:
    fill(batch, tmp_path, "p", "a INT, k STRING", "(1, 'x'), (2, 'x'), (5, 'y')", "PARTITIONED BY (k)")
    batch.execute_sql("ANALYZE TABLE p PARTITION (k = 'y') COMPUTE STATISTICS FOR COLUMNS a")
    assert catalog(batch).get_table_statistics(path("p")).get_row_count() == 1
    batch.execute_sql("ANALYZE TABLE p PARTITION (k) COMPUTE STATISTICS FOR COLUMNS a")
    assert catalog(batch).get_table_statistics(path("p")).get_row_count() == 3
    together = catalog(batch).get_table_column_statistics(path("p")).get_column_statistics_data()
    assert together == {"a": ColumnStatistics(2, 0, 1, 5)}  # at least as many as in one of them
    batch.execute_sql("ALTER TABLE p ADD PARTITION (k = 'x')")
    x = CatalogPartitionSpec({"k": "x"})
    assert catalog(batch).get_partition_statistics(path("p"), x).get_row_count() == 2
    of_x = catalog(batch).get_partition_column_statistics(path("p"), x).get_column_statistics_data()
    assert of_x == {"a": ColumnStatistics(2, 0, 1, 2)}


JOINED = (
    "SELECT s.n, i.name, t.land FROM sales AS s JOIN items AS i ON s.item = i.item "
    "JOIN towns AS t ON s.town = t.town WHERE t.land = 'NZ'"
)


def joined(env: TableEnvironment) -> list[str]:
    """The tables in the order in which EXPLAIN has them."""
    plan = env.explain_sql(JOINED).partition("== Optimized")[2]
    return re.findall(r"default_database, (\w+)", plan.partition("== Optimized Execution")[0] or plan)


@pytest.mark.row("S-SQL-03")
def test_joins_follow_what_was_counted(batch: TableEnvironment, tmp_path: Path) -> None:
    sales = ", ".join(f"({n}, {n % 50}, {n % 20})" for n in range(300))
    fill(batch, tmp_path, "sales", "n INT, item INT, town INT", sales)
    fill(batch, tmp_path, "items", "item INT, name STRING", ", ".join(f"({n}, 'i{n}')" for n in range(50)))
    lands = ", ".join(f"({n}, '{'NZ' if n == 7 else 'AU'}')" for n in range(20))
    fill(batch, tmp_path, "towns", "town INT, land STRING", lands)
    written = joined(batch)
    assert written[:3] == ["sales", "items", "towns"]
    batch.get_config().set(REORDER, "true")
    assert joined(batch) == written, "nothing is known yet"
    for name in ("sales", "items", "towns"):
        batch.execute_sql(f"ANALYZE TABLE {name} COMPUTE STATISTICS FOR ALL COLUMNS")
    assert joined(batch)[:3] == ["sales", "towns", "items"]
    with batch.execute_sql(JOINED).collect() as rows:
        found = sorted(tuple(row) for row in rows)
    assert found == sorted((n, f"i{n % 50}", "NZ") for n in range(300) if n % 20 == 7)


def test_of_a_stream_somebody_says_it() -> None:
    """It cannot be counted; results are the same, whatever is said."""
    with tables() as env:
        env.get_config().set(REORDER, "true")
        for name, columns in (
            ("sales", "n INT, item INT, town INT"),
            ("items", "item INT, name STRING"),
            ("towns", "town INT, land STRING"),
        ):
            env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'datagen')")
        written = joined(env)
        for name, rows in (("sales", 10**9), ("items", 10**6), ("towns", 100)):
            said = CatalogTableStatistics(rows)
            catalog(env).alter_table_statistics(path(name), said, ignore_if_not_exists=False)
        columns = CatalogColumnStatistics({"land": ColumnStatistics(distinct=50)})
        catalog(env).alter_table_column_statistics(path("towns"), columns, ignore_if_not_exists=False)
        assert catalog(env).get_table_statistics(path("towns")).get_row_count() == 100
        assert written[:3] == ["sales", "items", "towns"]
        assert joined(env)[:3] == ["sales", "towns", "items"]
        catalog(env).alter_table_statistics(path("none"), CatalogTableStatistics(1), True)
        with pytest.raises(FiresteelError, match="none"):
            catalog(env).alter_table_statistics(path("none"), CatalogTableStatistics(1), False)
        wrong = CatalogColumnStatistics({"land": 50})
        with pytest.raises(FiresteelError, match="The statistics of the column land are a int"):
            catalog(env).alter_table_column_statistics(path("towns"), wrong, False)
