"""``kafka``: messages of topics as rows, and rows as messages (Flink: ``KafkaDynamicTableFactory``)."""

from __future__ import annotations

from typing import Final

from firesteel.sql.connectors.factory import TableConnector, TableContext
from firesteel.sql.connectors.formats.registry import INSERTS
from firesteel.sql.connectors.kafka.offsets import BOUNDED_OPTIONS, STARTUP_OPTIONS, starting
from firesteel.sql.connectors.kafka.parts import (
    FIELDS_OPTIONS,
    KEY_FORMAT,
    Parts,
    message_parts,
    value_format_key,
)
from firesteel.sql.connectors.kafka.scan import PROPERTIES, KafkaScan, properties_of, subscription
from firesteel.sql.connectors.kafka.target import SINK_OPTIONS, KafkaTarget
from firesteel.sql.connectors.options import duration, refused, text
from firesteel.util.exceptions import TableException

__all__ = ["CONNECTOR"]

_PARTITIONER: Final = "sink.partitioner"


def _parts(context: TableContext) -> Parts:
    """:raises TableException: rows have a key, but nothing in the messages replaces or deletes one."""
    parts = message_parts(context)
    if context.schema.primary_key is not None and parts.value[0].kinds == INSERTS:
        options = context.options
        name = options[value_format_key(options)]
        raise TableException(
            f"The Kafka table '{context.table.name}' with '{name}' format doesn't support defining "
            "PRIMARY KEY constraint on the table, because it can't guarantee the semantic of primary key.",
            hint="leave the key out, or use the connector 'upsert-kafka'",
        )
    return parts


def scan(context: TableContext) -> KafkaScan:
    """Return the source of a table."""
    parts, properties = _parts(context), properties_of(context.options)
    read = subscription(context.options)
    start = starting(context.options, properties, read.topics)
    made = KafkaScan(context, parts, read, properties, start, parts.value[0].kinds)
    made.check()
    return made


def target(context: TableContext) -> KafkaTarget:
    """Return the sink of a table.

    :raises TableException: an option is wrong.
    """
    options, parts = context.options, _parts(context)
    partitioner = options[_PARTITIONER]
    if partitioner == "round-robin" and parts.key is not None:
        raise options.error(
            _PARTITIONER,
            "'round-robin' only works when option 'key.fields' is not specified",
            "leave one of them out",
        )
    if partitioner not in ("default", "fixed", "round-robin"):
        raise options.error(
            _PARTITIONER,
            f"a partitioner written in Java cannot be used: {partitioner}",
            "one of default, fixed, round-robin; a DataStream's KafkaSink takes a KafkaPartitioner in Python",
        )
    made = KafkaTarget(context, parts, parts.value[0].kinds, partitioner == "fixed")
    made.check()
    return made


CONNECTOR: Final = TableConnector(
    name="kafka",
    options=(
        text("topic"),
        text("topic-pattern"),
        text("key.fields"),
        *FIELDS_OPTIONS,
        *STARTUP_OPTIONS,
        *BOUNDED_OPTIONS,
        duration("scan.topic-partition-discovery.interval"),
        text(_PARTITIONER, "default"),
        *(
            refused(
                f"record.{part}.include.kafka.connect.json.schema",
                "messages with the schema of Kafka Connect beside the row are not read",
                "have Kafka Connect write them without: 'schemas.enable' = 'false' of its converter",
            )
            for part in ("key", "value")
        ),
        *SINK_OPTIONS,
    ),
    formats=("format", "value.format", KEY_FORMAT),
    wildcards=(PROPERTIES,),
    scan=scan,
    sink=target,
    watermarks=True,
)
