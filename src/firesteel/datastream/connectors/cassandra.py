"""Tables of Apache Cassandra (PyFlink: ``pyflink.datastream.connectors.cassandra``).

See ``docs/cassandra.md``.
"""

from __future__ import annotations

from firesteel.connectors.cassandra.builders import (
    CassandraCommitter,
    CassandraFailureHandler,
    ClusterBuilder,
    ConsistencyLevel,
    MapperOptions,
)
from firesteel.datastream._cassandra_sink import CassandraSink

__all__ = [
    "CassandraCommitter",
    "CassandraFailureHandler",
    "CassandraSink",
    "ClusterBuilder",
    "ConsistencyLevel",
    "MapperOptions",
]
