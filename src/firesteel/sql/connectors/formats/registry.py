"""Formats of tables: one record each.

Other packages call ``TABLE_FORMATS.register`` when they are imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import Any, Final, Protocol

from firesteel.common.columns import Columns
from firesteel.common.serialization import BulkWriterFactory, Encoder
from firesteel.program.registry import Registry, load
from firesteel.program.sources import SourceReader
from firesteel.sql.connectors.formats.change_metadata import FormatMetadata
from firesteel.sql.connectors.formats.messages import MessageReader
from firesteel.sql.connectors.options import Option, TableOptions, text
from firesteel.sql.types import RowType
from firesteel.util.exceptions import TableException

__all__ = [
    "INSERTS",
    "TABLE_FORMATS",
    "FileFormat",
    "FormatOptions",
    "MessageFormat",
    "MessageWriter",
    "TableFormat",
    "format_metadata",
    "format_of",
    "format_options",
    "message_format_of",
]


class FileFormat(Protocol):
    """A format of files, with its options. It is sent to tasks."""

    def reader(self, row: RowType, columns: tuple[int, ...]) -> SourceReader:
        """What reads ranges of files as columns.

        :param row: all columns of a file. :param columns: those that are wanted, in this order.
        """

    def writer(self, row: RowType) -> BulkWriterFactory | Encoder:
        """What writes files of columns: ``add_elements``, or ``encode_batch``, takes ``Columns``."""


#: What a format without a changelog gives and takes.
INSERTS: Final = frozenset({"+I"})

#: Columns -> the message of each row.
MessageWriter = Callable[[Columns], list[bytes | None]]


class MessageFormat(Protocol):
    """A format of messages, with its options. It is sent to tasks.

    ``kinds`` are the kinds of rows that its messages have. ``metadata``, if it is there, is what they say
    beside the rows: key -> ``FormatMetadata``.
    """

    @property
    def kinds(self) -> frozenset[str]: ...

    def message_reader(self, row: RowType, columns: tuple[int, ...]) -> MessageReader:
        """Return what reads messages as columns.

        :param row: all columns of a message. :param columns: those that are wanted, in this order.
        """

    def message_writer(self, row: RowType) -> MessageWriter:
        """Return the function from columns to messages."""


def format_metadata(format_: MessageFormat) -> Mapping[str, FormatMetadata]:
    """Return what messages of a format say beside their rows, by key."""
    found: Mapping[str, FormatMetadata] = getattr(format_, "metadata", {})
    return found


class FormatOptions:
    """The options of one format of one table, without their prefix."""

    def __init__(self, options: TableOptions, prefix: str) -> None:
        self.table = options
        self.prefix = prefix

    def __getitem__(self, key: str) -> Any:
        return self.table[self.prefix + key]

    def get(self, key: str) -> Any:
        """Return the value of an option, None if the format does not have it."""
        return self.table.get(self.prefix + key)

    def error(self, key: str, why: str, hint: str | None = None) -> TableException:
        return self.table.error(self.prefix + key, why, hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFormat:
    """:param files: ``FormatOptions -> FileFormat``, or its place as ``"module:name"``; None: not of files.
    :param messages: ``FormatOptions -> MessageFormat``, likewise.
    :param wildcards: options of it that are not checked here begin so."""

    name: str
    options: tuple[Option, ...] = ()
    wildcards: tuple[str, ...] = ()
    files: str | Callable[[FormatOptions], FileFormat] | None = None
    messages: str | Callable[[FormatOptions], MessageFormat] | None = None


TABLE_FORMATS: Final = Registry("table format", TableFormat)


@cache
def _load() -> None:
    from firesteel.sql.connectors.formats import avro, blocks, changes, csv, json, protobuf, raw

    for module in (avro, blocks, changes, csv, json, protobuf, raw):
        for record in module.FORMATS:
            TABLE_FORMATS.register(record)


def _named(name: str) -> TableFormat:
    _load()
    found = TABLE_FORMATS.find(name)
    if found is None:
        known = sorted(record.name for record in TABLE_FORMATS.all())
        near = get_close_matches(name, known, 1, 0.6)
        raise TableException(
            f"Could not find any format factory for identifier '{name}'.",
            hint=(f"did you mean {near[0]}? " if near else "") + f"available are {', '.join(known)}",
        )
    return found


def _prefix(key: str, name: str) -> str:
    return f"{key.removesuffix('format')}{name}."


def format_options(key: str, given: Mapping[str, str]) -> tuple[list[Option], tuple[str, ...]]:
    """The options of the format that the option *key* names, with their prefixes, and the option itself; what
    its unchecked options begin with."""
    name = given.get(key)
    if name is None:
        return [text(key)], ()
    found = _named(name)
    prefix = _prefix(key, name)
    options = [replace(o, key=prefix + o.key) for o in found.options]
    return [text(key), *options], tuple(prefix + w for w in found.wildcards)


def format_of(options: TableOptions, key: str = "format") -> FileFormat:
    """Return the format of the files of a table.

    :raises TableException: the option *key* is missing, or its format is not one of files.
    """
    made: FileFormat = _made(options, key, "files")
    return made


def message_format_of(options: TableOptions, key: str) -> MessageFormat:
    """Return the format of the messages of a table.

    :raises TableException: the option *key* is missing, or its format is not one of messages.
    """
    made: MessageFormat = _made(options, key, "messages")
    return made


def _made(options: TableOptions, key: str, face: str) -> Any:
    """:param face: the field of ``TableFormat`` that makes it."""
    name = options.get(key)
    if name is None:
        raise TableException(
            "One or more required options are missing.",
            detail=f"Missing required options are: {key}, of the connector '{options.connector}' of table "
            f"{options.table}",
        )
    maker: Any = getattr(_named(name), face)
    if maker is None:
        able = sorted(record.name for record in TABLE_FORMATS.all() if getattr(record, face) is not None)
        raise TableException(f"The format '{name}' is not one of {face}.", hint=f"such are {', '.join(able)}")
    if isinstance(maker, str):
        maker = load(maker)
    return maker(FormatOptions(options, _prefix(key, name)))
