"""Schemas for messages that are a single value: text, bytes or a number (Flink: the format ``raw``)."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from firesteel.common.errors import FiresteelError, TypeMismatchError, UnsupportedFeatureError
from firesteel.common.serialization import DeserializationSchema, SerializationSchema, checked_charset
from firesteel.common.typeinfo import BasicType, BasicTypeInfo, TypeInformation, Types

_NUMBERS: Final = {
    BasicType.BOOLEAN: "?",
    BasicType.BYTE: "b",
    BasicType.SHORT: "h",
    BasicType.INT: "i",
    BasicType.LONG: "q",
    BasicType.FLOAT: "f",
    BasicType.DOUBLE: "d",
}
_BYTES: Final = Types.PRIMITIVE_ARRAY(Types.BYTE())


class RawFormatError(FiresteelError, ValueError):
    """Raised when the size of a message is not that of its number type."""


class RawFormatDeserializationSchema(DeserializationSchema):
    """Reads the whole message as one value.

    :param type_info: a string, bytes (an array of BYTE), a boolean or a number. Bytes that are invalid in the
        charset become U+FFFD, as in Java.
    :param charset_name: of texts.
    :param is_big_endian: the byte order of numbers.
    """

    def __init__(
        self, type_info: TypeInformation, charset_name: str = "UTF-8", is_big_endian: bool = True
    ) -> None:
        self._options = type_info, charset_name, is_big_endian
        self._decode = self._decoder()

    def _decoder(self) -> Callable[[bytes], Any]:
        type_info, charset, _ = self._options
        number = _number(*self._options)
        if number is None:
            if type_info == _BYTES:
                return bytes
            encoding = checked_charset(charset)
            return lambda message: message.decode(encoding, "replace")
        unpack, size = number.unpack, number.size

        def decode(message: bytes) -> Any:
            if len(message) != size:
                raise RawFormatError(f"a raw {type_info} has {size} bytes, the message has {len(message)}")
            return unpack(message)[0]

        return decode

    def deserialize(self, message: bytes | None) -> Any:
        return None if message is None else self._decode(message)

    def get_produced_type(self) -> TypeInformation:
        return self._options[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return RawFormatDeserializationSchema, self._options


class RawFormatSerializationSchema(SerializationSchema):
    """Writes a value as the whole message; None stays None. The parameters are those of the deserialization
    schema."""

    def __init__(
        self, type_info: TypeInformation, charset_name: str = "UTF-8", is_big_endian: bool = True
    ) -> None:
        self._options = type_info, charset_name, is_big_endian
        self._encode = self._encoder()

    def _encoder(self) -> Callable[[Any], bytes]:
        type_info, charset, _ = self._options
        number = _number(*self._options)
        if number is not None:
            return number.pack
        if type_info == _BYTES:
            return bytes
        encoding = checked_charset(charset)
        return lambda text: text.encode(encoding, "replace")

    def serialize(self, element: Any) -> bytes | None:
        if element is None:
            return None
        try:
            return self._encode(element)
        except (struct.error, TypeError, AttributeError, OverflowError) as error:
            raise TypeMismatchError(
                f"not a raw {self._options[0]}: {element!r}", detail=str(error)
            ) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return RawFormatSerializationSchema, self._options


def _number(type_info: TypeInformation, _: str, is_big_endian: bool) -> struct.Struct | None:
    """Return the struct format of a number; None for texts and bytes."""
    if type_info in (Types.STRING(), _BYTES):
        return None
    if isinstance(type_info, BasicTypeInfo) and type_info._basic_type in _NUMBERS:
        return struct.Struct((">" if is_big_endian else "<") + _NUMBERS[type_info._basic_type])
    raise UnsupportedFeatureError(
        f"a raw message cannot hold a {type_info}", hint="declare a string, bytes, a boolean or a number"
    )
