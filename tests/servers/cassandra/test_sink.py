"""CassandraSink against a real node."""

from __future__ import annotations

import datetime
import logging
import threading
import uuid
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Row, Types
from firesteel.common.errors import FiresteelError
from firesteel.common.time import Duration, Instant
from firesteel.datastream.connectors.cassandra import (
    CassandraCommitter,
    CassandraFailureHandler,
    CassandraSink,
    ClusterBuilder,
    ConsistencyLevel,
    MapperOptions,
)
from tests.jobmanager.checkpoint_support import env_with
from tests.runtime.support import environment
from tests.servers.cassandra.server import CassandraNode, cluster_at

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
OFTEN = {"execution.checkpointing.interval": "50 ms", "firesteel.epoch.max-records": "20"}
RESTARTS = {
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "20",
    "restart-strategy.fixed-delay.delay": "300 ms",
}
Change = Callable[[CassandraSink.CassandraSinkBuilder], Any]


@pytest.fixture
def counts(node: CassandraNode, keyspace: str) -> str:
    """A table of names and numbers."""
    node.run(f"CREATE TABLE {keyspace}.counts (name text PRIMARY KEY, n bigint)")
    return f"{keyspace}.counts"


def into(stream: Any, table: str, change: Change) -> CassandraSink:
    builder = CassandraSink.add_sink(stream).set_query(f"INSERT INTO {table} (name, n) VALUES (?, ?)")
    change(builder)
    return builder.build()


def at(node: CassandraNode) -> Change:
    return lambda builder: builder.set_host("127.0.0.1", node.port)


def content(node: CassandraNode, table: str) -> dict[str, int | None]:
    return {row.name: row.n for row in node.run(f"SELECT name, n FROM {table}")}


def test_of_two_rows_with_one_key_the_later_stays(node: CassandraNode, counts: str) -> None:
    """Although many are on their way at once."""
    env = environment(2)
    rows = [(f"name {n % 3}", n) for n in range(3000)]
    stream = env.from_collection(rows, PAIR).key_by(lambda row: row[0], Types.STRING())
    sink = into(stream.map(lambda row: row, PAIR), counts, at(node))
    assert sink.uid("into counts").set_parallelism(2)._transformation.name == "Cassandra Sink"
    env.execute()
    assert content(node, counts) == {"name 0": 2997, "name 1": 2998, "name 2": 2999}


