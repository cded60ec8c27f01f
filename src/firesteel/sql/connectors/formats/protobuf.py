"""``protobuf``: messages of a generated class (Flink: ``PbFormatFactory``)."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, Final

from firesteel.common.columns import Columns
from firesteel.common.serialization import DeserializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.formats.protobuf import ProtobufRowDeserializationSchema, ProtobufRowSerializationSchema
from firesteel.formats.protobuf_rows import files_of, message_class
from firesteel.sql import types as t
from firesteel.sql.connectors.formats.messages import MessageReader, SchemaReader
from firesteel.sql.connectors.formats.protobuf_columns import shape_of
from firesteel.sql.connectors.formats.registry import INSERTS, FormatOptions, MessageWriter, TableFormat
from firesteel.sql.connectors.options import boolean, refused, text
from firesteel.sql.operators.objects import objects_of
from firesteel.sql.type_infos import type_info_of

__all__ = ["FORMATS", "ProtobufTableFormat"]

_CLASS: Final = "message-class-name"


@dataclass(frozen=True, slots=True)
class ProtobufTableFormat:
    """:param files, message: the definition of the message; workers need no generated class."""

    files: tuple[bytes, ...]
    message: str
    ignore_errors: bool = False
    defaults: bool = False
    kinds: ClassVar = INSERTS

    def message_reader(self, row: t.RowType, columns: tuple[int, ...]) -> MessageReader:
        return SchemaReader(_Reading(self, row), row, columns)

    def message_writer(self, row: t.RowType) -> MessageWriter:
        made = message_class(self.files, self.message)
        arrange = shape_of(made.DESCRIPTOR, row).write
        assert arrange is not None
        schema = ProtobufRowSerializationSchema(made)

        def write(columns: Columns) -> list[bytes | None]:
            fields = [objects_of(a, d) for a, d in zip(columns.arrays, row.types, strict=True)]
            return [schema.serialize(arrange(values)) for values in zip(*fields, strict=True)]

        return write


class _Reading(DeserializationSchema):
    """Reads messages as rows of the columns of a table."""

    def __init__(self, format_: ProtobufTableFormat, row: t.RowType) -> None:
        self._arguments = format_, row
        made = message_class(format_.files, format_.message)
        self._read = ProtobufRowDeserializationSchema(made, format_.ignore_errors, format_.defaults)
        pick = shape_of(made.DESCRIPTOR, row).read
        assert pick is not None
        self._pick = pick

    def __reduce__(self) -> tuple[Any, ...]:
        return _Reading, self._arguments

    def deserialize(self, message: bytes | None) -> Any:
        before = self._read.ignored
        found = self._read.deserialize(message)
        self.ignored += self._read.ignored - before
        return None if found is None else self._pick(found)

    def get_produced_type(self) -> TypeInformation:
        return type_info_of(self._arguments[1])


def _create(options: FormatOptions) -> ProtobufTableFormat:
    descriptor: Any = getattr(_class_named(options, options[_CLASS]), "DESCRIPTOR", None)
    if getattr(descriptor, "fields", None) is None:
        raise options.error(_CLASS, f"{options[_CLASS]!r} is not a class of messages", _HINT)
    return ProtobufTableFormat(
        tuple(files_of(descriptor)),
        descriptor.full_name,
        options["ignore-parse-errors"],
        options["read-default-values"],
    )


_HINT: Final = "the Python class that protoc --python_out makes of the message: shop.orders_pb2.Order"


def _class_named(options: FormatOptions, name: str) -> Any:
    """Return what is found under a path of names, of which the first ones are a module."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            found: Any = import_module(".".join(parts[:count]))
        except ModuleNotFoundError:
            continue
        for part in parts[count:]:
            found = getattr(found, part, None)
        if found is not None:
            return found
        break
    raise options.error(_CLASS, f"there is no {name!r} here", _HINT)


FORMATS: Final = (
    TableFormat(
        name="protobuf",
        options=(
            text(_CLASS, required=True),
            boolean("ignore-parse-errors", False),
            boolean("read-default-values", False),
            refused(
                "write-null-string-literal", "a NULL in an array or map is an error", "filter it out before"
            ),
        ),
        messages=_create,
    ),
)
