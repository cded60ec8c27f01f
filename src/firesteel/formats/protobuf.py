"""Schemas for Protobuf messages as rows (Flink: the format ``protobuf``). Needs the extra
``firesteel[protobuf]``."""

from __future__ import annotations

from typing import Any

from firesteel.common.errors import ConfigurationError, FiresteelError
from firesteel.common.extras import extra
from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.formats.protobuf_rows import files_of, message_class, message_format
from firesteel.formats.row_input import check_rows
from firesteel.formats.text import encodable


class ProtobufError(FiresteelError, ValueError):
    """Raised when a message is not a Protobuf message of its type, or a row does not match the type."""


class ProtobufRowDeserializationSchema(DeserializationSchema):
    """Reads messages as rows with the fields of the message, in order.

    :param message_type: the generated class of the message, or its descriptor. Workers need neither.
    :param ignore_parse_errors: skip and count what cannot be read.
    :param read_default_values: fields missing from a message get the default values of the definition;
        otherwise they are None, as are empty lists and maps. Fields without presence (plain proto3 fields)
        always have their value.
    """

    def __init__(
        self, message_type: Any, ignore_parse_errors: bool = False, read_default_values: bool = False
    ) -> None:
        self._descriptor = _descriptor_of(message_type)
        self._options = ignore_parse_errors, read_default_values
        self._format = message_format(self._descriptor, read_default_values)
        self._parse = _class_of(self._descriptor).FromString
        self._error = extra("google.protobuf.message", "Protobuf", "protobuf").DecodeError

    def deserialize(self, message: bytes | None) -> Any:
        if message is None:
            return None
        try:
            return self._format.read(self._parse(message))
        except self._error as error:
            if self._options[0]:
                self.ignored += 1
                return None
            raise ProtobufError(f"not a {self._descriptor.full_name}", detail=str(error)) from error

    def get_produced_type(self) -> TypeInformation:
        return self._format.type_info

    def __reduce__(self) -> tuple[Any, ...]:
        files, name = files_of(self._descriptor), self._descriptor.full_name
        return _reading, (files, name, *self._options)


class ProtobufRowSerializationSchema(SerializationSchema):
    """Writes rows as messages, field by field; None is not written.

    :param message_type: the generated class of the message, or its descriptor.
    """

    def __init__(self, message_type: Any) -> None:
        self._descriptor = _descriptor_of(message_type)
        self._class = _class_of(self._descriptor)
        self._format = message_format(self._descriptor, False)

    def check_type(self, type_info: TypeInformation | None) -> None:
        check_rows("Protobuf", self._format.type_info, type_info)

    def serialize(self, element: Any) -> bytes:
        try:
            try:
                return self._bytes_of(element)
            except UnicodeEncodeError:
                return self._bytes_of(encodable(element))
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise ProtobufError(
                f"the row does not fit {self._descriptor.full_name}",
                detail=f"{type(error).__name__}: {error}: {element!r}"[:500],
            ) from error

    def _bytes_of(self, element: Any) -> bytes:
        message = self._class()
        self._format.fill(message, element)
        data: bytes = message.SerializeToString(deterministic=True)
        return data

    def __reduce__(self) -> tuple[Any, ...]:
        return _writing, (files_of(self._descriptor), self._descriptor.full_name)


def _descriptor_of(message_type: Any) -> Any:
    descriptor = getattr(message_type, "DESCRIPTOR", message_type)
    kind = extra("google.protobuf.descriptor", "Protobuf", "protobuf").Descriptor
    if not isinstance(descriptor, kind):
        raise ConfigurationError(
            f"neither a generated Protobuf class nor a descriptor: {message_type!r}",
            hint="the class that protoc --python_out makes of a message",
        )
    return descriptor


def _class_of(descriptor: Any) -> Any:
    return extra("google.protobuf.message_factory", "Protobuf", "protobuf").GetMessageClass(descriptor)


def _reading(files: list[bytes], name: str, *options: bool) -> ProtobufRowDeserializationSchema:
    return ProtobufRowDeserializationSchema(message_class(files, name), *options)


def _writing(files: list[bytes], name: str) -> ProtobufRowSerializationSchema:
    return ProtobufRowSerializationSchema(message_class(files, name))
