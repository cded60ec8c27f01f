"""``avro``: messages that are one Avro record each, of the schema that the columns make."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from firesteel.common.columns import Columns
from firesteel.formats.avro import AvroRowDeserializationSchema, AvroRowSerializationSchema
from firesteel.sql import types as t
from firesteel.sql.connectors.formats.messages import MessageReader, SchemaReader
from firesteel.sql.connectors.formats.registry import INSERTS, FormatOptions, MessageWriter, TableFormat
from firesteel.sql.connectors.options import refused
from firesteel.sql.operators.objects import objects_of
from firesteel.util.exceptions import TableException

__all__ = ["FORMATS", "AvroTableFormat", "avro_schema_text"]

_MILLIS: Final = 3  # digits of a second that the logical types of Avro have here


@dataclass(frozen=True, slots=True)
class AvroTableFormat:
    """Values have the logical types that Flink gives them by default (its legacy mapping)."""

    kinds: ClassVar = INSERTS

    def message_reader(self, row: t.RowType, columns: tuple[int, ...]) -> MessageReader:
        schema = AvroRowDeserializationSchema(avro_schema_string=avro_schema_text(row))
        return SchemaReader(schema, row, columns)

    def message_writer(self, row: t.RowType) -> MessageWriter:
        schema = AvroRowSerializationSchema(avro_schema_string=avro_schema_text(row))

        def write(columns: Columns) -> list[bytes | None]:
            fields = [objects_of(a, f.data_type) for a, f in zip(columns.arrays, row.fields, strict=True)]
            return schema.serialize_batch(list(zip(*fields, strict=True)))

        return write


def avro_schema_text(row: t.RowType) -> str:
    """Return the Avro schema of a row, as text (Flink: ``AvroSchemaConverter``).

    :raises TableException: a column has a type that Avro has not.
    """
    return json.dumps(_record(row, "org.apache.flink.avro.generated.record"))


def _record(row: t.RowType, name: str) -> dict[str, Any]:
    fields = []
    for field in row.fields:
        found: dict[str, Any] = {"name": field.name, "type": _schema(field.data_type, f"{name}_{field.name}")}
        if field.data_type.nullable:
            found["default"] = None
        fields.append(found)
    return {"type": "record", "name": name, "fields": fields}


def _schema(data_type: t.DataType, name: str) -> Any:
    make = _SCHEMAS.get(type(data_type))
    if make is None:
        raise _unsupported(data_type, name, "cast it to another type, such as STRING")
    made = make(data_type, name)
    return ["null", made] if data_type.nullable else made


def _timestamp(data_type: Any, name: str) -> Any:
    if data_type.precision > _MILLIS:
        raise _unsupported(data_type, name, "it only supports a precision of at most 3: TIMESTAMP(3)")
    return {"type": "long", "logicalType": "timestamp-millis"}


def _time(data_type: Any, name: str) -> Any:
    if data_type.precision > _MILLIS:
        raise _unsupported(data_type, name, "it only supports a precision of at most 3: TIME(3)")
    return {"type": "int", "logicalType": "time-millis"}


def _instant(data_type: Any, name: str) -> Any:
    raise _unsupported(data_type, name, "cast it to TIMESTAMP(3)")


def _map(data_type: t.DataType, key: t.DataType, value: t.DataType, name: str) -> Any:
    if not isinstance(key, t.CharType | t.VarCharType):
        raise _unsupported(data_type, name, "keys of its maps are texts: MAP<STRING, ...>")
    return {"type": "map", "values": _schema(value, name)}


def _decimal(data_type: Any, _: str) -> Any:
    scale = data_type.scale
    return {"type": "bytes", "logicalType": "decimal", "precision": data_type.precision, "scale": scale}


def _plain(kind: str) -> Callable[[Any, str], Any]:
    return lambda data_type, name: kind


_SCHEMAS: Final[dict[type[t.DataType], Callable[[Any, str], Any]]] = {
    t.BooleanType: _plain("boolean"),
    t.TinyIntType: _plain("int"),
    t.SmallIntType: _plain("int"),
    t.IntType: _plain("int"),
    t.BigIntType: _plain("long"),
    t.FloatType: _plain("float"),
    t.DoubleType: _plain("double"),
    t.CharType: _plain("string"),
    t.VarCharType: _plain("string"),
    t.BinaryType: _plain("bytes"),
    t.VarBinaryType: _plain("bytes"),
    t.DecimalType: _decimal,
    t.DateType: lambda d, name: {"type": "int", "logicalType": "date"},
    t.TimeType: _time,
    t.TimestampType: _timestamp,
    t.LocalZonedTimestampType: _instant,
    t.ArrayType: lambda d, name: {"type": "array", "items": _schema(d.element_type, name)},
    t.MapType: lambda d, name: _map(d, d.key_type, d.value_type, name),
    t.MultisetType: lambda d, name: _map(d, d.element_type, t.IntType(), name),
    t.RowType: lambda d, name: _record(d, name),
}


def _unsupported(data_type: t.DataType, name: str, hint: str) -> TableException:
    column = name.removeprefix("org.apache.flink.avro.generated.record_")
    return TableException(
        f"Avro does not support the type {data_type}.", detail=f"column {column}", hint=hint
    )


def create(options: FormatOptions) -> AvroTableFormat:
    return AvroTableFormat()


FORMATS: Final = (
    TableFormat(
        name="avro",
        options=(
            refused(
                "encoding",
                "Avro messages are binary here",
                "leave it out, or use the format json",
                unless=("binary",),
            ),
            refused(
                "timestamp_mapping.legacy",
                "only Flink's default mapping of timestamps is here",
                unless=("true",),
            ),
            refused("codec", "it is for files, which tables do not write in Avro", "'format' = 'parquet'"),
        ),
        messages=create,
    ),
)
