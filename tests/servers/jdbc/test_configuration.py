"""What is wrong with a JDBC connector is said before the first epoch, and soon."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from firesteel.common import Row, Types, WatermarkStrategy
from firesteel.common.errors import (
    ConfigurationError,
    FiresteelError,
    PathNotFoundError,
    TypeMismatchError,
    UnsupportedFeatureError,
)
from firesteel.common.time import Instant
from firesteel.connectors.jdbc.databases import DatabaseError
from firesteel.connectors.jdbc.options import ConnectionOptions
from firesteel.connectors.jdbc.statements import insert_statement, parse, upsert_statement
from firesteel.datastream.connectors.jdbc import (
    JdbcConnectionOptions,
    JdbcExactlyOnceOptions,
    JdbcExecutionOptions,
    JdbcNumericBetweenParametersProvider,
    JdbcSink,
    JdbcSource,
)
from firesteel.testing import MiniCluster
from tests.waiting import in_time

from .conftest import Target

PAIR = Types.ROW_NAMED(["id", "text"], [Types.LONG(), Types.STRING()])
EXECUTION = JdbcExecutionOptions.builder
INSERT = "INSERT INTO out (id, text) VALUES (?, ?)"


def run(sink: JdbcSink, type_info: Any = PAIR, rows: list[Row] | None = None) -> None:
    with MiniCluster.in_process() as cluster:
        env = cluster.environment(parallelism=2)
        stream = env.from_collection(rows or [Row(1, "a")], type_info).rebalance()
        stream.add_sink(sink).name("into the table")
        env.execute()


def refused(sink: JdbcSink, type_info: Any = PAIR) -> FiresteelError:
    with in_time(), pytest.raises(FiresteelError) as error:
        run(sink, type_info)
    assert error.value.operator == "Sink: into the table", "it is known before anything runs"
    return error.value


def with_changes(target: Target, **changes: Any) -> JdbcConnectionOptions:
    return JdbcConnectionOptions(replace(target.options, **changes))


# ---- what the database says


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("INSERT INTO nowhere (id, text) VALUES (?, ?)", "nowhere"),
        ("INSERT INTO out (id, words) VALUES (?, ?)", "words"),
        ("INSERT INTO out (id, text) VALUE (?, ?)", "syntax error"),
    ],
)
@pytest.mark.parametrize("make", [JdbcSink.sink, JdbcSink.exactly_once_sink])
def test_a_statement_that_the_database_refuses(
    target: Target, make: Callable[..., JdbcSink], sql: str, said: str
) -> None:
    target.run("CREATE TABLE out (id BIGINT, text TEXT)")
    error = refused(make(sql, PAIR, target.connection))
    assert isinstance(error, DatabaseError)
    assert said in str(error)
    assert sql in str(error)


def test_types_that_do_not_fit(postgres: Target) -> None:
    postgres.run("CREATE TABLE out (id BIGINT, text TEXT, at TIMESTAMP, tags TEXT[], uid UUID, ok BOOLEAN)")
    names = ["id", "text", "at", "tags", "uid", "ok"]
    tags = Types.OBJECT_ARRAY(Types.STRING())
    good = [Types.INT(), Types.STRING(), Types.SQL_TIMESTAMP(), tags, Types.STRING(), Types.BOOLEAN()]
    bad = [Types.STRING(), Types.LONG(), Types.SQL_TIME(), Types.STRING(), Types.DOUBLE(), Types.STRING()]
    for number, wrong in enumerate(bad):
        row = Types.ROW_NAMED(names, [*good[:number], wrong, *good[number + 1 :]])
        error = refused(JdbcSink.sink(insert_statement("out", names), row, postgres.connection), None)
        assert isinstance(error, TypeMismatchError)
        assert f"parameter {number + 1}" in str(error)
    row = Types.ROW_NAMED(names, good)
    uid = "11111111-2222-3333-4444-555555555555"
    when = datetime.datetime(2024, 5, 6, 7, 8, 9, 10_000)  # milliseconds, as Flink has them
    sink = JdbcSink.sink(insert_statement("out", names), row, postgres.connection)
    run(sink, row, [Row(1, "50 % of 'x'?", when, ["a", "b"], uid, True)])
    assert postgres.run("SELECT id, text, at, tags, uid::text, ok FROM out") == [
        (1, "50 % of 'x'?", when, ["a", "b"], uid, True)
    ]


def test_nobody_lets_us_in(postgres: Target) -> None:
    postgres.run("CREATE TABLE out (id BIGINT, text TEXT)")
    url = postgres.options.url
    for changes, said in (
        ({"password": "wrong"}, "password authentication failed"),
        ({"user": "nobody"}, "password authentication failed"),
        ({"url": url + "_not"}, "does not exist"),
        ({"url": "jdbc:postgresql://127.0.0.1:1/x"}, "Connection refused"),
        ({"url": url + "?no_such_option=1"}, "no_such_option"),
    ):
        error = refused(JdbcSink.sink(INSERT, PAIR, with_changes(postgres, **changes)))
        assert said in str(error)
        assert "No connection to" in str(error)
        assert str(postgres.options.password) not in str(error)


def test_a_driver_that_is_not_installed(postgres: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    error = refused(JdbcSink.sink(INSERT, PAIR, postgres.connection))
    assert "pip install 'psycopg[binary]" in str(error)


def test_a_user_who_may_not_create_the_markers(postgres: Target) -> None:
    postgres.run("CREATE TABLE out (id BIGINT, text TEXT)")
    postgres.run(f"CREATE ROLE poor_{postgres.name} LOGIN PASSWORD 'x'")
    postgres.run(f"GRANT INSERT ON out TO poor_{postgres.name}")
    postgres.run("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    login = with_changes(postgres, user=f"poor_{postgres.name}", password="x")
    sink = JdbcSink.exactly_once_sink(INSERT, PAIR, login)
    with pytest.raises(FiresteelError, match="table of markers") as error:
        run(sink)
    assert 'CREATE TABLE IF NOT EXISTS "firesteel_commits"' in str(error.value)
    run(JdbcSink.sink(INSERT, PAIR, login))
    assert postgres.run("SELECT * FROM out") == [(1, "a")]


def test_a_file_that_is_not_there(sqlite: Target) -> None:
    error = refused(JdbcSink.sink(INSERT, PAIR, with_changes(sqlite, url="jdbc:sqlite:/no/such.db")))
    assert isinstance(error, PathNotFoundError)


# ---- what is known without it


@pytest.mark.parametrize(
    ("make", "kind", "said"),
    [
        (lambda c: JdbcSink.sink("INSERT INTO t VALUES (?)", PAIR, c), ConfigurationError, "1 parameters"),
        (lambda c: JdbcSink.sink("  ", PAIR, c), ConfigurationError, "empty"),
        (lambda c: JdbcSink.sink(INSERT, Types.STRING(), c), ConfigurationError, "type of its rows"),
        (lambda c: JdbcSink.sink(INSERT, PAIR, "jdbc:sqlite:x"), ConfigurationError, "connection options"),
        (
            lambda c: JdbcExecutionOptions.builder().with_batch_size(-1).build(),
            ConfigurationError,
            "batch_size",
        ),
        (
            lambda c: JdbcExactlyOnceOptions.builder().with_marker_table(""),
            ConfigurationError,
            "marker table",
        ),
        (lambda c: JdbcNumericBetweenParametersProvider(3, 1), ConfigurationError, "smaller one first"),
        (lambda c: JdbcSource.builder().set_sql("SELECT 1").build(), ConfigurationError, "type of its rows"),
        (
            lambda c: JdbcSink.sink(INSERT, Types.ROW([Types.LONG(), Types.ROW([Types.INT()])]), c),
            UnsupportedFeatureError,
            "cannot hold",
        ),
    ],
)
def test_what_is_refused_when_it_is_built(make: Callable[[Any], Any], kind: type, said: str) -> None:
    options = JdbcConnectionOptions(ConnectionOptions("jdbc:sqlite:/tmp/x"))
    with pytest.raises(FiresteelError) as error:
        make(options)
    assert said in str(error.value)
    if kind is UnsupportedFeatureError:
        assert isinstance(error.value, kind)


@pytest.mark.parametrize(
    ("url", "driver", "said"),
    [
        ("postgresql://h/d", None, "Not a JDBC URL"),
        ("jdbc:mysql://h/d", None, "no support for databases of the kind 'mysql'"),
        ("jdbc:postgresql://h/d", "com.mysql.cj.jdbc.Driver", "not one for postgresql"),
    ],
)
def test_urls(url: str, driver: str | None, said: str) -> None:
    with pytest.raises(FiresteelError, match=said):
        JdbcSink.sink(INSERT, PAIR, JdbcConnectionOptions(ConnectionOptions(url, driver)))


def test_options_as_pyflink_has_them() -> None:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    with pytest.raises(ConfigurationError, match="URL"):
        builder.build()
    options = builder.with_url("u").with_driver_name("d").with_user_name("n").with_password("p").build()
    assert (options.get_db_url(), options.get_driver_name()) == ("u", "d")
    assert (options.get_user_name(), options.get_password()) == ("n", "p")
    assert "p'" not in repr(options._options)
    defaults = JdbcExecutionOptions.defaults()
    assert (defaults.get_batch_size(), defaults.get_batch_interval_ms(), defaults.get_max_retries()) == (
        5000,
        0,
        3,
    )
    given = (
        JdbcExecutionOptions.builder()
        .with_batch_size(2)
        .with_batch_interval_ms(7)
        .with_max_retries(0)
        .build()
    )
    assert (given.get_batch_size(), given.get_batch_interval_ms(), given.get_max_retries()) == (2, 7, 0)


@pytest.mark.parametrize(
    ("sql", "rendered"),
    [
        ("SELECT ?, '?', \"?\", ?? -- ?\n, ? /* ? */;", "SELECT $1, '?', \"?\", ? -- ?\n, $2 /* ? */"),
        ("SELECT 'it''s ?', $$ ? $$, $a$ ? $a$, ?", "SELECT 'it''s ?', $$ ? $$, $a$ ? $a$, $1"),
        ("SELECT 1 % ?", "SELECT 1 %% $1"),
    ],
)
def test_question_marks(sql: str, rendered: str) -> None:
    statement = parse(sql)
    assert statement.render(lambda n: f"${n}", lambda text: text.replace("%", "%%")) == rendered
    assert statement.parameters == len([part for part in rendered.split("$") if part[:1].isdigit()])


def test_statements_that_are_made() -> None:
    assert insert_statement("s.t", ["a", 'b"c']) == 'INSERT INTO "s"."t"("a", "b""c") VALUES (?, ?)'
    assert upsert_statement("t", ["a", "b"], ["a"]).endswith(
        'ON CONFLICT ("a") DO UPDATE SET "b" = EXCLUDED."b"'
    )
    assert upsert_statement("t", ["a"], ["a"]).endswith('ON CONFLICT ("a") DO NOTHING')
    with pytest.raises(ConfigurationError):
        upsert_statement("t", ["a"], ["b"])


def test_ranges_of_numbers() -> None:
    provider = JdbcNumericBetweenParametersProvider
    assert provider(1, 10).of_batch_num(3).get_parameter_values() == [[1, 4], [5, 7], [8, 10]]
    assert provider(1, 10).of_batch_size(4).get_parameter_values() == [[1, 4], [5, 7], [8, 10]]
    assert provider(5, 6).of_batch_num(9).get_parameter_values() == [[5, 5], [6, 6]]


# ---- values there and back


def source(target: Target, sql: str, row: Any) -> Any:
    builder = JdbcSource.builder().set_sql(sql).set_type_information(row).set_db_url(target.options.url)
    if target.options.user is not None and target.options.password is not None:
        builder.set_username(target.options.user).set_password(target.options.password)
    return builder.build()


def test_every_type_comes_back(target: Target) -> None:
    columns = {
        "n": ("BIGINT", Types.LONG(), 2**53 + 1),
        "f": ("DOUBLE PRECISION", Types.DOUBLE(), 0.1),
        "ok": ("BOOLEAN", Types.BOOLEAN(), True),
        "t": ("TEXT", Types.STRING(), "é?%s"),
        "d": ("NUMERIC(20, 4)", Types.BIG_DEC(), Decimal("12345.6789")),
        "day": ("DATE", Types.SQL_DATE(), datetime.date(2024, 2, 29)),
        "hour": ("TIME", Types.SQL_TIME(), datetime.time(7, 8, 9)),
        "at": ("TIMESTAMP", Types.SQL_TIMESTAMP(), datetime.datetime(2024, 2, 29, 7, 8, 9, 123000)),
        "i": ("TIMESTAMP WITH TIME ZONE", Types.INSTANT(), Instant.of_epoch_milli(1_700_000_000_123)),
        "b": ("BYTEA", Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\0\xff"),
    }
    target.run(f"CREATE TABLE out ({', '.join(f'{name} {kind}' for name, (kind, _, _) in columns.items())})")
    row = Types.ROW_NAMED(list(columns), [type_ for _, type_, _ in columns.values()])
    full, empty = Row(*[value for _, _, value in columns.values()]), Row(*[None] * len(columns))
    run(JdbcSink.sink(insert_statement("out", list(columns)), row, target.connection), row, [full, empty])
    with MiniCluster.in_process() as cluster:
        env = cluster.environment()
        rows = env.from_source(
            source(target, "SELECT * FROM out", row), WatermarkStrategy.no_watermarks(), "out"
        )
        found = sorted(map(list, rows.execute_and_collect()), key=lambda values: values[0] is None)
    assert found == [list(full), list(empty)]


@pytest.mark.parametrize(
    ("sql", "types", "said"),
    [
        ("SELECT id FROM nowhere", [Types.LONG()], "nowhere"),
        ("SELECT id, text FROM out", [Types.LONG()], "2 columns"),
    ],
)
def test_a_query_that_cannot_work(target: Target, sql: str, types: list[Any], said: str) -> None:
    target.run("CREATE TABLE out (id BIGINT, text TEXT)")
    with pytest.raises(FiresteelError, match=said):
        source(target, sql, Types.ROW(types)).wrapped_source.validate()


def test_columns_of_other_types(postgres: Target) -> None:
    postgres.run("CREATE TABLE out (id BIGINT, doc JSON)")
    with pytest.raises(TypeMismatchError, match="'id'"):
        source(postgres, "SELECT id FROM out", Types.ROW([Types.STRING()])).wrapped_source.validate()
    with pytest.raises(DatabaseError, match="refuses") as error:
        source(postgres, "SELECT doc FROM out", Types.ROW([Types.STRING()])).wrapped_source.validate()
    assert "ordering operator" in str(error.value)
    source(postgres, "SELECT doc::text FROM out", Types.ROW([Types.STRING()])).wrapped_source.validate()
