"""CSV schemas (columns and special characters), and the formats that read and write CSV files."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal

from firesteel.common.errors import ConfigurationError, UnsupportedFeatureError
from firesteel.common.serialization import BulkWriter, BulkWriterFactory
from firesteel.common.typeinfo import DecimalTypeInfo, TypeInformation, Types
from firesteel.connectors.files.builders_source import StreamFormat
from firesteel.connectors.files.csv_source import CsvFileSource, CsvFormat
from firesteel.formats.csv_columns import Column
from firesteel.formats.csv_encode import csv_encoder, header_line
from firesteel.formats.csv_records import CsvDialect
from firesteel.formats.text import utf8
from firesteel.program import sources as base


def _type_of(data_type: Any) -> tuple[TypeInformation, int | None]:
    """Return the type of a column and the scale of a decimal. ``data_type`` is e.g. Types.INT() or
    DataTypes.INT()."""
    type_info = getattr(data_type, "type_info", data_type)
    if not isinstance(type_info, TypeInformation):
        raise ConfigurationError(
            f"a CSV column cannot have the type {data_type!r}", hint="as in Types.INT() or DataTypes.INT()"
        )
    return type_info, type_info.scale if isinstance(type_info, DecimalTypeInfo) else None


@dataclass(frozen=True)
class CsvSchema:
    """The columns of a CSV file, in order, and its special characters; see ``builder``."""

    columns: tuple[Column, ...]
    dialect: CsvDialect = field(default_factory=CsvDialect)
    header: Literal["none", "skip", "check"] = "none"
    null_literal: str | None = None
    line_separator: str = "\n"

    @staticmethod
    def builder() -> CsvSchemaBuilder:
        return CsvSchemaBuilder()

    def size(self) -> int:
        """Return the number of columns."""
        return len(self.columns)

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def row_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return Types.ROW_NAMED([c.name for c in self.columns], [c.type for c in self.columns])

    def reader_format(self) -> CsvFormat:
        return CsvFormat(self.columns, self.dialect, self.header, self.null_literal)


class CsvSchemaBuilder:
    """Builds a CsvSchema. Columns keep the order in which they are added."""

    def __init__(self) -> None:
        self._columns: list[Column] = []
        self._dialect: dict[str, Any] = {}
        self._array_separator: str | None = None
        self._null_literal: str | None = None
        self._line_separator = "\n"
        self._use_header = self._strict_headers = self._skip_first = False

    def build(self) -> CsvSchema:
        header: Literal["none", "skip", "check"] = "none"
        if self._use_header and self._strict_headers:
            header = "check"
        elif self._use_header or self._skip_first:
            header = "skip"
        if self._use_header and self._skip_first:
            raise UnsupportedFeatureError(
                "a CSV schema cannot skip a header and the first data row too",
                hint="leave out set_skip_first_data_row() and filter the row",
            )
        columns = self._columns
        if self._array_separator is not None:
            columns = [dataclasses.replace(c, separator=self._array_separator) for c in columns]
        dialect = CsvDialect(**self._dialect)
        return CsvSchema(tuple(columns), dialect, header, self._null_literal, self._line_separator)

    def _add(self, name: str, data_type: Any) -> CsvSchemaBuilder:
        type_, scale = _type_of(data_type)
        self._columns.append(Column(name, type_, scale=scale))
        return self

    def add_array_column(self, name: str, separator: str = ";", element_type: Any = None) -> CsvSchemaBuilder:
        """Add a column with several values separated by ``separator``; the default element type is text."""
        type_, scale = _type_of(Types.STRING() if element_type is None else element_type)
        self._columns.append(Column(name, Types.LIST(type_), separator, scale))
        return self

    def add_boolean_column(self, name: str) -> CsvSchemaBuilder:
        return self._add(name, Types.BOOLEAN())

    def add_number_column(self, name: str, number_type: Any = None) -> CsvSchemaBuilder:
        """Add a column of numbers; the default is 64-bit integers."""
        return self._add(name, Types.LONG() if number_type is None else number_type)

    def add_string_column(self, name: str) -> CsvSchemaBuilder:
        return self._add(name, Types.STRING())

    def add_columns_from(self, schema: CsvSchema) -> CsvSchemaBuilder:
        """Add the columns of another schema."""
        self._columns += schema.columns
        return self

    def clear_columns(self) -> CsvSchemaBuilder:
        self._columns.clear()
        return self

    def set_allow_comments(self, allow: bool = True) -> CsvSchemaBuilder:
        """Skip lines that begin with ``#``."""
        return self._set("comments", allow)

    def set_any_property_name(self, name: str) -> CsvSchemaBuilder:
        raise UnsupportedFeatureError(
            "fields beyond the columns of a CSV schema cannot be collected", hint="declare all columns"
        )

    def disable_array_element_separator(self) -> CsvSchemaBuilder:
        """Read each array column as a single value."""
        self._array_separator = ""
        return self

    def remove_array_element_separator(self, index: int) -> CsvSchemaBuilder:
        """Read the array column at ``index`` as a single value."""
        self._columns[index] = dataclasses.replace(self._columns[index], separator="")
        return self

    def set_array_element_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set the separator of all array columns."""
        self._array_separator = separator
        return self

    def set_column_separator(self, char: str) -> CsvSchemaBuilder:
        return self._set_char("delimiter", "Column separator", char)

    def disable_escape_char(self) -> CsvSchemaBuilder:
        return self._set("escape", None)

    def set_escape_char(self, char: str) -> CsvSchemaBuilder:
        return self._set_char("escape", "Escape char", char)

    def set_line_separator(self, separator: str) -> CsvSchemaBuilder:
        """Set the line separator for writing. Reading always accepts LF, CR LF and CR."""
        self._line_separator = separator
        return self

    def set_null_value(self, null_value: str) -> CsvSchemaBuilder:
        """Set the text that represents null."""
        self._null_literal = null_value
        return self

    def disable_quote_char(self) -> CsvSchemaBuilder:
        return self._set("quote", None)

    def set_quote_char(self, char: str) -> CsvSchemaBuilder:
        return self._set_char("quote", "Quote char", char)

    def set_skip_first_data_row(self, skip: bool = True) -> CsvSchemaBuilder:
        self._skip_first = skip
        return self

    def set_strict_headers(self, strict: bool = True) -> CsvSchemaBuilder:
        """Require the header to name the columns in order."""
        self._strict_headers = strict
        return self

    def set_use_header(self, use: bool = True) -> CsvSchemaBuilder:
        """Treat the first line as a header: skip it when reading, write it at the start of a file."""
        self._use_header = use
        return self

    def size(self) -> int:
        return len(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def _set(self, name: str, value: Any) -> CsvSchemaBuilder:
        self._dialect[name] = value
        return self

    def _set_char(self, name: str, what: str, char: str) -> CsvSchemaBuilder:
        if len(char) != 1:
            raise ValueError(f"{what} must be a single char, got {char}")
        return self._set(name, char)


class CsvReaderFormat(StreamFormat):
    """Reads CSV files as rows, in ``FileSource.for_record_stream_format``."""

    @staticmethod
    def for_schema(schema: CsvSchema, multiline: bool = True) -> CsvReaderFormat:
        """Read rows with the columns of ``schema``.

        :param multiline: whether a quoted field may span lines. If no field does, False allows large files to
            be read in ranges, with ``FileEnumeratorProvider.default_splittable_file_enumerator()``. Not in
            PyFlink.
        """
        format_ = dataclasses.replace(schema.reader_format(), multiline=multiline)

        def make(paths: tuple[str, ...], interval_ms: int | None, split_bytes: int | None) -> base.Source:
            return CsvFileSource(paths, format_, interval_ms, split_bytes)

        return CsvReaderFormat(make, schema.row_type)


class CsvBulkWriters:
    """Writers of CSV files for ``FileSink.for_bulk_format``."""

    @staticmethod
    def for_schema(schema: CsvSchema) -> BulkWriterFactory:
        return _CsvWriterFactory(schema)


@dataclass(frozen=True)
class _CsvWriterFactory(BulkWriterFactory):
    schema: CsvSchema

    def create(self, stream: BinaryIO) -> BulkWriter:
        return _CsvWriter(self.schema, stream)


class _CsvWriter(BulkWriter):
    def __init__(self, schema: CsvSchema, stream: BinaryIO) -> None:
        self._stream = stream
        line_end = schema.line_separator
        self._encode = csv_encoder(schema.columns, schema.dialect, schema.null_literal or "", line_end)
        self._lines: list[str] = []
        if schema.header != "none":
            self._lines.append(header_line(schema.columns, schema.dialect, line_end))

    def add_element(self, element: Any) -> None:
        self._lines.append(self._encode(element))
        if len(self._lines) >= 1000:
            self.flush()

    def flush(self) -> None:
        self._stream.write(utf8("".join(self._lines)))
        self._lines = []

    def finish(self) -> None:
        self.flush()
