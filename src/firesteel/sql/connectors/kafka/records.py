"""From messages to columns: the value, the key and the metadata of each message beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from firesteel.common.columns import DELETE, UPDATE_AFTER, Columns, as_values
from firesteel.connectors.kafka.records import BatchDeserializationSchema, Decoded, bad_message
from firesteel.sql.connectors.formats.change_metadata import FormatColumn, roots_of
from firesteel.sql.connectors.formats.messages import MessageReader, ReadMessages
from firesteel.sql.connectors.formats.registry import MessageFormat
from firesteel.sql.connectors.kafka.metadata import MetadataColumn
from firesteel.sql.operators.pairs import NO_ROW, taken
from firesteel.sql.types import RowType

if TYPE_CHECKING:
    from confluent_kafka import Message

__all__ = ["Part", "Place", "TableRecords"]

_KEY: Final = methodcaller("key")
_VALUE: Final = methodcaller("value")

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """The key or the value of messages.

    :param row: all its columns. :param columns: those that are read.
    """

    format: MessageFormat
    row: RowType
    columns: tuple[int, ...] = ()

    def reader(self) -> MessageReader:
        made = self.format.message_reader(self.row, self.columns)
        made.open()
        return made


#: Where a column of the table is: a column that is read of the key (True) or the value (False), or metadata.
Place = tuple[bool, int] | MetadataColumn | FormatColumn


class TableRecords(BatchDeserializationSchema):
    """:param key: None: it is not read. :param places: of the columns that are wanted.
    :param upsert: a message without a value deletes the row of its key, others replace it.
    """

    def __init__(self, value: Part, key: Part | None, places: tuple[Place, ...], upsert: bool) -> None:
        self._parts = value, key
        self._places = places
        self._upsert = upsert

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_values", None)
        state.pop("_keys", None)
        return state

    def open(self) -> None:
        value, key = self._parts
        self._values = value.reader()
        self._keys = None if key is None else key.reader()

    def decode(self, messages: Sequence[Message]) -> Decoded:  # hot
        if not messages:
            return Decoded([], None, [], 0)
        bodies = list(map(_VALUE, messages))
        values = _upserts(self._values, bodies) if self._upsert else self._values.read(bodies)
        bad = dict(values.bad)
        columns, origins, ignored = values.columns, values.origins, values.ignored
        keys: list[pa.Array] = []
        if self._keys is not None:
            found = self._keys.read(list(map(_KEY, messages)))
            bad = {**dict(found.bad), **bad}
            ignored += found.ignored
            columns, origins, keys = _beside(columns, origins, found, len(messages))
        roots = roots_of(bodies) if any(isinstance(p, FormatColumn) for p in self._places) else []
        arrays = [self._column(place, columns, keys, messages, roots, origins) for place in self._places]
        made = Columns(arrays, len(columns), columns.kinds)
        unread = [bad_message(messages[i], error) for i, error in sorted(bad.items())]
        return Decoded(as_values(made), None, unread, ignored)

    @staticmethod
    def _column(
        place: Place,
        values: Columns,
        keys: list[pa.Array],
        messages: Sequence[Message],
        roots: Sequence[Any],
        origins: Array | None,
    ) -> pa.Array:
        if isinstance(place, MetadataColumn | FormatColumn):
            array = place.read(messages) if isinstance(place, MetadataColumn) else place.read(roots)
            return array if origins is None else array.take(pa.array(origins))
        of_key, at = place
        return keys[at] if of_key else values.arrays[at]


def _upserts(reader: MessageReader, bodies: list[bytes | None]) -> ReadMessages:
    """Read values as rows that replace others; a tombstone is a row without values, of kind DELETE."""
    there = [i for i, body in enumerate(bodies) if body is not None]
    if len(there) == len(bodies):
        read = reader.read(bodies)
        return read._replace(
            columns=read.columns.with_kinds(np.full(len(read.columns), UPDATE_AFTER, np.int8))
        )
    read = reader.read([bodies[i] for i in there])
    places = np.array(there, np.int64)
    tombstones = np.setdiff1d(np.arange(len(bodies)), places)
    every = np.concatenate([places if read.origins is None else places[read.origins], tombstones])
    order = np.argsort(every, kind="stable")
    rows = np.concatenate([np.arange(len(read.columns)), np.full(len(tombstones), NO_ROW)])[order]
    kinds = np.where(rows == NO_ROW, DELETE, UPDATE_AFTER).astype(np.int8)
    columns = Columns(taken(read.columns.arrays, rows), len(rows), kinds)
    bad = [(there[i], error) for i, error in read.bad]
    return ReadMessages(columns, every[order], bad, read.ignored)


def _beside(
    values: Columns, origins: Array | None, keys: ReadMessages, count: int
) -> tuple[Columns, Array | None, list[pa.Array]]:
    """Return rows whose message has a key, their messages, and the columns of their keys."""
    if origins is None and keys.origins is None:
        return values, None, list(keys.columns.arrays)
    if origins is None:
        origins = np.arange(len(values))
    row_of = np.full(count, NO_ROW, np.int64)
    row_of[slice(None) if keys.origins is None else keys.origins] = np.arange(len(keys.columns))
    rows = row_of[origins]
    there = rows != NO_ROW
    if not there.all():
        values, origins, rows = values.filter(there), origins[there], rows[there]
    return values, origins, taken(keys.columns.arrays, rows)
