"""What is wrong with a sink for Cassandra is said before the first epoch, and soon."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.errors import (
    ConfigurationError,
    ConnectorError,
    FiresteelError,
    ProgramError,
    TypeMismatchError,
)
from firesteel.common.time import Duration
from firesteel.datastream.connectors.cassandra import (
    CassandraCommitter,
    CassandraSink,
    ClusterBuilder,
    MapperOptions,
)
from tests.places import free_port
from tests.runtime.support import environment
from tests.servers.cassandra.server import CassandraNode
from tests.waiting import in_time

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])


@pytest.fixture
def counts(node: CassandraNode, keyspace: str) -> str:
    node.run(f"CREATE TABLE {keyspace}.counts (name text PRIMARY KEY, n bigint)")
    return keyspace


def builder_of(type_info: Any = PAIR) -> CassandraSink.CassandraSinkBuilder:
    return CassandraSink.add_sink(environment(1).from_collection([("a", 1)], type_info))


def refused(query: str, port: int, type_info: Any = PAIR, log: bool = False) -> FiresteelError:
    env = environment(1)
    builder = CassandraSink.add_sink(env.from_collection([("a", 1)], type_info))
    builder.set_query(query).set_host("127.0.0.1", port)
    if log:
        builder.enable_write_ahead_log()
    builder.build().name("into the table")
    with in_time(), pytest.raises(FiresteelError) as error:
        env.execute()
    assert error.value.operator == "Sink: into the table", "it is known before anything runs"
    return error.value


@pytest.mark.parametrize("log", [False, True])
def test_a_host_that_cannot_be_reached(log: bool) -> None:
    port = free_port()
    error = refused("INSERT INTO a.b (name, n) VALUES (?, ?)", port, log=log)
    assert isinstance(error, ConnectorError)
    assert str(error).startswith(f"No connection to Cassandra at 127.0.0.1:{port}.")
    assert "refused" in str(error)


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("INSERT INTO nowhere.counts (name, n) VALUES (?, ?)", "keyspace nowhere does not exist"),
        ("INSERT INTO {}.nowhere (name, n) VALUES (?, ?)", "nowhere"),
        ("INSERT INTO {}.counts (name, m) VALUES (?, ?)", "Undefined column name m"),
        ("INSERT INTO {}.counts (name, n) VALUE (?, ?)", "expecting K_VALUES"),
        ("INSERT INTO counts (name, n) VALUES (?, ?)", "No keyspace has been specified"),
        ("INSERT INTO {}.counts (name) VALUES (?)", "1 parameters, the rows have 2 fields"),
    ],
)
@pytest.mark.parametrize("log", [False, True])
def test_a_query_that_cannot_work(node: CassandraNode, counts: str, query: str, said: str, log: bool) -> None:
    error = refused(query.format(counts), node.port, log=log)
    assert isinstance(error, ConfigurationError)
    assert said in str(error)


@pytest.mark.parametrize(
    "wrong",
    [
        Types.TUPLE([Types.STRING(), Types.STRING()]),
        Types.TUPLE([Types.STRING(), Types.LIST(Types.LONG())]),
        Types.TUPLE([Types.STRING(), Types.ROW([Types.LONG()])]),
        Types.TUPLE([Types.STRING(), Types.MAP(Types.STRING(), Types.LONG())]),
    ],
)
def test_types_that_do_not_fit(node: CassandraNode, counts: str, wrong: Any) -> None:
    env = environment(1)
    builder = CassandraSink.add_sink(env.from_collection([], wrong))
    builder.set_query(f"INSERT INTO {counts}.counts (name, n) VALUES (?, ?)").set_host("127.0.0.1", node.port)
    builder.build()
    with pytest.raises(TypeMismatchError, match=r"does not fit the parameter for 'n': there it is bigint"):
        env.execute()


def test_what_a_builder_refuses() -> None:
    builder = builder_of().set_host("h")
    with pytest.raises(ProgramError, match="already set"):
        builder.set_cluster_builder(ClusterBuilder(lambda: None))  # type: ignore[arg-type, return-value]
    with pytest.raises(ProgramError, match="Query must not be null or empty"):
        builder.build()
    with pytest.raises(ProgramError, match="host information must be supplied"):
        builder_of().set_query("INSERT").build()
    with pytest.raises(ProgramError, match="No support for the type"):
        CassandraSink.add_sink(environment(1).from_collection([("a", 1)]))
    with pytest.raises(ProgramError, match="at least 1"):
        builder.set_max_concurrent_requests(0)
    with pytest.raises(ProgramError, match="not negative"):
        builder.set_max_concurrent_requests(1, Duration.of_millis(-1))
    with pytest.raises(ProgramError, match="between 1 and 65535"):
        builder_of().set_host("h", 0)
    with pytest.raises(ProgramError, match="keyspace"):
        CassandraCommitter.default_checkpoint_committer(ClusterBuilder(print), "a; b")  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="ConsistencyLevel"):
        MapperOptions().consistency_level("ONE")  # type: ignore[arg-type]
