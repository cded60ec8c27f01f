"""CSV files and messages as rows (PyFlink: ``pyflink.datastream.formats.csv``)."""

from __future__ import annotations

from firesteel.connectors.files.csv_formats import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvSchema,
    CsvSchemaBuilder,
)
from firesteel.formats.csv_messages import CsvRowDeserializationSchema, CsvRowSerializationSchema

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]
