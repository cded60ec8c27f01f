"""The connector: tables of PostgreSQL and SQLite (Flink: ``JdbcDynamicTableFactory``)."""

from __future__ import annotations

from typing import Final

from firesteel.connectors.jdbc.databases import database_of
from firesteel.connectors.jdbc.options import ConnectionOptions
from firesteel.sql.connectors.factory import LookupSource, TableConnector, TableContext
from firesteel.sql.connectors.jdbc.lookup import JdbcLookup
from firesteel.sql.connectors.jdbc.scan import SCAN_OPTIONS, JdbcScan
from firesteel.sql.connectors.jdbc.target import SINK_OPTIONS, JdbcTarget
from firesteel.sql.connectors.lookup_cache import CACHE_OPTIONS, cached
from firesteel.sql.connectors.options import integer, refused, text

__all__ = ["CONNECTOR"]


def _connection(context: TableContext) -> ConnectionOptions:
    """:raises FiresteelError: the database is not one of those that there are; the table has metadata."""
    context.refuse_metadata("jdbc")
    options = context.options
    if (options["username"] is None) != (options["password"] is None):
        raise options.error("username", "'username' and 'password' go together", "give both, or none")
    made = ConnectionOptions(options["url"], options["driver"], options["username"], options["password"])
    database_of(made)
    return made


def scan(context: TableContext) -> JdbcScan:
    """Return the source of a table."""
    made = JdbcScan(context, _connection(context))
    made.check()
    return made


def target(context: TableContext) -> JdbcTarget:
    """Return the sink of a table."""
    made = JdbcTarget(context, _connection(context))
    made.check()
    return made


def lookup(context: TableContext, keys: tuple[int, ...], columns: tuple[int, ...]) -> LookupSource:
    """Return what is asked for rows of a table."""
    options = context.options
    fields = [(column.name, column.data_type) for column in context.schema.source_columns]
    made = JdbcLookup(
        _connection(context),
        options["table-name"],
        tuple(fields[key] for key in keys),
        tuple(fields[column] for column in columns),
        options["lookup.max-retries"],
    )
    return cached(made, options)


CONNECTOR: Final = TableConnector(
    name="jdbc",
    options=(
        text("url", required=True),
        text("table-name", required=True),
        text("driver"),
        text("username"),
        text("password"),
        *SCAN_OPTIONS,
        *CACHE_OPTIONS,
        integer("lookup.max-retries", 3),
        *SINK_OPTIONS,
        refused("compatible-mode", "the databases are PostgreSQL and SQLite, and have none"),
        refused("connection.max-retry-timeout", "the pause before a retry grows from 200 ms on"),
        refused("scan.auto-commit", "rows are always read as a stream, in a transaction"),
    ),
    scan=scan,
    sink=target,
    lookup=lookup,
)
