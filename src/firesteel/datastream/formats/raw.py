"""Messages that are one value: a text, bytes or a number (Flink: the format ``raw``)."""

from __future__ import annotations

from firesteel.formats.raw import RawFormatDeserializationSchema, RawFormatSerializationSchema

__all__ = ["RawFormatDeserializationSchema", "RawFormatSerializationSchema"]
