"""A stream that is written into a table of Cassandra."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

from firesteel.common.errors import ProgramError
from firesteel.common.logs import logger
from firesteel.common.time import Duration
from firesteel.common.typeinfo import RowTypeInfo, TupleTypeInfo
from firesteel.connectors.cassandra.client import ClusterSettings
from firesteel.connectors.cassandra.log import LogOptions
from firesteel.connectors.cassandra.sink import CassandraRowSink
from firesteel.datastream._sink_stream import DataStreamSink
from firesteel.datastream.data_stream import DataStream
from firesteel.program.checks import WrongArgumentError, require_int, require_text
from firesteel.program.transformations import SinkTransformation

if TYPE_CHECKING:
    pass

from firesteel.connectors.cassandra.builders import (
    CassandraCommitter,
    CassandraFailureHandler,
    ClusterBuilder,
    MapperOptions,
    settings_of,
)

log = logger(__name__)


class CassandraSink(DataStreamSink):
    """A stream that is written into a table, as in Flink; ``add_sink`` returns its builder."""

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
            return self._with_cluster(settings_of(builder))

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
