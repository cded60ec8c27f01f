"""A format from outside: a number is as many strokes."""

from __future__ import annotations

from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.connectors.registry import FORMATS, Format


class TallyDeserializationSchema(DeserializationSchema):
    def deserialize(self, message: bytes) -> int:
        return message.count(b"|")

    def get_produced_type(self) -> TypeInformation:
        return Types.LONG()


class TallySerializationSchema(SerializationSchema):
    def serialize(self, element: int) -> bytes:
        return b"|" * element


FORMATS.register(Format(name="tally", module=__name__, jars=("tally",)))
