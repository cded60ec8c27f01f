"""One Cassandra node for all tests of the package: each test takes a keyspace of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

import pytest

from firesteel.datastream.connectors.cassandra import ClusterBuilder
from tests.servers.cassandra.server import CassandraNode, cluster_at
from tests.servers.fixtures import platform

__all__ = ["builder", "keyspace", "node", "platform"]

_numbers = itertools.count()


@pytest.fixture(scope="package")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CassandraNode]:
    running = CassandraNode(tmp_path_factory.mktemp("cassandra")).start()
    yield running
    running.stop()


@pytest.fixture
def keyspace(node: CassandraNode) -> str:
    name = f"test_{next(_numbers)}"
    replication = "{'class': 'SimpleStrategy', 'replication_factor': 1}"
    node.run(f"CREATE KEYSPACE {name} WITH replication = {replication} AND durable_writes = true")
    return name


@pytest.fixture
def builder(node: CassandraNode) -> ClusterBuilder:
    return ClusterBuilder(partial(cluster_at, node.port))
