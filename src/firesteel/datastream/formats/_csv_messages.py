"""Single CSV records as messages."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import RowTypeInfo, TypeInformation
from firesteel.connectors.files import CsvParseError
from firesteel.formats._csv_columns import Column
from firesteel.formats._csv_encode import csv_encoder
from firesteel.formats._csv_records import CsvDialect, parse_records
from firesteel.formats._csv_rows import BadField, RowDecoder


@dataclass(frozen=True)
class _Options:
    type_info: TypeInformation
    dialect: CsvDialect = field(default_factory=CsvDialect)
    array_separator: str = ";"
    null_literal: str | None = None
    line_end: str = "\n"
    ignore_parse_errors: bool = False

    def columns(self) -> list[Column]:
        if not isinstance(self.type_info, RowTypeInfo):
            raise ProgramError(f"CSV messages are rows, not {self.type_info}", hint="declare Types.ROW_NAMED")
        names, types = self.type_info.get_field_names(), self.type_info.get_field_types()
        return [Column(n, t, self.array_separator) for n, t in zip(names, types, strict=True)]

    def with_dialect(self, **characters: Any) -> _Options:
        return replace(self, dialect=replace(self.dialect, **characters))


class CsvRowDeserializationSchema(DeserializationSchema):
    """Reads a message of one CSV record as a row; see ``Builder``."""

    def __init__(self, options: _Options) -> None:
        self._options = options
        self._decoder = RowDecoder(options.columns(), options.null_literal, True, options.ignore_parse_errors)

    def deserialize(self, message: bytes) -> Any:
        options = self._options
        text = message.decode("utf-8", "replace")
        parsed = parse_records([text.rstrip("\r\n")], text, options.dialect, True)
        try:
            if parsed.error is not None:
                raise parsed.error
            rows = self._decoder.decode(parsed.rows[:1])
        except ValueError as error:
            if options.ignore_parse_errors:
                return None
            where = f"column {error.column!r}: " if isinstance(error, BadField) and error.column else ""
            raise CsvParseError(
                "cannot read CSV", detail=f"{where}{error}: {text[:500]}", hint="set ignore_parse_errors"
            ) from error
        return rows[0] if rows else None

    def get_produced_type(self) -> TypeInformation:
        return self._options.type_info

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvRowDeserializationSchema, (self._options,)

    class Builder:
        """Puts the schema together.

        :param type_info: a row type.
        """

        def __init__(self, type_info: TypeInformation) -> None:
            if type_info is None:
                raise TypeError("Type information must not be None")
            self._options = _Options(type_info)

        def _set(self, options: _Options) -> CsvRowDeserializationSchema.Builder:
            self._options = options
            return self

        def set_field_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            return self._set(self._options.with_dialect(delimiter=delimiter))

        def set_allow_comments(self, allow_comments: bool) -> CsvRowDeserializationSchema.Builder:
            """A message that begins with ``#`` is left out."""
            return self._set(self._options.with_dialect(comments=allow_comments))

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowDeserializationSchema.Builder:
            return self._set(replace(self._options, array_separator=delimiter))

        def set_quote_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            return self._set(self._options.with_dialect(quote=c))

        def set_escape_character(self, c: str) -> CsvRowDeserializationSchema.Builder:
            return self._set(self._options.with_dialect(escape=c))

        def set_null_literal(self, null_literal: str) -> CsvRowDeserializationSchema.Builder:
            return self._set(replace(self._options, null_literal=null_literal))

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> CsvRowDeserializationSchema.Builder:
            """A field that cannot be read becomes None, a message that is no CSV is left out."""
            return self._set(replace(self._options, ignore_parse_errors=ignore_parse_errors))

        def build(self) -> CsvRowDeserializationSchema:
            return CsvRowDeserializationSchema(self._options)


class CsvRowSerializationSchema(SerializationSchema):
    """Writes a row as a message of one CSV record; see ``Builder``."""

    def __init__(self, options: _Options) -> None:
        self._options = options
        self._encode = csv_encoder(
            options.columns(), options.dialect, options.null_literal or "", options.line_end
        )

    def serialize(self, element: Any) -> bytes:
        return self._encode(element).encode()

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvRowSerializationSchema, (self._options,)

    class Builder:
        """Puts the schema together.

        :param type_info: a row type.
        """

        def __init__(self, type_info: TypeInformation) -> None:
            if type_info is None:
                raise TypeError("Type information must not be None")
            self._options = _Options(type_info)

        def _set(self, options: _Options) -> CsvRowSerializationSchema.Builder:
            self._options = options
            return self

        def set_field_delimiter(self, c: str) -> CsvRowSerializationSchema.Builder:
            return self._set(self._options.with_dialect(delimiter=c))

        def set_line_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            """What ends a record; may be empty."""
            return self._set(replace(self._options, line_end=delimiter))

        def set_array_element_delimiter(self, delimiter: str) -> CsvRowSerializationSchema.Builder:
            return self._set(replace(self._options, array_separator=delimiter))

        def disable_quote_character(self) -> CsvRowSerializationSchema.Builder:
            return self._set(self._options.with_dialect(quote=None))

        def set_quote_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            return self._set(self._options.with_dialect(quote=c))

        def set_escape_character(self, c: str) -> CsvRowSerializationSchema.Builder:
            return self._set(self._options.with_dialect(escape=c))

        def set_null_literal(self, s: str) -> CsvRowSerializationSchema.Builder:
            return self._set(replace(self._options, null_literal=s))

        def build(self) -> CsvRowSerializationSchema:
            return CsvRowSerializationSchema(self._options)
