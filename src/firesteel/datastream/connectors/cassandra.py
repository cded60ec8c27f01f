"""Tables of Apache Cassandra (PyFlink: ``pyflink.datastream.connectors.cassandra``).

See ``docs/cassandra.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Self, cast

import cloudpickle

from firesteel.common.errors import ProgramError
from firesteel.common.logs import logger
from firesteel.common.time import Duration
from firesteel.common.typeinfo import RowTypeInfo, TupleTypeInfo
from firesteel.connectors.cassandra.client import ClusterSettings
from firesteel.connectors.cassandra.log import FLINKS_KEYSPACE, LogOptions
from firesteel.connectors.cassandra.sink import CassandraRowSink
from firesteel.datastream._sink_stream import DataStreamSink
from firesteel.datastream.data_stream import DataStream
from firesteel.program.checks import WrongArgumentError, require_int, require_text
from firesteel.program.transformations import SinkTransformation

if TYPE_CHECKING:
    from cassandra.cluster import Cluster

__all__ = [
    "CassandraCommitter",
    "CassandraFailureHandler",
    "CassandraSink",
    "ClusterBuilder",
    "ConsistencyLevel",
    "MapperOptions",
]

log = logger(__name__)

_KEYSPACE: Final = re.compile(r"[A-Za-z]\w{0,47}")


class ConsistencyLevel(Enum):
    """How many replicas must answer (Flink: the same)."""

    ANY = 0
    ONE = 1
    TWO = 2
    THREE = 3
    QUORUM = 4
    ALL = 5
    LOCAL_QUORUM = 6
    EACH_QUORUM = 7
    SERIAL = 8
    LOCAL_SERIAL = 9
    LOCAL_ONE = 10


class MapperOptions:
    """Options of the mapper that writes POJOs, of which a Python stream has none: see
    ``CassandraSinkBuilder.set_mapper_options``."""

    def __init__(self) -> None:
        self._options: dict[str, object] = {}

    def ttl(self, ttl: int) -> Self:
        """Seconds."""
        return self._set("ttl", require_int(ttl, "ttl", 0, None, "MapperOptions"))

    def timestamp(self, timestamp: int) -> Self:
        """Microseconds."""
        return self._set("timestamp", require_int(timestamp, "timestamp", 0, None, "MapperOptions"))

    def consistency_level(self, cl: ConsistencyLevel) -> Self:
        if not isinstance(cl, ConsistencyLevel):
            raise WrongArgumentError("Not a ConsistencyLevel.", detail=f"got {cl!r}")
        return self._set("consistency_level", cl.name)

    def tracing(self, enabled: bool) -> Self:
        return self._set("tracing", bool(enabled))

    def save_null_fields(self, enabled: bool) -> Self:
        return self._set("save_null_fields", bool(enabled))

    def if_not_exists(self, enabled: bool) -> Self:
        return self._set("if_not_exists", bool(enabled))

    def _set(self, name: str, value: object) -> Self:
        self._options[name] = value
        return self


class ClusterBuilder:
    """How to reach a cluster where host and port do not say it: several hosts, a login, TLS, another
    consistency level (Flink: the same, with ``buildCluster`` to override).

    :param build_cluster: makes a ``cassandra.cluster.Cluster``; runs in the driver and in each worker.
    """

    def __init__(self, build_cluster: Callable[[], Cluster]) -> None:
        if not callable(build_cluster):
            raise WrongArgumentError(
                "A ClusterBuilder needs a function that makes a cluster.",
                detail=f"got {build_cluster!r}",
                hint='ClusterBuilder(lambda: Cluster(["host"], auth_provider=...)), of cassandra.cluster',
            )
        self.settings = ClusterSettings(build=cloudpickle.dumps(build_cluster, protocol=5))


class CassandraCommitter:
    """Keeps a table of what the write-ahead log has written (Flink: the same)."""

    def __init__(self, options: LogOptions) -> None:
        self.options = options

    @staticmethod
    def default_checkpoint_committer(
        builder: ClusterBuilder, key_space: str | None = None
    ) -> CassandraCommitter:
        """The table is ``firesteel_commits`` in ``key_space``, by default ``flink_auxiliary``; both are made
        when they are not there, the keyspace with a replication factor of 1."""
        keyspace = FLINKS_KEYSPACE if key_space is None else key_space
        if not isinstance(keyspace, str) or not _KEYSPACE.fullmatch(keyspace):
            raise WrongArgumentError(
                "The name of a keyspace is a letter and up to 47 letters, digits and underscores.",
                detail=f"got {keyspace!r}",
            )
        return CassandraCommitter(LogOptions(_settings(builder), keyspace))


class CassandraFailureHandler:
    """Decides what becomes of a row that Cassandra does not take; derive from it to let the job go on.
    (Flink: the same.)"""

    def on_failure(self, failure: Exception) -> None:
        """Raise, and the job fails; return, and the row is passed over. Runs in the worker.

        :param failure: what the driver has raised.
        """
        raise failure

    @staticmethod
    def no_op() -> CassandraFailureHandler:
        """Every failure fails the job: the default."""
        return CassandraFailureHandler()


class CassandraSink(DataStreamSink):
    """A stream that is written into a table; ``add_sink`` makes the builder of one (Flink: the same)."""

    @staticmethod
    def add_sink(input: DataStream) -> CassandraSink.CassandraSinkBuilder:
        """:param input: a stream of rows or tuples with declared types."""
        return CassandraSink.CassandraSinkBuilder(input)

    class CassandraSinkBuilder:
        """Made by ``CassandraSink.add_sink``. A query and a host, or a cluster builder, are a must."""

        def __init__(self, stream: DataStream) -> None:
            if not isinstance(stream, DataStream):
                raise WrongArgumentError("CassandraSink.add_sink() takes a stream.", detail=f"got {stream!r}")
            type_info = stream.get_type()
            if not isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
                raise WrongArgumentError(
                    "No support for the type of the given DataStream: Cassandra takes rows and tuples.",
                    detail=f"the type is {type_info}",
                    hint="declare it, as in map(..., output_type=Types.ROW([Types.STRING(), Types.LONG()]))",
                )
            self._stream = stream
            self._sink = CassandraRowSink("", tuple(type_info.get_field_types()), ClusterSettings())
            self._committer: CassandraCommitter | None = None
            self._has_log = False
            self._without_log: list[str] = []

        def set_query(self, query: str) -> Self:
            """A CQL statement with a ``?`` for each field of the row, in their order. It may run twice for a
            row, so what it writes must be the same then."""
            return self._with(query=require_text(query, "query", "CassandraSink"))

        def set_host(self, host: str, port: int = 9042) -> Self:
            """One server, which names the others."""
            require_text(host, "host", "CassandraSink")
            require_int(port, "port", 1, 65535, "CassandraSink")
            return self._with_cluster(ClusterSettings(host, port))

        def set_cluster_builder(self, builder: ClusterBuilder) -> Self:
            """In place of a host."""
            return self._with_cluster(_settings(builder))

        def enable_write_ahead_log(self, committer: CassandraCommitter | None = None) -> Self:
            """Rows are written when the checkpoint that covers them is complete: once, for queries that may
            be repeated.

            :param committer: None: the default one, on the cluster that is written to.
            """
            if committer is not None and not isinstance(committer, CassandraCommitter):
                raise WrongArgumentError(
                    "Not a CassandraCommitter.",
                    detail=f"got {committer!r}",
                    hint="CassandraCommitter.default_checkpoint_committer(cluster_builder)",
                )
            self._has_log, self._committer = True, committer
            return self

        def set_mapper_options(self, options: MapperOptions) -> Self:
            """Has no effect, as in PyFlink: a query is bound, and nothing mapped. A warning says so."""
            if not isinstance(options, MapperOptions):
                raise WrongArgumentError("Not MapperOptions.", detail=f"got {options!r}")
            log.warning(
                "set_mapper_options has no effect: it is for POJOs, and a Python stream has none; write "
                "USING TTL or IF NOT EXISTS in the query, and set a consistency level in the ClusterBuilder"
            )
            return self

        def set_failure_handler(self, failure_handler: CassandraFailureHandler) -> Self:
            """Not asked with a write-ahead log: there a row that is not taken always fails the job."""
            if not isinstance(failure_handler, CassandraFailureHandler):
                raise WrongArgumentError(
                    "Not a CassandraFailureHandler.",
                    detail=f"got {failure_handler!r}",
                    hint="derive from it, and define on_failure(self, failure)",
                )
            self._without_log.append("set_failure_handler")
            return self._with(on_failure=failure_handler.on_failure)

        def set_max_concurrent_requests(
            self, max_concurrent_requests: int, duration: Duration | None = None
        ) -> Self:
            """How many rows of a subtask may be on their way at once.

            :param duration: the job fails when a row has waited for so long; None: it waits.
            """
            limit = require_int(
                max_concurrent_requests, "number of concurrent requests", 1, None, "CassandraSink"
            )
            if duration is not None and (not isinstance(duration, Duration) or duration.to_millis() < 0):
                raise WrongArgumentError("Not a Duration that is not negative.", detail=f"got {duration!r}")
            patience_ms = None if duration is None else duration.to_millis()
            requests = replace(self._sink.requests, max_concurrent=limit, patience_ms=patience_ms)
            return self._with(requests=requests)

        def enable_ignore_null_fields(self) -> Self:
            """A None leaves its column as it is, where it would be written as a deletion, which costs
            reads. Has no effect with a write-ahead log, as in Flink."""
            self._without_log.append("enable_ignore_null_fields")
            return self._with(ignore_null_fields=True)

        def build(self) -> CassandraSink:
            """Adds the sink to the job.

            :raises ProgramError: there is no query or no host.
            """
            if not self._sink.query:
                raise ProgramError("Query must not be null or empty.", hint="call set_query()")
            cluster = self._sink.cluster
            if cluster == ClusterSettings():
                raise ProgramError(
                    "Cassandra host information must be supplied using either set_host() or "
                    "set_cluster_builder()."
                )
            if self._has_log:
                for setting in self._without_log:
                    log.warning("%s has no effect with a write-ahead log", setting)
                options = LogOptions(cluster) if self._committer is None else self._committer.options
                self._with(log=options)
            added = self._stream.sink_to(self._sink).name("Cassandra Sink")
            return CassandraSink(added._env, cast(SinkTransformation, added._transformation))

        def _with_cluster(self, cluster: ClusterSettings) -> Self:
            if self._sink.cluster != ClusterSettings():
                raise ProgramError(
                    "Builder was already set. You must use either set_host() or set_cluster_builder()."
                )
            return self._with(cluster=cluster)

        def _with(self, **settings: Any) -> Self:
            self._sink = replace(self._sink, **settings)
            return self


def _settings(builder: ClusterBuilder) -> ClusterSettings:
    if not isinstance(builder, ClusterBuilder):
        raise WrongArgumentError(
            "Not a ClusterBuilder.",
            detail=f"got {builder!r}",
            hint="ClusterBuilder(lambda: Cluster([...])), of cassandra.cluster",
        )
    return builder.settings
