"""Writes rows to a database in batches: at least once, or exactly once with markers in the same transactions.

Exactly once: a task stages its rows in the job's directory. When their checkpoint is complete, a task writes
what each subtask has staged in one database transaction, together with a marker for each epoch. A repeated
commit finds the markers and writes nothing. No transaction is open longer than it takes to write it, so none
can time out (Flink: ``JdbcSink.exactlyOnceSink`` uses XA transactions, which are open between checkpoints).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.common.logs import logger
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors._column_families import family
from firesteel.connectors._kept_client import KeptClient
from firesteel.connectors._staging import Staged, stage
from firesteel.connectors._subtask_commits import TryLaterError, commit_by_subtask
from firesteel.connectors.jdbc.connections import connected, retried
from firesteel.connectors.jdbc.databases import DatabaseError, database_of
from firesteel.connectors.jdbc.options import ConnectionOptions, ExactlyOnceOptions, ExecutionOptions
from firesteel.connectors.jdbc.statements import parse, quoted_table
from firesteel.program.pickling import dumps_block, loads_block
from firesteel.program.promises import SinkPromise
from firesteel.program.sinks import (
    CommitRequest,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)

log = logger(__name__)

_PRUNE_MS: Final = 3_600_000  # between two searches for expired markers


@dataclass(frozen=True, slots=True)
class JdbcStatementSink(Sink):
    """Executes a statement for each row, with the row's fields as parameters.

    :param types: of the fields, in the order of the parameters.
    :param exactly_once: None is at least once, which is enough if the statement replaces rows by key.
    """

    statement: str
    types: tuple[TypeInformation, ...]
    connection: ConnectionOptions
    execution: ExecutionOptions = field(default_factory=ExecutionOptions)
    exactly_once: ExactlyOnceOptions | None = None
    _kept: KeptClient = field(default_factory=KeptClient, compare=False, repr=False)

    def __post_init__(self) -> None:
        parameters = parse(self.statement).parameters
        if parameters != len(self.types):
            raise ConfigurationError(
                f"The statement has {parameters} parameters, the rows have {len(self.types)} fields.",
                detail=f"the statement: {self.statement}",
                hint="write a ? for each field of the declared row, in their order",
            )
        for type_info in self.types:
            family(type_info)
        database_of(self.connection)

    @property
    def description(self) -> str:
        return "JDBC"

    def validate(self) -> None:
        """Have the database check the statement."""
        database = database_of(self.connection)
        connection = database.connect()
        try:
            database.check(connection, parse(self.statement), self.types)
        finally:
            connection.close()

    def create_writer(self, context: WriterContext) -> SinkWriter:
        if self.exactly_once is None:
            return _BatchWriter(self, StatementTarget(self), context.check_waited_for)
        return _StagingWriter(context, _converter(self))

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise.AT_LEAST_ONCE if self.exactly_once is None else SinkPromise.EXACTLY_ONCE

    def create_committer(self, context: CommitterContext) -> Committer | None:
        if self.exactly_once is None:
            return None
        return _MarkingCommitter(self, self.exactly_once, context)


class StatementTarget:
    """The statement and a connection to execute it on."""

    def __init__(self, sink: JdbcStatementSink, kept: KeptClient | None = None) -> None:
        self.database = database_of(sink.connection)
        self.sql = self.rendered(sink.statement)
        self.convert = _converter(sink)
        self.kept = kept or sink._kept

    def rendered(self, sql: str) -> str:
        return self.database.sql(parse(sql))

    def retried(self, retries: int, write: Callable[[Any], None]) -> None:
        """Run *write* with a connection in a transaction, again if that may succeed."""

        def do() -> None:
            with self.transaction() as connection:
                write(connection)

        retried(self.database, retries, do)

    @contextmanager
    def transaction(self) -> Iterator[Any]:
        """Run the block in a transaction. After an error the connection is dropped, which rolls it back."""
        connection = connected(self.kept, self.database)
        try:
            connection.execute(self.database.begin)
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            self.kept.drop()
            raise


def _converter(sink: JdbcStatementSink) -> Callable[[Sequence[Any]], list[tuple[Any, ...]]]:
    """Return the function from rows to parameters. Values that the driver accepts are not converted."""
    write = database_of(sink.connection).write
    converters = {i: write[f] for i, t in enumerate(sink.types) if (f := family(t)) in write}
    if not converters:
        return lambda rows: [tuple(row) for row in rows]

    def convert(rows: Sequence[Any]) -> list[tuple[Any, ...]]:  # hot
        found = []
        for row in rows:
            values = list(row)
            for i, of_column in converters.items():
                if values[i] is not None:
                    values[i] = of_column(values[i])
            found.append(tuple(values))
        return found

    return convert


class _BatchWriter(SinkWriter):
    """Writes when a batch is full, when its first row has waited for long enough, and when the epoch ends;
    each batch in its own transaction."""

    def __init__(
        self, sink: JdbcStatementSink, target: StatementTarget, check_waited_for: Callable[[], None]
    ) -> None:
        self._check_waited_for = check_waited_for
        self._interval_ms = sink.execution.batch_interval_ms or None
        self._size = sink.execution.batch_size or 1 << 62
        self._retries = sink.execution.max_retries
        self._target = target
        self._rows: list[tuple[Any, ...]] = []

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        self._rows += self._target.convert(values)
        while len(self._rows) >= self._size:
            self._send(self._rows[: self._size])
            del self._rows[: self._size]

    @property
    def flush_interval_ms(self) -> float | None:
        return self._interval_ms

    def flush(self, end_of_input: bool) -> None:
        if self._rows:
            self._send(self._rows)
            self._rows = []

    def _send(self, rows: list[tuple[Any, ...]]) -> None:
        def send(connection: Any) -> None:
            connection.cursor().executemany(self._target.sql, rows)
            self._check_waited_for()  # before the commit: an error rolls back

        self._target.retried(self._retries, send)

    def abort(self) -> None:
        self._target.kept.drop()


class _StagingWriter(SinkWriter):
    """Stages the rows of the epoch for the committer."""

    def __init__(
        self, context: WriterContext, convert: Callable[[Sequence[Any]], list[tuple[Any, ...]]]
    ) -> None:
        self._context = context
        self._convert = convert
        self._rows: list[tuple[Any, ...]] = []

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        self._rows += self._convert(values)

    def prepare_commit(self) -> list[Any]:
        if not self._rows:
            return []
        return [(self._context.transaction_id, stage(dumps_block(self._rows), self._context))]


class _MarkingCommitter(Committer):
    """Has tasks write the rows; manages the table of markers itself."""

    def __init__(
        self, sink: JdbcStatementSink, options: ExactlyOnceOptions, context: CommitterContext
    ) -> None:
        self._sink = sink
        self._target = StatementTarget(sink)
        self._options = options
        self._context = context
        self._table = quoted_table(options.marker_table)
        self._pruned_ms = 0

    def open(self) -> None:
        columns = "job_id TEXT, sink_id TEXT, transaction_id TEXT PRIMARY KEY, committed_ms BIGINT"
        create = f"CREATE TABLE IF NOT EXISTS {self._table} ({columns})"
        for again in (False, True):  # PostgreSQL fails if two drivers create it at once
            try:
                with self._target.transaction() as connection:
                    connection.execute(create)
                self._target.kept.drop()
                return
            except FiresteelError:
                raise
            except Exception as e:
                if again:
                    raise DatabaseError(
                        f"The table of markers, {self._table}, cannot be made.",
                        detail=str(e).strip(),
                        hint=f"let somebody who may do it: {create}",
                    ) from e

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        context = self._context
        write = _MarkedRows(self._sink, self._table, context.job_id, context.sink_id, context.now_ms())
        size = sum(request.get_committable()[1].size for request in requests)
        commit_by_subtask(context, requests, write, size)
        if requests and context.now_ms() - self._pruned_ms >= _PRUNE_MS:
            self._prune(context.now_ms())

    def _prune(self, now_ms: int) -> None:
        """Delete expired markers; an error here is retried later."""
        self._pruned_ms = now_ms
        sql = f"DELETE FROM {self._table} WHERE job_id = ? AND sink_id = ? AND committed_ms < ?"
        oldest_ms = now_ms - self._options.retention_ms
        try:
            with self._target.transaction() as connection:
                parameters = (self._context.job_id, self._context.sink_id, oldest_ms)
                connection.execute(self._target.rendered(sql), parameters)
        except Exception as e:
            log.warning("old markers stay in %s: %s", self._table, e)
        finally:
            self._target.kept.drop()


@dataclass(frozen=True, slots=True)
class _MarkedRows:
    """Writes the rows that a subtask has staged, with their markers, in one transaction. Runs in tasks: if
    two attempts run at once, the second waits at the marker for the first."""

    sink: JdbcStatementSink
    table: str
    job_id: str
    sink_id: str
    now_ms: int

    def __call__(self, subtask: int, committables: Sequence[tuple[str, Staged]]) -> None:
        target = StatementTarget(self.sink, KeptClient())
        try:
            with target.transaction() as connection:
                for transaction_id, staged in committables:
                    self._write(target, connection, transaction_id, staged)
        except Exception as e:
            if target.database.is_transient(e):
                raise TryLaterError("The database did not take rows.", detail=str(e).strip()) from e
            raise
        finally:
            target.kept.drop()

    def _write(self, target: StatementTarget, connection: Any, transaction_id: str, staged: Staged) -> None:
        mark = f"INSERT INTO {self.table} VALUES (?, ?, ?, ?) ON CONFLICT (transaction_id) DO NOTHING"
        marker = (self.job_id, self.sink_id, transaction_id, self.now_ms)
        if connection.execute(target.rendered(mark), marker).rowcount:  # otherwise they were committed before
            connection.cursor().executemany(target.sql, loads_block(staged.load()))
