"""The connector: tables of collections (Flink: ``MongoDynamicTableFactory``)."""

from __future__ import annotations

from typing import Final

from firesteel.connectors.mongodb.sink import MongoOptions
from firesteel.sql.connectors.buffering import FLUSH_ROWS, buffer_options
from firesteel.sql.connectors.factory import LookupSource, TableConnector, TableContext
from firesteel.sql.connectors.lookup_cache import CACHE_OPTIONS, cached
from firesteel.sql.connectors.mongodb.lookup import MongoLookup
from firesteel.sql.connectors.mongodb.scan import MongoScan
from firesteel.sql.connectors.mongodb.target import MongoTarget
from firesteel.sql.connectors.mongodb.values import ID, check_types
from firesteel.sql.connectors.options import AT_LEAST_ONCE, boolean, duration, integer, refused, text
from firesteel.util.exceptions import TableException

__all__ = ["CONNECTOR"]

_COUNTS: Final = (
    ("scan.fetch-size", 1),
    ("lookup.max-retries", 0),
    ("sink.max-retries", 0),
    (FLUSH_ROWS, 0),
)


def _mongo(context: TableContext) -> MongoOptions:
    """:raises FiresteelError: an option is wrong, or a column has a type that BSON has not."""
    context.refuse_metadata("mongodb")
    check_types(context.schema.physical_row, context.table.name)
    options = context.options
    for key, least in _COUNTS:
        if options[key] < least:
            raise options.error(key, f"it must be at least {least}")
    made = MongoOptions(
        options["uri"],
        options["database"],
        options["collection"],
        max_retries=options["sink.max-retries"],
        retry_ms=options["sink.retry.interval"],
        ordered=options["sink.ordered-writes"],
        bypass_validation=options["sink.bypass-document-validation"],
    )
    made.client(connect=False).close()
    return made


def scan(context: TableContext) -> MongoScan:
    """Return the source of a table."""
    return MongoScan(context, _mongo(context))


def target(context: TableContext) -> MongoTarget:
    """Return the sink of a table.

    :raises TableException: it has a column ``_id`` that is not its key.
    """
    key = context.schema.primary_key
    if key is not None and ID in context.schema.sink_row.names and tuple(key.columns) != (ID,):
        raise TableException(
            "Ambiguous keys being used due to the presence of an _id field.",
            detail=f"table {context.table.name} has the key {', '.join(key.columns)}, which is the _id of a "
            "document",
            hint="either use the _id column as the key, or rename the _id column",
        )
    return MongoTarget(context, _mongo(context))


def lookup(context: TableContext, keys: tuple[int, ...], columns: tuple[int, ...]) -> LookupSource:
    """Return what is asked for rows of a table."""
    options = context.options
    fields = [(column.name, column.data_type) for column in context.schema.source_columns]
    made = MongoLookup(
        _mongo(context),
        tuple(fields[key] for key in keys),
        tuple(fields[column] for column in columns),
        options["lookup.max-retries"],
        options["lookup.retry.interval"],
    )
    return cached(made, options)


_PARTS: Final = "a collection is read by one subtask"
CONNECTOR: Final = TableConnector(
    name="mongodb",
    options=(
        text("uri", required=True),
        text("database", required=True),
        text("collection", required=True),
        integer("scan.fetch-size", 2048),
        boolean("scan.cursor.no-timeout", True),
        refused("scan.partition.strategy", _PARTS, unless=("default", "single")),
        refused("scan.partition.size", _PARTS),
        refused("scan.partition.samples", _PARTS),
        refused("filter.handling.policy", "conditions are evaluated when documents are read"),
        *CACHE_OPTIONS,
        integer("lookup.max-retries", 3),
        duration("lookup.retry.interval", 1000),
        *buffer_options(1000, 1000),
        integer("sink.max-retries", 3),
        duration("sink.retry.interval", 1000),
        AT_LEAST_ONCE,
        boolean("sink.ordered-writes", True),
        boolean("sink.bypass-document-validation", False),
    ),
    scan=scan,
    sink=target,
    lookup=lookup,
)
