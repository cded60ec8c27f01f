"""Topics that tables are written to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from firesteel.connectors.kafka.sink import Guarantee, KafkaTopicSink
from firesteel.program.sinks import Sink
from firesteel.program.transformations import SinkTransformation, Transformation
from firesteel.sql import physical as p
from firesteel.sql.connectors.buffering import BufferedSink
from firesteel.sql.connectors.factory import TableContext
from firesteel.sql.connectors.formats.registry import format_metadata
from firesteel.sql.connectors.kafka.metadata import WRITABLE, MetadataColumn, metadata_column
from firesteel.sql.connectors.kafka.parts import Parts
from firesteel.sql.connectors.kafka.scan import properties_of, topic_names
from firesteel.sql.connectors.kafka.serializer import TableSerializer
from firesteel.sql.connectors.options import Option, TableOptions, refused, text, word
from firesteel.sql.connectors.sinks import sink_transformation
from firesteel.sql.schema import ColumnKind
from firesteel.sql.session import session_zone
from firesteel.util.exceptions import TableException

__all__ = ["SINK_OPTIONS", "KafkaTarget"]

_GUARANTEE: Final = "sink.delivery-guarantee"
_PREFIX: Final = "sink.transactional-id-prefix"
SINK_OPTIONS: Final[tuple[Option, ...]] = (
    word(_GUARANTEE, [g.value for g in Guarantee], Guarantee.AT_LEAST_ONCE.value),
    text(_PREFIX),
    refused("sink.transaction-naming-strategy", "transactions are named by prefix, topic and subtask"),
    refused("sink.semantic", "the name was given up by Flink, too", f"'{_GUARANTEE}'"),
)


@dataclass(frozen=True, slots=True)
class KafkaTarget:
    """What writes a table to a topic. :param kinds: of the rows that it takes.
    :param buffer: how many rows wait for others of their key at most, and for how many milliseconds."""

    context: TableContext
    parts: Parts
    kinds: frozenset[str]
    fixed_partition: bool = False
    upsert: bool = False
    buffer: tuple[int, int] | None = None

    @property
    def deletes_old_rows(self) -> bool:
        return self.upsert

    def changelog_mode(self, made: frozenset[str]) -> frozenset[str]:
        return self.kinds

    def check(self) -> None:
        """:raises FiresteelError: options contradict each other, or a format has no form for the columns."""
        self.parts.check(written=True)
        self._sink().check()

    def attach(self, environment: Any, rows: Transformation, node: p.Sink) -> SinkTransformation:
        sink: Sink = self._sink()
        if self.buffer is not None:
            key = self.context.schema.primary_key
            assert key is not None
            sink = BufferedSink(sink, tuple(node.row.names.index(name) for name in key.columns), *self.buffer)
        return sink_transformation(environment, rows, node, sink, self.context.options["sink.parallelism"])

    def _sink(self) -> KafkaTopicSink:
        options = self.context.options
        guarantee = Guarantee(options[_GUARANTEE])
        if guarantee is Guarantee.EXACTLY_ONCE and not options[_PREFIX]:
            raise options.error(
                _PREFIX,
                f"it must be specified when '{_GUARANTEE}' is '{guarantee.value}'",
                "a name that no other sink on the cluster has, and that stays when the job is started again",
            )
        value, key = self.parts.writing(self.context.schema.sink_row.names)
        serializer = TableSerializer(
            _topic(options),
            value,
            key,
            self._metadata(),
            self.fixed_partition,
            self.upsert,
        )
        return KafkaTopicSink(serializer, properties_of(options), guarantee, options[_PREFIX])

    def _metadata(self) -> tuple[tuple[int, MetadataColumn], ...]:
        found = []
        for place, column in enumerate(self.context.schema.sink_columns):
            if column.kind is not ColumnKind.METADATA:
                continue
            table, connector = self.context.table.name, self.context.options.connector
            zone = session_zone(self.context.configuration)
            made = metadata_column(table, connector, column, zone, format_metadata(self.parts.value[0]))
            if not isinstance(made, MetadataColumn) or column.key not in WRITABLE:
                raise TableException(
                    f"Invalid metadata key '{column.key}' in column '{column.name}' of table '{table}'.",
                    detail=f"The connector '{connector}' supports the following metadata keys for writing: "
                    f"{', '.join(WRITABLE)}",
                    hint=f"declare the column as VIRTUAL: {column.name} {column.data_type} METADATA VIRTUAL",
                )
            found.append((place, made))
        return tuple(found)


def _topic(options: TableOptions) -> str:
    """Return the only topic."""
    names = topic_names(options["topic"])
    if len(names) != 1:
        raise options.error(
            "topic",
            f"a sink writes to one topic, not {len(names)}",
            "name one topic; a pattern is for reading",
        )
    return names[0]
