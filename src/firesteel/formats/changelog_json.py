"""Changes of database tables as JSON messages: Debezium, Canal, Maxwell and Ogg (Flink: ``flink-json``).

Rows have row kinds: an update is two of them, ``-U`` and ``+U``.

>>> from firesteel.common.typeinfo import Types
>>> type_info = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
>>> schema = DebeziumJsonDeserializationSchema.builder().type_info(type_info).build()
>>> message = b'{"before": {"id": 1, "name": "a"}, "after": {"id": 1, "name": "b"}, "op": "u"}'
>>> [(str(row.get_row_kind()), row.name) for row in schema.deserialize_many(message)]
[('-U', 'a'), ('+U', 'b')]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final, Self

from firesteel.common.errors import ConfigurationError, ProgramError
from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.common.types import Row
from firesteel.formats.changelog_rows import READERS, TIME_FORMATS, ChangelogOptions, change_writer, row_type
from firesteel.formats.json_rows import PARSE_ERRORS, JsonParseError, reason_of
from firesteel.formats.row_input import MISFITS, check_rows, misfit


class _Reading(DeserializationSchema):
    """Base of these formats. A message may have any number of rows; a tombstone has none."""

    _format: ClassVar[str]

    def __init__(self, options: ChangelogOptions, ignore_parse_errors: bool) -> None:
        self._options = options, ignore_parse_errors
        ignore = self._ignore if ignore_parse_errors else None
        self._read = READERS[self._format](replace(options, ignore=ignore))

    def _ignore(self) -> None:
        self.ignored += 1

    def deserialize(self, message: bytes) -> Any:
        """:raises ProgramError: always, because a message may have several rows: use ``deserialize_many``."""
        raise ProgramError(
            f"a message of {self._format} may have several rows", hint="call deserialize_many(message)"
        )

    def deserialize_many(self, message: bytes | None) -> Sequence[Row]:
        if not message:
            return ()
        try:
            return self._read(message)
        except PARSE_ERRORS as error:
            if self._options[1]:
                self._ignore()
                return ()
            raise JsonParseError(
                f"not a change of {self._format}: {reason_of(error)}",
                detail=message[:500].decode("utf-8", "replace"),
                hint="set ignore_parse_errors to go on",
            ) from error

    def get_produced_type(self) -> TypeInformation:
        return self._options[0].type_info

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._options


class _ReadingBuilder:
    """Requires ``type_info``."""

    _schema: ClassVar[type[_Reading]]

    def __init__(self) -> None:
        self._type_info: TypeInformation | None = None
        self._options: dict[str, Any] = {}
        self._ignore_parse_errors = False

    def type_info(self, type_info: TypeInformation) -> Self:
        """Set the type of the table's rows; its field names are looked up in the messages."""
        self._type_info = type_info
        return self

    def ignore_parse_errors(self) -> Self:
        """A value that cannot be read becomes None and a message that is not a change is skipped; both are
        counted. Otherwise they are errors."""
        self._ignore_parse_errors = True
        return self

    def build(self) -> Any:
        options = ChangelogOptions(row_type(self._type_info), **self._options)
        return self._schema(options, self._ignore_parse_errors)


class DebeziumJsonDeserializationSchema(_Reading):
    """Reads what Debezium sends; see ``builder``."""

    _format = "debezium"

    class Builder(_ReadingBuilder):
        """Requires ``type_info``."""

        def schema_include(self) -> Self:
            """Messages include their schema (Kafka Connect: ``schemas.enable``)."""
            self._options["schema_include"] = True
            return self

    @staticmethod
    def builder() -> DebeziumJsonDeserializationSchema.Builder:
        return DebeziumJsonDeserializationSchema.Builder()


class CanalJsonDeserializationSchema(_Reading):
    """Reads what Canal sends; see ``builder``."""

    _format = "canal"

    class Builder(_ReadingBuilder):
        """Requires ``type_info``."""

        def set_database(self, pattern: str) -> Self:
            """Read only changes of databases whose full name matches a regular expression."""
            self._options["database"] = _checked_pattern(pattern)
            return self

        def set_table(self, pattern: str) -> Self:
            """Read only changes of tables whose full name matches a regular expression."""
            self._options["table"] = _checked_pattern(pattern)
            return self

    @staticmethod
    def builder() -> CanalJsonDeserializationSchema.Builder:
        return CanalJsonDeserializationSchema.Builder()


class MaxwellJsonDeserializationSchema(_Reading):
    """Reads what Maxwell sends; see ``builder``."""

    _format = "maxwell"

    class Builder(_ReadingBuilder):
        """Requires ``type_info``."""

    @staticmethod
    def builder() -> MaxwellJsonDeserializationSchema.Builder:
        return MaxwellJsonDeserializationSchema.Builder()


class OggJsonDeserializationSchema(_Reading):
    """Reads what Oracle GoldenGate sends."""

    _format = "ogg"


#: Format -> what reads it.
READING_SCHEMAS: Final[dict[str, type[_Reading]]] = {
    kind._format: kind
    for kind in (
        DebeziumJsonDeserializationSchema,
        CanalJsonDeserializationSchema,
        MaxwellJsonDeserializationSchema,
        OggJsonDeserializationSchema,
    )
}

DebeziumJsonDeserializationSchema.Builder._schema = DebeziumJsonDeserializationSchema
CanalJsonDeserializationSchema.Builder._schema = CanalJsonDeserializationSchema
MaxwellJsonDeserializationSchema.Builder._schema = MaxwellJsonDeserializationSchema


class _Writing(SerializationSchema):
    """Writes each row as one message: +I and +U as an insertion, -U and -D as a deletion.

    :param type_info: a row type; its field names are those of the messages.
    :param timestamp_format: ``SQL`` (a space between date and time) or ``ISO-8601``.
    """

    _format: ClassVar[str]

    def __init__(self, type_info: TypeInformation, timestamp_format: str = "SQL") -> None:
        if timestamp_format not in TIME_FORMATS:
            raise ConfigurationError(
                f"the timestamp format is none of {', '.join(TIME_FORMATS)}: {timestamp_format!r}"
            )
        self._options = type_info, timestamp_format
        self._write = change_writer(self._format, row_type(type_info), timestamp_format)

    def check_type(self, type_info: TypeInformation | None) -> None:
        check_rows(self._format, self._options[0], type_info)

    def serialize(self, element: Any) -> bytes:
        try:
            return self._write(element)
        except MISFITS as error:
            raise misfit(self._format, element, error) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._options


class DebeziumJsonSerializationSchema(_Writing):
    """Writes changes as Debezium does."""

    _format = "debezium"


class CanalJsonSerializationSchema(_Writing):
    """Writes changes as Canal does."""

    _format = "canal"


class MaxwellJsonSerializationSchema(_Writing):
    """Writes changes as Maxwell does."""

    _format = "maxwell"


def _checked_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ConfigurationError(f"not a regular expression: {pattern!r}", detail=str(error)) from error
    return pattern
