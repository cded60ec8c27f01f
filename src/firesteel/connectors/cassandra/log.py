"""Write-ahead log: rows that wait for their checkpoint, and the table of what was written (Flink:
``CassandraCommitter``).

A task stages its rows in the job's directory. When the checkpoint that covers them is complete, the committer
writes them, followed by one marker for all of them. A repeated commit finds the marker and writes nothing. A
commit that was interrupted between rows and marker writes the same rows again, in the same order. Cassandra
has no transactions across rows, so this is exactly once for idempotent queries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from firesteel.common.errors import ConnectorError, FiresteelError
from firesteel.connectors._staging import Staged
from firesteel.connectors.cassandra.client import (
    ClusterSettings,
    connection,
    is_transient,
    load_client,
    said,
)
from firesteel.connectors.cassandra.requests import Requests
from firesteel.program.pickling import loads_block
from firesteel.program.sinks import CommitRequest, Committable, Committer, CommitterContext

FLINKS_KEYSPACE: Final = "flink_auxiliary"
_TABLE: Final = "firesteel_commits"
_RETENTION_S: Final = 7 * 24 * 3600  # maximum age of a checkpoint that is committed again
_ASKED_AT_ONCE: Final = 100

#: The content of a committable: the rows of one or more writers and epochs, in order.
_Parts: TypeAlias = tuple[tuple[str, Staged], ...]


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Where markers are stored: a table in ``keyspace``. The keyspace is created without replication if
    missing."""

    cluster: ClusterSettings
    keyspace: str = FLINKS_KEYSPACE


class LogCommitter(Committer):
    """:param requests: creates what writes rows over the current connection."""

    def __init__(
        self, requests: Callable[[], Requests], options: LogOptions, context: CommitterContext
    ) -> None:
        self._requests = requests
        self._markers = _Markers(options, context)

    def open(self) -> None:
        self._markers.open()

    def pre_commit(self, committables: Sequence[Committable]) -> Sequence[Committable]:
        """Merge the committables of the checkpoint into one, which needs a single marker."""
        if len(committables) < 2:
            return committables
        last = committables[-1]
        parts: _Parts = tuple(part for committable in committables for part in committable.payload)
        return [Committable(last.subtask_index, last.epoch, parts)]

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        if not requests:
            return
        try:
            written = self._markers.among([_name(request) for request in requests])
            for request in requests:
                if _name(request) not in written:
                    self._write(request.get_committable())
                    self._markers.add(_name(request))
        except Exception as error:
            transient = is_transient(error)
            for request in requests:  # those already written are found by their markers
                if transient:
                    request.retry_later()
                else:
                    request.signal_failed_with_unknown_reason(error)

    def _write(self, parts: _Parts) -> None:
        requests = self._requests()
        for _, staged in parts:
            requests.send(loads_block(staged.load()))
        requests.finish()


def _name(request: CommitRequest) -> str:
    """Return the name of its first part, which is unique to it."""
    parts: _Parts = request.get_committable()
    return parts[0][0]


class _Markers:
    """The names of what one sink of one job has written."""

    def __init__(self, options: LogOptions, context: CommitterContext) -> None:
        self._options = options
        self._table = f"{options.keyspace}.{_TABLE}"
        self._owner = (context.job_id, context.sink_id)

    def open(self) -> None:
        keyspace = self._options.keyspace
        create = (
            f"CREATE KEYSPACE IF NOT EXISTS {keyspace} "
            "WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            f"CREATE TABLE IF NOT EXISTS {self._table} (job_id text, sink_id text, transaction_id text, "
            f"PRIMARY KEY ((job_id, sink_id), transaction_id)) WITH default_time_to_live = {_RETENTION_S}",
        )
        try:
            session = connection(self._options.cluster).session
            known = session.execute(
                "SELECT table_name FROM system_schema.tables WHERE keyspace_name = %s AND table_name = %s",
                (keyspace.lower(), _TABLE),
            )
            if known.one() is None:  # otherwise the permission to create it is not needed
                for statement in create:
                    session.execute(statement)
        except FiresteelError:
            raise
        except Exception as error:
            raise ConnectorError(
                f"The table of markers, {self._table}, cannot be made.",
                detail=said(error),
                hint=f"let somebody who may do it: {'; '.join(create)}",
            ) from error

    def among(self, names: Sequence[str]) -> set[str]:
        """Return those of ``names`` that exist."""
        query = (
            f"SELECT transaction_id FROM {self._table} "
            "WHERE job_id = ? AND sink_id = ? AND transaction_id IN ?"
        )
        found: set[str] = set()
        for i in range(0, len(names), _ASKED_AT_ONCE):
            rows = self._execute(query, (*self._owner, names[i : i + _ASKED_AT_ONCE]))
            found.update(row.transaction_id for row in rows)
        return found

    def add(self, name: str) -> None:
        insert = f"INSERT INTO {self._table} (job_id, sink_id, transaction_id) VALUES (?, ?, ?)"
        self._execute(insert, (*self._owner, name))

    def _execute(self, query: str, parameters: tuple[Any, ...]) -> Any:
        """Execute with quorum consistency: other nodes may not have seen what one node was told."""
        there = connection(self._options.cluster)
        statement = there.prepare(query).bind(parameters)
        statement.consistency_level = load_client().ConsistencyLevel.QUORUM
        return there.session.execute(statement)
