"""Encodes and decodes single records in Avro's binary encoding, without a header."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

from firesteel.common.errors import FiresteelError
from firesteel.common.extras import extra
from firesteel.formats.text import encodable

Decode = Callable[[bytes], Any]
Encode = Callable[[Any], bytes]


class AvroError(FiresteelError, ValueError):
    """Raised when a message does not match its Avro schema, or a record does not match the schema."""


def avro_decoder(writer: Any, reader: Any = None, convert: Callable[[Any], Any] | None = None) -> Decode:
    """Return the function that decodes a message written with the schema ``writer`` to a record of the schema
    ``reader`` (None: the same). Bytes after the record are ignored, as in Flink."""
    read = extra("fastavro", "Avro", "avro").schemaless_reader

    def decode(message: bytes) -> Any:  # hot
        try:
            datum = read(BytesIO(message), writer, reader)
            return datum if convert is None else convert(datum)
        except Exception as error:  # the library has no common base class for its errors
            raise AvroError("cannot read Avro", detail=f"{type(error).__name__}: {error}") from error

    return decode


def avro_encoder(writer: Any, convert: Callable[[Any], Any] | None = None) -> Encode:
    """Return the function that encodes a record."""
    write = extra("fastavro", "Avro", "avro").schemaless_writer

    def encode(record: Any) -> bytes:  # hot
        buffer = BytesIO()
        try:
            datum = record if convert is None else convert(record)
            try:
                write(buffer, writer, datum)
            except UnicodeEncodeError:
                buffer = BytesIO()
                write(buffer, writer, encodable(datum))
        except Exception as error:
            raise AvroError(
                "the record does not fit its Avro schema",
                detail=f"{type(error).__name__}: {error}: {record!r}"[:500],
            ) from error
        return buffer.getvalue()

    return encode