def test_values_of_all_types(node: CassandraNode, keyspace: str) -> None:
    moment, some_uuid = Instant.of_epoch_milli(1_700_000_000_123), "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
    naive = datetime.datetime(2023, 11, 14, 22, 13, 20, 123000)
    day, hour = datetime.date(2024, 2, 29), datetime.time(7, 8, 9)
    address = Types.ROW_NAMED(["street", "since"], [Types.STRING(), Types.INSTANT()])
    node.run(f"CREATE TYPE {keyspace}.address (street text, since timestamp)")
    columns: dict[str, tuple[str, Any, Any, Any]] = {
        "id": ("int", Types.INT(), 1, 1),
        "large": ("varint", Types.BIG_INT(), 10**30, 10**30),
        "small": ("tinyint", Types.BYTE(), -7, -7),
        "ratio": ("double", Types.DOUBLE(), 0.1, 0.1),
        "price": ("decimal", Types.BIG_DEC(), Decimal("12.50"), Decimal("12.50")),
        "yes": ("boolean", Types.BOOLEAN(), True, True),
        "said": ("text", Types.STRING(), "é", "é"),
        "host": ("inet", Types.STRING(), "127.0.0.1", "127.0.0.1"),
        "token": ("uuid", Types.STRING(), some_uuid, uuid.UUID(some_uuid)),
        "day": ("date", Types.SQL_DATE(), day, day),
        "hour": ("time", Types.SQL_TIME(), hour, hour),
        "at": ("timestamp", Types.SQL_TIMESTAMP(), naive, naive),
        "moment": ("timestamp", Types.INSTANT(), moment, naive),
        "raw": ("blob", Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\0\xff", b"\0\xff"),
        "words": ("list<text>", Types.LIST(Types.STRING()), ["b", "a"], ["b", "a"]),
        "numbers": ("set<int>", Types.PRIMITIVE_ARRAY(Types.INT()), [2, 1], {1, 2}),
        "when": (
            "map<text, timestamp>",
            Types.MAP(Types.STRING(), Types.INSTANT()),
            {"a": moment},
            {"a": naive},
        ),
        "pair": (
            "tuple<int, uuid>",
            Types.TUPLE([Types.INT(), Types.STRING()]),
            (1, some_uuid),
            (1, uuid.UUID(some_uuid)),
        ),
        "home": (f"frozen<{keyspace}.address>", address, Row(street="s", since=moment), ("s", naive)),
    }
    names = ", ".join(f'"{name}"' for name in columns)
    kinds = ", ".join(f'"{name}" {kind}' for name, (kind, *_) in columns.items())
    node.run(f"CREATE TABLE {keyspace}.all ({kinds}, PRIMARY KEY (id))")
    row_type = Types.ROW([type_info for _, type_info, _, _ in columns.values()])
    env = environment(1)
    full = Row(*[value for _, _, value, _ in columns.values()])
    empty = Row(2, *[None] * (len(columns) - 1))
    builder = CassandraSink.add_sink(env.from_collection([full, empty], row_type))
    marks = ", ".join("?" * len(columns))
    builder.set_query(f"INSERT INTO {keyspace}.all ({names}) VALUES ({marks})").set_host(
        "127.0.0.1", node.port
    )
    builder.build()
    env.execute()
    found = {row[0]: list(row) for row in node.run(f"SELECT {names} FROM {keyspace}.all")}
    wanted = [there for *_, there in columns.values()]
    as_driver = {9: lambda d: d.date(), 10: lambda t: t.time()}
    assert [as_driver.get(i, lambda v: v)(v) for i, v in enumerate(found[1])] == wanted
    assert found[2] == [2, *[None] * (len(columns) - 1)]


@pytest.mark.parametrize("ignore", [False, True])
def test_none_deletes_unless_it_is_ignored(node: CassandraNode, counts: str, ignore: bool) -> None:
    node.run(f"INSERT INTO {counts} (name, n) VALUES ('a', 1)")
    env = environment(1)
    row = Types.ROW([Types.STRING(), Types.LONG()])

    def change(builder: Any) -> None:
        builder.set_host("127.0.0.1", node.port)
        if ignore:
            builder.enable_ignore_null_fields()

    into(env.from_collection([Row("a", None)], row), counts, change)
    env.execute()
    assert content(node, counts) == {"a": 1 if ignore else None}


class _PassesOver(CassandraFailureHandler):
    def on_failure(self, failure: Exception) -> None:
        if "Key may not be empty" not in str(failure):
            raise failure


@pytest.mark.parametrize("passes", [False, True])
def test_a_row_that_cassandra_does_not_take(node: CassandraNode, counts: str, passes: bool) -> None:
    env = environment(1)
    handler = _PassesOver() if passes else CassandraFailureHandler.no_op()
    stream = env.from_collection([("a", 1), ("", 2), ("b", 3)], PAIR)
    into(stream, counts, lambda b: b.set_host("127.0.0.1", node.port).set_failure_handler(handler))
    if passes:
        env.execute()
        assert content(node, counts) == {"a": 1, "b": 3}
    else:
        with pytest.raises(FiresteelError) as error:
            env.execute()
        said = str(error.value) + str(error.value.__cause__)
        assert "Cassandra does not take a row" in said
        assert "Key may not be empty" in said
        assert "('', 2)" in said


def test_a_value_too_large_for_its_column(node: CassandraNode, keyspace: str) -> None:
    """It does not come as far as the cluster, so no handler is asked."""
    node.run(f"CREATE TABLE {keyspace}.small (name text PRIMARY KEY, n int)")
    env = environment(1)
    stream = env.from_collection([("a", 2**40)], PAIR)

    def change(builder: Any) -> None:
        builder.set_host("127.0.0.1", node.port).set_failure_handler(_PassesOver())

    into(stream, f"{keyspace}.small", change)
    with pytest.raises(FiresteelError) as error:
        env.execute()
    assert "('a', 1099511627776)" in str(error.value) + str(error.value.__cause__)


@pytest.mark.parametrize("logged", [False, True])
@pytest.mark.row("S-CONN-08")
def test_a_node_that_does_not_answer_for_a_while(
    node: CassandraNode, counts: str, tmp_path: Path, logged: bool
) -> None:
    """Without a log the job fails and starts again; with one it is the commit that is tried again."""
    env = env_with(1, tmp_path, **OFTEN, **(RESTARTS if not logged else {"restart-strategy.type": "none"}))
    impatient = ClusterBuilder(partial(cluster_at, node.port, 1.5))

    def pausing(row: tuple[str, int]) -> tuple[str, int]:
        if row[1] == 50 and not timer.is_alive() and timer.ident is None:
            node.pause()
            timer.start()
        return row

    def change(builder: Any) -> None:
        builder.set_cluster_builder(impatient)
        if logged:
            builder.enable_write_ahead_log()

    timer = threading.Timer(4, node.resume)
    _paused.append(pausing)
    rows = [(f"name {n}", n) for n in range(100)]
    into(env.from_collection(rows, PAIR).map(_pause, PAIR), counts, change)
    try:
        env.execute()
        assert timer.ident is not None
    finally:
        _paused.clear()
        node.resume()
        timer.cancel()
    assert content(node, counts) == dict(rows)


#: What the function of the running test does: it cannot be pickled, and tasks run in this process.
_paused: list[Callable[[tuple[str, int]], Any]] = []


def _pause(row: tuple[str, int]) -> Any:
    return _paused[0](row)


def test_rows_wait_no_longer_than_they_may(node: CassandraNode, counts: str) -> None:
    """All rows come from one record, so they are in one epoch, however long the node takes to pause."""
    env = environment(1)
    stream = env.from_collection([("name", 100)], PAIR).flat_map(_pause, PAIR)

    def paused(row: tuple[str, int]) -> list[tuple[str, int]]:
        node.pause()
        name, count = row
        return [(f"{name} {n}", n) for n in range(count)]

    def change(builder: Any) -> None:
        builder.set_host("127.0.0.1", node.port).set_max_concurrent_requests(3, Duration.of_millis(200))

    into(stream, counts, change)
    _paused.append(paused)
    try:
        with pytest.raises(FiresteelError) as error:
            env.execute()
    finally:
        _paused.clear()
        node.resume()
    said = str(error.value) + str(error.value.__cause__)
    assert "has waited for 200 ms" in said
    assert "3 requests" in said


def test_a_checkpoint_has_one_marker_which_ends_by_itself(
    node: CassandraNode, counts: str, keyspace: str, builder: ClusterBuilder, tmp_path: Path
) -> None:
    env = env_with(2, tmp_path, **{**OFTEN, "execution.checkpointing.interval": "1 h"})
    committer = CassandraCommitter.default_checkpoint_committer(builder, keyspace.upper())
    stream = env.from_collection([(f"name {n}", n) for n in range(100)], PAIR).rebalance()
    into(stream, counts, lambda b: b.set_cluster_builder(builder).enable_write_ahead_log(committer))
    env.execute()
    assert len(content(node, counts)) == 100
    assert len(node.run(f"SELECT transaction_id FROM {keyspace}.firesteel_commits")) == 1
    (table,) = node.run(
        "SELECT default_time_to_live AS left FROM system_schema.tables "
        "WHERE keyspace_name = %s AND table_name = 'firesteel_commits'",
        keyspace,
    )
    assert table.left == 7 * 24 * 3600


def test_options_without_effect_say_so(
    node: CassandraNode, counts: str, caplog: pytest.LogCaptureFixture
) -> None:
    env = environment(1)
    options = MapperOptions().ttl(1800).timestamp(3600).consistency_level(ConsistencyLevel.ANY)
    options.tracing(True).save_null_fields(True).if_not_exists(False)

    def change(builder: Any) -> None:
        builder.set_host("127.0.0.1", node.port).set_mapper_options(options)
        builder.enable_ignore_null_fields().enable_write_ahead_log()

    with caplog.at_level(logging.WARNING):
        into(env.from_collection([("a", 1)], PAIR), counts, change)
    assert [message.split()[0] for message in caplog.messages] == [
        "set_mapper_options",
        "enable_ignore_null_fields",
    ]
