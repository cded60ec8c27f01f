"""Avro records whose schemas are in Confluent's schema registry (Flink: ``flink-avro-confluent-registry``).

A message consists of a zero byte, the id of its schema in four bytes, and the record.

>>> from firesteel.datastream.formats.avro import AvroSchema
>>> field = '{"name": "x", "type": "int"}'
>>> schema = AvroSchema.parse_string('{"type": "record", "name": "R", "fields": [%s]}' % field)
>>> reading = ConfluentRegistryAvroDeserializationSchema.for_row(schema, "http://registry:8081")
>>> reading.get_produced_type()
RowTypeInfo(x: Integer)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from firesteel.common.errors import ProgramError
from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.common.types import Row, _make_row
from firesteel.formats.avro_codec import AvroError, avro_decoder, avro_encoder
from firesteel.formats.avro_schema import avro_rows, parse_avro, row_wire
from firesteel.formats.avro_types import AvroSchema, GenericRecordAvroTypeInfo
from firesteel.formats.changelog_rows import debezium_rows, row_type
from firesteel.formats.row_input import check_rows
from firesteel.formats.schema_registry import AUTO_REGISTER, RegistrySettings, SchemaRegistry

_MAGIC: Final = b"\0"
_HEADER: Final = 5


class _RegistryReader:
    """Reads each message with the schema it was written with. ``decoder_of`` is called once per schema, with
    its text, and returns a decoder."""

    def __init__(
        self, settings: RegistrySettings, decoder_of: Callable[[str], Callable[[bytes], Any]]
    ) -> None:
        self._registry = SchemaRegistry(settings)
        self._decoder_of = decoder_of
        self._decoders: dict[bytes, Callable[[bytes], Any]] = {}  # by the id in the message

    def read(self, message: bytes) -> Any:  # hot
        schema_id = message[1:_HEADER]
        if message[:1] != _MAGIC or len(schema_id) < _HEADER - 1:
            raise AvroError(
                "not in the format of a schema registry", detail=f"the message begins with {message[:5]!r}"
            )
        decode = self._decoders.get(schema_id)
        if decode is None:
            text = self._registry.schema(int.from_bytes(schema_id))
            decode = self._decoders[schema_id] = self._decoder_of(text)
        return decode(message[_HEADER:])


class ConfluentRegistryAvroDeserializationSchema(DeserializationSchema):
    """Reads messages, each with the schema it was written with, as records of the given schema.

    A registry that does not answer fails the job; an id that it does not know makes a bad record.
    """

    def __init__(self, schema: AvroSchema, settings: RegistrySettings, as_rows: bool) -> None:
        self._options = schema, settings, as_rows
        text = str(schema)
        self._convert: Callable[[Any], Any] | None = None
        self._type_info: TypeInformation
        if as_rows:
            rows = avro_rows(text)
            self._reader, self._convert = rows.wire, rows.from_datum
            self._type_info = rows.type_info
        else:
            self._reader = parse_avro(text)
            self._type_info = GenericRecordAvroTypeInfo(schema)
        self._messages = _RegistryReader(settings, self._decoder)

    @staticmethod
    def for_generic(
        schema: AvroSchema, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> ConfluentRegistryAvroDeserializationSchema:
        """Read generic records.

        :param url: of the registry; several are separated by commas.
        :param registry_configs: authentication and other options, see ``docs/formats.md``.
        """
        settings = RegistrySettings(url, registry_configs or {})
        return ConfluentRegistryAvroDeserializationSchema(schema, settings, False)

    @staticmethod
    def for_row(
        schema: AvroSchema, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> ConfluentRegistryAvroDeserializationSchema:
        """Read rows; the parameters are those of ``for_generic``."""
        return ConfluentRegistryAvroDeserializationSchema(
            schema, RegistrySettings(url, registry_configs or {}), True
        )

    def deserialize(self, message: bytes | None) -> Any:
        return None if message is None else self._messages.read(message)

    def _decoder(self, text: str) -> Callable[[bytes], Any]:
        writer = row_wire(text) if self._options[2] else parse_avro(text)
        reader = None if writer == self._reader else self._reader
        return avro_decoder(writer, reader, self._convert)

    def get_produced_type(self) -> TypeInformation:
        return self._type_info

    def __reduce__(self) -> tuple[Any, ...]:
        return ConfluentRegistryAvroDeserializationSchema, self._options


class ConfluentRegistryAvroSerializationSchema(SerializationSchema):
    """Writes messages with the id of the schema under a subject. The id is requested with the first
    message."""

    def __init__(self, subject: str, schema: AvroSchema, settings: RegistrySettings, as_rows: bool) -> None:
        self._options = subject, schema, settings, as_rows
        self._rows_type: TypeInformation | None = None
        if as_rows:
            rows = avro_rows(str(schema))
            self._rows_type = rows.type_info
            self._encode = avro_encoder(rows.wire, rows.to_datum)
        else:
            self._encode = avro_encoder(parse_avro(str(schema)))
        self._header: bytes | None = None

    @staticmethod
    def for_generic(
        subject: str, schema: AvroSchema, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> ConfluentRegistryAvroSerializationSchema:
        """Write generic records.

        :param subject: of the registry, usually the topic followed by ``-value`` or ``-key``.
        :param url: of the registry; several are separated by commas.
        :param registry_configs: as for the deserialization schema. If ``auto.register.schemas`` is ``false``
            the schema must be registered already.
        """
        settings = RegistrySettings(url, registry_configs or {})
        return ConfluentRegistryAvroSerializationSchema(subject, schema, settings, False)

    @staticmethod
    def for_row(
        subject: str, schema: AvroSchema, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> ConfluentRegistryAvroSerializationSchema:
        """Write rows; the parameters are those of ``for_generic``."""
        settings = RegistrySettings(url, registry_configs or {})
        return ConfluentRegistryAvroSerializationSchema(subject, schema, settings, True)

    def check_type(self, type_info: TypeInformation | None) -> None:
        if self._rows_type is not None:
            check_rows("Avro", self._rows_type, type_info)

    def serialize(self, element: Any) -> bytes:
        body = self._encode(element)
        header = self._header
        if header is None:
            header = self._header = _MAGIC + self._schema_id().to_bytes(4)
        return header + body

    def _schema_id(self) -> int:
        subject, schema, settings, _ = self._options
        registry = SchemaRegistry(settings)
        known_only = settings.configs.get(AUTO_REGISTER) == "false"
        return (registry.id_of if known_only else registry.register)(subject, str(schema))

    def __reduce__(self) -> tuple[Any, ...]:
        return ConfluentRegistryAvroSerializationSchema, self._options


class DebeziumAvroDeserializationSchema(DeserializationSchema):
    """Reads what Debezium sends through Kafka Connect's Avro converter (Flink: ``debezium-avro-confluent``).

    Rows have row kinds: an update is two rows, -U and +U. Columns are looked up by name in the schema that a
    message was written with. A type without an Avro logical type (Debezium's own ``io.debezium.time``) is the
    underlying number or text.

    :param type_info: the type of the table's rows.
    :param url: of the registry; several are separated by commas.
    :param registry_configs: as for ``ConfluentRegistryAvroDeserializationSchema``.
    """

    def __init__(
        self, type_info: TypeInformation, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> None:
        self._options = row_type(type_info), url, registry_configs
        self._reader = _RegistryReader(RegistrySettings(url, registry_configs or {}), self._decoder)

    def _decoder(self, text: str) -> Callable[[bytes], Any]:
        names = self._options[0].get_field_names()

        def row(datum: dict[str, Any] | None) -> Row | None:
            return None if datum is None else _make_row([datum.get(name) for name in names], names)

        def rows(change: dict[str, Any]) -> Sequence[Row]:
            return debezium_rows(row(change.get("before")), row(change.get("after")), change.get("op"))

        return avro_decoder(row_wire(text), None, rows)

    def deserialize(self, message: bytes) -> Any:
        """:raises ProgramError: always, because a message may have two rows: use ``deserialize_many``."""
        raise ProgramError("a message of Debezium may have two rows", hint="call deserialize_many(message)")

    def deserialize_many(self, message: bytes | None) -> Sequence[Row]:
        return self._reader.read(message) if message else ()

    def get_produced_type(self) -> TypeInformation:
        return self._options[0]

    def __reduce__(self) -> tuple[Any, ...]:
        return DebeziumAvroDeserializationSchema, self._options
