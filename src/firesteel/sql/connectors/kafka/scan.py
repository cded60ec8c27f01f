"""Topics that are read as tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from firesteel.connectors.kafka.offsets import OffsetsInitializer
from firesteel.connectors.kafka.settings import BOOTSTRAP, DISCOVERY_INTERVAL, GROUP_ID
from firesteel.connectors.kafka.source import KafkaTopicSource, Subscription
from firesteel.program.transformations import SourceTransformation, Transformation
from firesteel.sql import physical as p
from firesteel.sql.connectors.factory import TableContext
from firesteel.sql.connectors.formats.registry import format_metadata
from firesteel.sql.connectors.kafka.metadata import metadata_column
from firesteel.sql.connectors.kafka.offsets import stopping
from firesteel.sql.connectors.kafka.parts import Parts
from firesteel.sql.connectors.kafka.records import Part, Place, TableRecords
from firesteel.sql.connectors.options import TableOptions
from firesteel.sql.connectors.watermarks import source_strategy
from firesteel.sql.operators.borders import columns_type
from firesteel.sql.schema import ColumnKind
from firesteel.sql.session import session_zone
from firesteel.util.exceptions import TableException

__all__ = ["PROPERTIES", "KafkaScan", "properties_of", "subscription", "topic_names"]

PROPERTIES: Final = "properties."


def properties_of(options: TableOptions) -> dict[str, str]:
    """Return the properties of Kafka's clients.

    :raises TableException: there is no address.
    """
    found = options.starting(PROPERTIES)
    if BOOTSTRAP not in found:
        raise TableException(
            "One or more required options are missing.",
            detail=f"Missing required options are: {PROPERTIES}{BOOTSTRAP}, of the connector "
            f"'{options.connector}' of table {options.table}",
        )
    return found


def topic_names(text: str | None) -> tuple[str, ...]:
    """Return the topics of the option ``topic``, which are separated by semicolons."""
    return tuple(name.strip() for name in (text or "").split(";") if name.strip())


def subscription(options: TableOptions) -> Subscription:
    """Return what is read."""
    topics, pattern = options["topic"], options.get("topic-pattern")
    if topics is not None and pattern is not None:
        raise options.error(
            "topic-pattern", "option 'topic' and 'topic-pattern' shouldn't be set together", "leave one out"
        )
    if pattern is not None:
        try:
            re.compile(pattern)
        except re.error as error:
            raise options.error(
                "topic-pattern", f"{pattern!r} is not a regular expression: {error}"
            ) from error
        return Subscription(pattern=pattern)
    names = topic_names(topics)
    if not names:
        raise TableException(
            "Either 'topic' or 'topic-pattern' must be set.", detail=f"table {options.table}"
        )
    return Subscription(topics=names)


@dataclass(frozen=True, slots=True)
class KafkaScan:
    """What reads a table of topics."""

    context: TableContext
    parts: Parts
    subscription: Subscription
    properties: Mapping[str, str]
    starting: OffsetsInitializer
    changelog_mode: frozenset[str]
    upsert: bool = False
    makes_watermarks = True
    reads_metadata = True

    @property
    def stopping(self) -> OffsetsInitializer | None:
        return stopping(self.context.options, self.subscription.topics)

    @property
    def bounded(self) -> bool:
        return self.stopping is not None

    def check(self) -> None:
        """:raises FiresteelError: options contradict each other, or a format has no form for the columns."""
        self.parts.check(written=False)
        self._places(tuple(range(len(self.context.schema.source_columns))))
        self._source(TableRecords(Part(*self.parts.value), None, (), self.upsert)).check()

    def build(self, run: Any, node: p.TableSourceScan) -> Transformation:
        options = self.context.options
        source = SourceTransformation(
            name=f"Source: {node.table.name.rpartition('.')[2]}",
            source=self._source(TableRecords(*self._places(node.columns), self.upsert)),
            watermark_strategy=source_strategy(run, node, options),
            output_type=columns_type(node.row),
            parallelism=options["scan.parallelism"],
        )
        made: Transformation = run.add(source, node)
        return made

    def _source(self, records: TableRecords) -> KafkaTopicSource:
        properties = {GROUP_ID: f"KafkaSource-{self.context.table.name}", **self.properties}
        interval_ms = self.context.options.get("scan.topic-partition-discovery.interval")
        if interval_ms is not None:
            properties[DISCOVERY_INTERVAL] = str(interval_ms)
        return KafkaTopicSource(
            self.subscription, records, properties, self.starting, self.stopping, self.bounded
        )

    def _places(self, columns: tuple[int, ...]) -> tuple[Part, Part | None, tuple[Place, ...]]:
        """Return the parts with the columns that are read of them, and where each of *columns* is."""
        context, (value_format, value_row) = self.context, self.parts.value
        of_value: list[int] = []
        of_key: list[int] = []
        places: list[Place] = []
        for index in columns:
            column = context.schema.source_columns[index]
            name = column.name
            if column.kind is ColumnKind.METADATA:
                zone = session_zone(context.configuration)
                connector, of_format = context.options.connector, format_metadata(value_format)
                places.append(metadata_column(context.table.name, connector, column, zone, of_format))
            elif name in self.parts.names and (self.upsert or name not in value_row.names):
                assert self.parts.key is not None
                places.append((True, len(of_key)))
                of_key.append(self.parts.key[1].names.index(self.parts.names[name]))
            else:
                places.append((False, len(of_value)))
                of_value.append(value_row.names.index(name))
        key = Part(*self.parts.key, tuple(of_key)) if of_key and self.parts.key is not None else None
        return Part(value_format, value_row, tuple(of_value)), key, tuple(places)
