"""Metadata columns: what a message has beside key and value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from firesteel.connectors.kafka.records import TIMESTAMP_TYPES
from firesteel.connectors.kafka.serialization import Headers
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.cast import cast_column
from firesteel.sql.connectors.formats.change_metadata import FormatColumn, FormatMetadata
from firesteel.sql.schema import Column
from firesteel.sql.values import values_of
from firesteel.util.exceptions import TableException

if TYPE_CHECKING:
    from confluent_kafka import Message

__all__ = [
    "HEADERS",
    "READABLE",
    "TIMESTAMP",
    "WRITABLE",
    "MetadataColumn",
    "header_lists",
    "metadata_column",
]

TIMESTAMP: Final = "timestamp"
_OF_VALUE: Final = "value."
HEADERS: Final = "headers"
_TEXT: Final = t.VarCharType(t.MAX_LENGTH, nullable=False)
_HEADERS: Final = t.MapType(_TEXT, t.VarBinaryType(t.MAX_LENGTH, nullable=False), nullable=False)


def _timestamps(messages: Sequence[Message]) -> list[Any]:
    return [stamp if kind else None for kind, stamp in (m.timestamp() for m in messages)]


def _headers(messages: Sequence[Message]) -> list[Any]:
    """Of headers of the same name the last one counts, as in Flink."""
    return [list(dict(m.headers() or ()).items()) for m in messages]


#: Key -> its type, and what reads it.
READABLE: Final[dict[str, tuple[t.DataType, Callable[[Sequence[Message]], list[Any]]]]] = {
    "topic": (_TEXT, lambda messages: [m.topic() for m in messages]),
    "partition": (t.IntType(nullable=False), lambda messages: [m.partition() for m in messages]),
    HEADERS: (_HEADERS, _headers),
    "leader-epoch": (t.IntType(), lambda messages: [m.leader_epoch() for m in messages]),
    "offset": (t.BigIntType(nullable=False), lambda messages: [m.offset() for m in messages]),
    TIMESTAMP: (t.LocalZonedTimestampType(3, nullable=False), _timestamps),
    "timestamp-type": (_TEXT, lambda messages: [TIMESTAMP_TYPES[m.timestamp()[0]] for m in messages]),
}
WRITABLE: Final = (HEADERS, TIMESTAMP)


@dataclass(frozen=True, slots=True)
class MetadataColumn:
    """A wanted column. :param data_type: as declared. :param zone: of the session."""

    key: str
    data_type: t.DataType
    zone: str

    def read(self, messages: Sequence[Message]) -> pa.Array:
        data_type, read = READABLE[self.key]
        array = pa.array(read(messages), arrow_type(data_type))
        return cast_column(array, data_type, self.data_type, self.zone)

    def written(self, array: pa.Array) -> pa.Array:
        """Return a column of a query as Kafka has it."""
        return cast_column(array, self.data_type, READABLE[self.key][0], self.zone)


def header_lists(array: pa.Array) -> list[Headers | None]:
    """Return the headers of messages."""
    return values_of(array, _HEADERS)


def metadata_column(
    table: str, connector: str, column: Column, zone: str, of_format: Mapping[str, FormatMetadata]
) -> MetadataColumn | FormatColumn:
    """Return the column of a table.

    :param of_format: what the format of the values has: its keys come after ``value.``.
    :raises TableException: there is no such metadata, or it is not written but the column is.
    """
    if column.key in READABLE:
        return MetadataColumn(column.key, column.data_type, zone)
    found = of_format.get(column.key.removeprefix(_OF_VALUE)) if column.key.startswith(_OF_VALUE) else None
    if found is None:
        known = [*sorted(READABLE), *(_OF_VALUE + key for key in sorted(of_format))]
        raise TableException(
            f"Invalid metadata key '{column.key}' in column '{column.name}' of table '{table}'.",
            detail=f"The connector '{connector}' supports the following metadata keys for reading: "
            f"{', '.join(known)}",
        )
    return FormatColumn(found, column.data_type, zone)
