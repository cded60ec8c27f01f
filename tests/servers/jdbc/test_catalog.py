"""The databases of a server as a catalog."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal

import pytest

from firesteel.common.errors import FiresteelError
from firesteel.common.time import Instant
from firesteel.table import StreamTableEnvironment
from firesteel.table.catalog import JdbcCatalog, ObjectPath
from tests.servers.jdbc.conftest import Target
from tests.servers.jdbc.server import PASSWORD, USER
from tests.table.support import kept, rows, tables


def created(postgres: Target, **options: str) -> str:
    assert postgres.server is not None
    given = {
        "type": "jdbc",
        "default-database": postgres.name,
        "username": USER,
        "password": PASSWORD.replace("'", "''"),
        "base-url": postgres.server.url(""),
    }
    given |= {key.replace("_", "-"): value for key, value in options.items()}
    return "CREATE CATALOG pg WITH (" + ", ".join(f"'{k}' = '{v}'" for k, v in given.items() if v) + ")"


@pytest.fixture
def t(postgres: Target) -> Iterator[StreamTableEnvironment]:
    with tables() as made:
        made.execute_sql(created(postgres))
        made.execute_sql("USE CATALOG pg")
        yield made


@pytest.mark.row("S-SQL-35")
def test_databases_and_tables_are_listed(t: StreamTableEnvironment, postgres: Target) -> None:
    postgres.run("CREATE SCHEMA own")
    for table in ("public.b", "public.a", "own.c"):
        postgres.run(f"CREATE TABLE {table} (n INT)")
    postgres.run("CREATE VIEW public.v AS SELECT 1 AS n")
    databases = [name for (name,) in rows(t.execute_sql("SHOW DATABASES"))]
    assert postgres.name in databases
    assert not {"template0", "template1"} & set(databases)
    assert rows(t.execute_sql("SHOW TABLES")) == [("own.c",), ("public.a",), ("public.b",)]
    assert rows(t.execute_sql("SHOW VIEWS")) == []
    t.execute_sql("USE postgres")
    assert rows(t.execute_sql("SHOW TABLES")) == []


def test_types_are_those_of_flink(t: StreamTableEnvironment, postgres: Target) -> None:
    postgres.run(
        "CREATE TABLE all_types (a SMALLINT, b SERIAL, c BIGINT NOT NULL, d REAL, e DOUBLE PRECISION, "
        "f NUMERIC(10, 3), g NUMERIC, h BOOLEAN, i CHAR(3), j VARCHAR(20), k VARCHAR, l TEXT, m BYTEA, "
        "n DATE, o TIME(3), p TIMESTAMP, q TIMESTAMP(3), r TIMESTAMPTZ, s UUID, t INT[], u VARCHAR(5)[], "
        "CONSTRAINT main PRIMARY KEY (c, b))"
    )
    found = [(row[0], row[1], row[2]) for row in rows(t.execute_sql("DESCRIBE all_types"))]
    assert found == [
        ("a", "SMALLINT", True),
        ("b", "INT", False),
        ("c", "BIGINT", False),
        ("d", "FLOAT", True),
        ("e", "DOUBLE", True),
        ("f", "DECIMAL(10, 3)", True),
        ("g", "DECIMAL(38, 18)", True),
        ("h", "BOOLEAN", True),
        ("i", "CHAR(3)", True),
        ("j", "VARCHAR(20)", True),
        ("k", "STRING", True),
        ("l", "STRING", True),
        ("m", "BYTES", True),
        ("n", "DATE", True),
        ("o", "TIME(3)", True),
        ("p", "TIMESTAMP(6)", True),
        ("q", "TIMESTAMP(3)", True),
        ("r", "TIMESTAMP_LTZ(6)", True),
        ("s", "VARCHAR(36)", True),
        ("t", "ARRAY<INT>", True),
        ("u", "ARRAY<VARCHAR(5)>", True),
    ]
    shown = rows(t.execute_sql("SHOW CREATE TABLE all_types"))[0][0]
    assert "CONSTRAINT `main` PRIMARY KEY (`c`, `b`) NOT ENFORCED" in shown


def test_rows_are_read_written_and_looked_up(t: StreamTableEnvironment, postgres: Target) -> None:
    postgres.run("CREATE SCHEMA own")
    postgres.run(
        "CREATE TABLE own.orders (id BIGINT PRIMARY KEY, price NUMERIC(8, 2), code UUID, tags TEXT[], "
        "at TIMESTAMPTZ, big BYTEA, o TIME, nums NUMERIC(5, 1)[], days DATE[], yes BOOLEAN[])"
    )
    code = "123e4567-e89b-12d3-a456-426614174000"
    postgres.run(
        f"INSERT INTO own.orders VALUES (1, 9.5, '{code}', ARRAY['x', NULL], "
        "'1970-01-01 00:00:01Z', 'b', '10:11', ARRAY[0.5], "
        "ARRAY[DATE '2024-01-02'], ARRAY[TRUE, NULL])"
    )
    table = f"pg.{postgres.name}.`own.orders`"
    arrays = [Decimal("0.5")], [dt.date(2024, 1, 2)], [True, None]
    assert rows(t.execute_sql(f"SELECT * FROM {table}")) == [
        (1, Decimal("9.50"), code, ["x", None], Instant(1, 0), b"b", dt.time(10, 11), *arrays)
    ]
    t.execute_sql(
        f"INSERT INTO {table} (id, price) VALUES (1, 3.0), (2, 4.0) ON CONFLICT DO DEDUPLICATE"
    ).wait()
    assert kept(t.execute_sql(f"SELECT id, price FROM {table}")) == [
        (1, Decimal("3.00")),
        (2, Decimal("4.00")),
    ]
    t.execute_sql("CREATE TEMPORARY VIEW asked AS SELECT k, PROCTIME() AS p FROM (VALUES (2), (3)) AS v(k)")
    join = f"SELECT k, price FROM asked JOIN {table} FOR SYSTEM_TIME AS OF p AS o ON o.id = CAST(k AS BIGINT)"
    assert rows(t.execute_sql(join)) == [(2, Decimal("4.00"))]


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE f (n INT) WITH ('connector' = 'blackhole')", "cannot create a table"),
        ("CREATE VIEW f AS SELECT 1 AS n", "cannot create a table or view"),
        ("DROP TABLE a", "cannot drop a table"),
        ("ALTER TABLE a RENAME TO b", "cannot rename a table"),
        ("ALTER TABLE a SET ('x' = 'y')", "cannot alter a table"),
        ("CREATE DATABASE d", "cannot create a database"),
        ("DROP DATABASE postgres", "cannot drop a database"),
        ("DROP FUNCTION f", "cannot drop a function"),
        ("SELECT * FROM odd", "Doesn't support Postgres type 'jsonb' yet"),
        ("SELECT * FROM odder", "Doesn't support Postgres type '_timestamptz' yet"),
        ("SELECT * FROM nothing", "nothing"),
        ("USE nowhere", "nowhere"),
    ],
)
def test_what_is_refused(t: StreamTableEnvironment, postgres: Target, statement: str, message: str) -> None:
    postgres.run("CREATE TABLE a (n INT)")
    postgres.run("CREATE TABLE odd (n INT, j JSONB)")
    postgres.run("CREATE TABLE odder (n TIMESTAMPTZ[])")
    with pytest.raises(FiresteelError) as caught:
        t.execute_sql(statement)
    assert message in str(caught.value)
    assert postgres.run("SELECT COUNT(*) FROM a") == [(0,)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": "jdbc:mysql://localhost:3306"}, "jdbc:postgresql://host:port"),
        ({"base_url": "jdbc:postgresql://localhost:1/db"}, "without a database"),
        ({"username": ""}, "Missing required options are: username"),
        ({"compatible_mode": "x"}, "Unsupported options: compatible-mode"),
        ({"default_database": "nowhere"}, "nowhere"),
    ],
)
def test_wrong_options(postgres: Target, options: dict[str, str], message: str) -> None:
    with tables() as t, pytest.raises(FiresteelError) as caught:
        t.execute_sql(created(postgres, **options))
    assert message in str(caught.value)


def test_the_class_of_pyflink(postgres: Target) -> None:
    assert postgres.server is not None
    postgres.run("CREATE TABLE a (n INT)")
    catalog = JdbcCatalog("pg", postgres.name, USER, PASSWORD, postgres.server.url(""))
    with tables() as t:
        t.register_catalog("pg", catalog)
        assert catalog.list_tables(postgres.name) == ["public.a"]
        assert catalog.table_exists(ObjectPath(postgres.name, "a"))
        assert rows(t.execute_sql(f"SELECT COUNT(*) FROM pg.{postgres.name}.a")) == []
