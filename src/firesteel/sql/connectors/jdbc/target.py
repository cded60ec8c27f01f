"""Tables of a database that are written: rows are added, or replaced and deleted by key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from firesteel.common.columns import DELETE, UPDATE_BEFORE, columns_in
from firesteel.connectors.jdbc.options import ConnectionOptions, ExecutionOptions
from firesteel.connectors.jdbc.sink import JdbcStatementSink, StatementTarget
from firesteel.connectors.jdbc.statements import delete_statement, insert_statement, upsert_statement
from firesteel.program.promises import SinkPromise
from firesteel.program.sinks import Sink, SinkWriter, WriterContext
from firesteel.program.transformations import SinkTransformation, Transformation
from firesteel.sql import physical as p
from firesteel.sql.connectors.buffering import FLUSH_INTERVAL, FLUSH_ROWS, BufferedSink, buffer_options
from firesteel.sql.connectors.factory import TableContext
from firesteel.sql.connectors.options import Option, integer
from firesteel.sql.connectors.sinks import kinds_by_key, sink_transformation
from firesteel.sql.operators.objects import objects_of
from firesteel.sql.type_infos import type_info_of
from firesteel.sql.types import RowType

__all__ = ["SINK_OPTIONS", "JdbcTarget"]

SINK_OPTIONS: Final[tuple[Option, ...]] = (
    *buffer_options(100, 1_000),
    integer("sink.max-retries", 3),
)


@dataclass(frozen=True, slots=True)
class JdbcTableSink(Sink):
    """:param write: adds a row, or replaces the one with its key. :param delete: by the key.
    :param keys: places of the columns of the primary key; none: rows are added."""

    row: RowType
    write: JdbcStatementSink
    delete: JdbcStatementSink | None = None
    keys: tuple[int, ...] = ()

    @property
    def description(self) -> str:
        return "JDBC"

    @property
    def promise(self) -> SinkPromise:
        return SinkPromise.UPSERT if self.keys else SinkPromise.AT_LEAST_ONCE

    def validate(self) -> None:
        """Have the database check the statements."""
        self.write.validate()
        if self.delete is not None:
            self.delete.validate()

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _Writer(self)


class _Writer(SinkWriter):
    """Writes each batch in a transaction. With a key, a batch has one row for each."""

    def __init__(self, sink: JdbcTableSink) -> None:
        self._sink = sink
        self._target = StatementTarget(sink.write)
        self._delete = None if sink.delete is None else StatementTarget(sink.delete, self._target.kept)

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        columns = columns_in(values)
        row = self._sink.row
        fields = [objects_of(a, d) for a, d in zip(columns.arrays, row.types, strict=True)]
        rows = list(zip(*fields, strict=True))
        if self._delete is None:
            self._write(rows, [])
            return
        there, gone = [], []
        for kind, found in zip(columns.kinds_or_inserts().tolist(), rows, strict=True):
            if kind in (DELETE, UPDATE_BEFORE):
                gone.append(tuple(found[k] for k in self._sink.keys))
            else:
                there.append(found)
        self._write(there, self._delete.convert(gone))

    def _write(self, there: list[tuple[Any, ...]], keys: list[tuple[Any, ...]]) -> None:
        rows = self._target.convert(there)

        def write(connection: Any) -> None:
            if rows:
                connection.cursor().executemany(self._target.sql, rows)
            if keys and self._delete is not None:
                connection.cursor().executemany(self._delete.sql, keys)

        self._target.retried(self._sink.write.execution.max_retries, write)


@dataclass(frozen=True, slots=True)
class JdbcTarget:
    """What writes a table: by key where it has a primary key."""

    context: TableContext
    connection: ConnectionOptions
    deletes_old_rows = True

    def changelog_mode(self, made: frozenset[str]) -> frozenset[str]:
        return kinds_by_key(self.context.schema)

    def check(self) -> None:
        """:raises FiresteelError: a column has a type that databases have not."""
        self._sink(self.context.schema.sink_row)

    def attach(self, environment: Any, rows: Transformation, node: p.Sink) -> SinkTransformation:
        options, sink = self.context.options, self._sink(node.row)
        buffered = BufferedSink(sink, sink.keys, options[FLUSH_ROWS], options[FLUSH_INTERVAL])
        return sink_transformation(environment, rows, node, buffered, options["sink.parallelism"])

    def _sink(self, row: RowType) -> JdbcTableSink:
        options = self.context.options
        execution = ExecutionOptions(
            options[FLUSH_ROWS],
            options[FLUSH_INTERVAL],
            options["sink.max-retries"],
        )
        table, key = options["table-name"], self.context.schema.primary_key

        def executing(sql: str, columns: Sequence[int]) -> JdbcStatementSink:
            types = tuple(type_info_of(row.types[c]) for c in columns)
            return JdbcStatementSink(sql, types, self.connection, execution)

        every = range(len(row.fields))
        if key is None:
            return JdbcTableSink(row, executing(insert_statement(table, row.names), every))
        keys = tuple(row.names.index(name) for name in key.columns)
        return JdbcTableSink(
            row,
            executing(upsert_statement(table, row.names, key.columns), every),
            executing(delete_statement(table, key.columns), keys),
            keys,
        )
