"""Protobuf messages as rows (Flink: the format ``protobuf``). Needs the extra ``firesteel[protobuf]``."""

from __future__ import annotations

from firesteel.formats.protobuf import ProtobufRowDeserializationSchema, ProtobufRowSerializationSchema

__all__ = ["ProtobufRowDeserializationSchema", "ProtobufRowSerializationSchema"]
