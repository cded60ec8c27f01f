"""JSON messages as rows (PyFlink: ``pyflink.datastream.formats.json``)."""

from __future__ import annotations

from firesteel.connectors.files.json_formats import JsonReaderFormat
from firesteel.formats.json_messages import (
    JsonRowDeserializationSchema,
    JsonRowEncoder,
    JsonRowSerializationSchema,
)

__all__ = ["JsonReaderFormat", "JsonRowDeserializationSchema", "JsonRowEncoder", "JsonRowSerializationSchema"]
