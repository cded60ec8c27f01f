"""From messages to columns: the value, the key and the metadata of each message beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import methodcaller
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from firesteel.common.columns import DELETE, UPDATE_AFTER, Columns
from firesteel.connectors.kafka.records import BatchDeserializationSchema, Decoded, bad_message
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
Place = tuple[bool, int] | MetadataColumn


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
        values = self._values.read(list(map(_VALUE, messages)))
        if self._upsert:
            values = _with_deletes(values, messages)
        bad = dict(values.bad)
        columns, origins, ignored = values.columns, values.origins, values.ignored
        keys: list[pa.Array] = []
        if self._keys is not None:
            found = self._keys.read(list(map(_KEY, messages)))
            bad = {**dict(found.bad), **bad}
            ignored += found.ignored
            columns, origins, keys = _beside(columns, origins, found, len(messages))
        arrays = [self._column(place, columns, keys, messages, origins) for place in self._places]
        made: Any = Columns(arrays, len(columns), columns.kinds)
        unread = [bad_message(messages[i], error) for i, error in sorted(bad.items())]
        return Decoded(made, None, unread, ignored)

    @staticmethod
    def _column(
        place: Place,
        values: Columns,
        keys: list[pa.Array],
        messages: Sequence[Message],
        origins: Array | None,
    ) -> pa.Array:
        if isinstance(place, MetadataColumn):
            array = place.read(messages)
            return array if origins is None else array.take(pa.array(origins))
        of_key, at = place
        return keys[at] if of_key else values.arrays[at]


def _with_deletes(values: ReadMessages, messages: Sequence[Message]) -> ReadMessages:
    """Add a row without values, of kind DELETE, for each tombstone."""
    count = len(values.columns)
    origins = np.arange(count) if values.origins is None else values.origins
    tombstones = np.array([i for i, m in enumerate(messages) if m.value() is None], np.int64)
    if not len(tombstones):
        kinds = np.full(count, UPDATE_AFTER, np.int8)
        return values._replace(columns=values.columns.with_kinds(kinds))
    every = np.concatenate([origins, tombstones])
    order = np.argsort(every, kind="stable")
    rows = np.concatenate([np.arange(count), np.full(len(tombstones), NO_ROW)])[order]
    kinds = np.where(rows == NO_ROW, DELETE, UPDATE_AFTER).astype(np.int8)
    columns = Columns(taken(values.columns.arrays, rows), len(rows), kinds)
    return values._replace(columns=columns, origins=every[order])


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
