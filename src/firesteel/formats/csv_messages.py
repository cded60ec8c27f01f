"""Schemas for messages that are one CSV record each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from firesteel.common.errors import ProgramError
from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import RowTypeInfo, TypeInformation
from firesteel.formats.csv_columns import Column
from firesteel.formats.csv_encode import csv_encoder
from firesteel.formats.csv_records import CsvDialect, CsvParseError, parse_records
from firesteel.formats.csv_rows import RowDecoder
from firesteel.formats.row_input import MISFITS, check_rows, misfit
from firesteel.formats.text import utf8


@dataclass(frozen=True)
class CsvMessageOptions:
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


class _Builder:
    """Builds a schema.

    :param type_info: a row type.
    """

    def __init__(self, type_info: TypeInformation) -> None:
        if type_info is None:
            raise TypeError("Type information must not be None")
        self._options = CsvMessageOptions(type_info)

    def set_array_element_delimiter(self, delimiter: str) -> Self:
        return self._set(array_separator=delimiter)

    def set_quote_character(self, c: str) -> Self:
        return self._set_dialect(quote=c)

    def set_escape_character(self, c: str) -> Self:
        return self._set_dialect(escape=c)

    def _set(self, **options: Any) -> Self:
        self._options = replace(self._options, **options)
        return self

    def _set_dialect(self, **characters: Any) -> Self:
        return self._set(dialect=replace(self._options.dialect, **characters))


class CsvRowDeserializationSchema(DeserializationSchema):
    """Reads a message that is one CSV record as a row; see ``Builder``."""

    def __init__(self, options: CsvMessageOptions) -> None:
        self._options = options
        self._decoder = RowDecoder(options.columns(), options.null_literal, True, options.ignore_parse_errors)

    def deserialize(self, message: bytes | None) -> Any:
        if message is None:
            return None
        text = message.decode("utf-8", "replace")
        parsed = parse_records([text.rstrip("\r\n")], text, self._options.dialect, True)
        try:
            if parsed.errors:
                raise parsed.errors[0].error
            rows = self._decode(parsed.rows[:1])
        except ValueError as error:
            if self._options.ignore_parse_errors:
                self.ignored += 1
                return None
            raise CsvParseError(
                f"cannot read CSV: {error}", detail=text[:500], hint="set ignore_parse_errors"
            ) from error
        return rows[0] if rows else None

    def deserialize_batch(self, messages: Sequence[bytes]) -> list[Any]:  # hot
        """Decode column by column if each message is a single line."""
        lines = [message.rstrip(b"\r\n") for message in messages]
        whole = b"\n".join(lines).decode("utf-8", "replace")
        texts = whole.split("\n")
        if len(texts) != len(lines) or "\r" in whole:
            return super().deserialize_batch(messages)
        parsed = parse_records(texts, whole, self._options.dialect, True)
        if parsed.errors or parsed.starts is not None:  # a record of several lines, or a comment
            return super().deserialize_batch(messages)
        before = self.ignored
        rows = self._decode(parsed.rows)
        if len(rows) == len(messages):
            return rows
        self.ignored = before  # something was skipped
        return super().deserialize_batch(messages)

    def _decode(self, rows: list[list[str]]) -> list[Any]:
        before = self._decoder.ignored
        values = self._decoder.decode(rows)
        self.ignored += self._decoder.ignored - before
        return values

    def get_produced_type(self) -> TypeInformation:
        return self._options.type_info

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvRowDeserializationSchema, (self._options,)

    class Builder(_Builder):
        """Builds the schema, for rows of ``type_info``."""

        def set_field_delimiter(self, delimiter: str) -> Self:
            return self._set_dialect(delimiter=delimiter)

        def set_allow_comments(self, allow_comments: bool) -> Self:
            """Skip messages that begin with ``#``."""
            return self._set_dialect(comments=allow_comments)

        def set_null_literal(self, null_literal: str) -> Self:
            return self._set(null_literal=null_literal)

        def set_ignore_parse_errors(self, ignore_parse_errors: bool) -> Self:
            """A field that cannot be read becomes None, and a message that is not CSV is skipped."""
            return self._set(ignore_parse_errors=ignore_parse_errors)

        def build(self) -> CsvRowDeserializationSchema:
            return CsvRowDeserializationSchema(self._options)


class CsvRowSerializationSchema(SerializationSchema):
    """Writes a row as a message of one CSV record; see ``Builder``."""

    def __init__(self, options: CsvMessageOptions) -> None:
        self._options = options
        self._encode = csv_encoder(
            options.columns(), options.dialect, options.null_literal or "", options.line_end
        )

    def check_type(self, type_info: TypeInformation | None) -> None:
        check_rows("CSV", self._options.type_info, type_info)

    def serialize(self, element: Any) -> bytes:
        try:
            return utf8(self._encode(element))
        except MISFITS as error:
            raise misfit("CSV", element, error) from error

    def __reduce__(self) -> tuple[Any, ...]:
        return CsvRowSerializationSchema, (self._options,)

    class Builder(_Builder):
        """Builds the schema, for rows of ``type_info``."""

        def set_field_delimiter(self, c: str) -> Self:
            return self._set_dialect(delimiter=c)

        def set_line_delimiter(self, delimiter: str) -> Self:
            """Set the end of a record; may be empty."""
            return self._set(line_end=delimiter)

        def disable_quote_character(self) -> Self:
            return self._set_dialect(quote=None)

        def set_null_literal(self, s: str) -> Self:
            return self._set(null_literal=s)

        def build(self) -> CsvRowSerializationSchema:
            return CsvRowSerializationSchema(self._options)
