"""Schemas for JSON messages and lines as rows (PyFlink: ``pyflink.datastream.formats.json``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.common.serialization import DeserializationSchema, Encoder, SerializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.formats.json_rows import json_batch_encoder, json_decoder, json_encoder
from firesteel.formats.json_schema import type_of_json_schema
from firesteel.formats.json_structs import struct_batch_decoder
from firesteel.formats.row_input import MISFITS, check_rows, misfit


class JsonRowEncoder(Encoder):
    """Writes each record of a declared type as a line of JSON, for ``FileSink.for_row_format``."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._type_info = type_info
        self._encode = json_encoder(type_info)
        self._encode_all = json_batch_encoder(type_info)

    def encode(self, element: Any) -> bytes:
        return self._encode(element) + b"\n"

    def encode_batch(self, elements: Sequence[Any]) -> bytes:
        return b"\n".join([*self._encode_all(elements), b""])

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonRowEncoder, (self._type_info,)


class JsonRowDeserializationSchema(DeserializationSchema):
    """Reads the fields of a declared row type from JSON objects; see ``builder``."""

    def __init__(
        self, type_info: TypeInformation, fail_on_missing_field: bool, ignore_parse_errors: bool
    ) -> None:
        if fail_on_missing_field and ignore_parse_errors:
            raise ProgramError("a JSON schema cannot both fail on missing fields and ignore parse errors")
        self._options = (type_info, fail_on_missing_field, ignore_parse_errors)
        ignore = self._ignore if ignore_parse_errors else None
        self._decode = json_decoder(type_info, fail_on_missing_field, ignore)
        self._read_common = struct_batch_decoder(type_info, fail_on_missing_field)

    def _ignore(self) -> None:
        self.ignored += 1

    @staticmethod
    def builder() -> JsonRowDeserializationSchema.Builder:
        return JsonRowDeserializationSchema.Builder()

    def deserialize(self, message: bytes | None) -> Any:
        return None if message is None else self._decode(message)

    def deserialize_batch(self, messages: Sequence[bytes]) -> list[Any]:
        """Decode messages quickly; raises if any of them has an unusual form."""
        if self._read_common is None:
            return super().deserialize_batch(messages)
        return self._read_common(messages)

    def get_produced_type(self) -> TypeInformation:
        return self._options[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonRowDeserializationSchema, self._options

    class Builder:
        """Requires ``type_info`` or ``json_schema``."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None
            self._fail_on_missing_field = False
            self._ignore_parse_errors = False

        def type_info(self, type_info: TypeInformation) -> JsonRowDeserializationSchema.Builder:
            """Set the type of the records; its field names are looked up in the messages."""
            self._type_info = type_info
            return self

        def json_schema(self, json_schema: str) -> JsonRowDeserializationSchema.Builder:
            """Derive the type from a JSON schema."""
            if json_schema is None:
                raise TypeError("The json_schema must not be None.")
            self._type_info = type_of_json_schema(json_schema)
            return self

        def fail_on_missing_field(self) -> JsonRowDeserializationSchema.Builder:
            """Treat a missing field as an error; otherwise it is None."""
            self._fail_on_missing_field = True
            return self

        def ignore_parse_errors(self) -> JsonRowDeserializationSchema.Builder:
            """A value that cannot be read becomes None and a message that is not JSON is skipped; otherwise
            they are errors."""
            self._ignore_parse_errors = True
            return self

        def build(self) -> JsonRowDeserializationSchema:
            if self._type_info is None:
                raise TypeError("Typeinfo should be set.")
            return JsonRowDeserializationSchema(
                self._type_info, self._fail_on_missing_field, self._ignore_parse_errors
            )


class JsonRowSerializationSchema(SerializationSchema):
    """Writes rows of a declared type as JSON objects; see ``builder``."""

    def __init__(self, type_info: TypeInformation) -> None:
        self._type_info = type_info
        self._encode = json_encoder(type_info)
        self._encode_all = json_batch_encoder(type_info)

    @staticmethod
    def builder() -> JsonRowSerializationSchema.Builder:
        return JsonRowSerializationSchema.Builder()

    def check_type(self, type_info: TypeInformation | None) -> None:
        check_rows("JSON", self._type_info, type_info)

    def serialize(self, element: Any) -> bytes:
        try:
            return self._encode(element)
        except MISFITS as error:
            raise misfit("JSON", element, error) from error

    def serialize_batch(self, elements: Sequence[Any]) -> list[bytes | None]:
        if type(self).serialize is not JsonRowSerializationSchema.serialize:
            return super().serialize_batch(elements)
        try:
            return list(self._encode_all(elements))
        except MISFITS:  # encode one by one, to find the bad one
            return super().serialize_batch(elements)

    def __reduce__(self) -> tuple[Any, ...]:
        return JsonRowSerializationSchema, (self._type_info,)

    class Builder:
        """Requires ``with_type_info``."""

        def __init__(self) -> None:
            self._type_info: TypeInformation | None = None

        def with_type_info(self, type_info: TypeInformation) -> JsonRowSerializationSchema.Builder:
            """Set the type of the records; its field names are those of the objects."""
            self._type_info = type_info
            return self

        def build(self) -> JsonRowSerializationSchema:
            if self._type_info is None:
                raise TypeError("Typeinfo should be set.")
            return JsonRowSerializationSchema(self._type_info)
