"""Executes a query for each row, immediately or after its checkpoint (Flink: ``CassandraRowSink``,
``CassandraTupleSink`` and the ``WriteAhead`` variants)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from firesteel.common._map_all import map_all
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors._staging import stage
from firesteel.connectors.cassandra.client import ClusterSettings, connection, load_client
from firesteel.connectors.cassandra.log import LogCommitter, LogOptions
from firesteel.connectors.cassandra.requests import OnFailure, RequestOptions, Requests, fail
from firesteel.program.pickling import dumps_block
from firesteel.program.promises import SinkPromise
from firesteel.program.sinks import Committer, CommitterContext, Sink, SinkWriter, WriterContext


@dataclass(frozen=True, slots=True)
class CassandraRowSink(Sink):
    """Executes a query for each row, with the row's fields as parameters.

    :param types: of the fields, in the order of the parameters.
    :param on_failure: called with each error of the driver; the job continues if it does not raise.
    :param ignore_null_fields: a None leaves its column unchanged instead of writing a tombstone.
    :param log: rows wait until their checkpoint is complete; None: they are written immediately.
    """

    query: str
    types: tuple[TypeInformation, ...]
    cluster: ClusterSettings
    requests: RequestOptions = field(default_factory=RequestOptions)
    on_failure: OnFailure = fail
    ignore_null_fields: bool = False
    log: LogOptions | None = None

    @property
    def description(self) -> str:
        return "Cassandra"

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise.AT_LEAST_ONCE if self.log is None else SinkPromise.EXACTLY_ONCE

    def validate(self) -> None:
        """Have the cluster check the query."""
        self.direct_requests()
        if self.log is not None:
            connection(self.log.cluster)

    def direct_requests(self) -> Requests:
        nothing = load_client().query.UNSET_VALUE if self.ignore_null_fields else None
        return Requests(
            connection(self.cluster), self.query, self.types, self.requests, self.on_failure, nothing
        )

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _DirectWriter(self.direct_requests()) if self.log is None else _LoggingWriter(context)

    def create_committer(self, context: CommitterContext) -> Committer | None:
        if self.log is None:
            return None

        def requests() -> Requests:
            return Requests(connection(self.cluster), self.query, self.types, self.requests, fail)

        return LogCommitter(requests, self.log, context)


class _DirectWriter(SinkWriter):
    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        self._requests.send(values)

    def flush(self, end_of_input: bool) -> None:
        self._requests.finish()


class _LoggingWriter(SinkWriter):
    """Stages the rows of the epoch for the committer."""

    def __init__(self, context: WriterContext) -> None:
        self._context = context
        self._rows: list[tuple[Any, ...]] = []

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        self._rows += map_all(tuple, values)

    def prepare_commit(self) -> list[Any]:
        if not self._rows:
            return []
        return [((self._context.transaction_id, stage(dumps_block(self._rows), self._context)),)]
