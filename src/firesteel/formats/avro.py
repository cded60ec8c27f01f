"""Schemas for Avro records as rows or as generic records (PyFlink: ``pyflink.datastream.formats.avro``)."""

from __future__ import annotations

from typing import Any

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.formats.avro_codec import avro_decoder, avro_encoder
from firesteel.formats.avro_schema import avro_rows, parse_avro
from firesteel.formats.avro_types import AvroSchema, GenericRecordAvroTypeInfo
from firesteel.formats.row_input import check_rows


class AvroRowDeserializationSchema(DeserializationSchema):
    """Reads messages that are one Avro record each as rows.

    :param avro_schema_string: the schema they were written with; ``docs/formats.md`` lists the types.
    :param record_class: a generated Java class; not supported.
    """

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        self._schema = _schema_text(record_class, avro_schema_string)
        rows = avro_rows(self._schema)
        self._type_info = rows.type_info
        self._decode = avro_decoder(rows.wire, None, rows.from_datum)

    def deserialize(self, message: bytes | None) -> Any:
        return None if message is None else self._decode(message)

    def get_produced_type(self) -> TypeInformation:
        return self._type_info

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroRowDeserializationSchema, (None, self._schema)


class AvroRowSerializationSchema(SerializationSchema):
    """Writes rows as messages of one Avro record each, field by field in the order of the schema.

    The parameters are those of ``AvroRowDeserializationSchema``.
    """

    def __init__(self, record_class: str | None = None, avro_schema_string: str | None = None) -> None:
        self._schema = _schema_text(record_class, avro_schema_string)
        rows = avro_rows(self._schema)
        self._type_info = rows.type_info
        self._encode = avro_encoder(rows.wire, rows.to_datum)

    def check_type(self, type_info: TypeInformation | None) -> None:
        check_rows("Avro", self._type_info, type_info)

    def serialize(self, element: Any) -> bytes:
        return self._encode(element)

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroRowSerializationSchema, (None, self._schema)


class AvroDeserializationSchema(DeserializationSchema):
    """Reads messages that are one Avro record each as generic records (Flink:
    ``AvroDeserializationSchema``)."""

    def __init__(self, schema: AvroSchema, writer_schema: AvroSchema | None = None) -> None:
        self._schemas = schema, writer_schema
        reader = parse_avro(str(schema))
        if writer_schema is None:
            self._decode = avro_decoder(reader)
        else:
            self._decode = avro_decoder(parse_avro(str(writer_schema)), reader)

    @staticmethod
    def for_generic(schema: AvroSchema, writer_schema: AvroSchema | None = None) -> AvroDeserializationSchema:
        """Read records of ``schema``; ``writer_schema`` is the schema they were written with, if it
        differs."""
        return AvroDeserializationSchema(schema, writer_schema)

    def deserialize(self, message: bytes | None) -> Any:
        return None if message is None else self._decode(message)

    def get_produced_type(self) -> TypeInformation:
        return GenericRecordAvroTypeInfo(self._schemas[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroDeserializationSchema, self._schemas


class AvroSerializationSchema(SerializationSchema):
    """Writes generic records as messages of one Avro record each (Flink: ``AvroSerializationSchema``)."""

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema
        self._encode = avro_encoder(parse_avro(str(schema)))

    @staticmethod
    def for_generic(schema: AvroSchema) -> AvroSerializationSchema:
        return AvroSerializationSchema(schema)

    def serialize(self, element: Any) -> bytes:
        return self._encode(element)

    def __reduce__(self) -> tuple[Any, ...]:
        return AvroSerializationSchema, (self._schema,)


def _schema_text(record_class: str | None, avro_schema_string: str | None) -> str:
    if record_class is not None:
        raise UnsupportedFeatureError(
            "A record class of Java cannot be used.",
            detail=f"got {record_class!r}",
            hint="pass its schema as avro_schema_string",
        )
    if avro_schema_string is None:
        raise TypeError("record_class or avro_schema_string should be specified.")
    return avro_schema_string
