"""Avro records whose schemas are in Confluent's schema registry (Flink: ``flink-avro-confluent-registry``).

A message is a zero byte, the id of its schema in four bytes, and the record.

>>> from firesteel.datastream.formats.avro import AvroSchema
>>> field = '{"name": "x", "type": "int"}'
>>> schema = AvroSchema.parse_string('{"type": "record", "name": "R", "fields": [%s]}' % field)
>>> reading = ConfluentRegistryAvroDeserializationSchema.for_row(schema, "http://registry:8081")
>>> reading.get_produced_type()
RowTypeInfo(x: Integer)"""

from __future__ import annotations

from firesteel.formats.avro_confluent import (
    ConfluentRegistryAvroDeserializationSchema,
    ConfluentRegistryAvroSerializationSchema,
    DebeziumAvroDeserializationSchema,
)

__all__ = [
    "ConfluentRegistryAvroDeserializationSchema",
    "ConfluentRegistryAvroSerializationSchema",
    "DebeziumAvroDeserializationSchema",
]
