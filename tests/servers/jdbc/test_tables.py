"""Tables of databases."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal

import pytest

from firesteel.common.errors import FiresteelError
from firesteel.table import StreamTableEnvironment
from tests.servers.jdbc.conftest import Target
from tests.table.support import kept, rows, tables


@pytest.fixture
def t() -> Iterator[StreamTableEnvironment]:
    with tables() as made:
        yield made


def table_of(target: Target, table: str, **options: str) -> str:
    """The WITH clause of a table; of options, ``__`` is a dot and ``_`` a hyphen."""
    connection = target.options
    given = {"connector": "jdbc", "url": connection.url, "table-name": table}
    if connection.user is not None and connection.password is not None:
        given |= {"username": connection.user, "password": connection.password.replace("'", "''")}
    given |= {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    return "WITH (" + ", ".join(f"'{key}' = '{value}'" for key, value in given.items()) + ")"


def numbers_of(target: Target, count: int = 10) -> None:
    target.run("CREATE TABLE numbers (n INTEGER PRIMARY KEY, name VARCHAR(20))")
    values = ", ".join(f"({n}, 'number {n}')" for n in range(count))
    target.run(f"INSERT INTO numbers VALUES {values}")


@pytest.mark.row("S-SQL-07")
def test_rows_are_read_as_they_were_written(t: StreamTableEnvironment, target: Target) -> None:
    target.run(
        "CREATE TABLE every (a INTEGER, b TEXT, c DECIMAL(10, 2), d TIMESTAMP, e DOUBLE PRECISION, g DATE, "
        "h BOOLEAN)"
    )
    t.execute_sql(
        "CREATE TABLE f (a INT, b STRING, c DECIMAL(10, 2), d TIMESTAMP(3), e DOUBLE, g DATE, h BOOLEAN) "
        + table_of(target, "every")
    )
    t.execute_sql(
        "INSERT INTO f VALUES (1, 'x', 1.50, TIMESTAMP '2020-01-01 12:00:01.120', 1e10, "
        "DATE '2020-02-03', TRUE), "
        "(2, CAST(NULL AS STRING), -2.25, TIMESTAMP '2020-01-01 12:00:01.120', 0.1, DATE '2020-02-03', FALSE)"
    ).wait()
    noon, day = dt.datetime(2020, 1, 1, 12, 0, 1, 120_000), dt.date(2020, 2, 3)
    assert kept(t.execute_sql("SELECT * FROM f")) == [
        (1, "x", Decimal("1.50"), noon, 1e10, day, True),
        (2, None, Decimal("-2.25"), noon, 0.1, day, False),
    ]
    assert kept(t.execute_sql("SELECT COUNT(*) FROM f")) == [(2,)]
    assert rows(t.execute_sql("SELECT g, a FROM f WHERE h")) == [(day, 1)]


def test_a_table_is_read_in_parts(t: StreamTableEnvironment, target: Target) -> None:
    numbers_of(target)
    parts = {
        "scan__partition__column": "n",
        "scan__partition__num": "3",
        "scan__partition__lower_bound": "2",
        "scan__partition__upper_bound": "8",
    }
    t.execute_sql(f"CREATE TABLE f (n INT, name STRING) {table_of(target, 'numbers', **parts)}")
    assert kept(t.execute_sql("SELECT COUNT(*), MIN(n), MAX(n) FROM f")) == [(7, 2, 8)]


def test_rows_are_replaced_and_deleted_by_key(t: StreamTableEnvironment, target: Target) -> None:
    target.run("CREATE TABLE totals (w VARCHAR(10) PRIMARY KEY, n INTEGER)")
    target.run("INSERT INTO totals VALUES ('b', 7), ('z', 1)")
    t.execute_sql(
        f"CREATE TABLE g (w STRING, n INT, PRIMARY KEY (w) NOT ENFORCED) {table_of(target, 'totals')}"
    )
    t.execute_sql(
        "INSERT INTO g SELECT * FROM (SELECT w, SUM(n) AS n FROM (VALUES ('a', 1), ('b', 1), ('a', 2), "
        "('b', -1)) AS v(w, n) GROUP BY w) WHERE n > 0"
    ).wait()
    assert target.run("SELECT w, n FROM totals ORDER BY w") == [("a", 3), ("z", 1)]


@pytest.mark.row("S-SQL-21")
@pytest.mark.parametrize("cache", ["NONE", "PARTIAL", "FULL"])
def test_rows_are_looked_up(t: StreamTableEnvironment, target: Target, cache: str) -> None:
    numbers_of(target, 300)
    options = {"lookup__cache": cache}
    if cache == "PARTIAL":
        options["lookup__partial_cache__max_rows"] = "50"
        options["lookup__partial_cache__expire_after_write"] = "1min"
    elif cache == "FULL":
        options["lookup__full_cache__periodic_reload__interval"] = "1min"
    t.execute_sql(f"CREATE TABLE f (name STRING, n INT) {table_of(target, 'numbers', **options)}")
    t.execute_sql(
        "CREATE TABLE asked (k INT, p AS PROCTIME()) WITH ('connector' = 'datagen', "
        "'fields.k.kind' = 'sequence', 'fields.k.start' = '150', 'fields.k.end' = '449')"
    )
    join = "JOIN f FOR SYSTEM_TIME AS OF a.p AS f ON f.n = a.k"
    found = kept(t.execute_sql(f"SELECT COUNT(*), MAX(name) FROM asked AS a {join}"))
    assert found == [(150, "number 299")]
    left = f"SELECT COUNT(*), COUNT(name) FROM asked AS a LEFT {join} AND f.name LIKE '%0'"
    assert kept(t.execute_sql(left)) == [(300, 15)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "jdbc:oracle:x"}, "no support for databases of the kind 'oracle'"),
        ({"scan__partition__column": "n"}, "scan.partition.num"),
        ({"lookup__cache": "FULL"}, "lookup.full-cache.periodic-reload.interval"),
        ({"lookup__cache__ttl": "1s"}, "lookup.partial-cache.expire-after-write"),
        ({"scan__auto_commit": "false"}, "'scan.auto-commit' is not supported"),
        ({"lookup__partial_cache__max_rows": "7"}, "there is no cache"),
        ({"username": "me"}, "go together"),
        ({"nothing": "1"}, "Unsupported options"),
    ],
)
def test_wrong_options(
    t: StreamTableEnvironment, sqlite: Target, options: dict[str, str], message: str
) -> None:
    t.execute_sql(f"CREATE TABLE f (n INT) {table_of(sqlite, 'numbers', **options)}")
    query = "SELECT * FROM f"
    if any(key.startswith("lookup") for key in options):
        t.execute_sql("CREATE VIEW v AS SELECT k, PROCTIME() AS p FROM (VALUES (1)) AS v(k)")
        query = "SELECT * FROM v JOIN f FOR SYSTEM_TIME AS OF p ON f.n = k"
    with pytest.raises(FiresteelError) as caught:
        t.execute_sql(query)
    assert message in str(caught.value)


def test_a_table_that_is_not_there(t: StreamTableEnvironment, sqlite: Target) -> None:
    t.execute_sql(f"CREATE TABLE f (n INT) {table_of(sqlite, 'nothing')}")
    with pytest.raises(FiresteelError, match="refuses a statement"):
        rows(t.execute_sql("SELECT * FROM f"))
