"""CSV files and messages as rows (PyFlink: ``pyflink.datastream.formats.csv``)."""

from __future__ import annotations

from firesteel.datastream.formats._csv_messages import (
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
)
from firesteel.datastream.formats._csv_schema import (
    CsvBulkWriters,
    CsvReaderFormat,
    CsvSchema,
    CsvSchemaBuilder,
)

__all__ = [
    "CsvBulkWriters",
    "CsvReaderFormat",
    "CsvRowDeserializationSchema",
    "CsvRowSerializationSchema",
    "CsvSchema",
    "CsvSchemaBuilder",
]
