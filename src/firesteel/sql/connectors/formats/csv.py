"""``csv``: separated values, in the lines of files or one record to a message."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from firesteel.common.columns import Columns
from firesteel.connectors.files.csv_source import CsvFileSource, CsvFormat
from firesteel.formats.csv_columns import Column
from firesteel.formats.csv_encode import quoter
from firesteel.formats.csv_messages import CsvMessageOptions, CsvRowDeserializationSchema
from firesteel.formats.csv_records import CsvDialect
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.calendars import with_nulls_of
from firesteel.sql.connectors.formats.file_types import file_type_info
from firesteel.sql.connectors.formats.joining import as_lines, as_messages, joined, whole
from firesteel.sql.connectors.formats.lines import LinesEncoder, LinesReader, ReadBlock
from firesteel.sql.connectors.formats.messages import MessageReader, SchemaReader, one_line_each
from firesteel.sql.connectors.formats.registry import INSERTS, FormatOptions, MessageWriter, TableFormat
from firesteel.sql.connectors.formats.texts import NUMBERS, TIMES, plain_texts, short_decimals
from firesteel.sql.connectors.options import boolean, text
from firesteel.util.exceptions import TableException

__all__ = ["FORMATS", "CsvTableFormat"]

#: Types that Arrow reads by the rules of the format; the rest is read row by row.
_AT_ONCE: Final = (
    *NUMBERS,
    t.BooleanType,
    t.CharType,
    t.VarCharType,
    t.DateType,
    t.TimestampType,
)
_LONGEST_CHECKED: Final = 24  # Jackson quotes longer texts without checking them


@dataclass(frozen=True, slots=True)
class CsvTableFormat:
    """:param null: the text that stands for NULL; None: there is none."""

    kinds: ClassVar = INSERTS

    dialect: CsvDialect = field(default_factory=CsvDialect)
    null: str | None = None
    ignore_errors: bool = False
    separator: str = ";"
    exponents: bool = True

    def _columns(self, row: t.RowType) -> tuple[Column, ...]:
        scales = [f.data_type.scale if isinstance(f.data_type, t.DecimalType) else None for f in row.fields]
        return tuple(
            Column(f.name, file_type_info(f.data_type), self.separator, scale)
            for f, scale in zip(row.fields, scales, strict=True)
        )

    def reader(self, row: t.RowType, columns: tuple[int, ...]) -> LinesReader:
        format_ = CsvFormat(
            self._columns(row),
            self.dialect,
            null_literal=self.null,
            ignore_parse_errors=self.ignore_errors,
        )
        rows = CsvFileSource(("-",), format_).create_reader()
        return LinesReader(_block_reader(self, row, columns), rows, row, columns)

    def writer(self, row: t.RowType) -> LinesEncoder:
        return LinesEncoder(partial(_line_writer, self, row))

    def message_reader(self, row: t.RowType, columns: tuple[int, ...]) -> MessageReader:
        rows = CsvRowDeserializationSchema(
            CsvMessageOptions(
                file_type_info(row),
                self.dialect,
                self.separator,
                self.null,
                ignore_parse_errors=self.ignore_errors,
            )
        )
        return SchemaReader(rows, row, columns, one_line_each(_block_reader(self, row, columns)))

    def message_writer(self, row: t.RowType) -> MessageWriter:
        texts = _texts(self, row)
        return lambda columns: as_messages(texts(columns))


def _leave_to_rows(row: Any) -> str:
    """Have the block read row by row. (Options that were pickled without a handler call None instead, and
    print a traceback for each such row.)"""
    return "error"


def _block_reader(format_: CsvTableFormat, row: t.RowType, columns: tuple[int, ...]) -> ReadBlock:
    """Return the function that reads usual lines."""
    wanted = [row.fields[c] for c in columns]
    at_once = all(isinstance(f.data_type, _AT_ONCE) for f in wanted)
    quote, escape = (
        c.encode() if c is not None else None for c in (format_.dialect.quote, format_.dialect.escape)
    )
    names = [f"f{i}" for i in range(len(row.fields))]
    types = {names[c]: arrow_type(f.data_type) for c, f in zip(columns, wanted, strict=True)}
    options: dict[str, Any] = {
        "parse_options": pyarrow.csv.ParseOptions(
            delimiter=format_.dialect.delimiter,
            quote_char=format_.dialect.quote or False,
            escape_char=format_.dialect.escape or False,
            newlines_in_values=True,
            invalid_row_handler=_leave_to_rows,
        ),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types=types,
            include_columns=[names[c] for c in columns] or names[:1],
            null_values=[] if format_.null is None else [format_.null],
            strings_can_be_null=format_.null is not None,
            true_values=["true", "TRUE", "True"],
            false_values=["false", "FALSE", "False"],
        ),
    }
    if not columns:
        types[names[0]] = pa.string()
    single = len(row.fields) == 1

    def read(block: bytes) -> Columns | None:  # hot
        if not at_once or not block or block[0] in b"\xef\r\n" or (single and b"\n\n" in block):
            return None
        if format_.dialect.comments and b"#" in block:
            return None
        if format_.dialect.trim and (b" " in block or b"\t" in block):
            return None
        if quote is not None and quote in block and block.count(quote) % 2:
            return None  # a value goes on in the next block
        if escape is not None and escape in block:
            return None
        how = pyarrow.csv.ReadOptions(
            use_threads=False, block_size=max(len(block), 1) + 1, column_names=names
        )
        try:
            table = pyarrow.csv.read_csv(pa.py_buffer(block), read_options=how, **options)
        except (pa.ArrowInvalid, pa.ArrowKeyError):
            return None
        arrays = [whole(table.column(i)) for i in range(len(columns))]
        return Columns(arrays, table.num_rows)

    return read


def _line_writer(format_: CsvTableFormat, row: t.RowType) -> Callable[[Columns], bytes]:
    texts = _texts(format_, row)
    return lambda columns: as_lines(texts(columns))


def _texts(format_: CsvTableFormat, row: t.RowType) -> Callable[[Columns], list[str]]:
    """Return the function from columns to the texts of their rows."""
    dialect = format_.dialect
    null = format_.null or ""
    for field_ in row.fields:
        _check_written(field_.name, field_.data_type)

    def at_once(columns: Columns) -> list[str]:
        cells = []
        for array, data_type in zip(columns.arrays, row.types, strict=True):
            texts = _cells(format_, array, data_type)
            if not isinstance(data_type, (*NUMBERS, t.BooleanType)):
                texts = _quoted(texts, dialect)
            cells.append(texts.fill_null(null) if texts.null_count else texts)
        return joined(cells, dialect.delimiter)

    return at_once


def _check_written(name: str, data_type: t.DataType) -> None:
    """:raises TableException: CSV has no text for it."""
    if isinstance(data_type, t.ArrayType | t.RowType):
        for child in data_type.children:
            _check_written(name, child)
    elif not isinstance(data_type, (*_AT_ONCE, *TIMES, t.BinaryType, t.VarBinaryType)):
        raise TableException(
            f"The format 'csv' has no text for {data_type}.",
            detail=f"column {name}",
            hint="write it as JSON, or CAST it to STRING",
        )


def _cells(format_: CsvTableFormat, array: pa.Array, data_type: Any) -> pa.Array:
    """The texts of a column without quotes; NULL stays NULL. Elements and fields are separated."""
    if isinstance(data_type, t.DecimalType):
        texts: pa.Array = short_decimals(array)
        if format_.exponents:
            return texts
        plain = [None if v is None else f"{Decimal(v):f}" for v in texts.to_pylist()]
        return pa.array(plain, pa.string())
    if isinstance(data_type, t.BinaryType | t.VarBinaryType):
        encoded = [None if v is None else b64encode(v).decode() for v in array.to_pylist()]
        return pa.array(encoded, pa.string())
    if isinstance(data_type, t.ArrayType):
        flat = _parts(format_, array.values, data_type.element_type)
        ends = array.offsets.to_pylist()
        lists: list[Any] = [format_.separator.join(flat[a:b]) for a, b in pairwise(ends)]
        return with_nulls_of(pa.array(lists, pa.string()), array)
    if isinstance(data_type, t.RowType):
        fields = [_parts(format_, array.field(i), d) for i, d in enumerate(data_type.types)]
        rows = [format_.separator.join(parts) for parts in zip(*fields, strict=True)]
        return with_nulls_of(pa.array(rows, pa.string()), array)
    return plain_texts(array, data_type)


def _parts(format_: CsvTableFormat, array: pa.Array, data_type: t.DataType) -> list[str]:
    null = format_.null or ""
    return [null if v is None else v for v in _cells(format_, array, data_type).to_pylist()]


def _quoted(texts: pa.Array, dialect: CsvDialect) -> pa.Array:
    """Texts in quotes where Jackson writes them: it does for long ones, and for those that have a character
    up to the largest of the special ones."""
    mark = dialect.quote
    if mark is None or not len(texts):
        return texts
    if dialect.escape is not None:
        quote = quoter(dialect)
        return pa.array([None if v is None else quote(v) for v in texts.to_pylist()], pa.string())
    largest = max(map(ord, (dialect.delimiter, mark, "\r")))
    unusual = pc.match_substring_regex(texts, f"[\\x{{0}}-\\x{{{largest:x}}}\\\\]")
    needed = pc.or_(unusual, pc.greater(pc.utf8_length(texts), _LONGEST_CHECKED)).fill_null(False)
    if not pc.any(needed).as_py():
        return texts
    doubled = pc.replace_substring(texts, mark, mark * 2)
    return pc.if_else(needed, pc.binary_join_element_wise(mark, doubled, mark, ""), texts)


_CHARACTERS: Final = {"\\t": "\t", "\\\\": "\\"}


def create(options: FormatOptions) -> CsvTableFormat:
    def character(key: str) -> Any:
        given = options[key]
        if given is None:
            return None
        given = _CHARACTERS.get(given, given)
        if len(given) != 1:
            raise options.error(key, f"{given!r} is not one character")
        return given

    disabled = options["disable-quote-character"]
    quote = character("quote-character")
    if disabled and quote is not None:
        raise options.error("disable-quote-character", "quote-character cannot be set with it")
    dialect = CsvDialect(
        delimiter=character("field-delimiter"),
        quote=None if disabled else quote or '"',
        escape=character("escape-character"),
        comments=bool(options["allow-comments"]),
        trim=bool(options["trim-spaces"]),
    )
    return CsvTableFormat(
        dialect,
        options["null-literal"],
        bool(options["ignore-parse-errors"]),
        options["array-element-delimiter"],
    )


def create_messages(options: FormatOptions) -> CsvTableFormat:
    """As ``create``; in Flink, too, files do not heed the option."""
    return replace(create(options), exponents=bool(options["write-bigdecimal-in-scientific-notation"]))


FORMATS: Final = (
    TableFormat(
        name="csv",
        options=(
            text("field-delimiter", ","),
            boolean("disable-quote-character", False),
            text("quote-character"),
            boolean("allow-comments", False),
            boolean("ignore-parse-errors", False),
            text("array-element-delimiter", ";"),
            text("escape-character"),
            text("null-literal"),
            boolean("trim-spaces", False),
            boolean("write-bigdecimal-in-scientific-notation", True),
        ),
        files=create,
        messages=create_messages,
    ),
)
