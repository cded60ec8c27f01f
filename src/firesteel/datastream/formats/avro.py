"""Avro records as rows, or as they are (PyFlink: ``pyflink.datastream.formats.avro``)."""

from __future__ import annotations

from firesteel.connectors.files.avro_formats import (
    AvroBulkWriters,
    AvroGenericRecordBulkFormat,
    AvroInputFormat,
)
from firesteel.formats.avro import (
    AvroDeserializationSchema,
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSerializationSchema,
)
from firesteel.formats.avro_types import AvroSchema, GenericRecordAvroTypeInfo

__all__ = [
    "AvroBulkWriters",
    "AvroDeserializationSchema",
    "AvroGenericRecordBulkFormat",
    "AvroInputFormat",
    "AvroRowDeserializationSchema",
    "AvroRowSerializationSchema",
    "AvroSchema",
    "AvroSerializationSchema",
    "GenericRecordAvroTypeInfo",
]
