"""``upsert-kafka``: topics whose messages replace and delete rows by their keys (Flink:
``UpsertKafkaDynamicTableFactory``)."""

from __future__ import annotations

from typing import Final

from firesteel.connectors.kafka.offsets import EARLIEST
from firesteel.sql.connectors.buffering import FLUSH_INTERVAL, FLUSH_ROWS, buffer_options
from firesteel.sql.connectors.factory import TableConnector, TableContext
from firesteel.sql.connectors.formats.registry import INSERTS
from firesteel.sql.connectors.kafka.offsets import BOUNDED_OPTIONS
from firesteel.sql.connectors.kafka.parts import FIELDS_OPTIONS, KEY_FORMAT, Parts, message_parts
from firesteel.sql.connectors.kafka.scan import PROPERTIES, KafkaScan, properties_of, subscription
from firesteel.sql.connectors.kafka.target import SINK_OPTIONS, KafkaTarget
from firesteel.sql.connectors.options import TableOptions, text
from firesteel.sql.connectors.sinks import CHANGES_BY_KEY
from firesteel.util.exceptions import TableException

__all__ = ["CONNECTOR"]

_READ: Final = frozenset({"+U", "-D"})


def _parts(context: TableContext) -> Parts:
    """:raises TableException: the table has no primary key, or a format has changes of its own."""
    key = context.schema.primary_key
    if key is None:
        raise TableException(
            "'upsert-kafka' tables require to define a PRIMARY KEY constraint. The PRIMARY KEY specifies "
            "which columns should be read from or write to the Kafka message key. The PRIMARY KEY also "
            "defines records in the 'upsert-kafka' table should update or delete which keys.",
            detail=f"table {context.table.name}",
            hint="declare PRIMARY KEY (...) NOT ENFORCED",
        )
    parts = message_parts(context, key.columns)
    for option, found in ((KEY_FORMAT, parts.key), ("value.format", parts.value)):
        if found is not None and found[0].kinds != INSERTS:
            raise context.options.error(
                option,
                f"'upsert-kafka' connector doesn't support '{context.options[option]}' as it is not in "
                "insert-only mode",
                "such changes are read by the connector 'kafka'",
            )
    return parts


def scan(context: TableContext) -> KafkaScan:
    """Return the source of a table: always from the first message on."""
    parts, properties = _parts(context), properties_of(context.options)
    read = subscription(context.options)
    made = KafkaScan(context, parts, read, properties, EARLIEST, _READ, upsert=True)
    made.check()
    return made


def target(context: TableContext) -> KafkaTarget:
    """Return the sink of a table."""
    made = KafkaTarget(context, _parts(context), CHANGES_BY_KEY, upsert=True, buffer=_buffer(context.options))
    made.check()
    return made


def _buffer(options: TableOptions) -> tuple[int, int] | None:
    """Return how many rows wait for others of their key, and for how long. None: they do not."""
    rows, interval_ms = options[FLUSH_ROWS], options[FLUSH_INTERVAL]
    for key, value in ((FLUSH_ROWS, rows), (FLUSH_INTERVAL, interval_ms)):
        if value < 0:
            raise options.error(key, "it must not be negative")
    if (rows == 0) != (interval_ms == 0):
        raise options.error(
            FLUSH_ROWS if rows else FLUSH_INTERVAL,
            f"'{FLUSH_ROWS}' and '{FLUSH_INTERVAL}' must be set to be greater than zero together to enable "
            "sink buffer flushing",
            "set both, or none",
        )
    return (rows, interval_ms) if rows else None


CONNECTOR: Final = TableConnector(
    name="upsert-kafka",
    options=(
        text("topic", required=True),
        *FIELDS_OPTIONS,
        *BOUNDED_OPTIONS,
        *buffer_options(0, 0),
        *SINK_OPTIONS,
    ),
    formats=("value.format", KEY_FORMAT),
    wildcards=(PROPERTIES,),
    scan=scan,
    sink=target,
    watermarks=True,
)
