"""Changes of database tables as JSON messages: Debezium, Canal and Maxwell (Flink: ``flink-json``).

Rows have row kinds: an update is two of them, ``-U`` and ``+U``.

>>> from firesteel.common.typeinfo import Types
>>> type_info = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
>>> schema = DebeziumJsonDeserializationSchema.builder().type_info(type_info).build()
>>> message = b'{"before": {"id": 1, "name": "a"}, "after": {"id": 1, "name": "b"}, "op": "u"}'
>>> [(str(row.get_row_kind()), row.name) for row in schema.deserialize_many(message)]
[('-U', 'a'), ('+U', 'b')]"""

from __future__ import annotations

from firesteel.formats.changelog_json import (
    CanalJsonDeserializationSchema,
    CanalJsonSerializationSchema,
    DebeziumJsonDeserializationSchema,
    DebeziumJsonSerializationSchema,
    MaxwellJsonDeserializationSchema,
    MaxwellJsonSerializationSchema,
)

__all__ = [
    "CanalJsonDeserializationSchema",
    "CanalJsonSerializationSchema",
    "DebeziumJsonDeserializationSchema",
    "DebeziumJsonSerializationSchema",
    "MaxwellJsonDeserializationSchema",
    "MaxwellJsonSerializationSchema",
]
