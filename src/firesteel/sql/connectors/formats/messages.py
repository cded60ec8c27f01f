"""Messages as columns: many at once, and what is unusual one by one.

A format gives two ways to read: a function from messages to columns, which gives None where it is not sure,
and the schema of rows that streams have for such messages, which then reads them instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeGuard

import numpy as np

from firesteel.common.columns import Columns
from firesteel.common.serialization import DeserializationSchema
from firesteel.program.bad_records import message_decoder
from firesteel.sql.operators.convert import columns_of
from firesteel.sql.types import RowType

__all__ = [
    "MessageReader",
    "ReadMessages",
    "ReadUsual",
    "SchemaReader",
    "have_bodies",
    "one_line_each",
    "one_object_each",
]

_TRIES: Final = 3  # unusual batches in a row, before it is not tried any more


class ReadMessages(NamedTuple):
    """What came of some messages.

    :param origins: the message of each row; None: row i is of message i, and each message has one.
    :param bad: messages that cannot be read. :param ignored: how many were left out, as the options say.
    """

    columns: Columns
    origins: np.ndarray[Any, Any] | None = None
    bad: Sequence[tuple[int, Exception]] = ()
    ignored: int = 0


ReadUsual = Callable[[Sequence[bytes]], ReadMessages | None]


def have_bodies(messages: Sequence[bytes | None]) -> TypeGuard[Sequence[bytes]]:
    """Whether no message is a tombstone."""
    return None not in messages


class MessageReader(Protocol):
    """Reads messages as columns, in a task."""

    def open(self) -> None: ...

    def read(self, messages: Sequence[bytes | None]) -> ReadMessages: ...


class SchemaReader:
    """Reads messages as a schema of rows does.

    A message of None (a tombstone) has no row, unless *schema* gives it one.

    :param schema: reads the same messages as rows of *row*, with their kinds. :param columns: the wanted ones
        of *row*. :param usual: reads what is usual, as the wanted columns.
    """

    def __init__(
        self,
        schema: DeserializationSchema,
        row: RowType,
        columns: tuple[int, ...],
        usual: ReadUsual | None = None,
    ) -> None:
        self._schema = schema
        self._decode = message_decoder(schema)
        self._row = row
        self._columns = columns
        self._usual = usual
        self._tries = _TRIES if usual is not None else 0

    def open(self) -> None:
        self._schema.open()

    def read(self, messages: Sequence[bytes | None]) -> ReadMessages:  # hot
        if self._tries and have_bodies(messages):
            assert self._usual is not None
            found = self._usual(messages)
            if found is not None:
                self._tries = _TRIES
                return found
            self._tries -= 1
        return self._as_rows(messages)

    def _as_rows(self, messages: Sequence[bytes | None]) -> ReadMessages:
        decoded = self._decode(messages)
        every = columns_of(decoded.values, self._row, kinds=True)
        columns = every.with_arrays([every.arrays[c] for c in self._columns])
        origins = None if decoded.origins is None else np.array(decoded.origins, np.int64)
        return ReadMessages(columns, origins, decoded.bad, decoded.ignored)


def one_line_each(read_block: Callable[[bytes], Columns | None]) -> ReadUsual:
    """Read messages as the lines of a block, if each of them is one line."""

    def read(messages: Sequence[bytes]) -> ReadMessages | None:  # hot
        block = b"\n".join(messages)
        if block.count(b"\n") != len(messages) - 1 or b"\r" in block:
            return None
        return _one_each(read_block(block), len(messages))

    return read


def one_object_each(read_block: Callable[[bytes], Columns | None]) -> ReadUsual:
    """Read messages as a block of JSON objects, if each of them is one."""

    def read(messages: Sequence[bytes]) -> ReadMessages | None:  # hot
        block = b"\n".join(messages)
        between = len(messages) - 1
        # Each line begins and ends an object, so there are as many rows as lines, or more: none is without.
        if block.count(b"\n") != between or block.count(b"}\n{") != between or block[-1:] != b"}":
            return None
        return _one_each(read_block(block), len(messages))

    return read


def _one_each(columns: Columns | None, count: int) -> ReadMessages | None:
    return None if columns is None or len(columns) != count else ReadMessages(columns)
