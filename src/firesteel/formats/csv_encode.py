"""Encodes records as lines of CSV, quoted as Flink's writer (Jackson) does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from firesteel.common.errors import TypeMismatchError
from firesteel.common.typeinfo import BasicType, BasicTypeInfo, RowTypeInfo, TypeInformation
from firesteel.formats.csv_columns import Column, element_type
from firesteel.formats.csv_records import CsvDialect
from firesteel.formats.java_format import formatter

RecordEncoder = Callable[[Iterable[Any]], str]

_LONGEST_CHECKED: Final = 24  # Jackson quotes longer texts without checking them


def csv_encoder(
    columns: Sequence[Column], dialect: CsvDialect, null_literal: str = "", line_end: str = "\n"
) -> RecordEncoder:
    """Return the function that encodes the values of a record as a line."""
    quote = quoter(dialect)
    cells = [_cell(column, quote) for column in columns]
    delimiter = dialect.delimiter

    def encode(values: Iterable[Any]) -> str:  # hot
        if isinstance(values, dict):
            raise _no_record(columns, values)
        try:
            pairs = list(zip(cells, values, strict=True))
        except (TypeError, ValueError) as error:
            raise _no_record(columns, values) from error
        return delimiter.join([null_literal if v is None else cell(v) for cell, v in pairs]) + line_end

    return encode


def _no_record(columns: Sequence[Column], values: object) -> TypeMismatchError:
    names = ", ".join(column.name for column in columns)
    return TypeMismatchError(
        f"a record does not have the {len(columns)} columns of its CSV schema: {names}",
        detail=f"got {values!r:.200}",
        hint="give a Row, or a tuple, with a value for each column",
    )


def header_line(columns: Sequence[Column], dialect: CsvDialect, line_end: str = "\n") -> str:
    quote = quoter(dialect)
    return dialect.delimiter.join(quote(column.name) for column in columns) + line_end


def quoter(dialect: CsvDialect) -> Callable[[str], str]:
    """Return the function that puts a text in quotes where it needs them."""
    mark, escape = dialect.quote, dialect.escape
    if mark is None:
        return str
    first_safe = chr(max(map(ord, (dialect.delimiter, mark, "\r"))) + 1)
    unsafe = escape or "\\"  # Jackson's own escape character applies if none is set
    doubled = mark * 2  # even with an escape character, which escapes only itself

    def quote(text: str) -> str:
        if len(text) <= _LONGEST_CHECKED and all(first_safe <= char != unsafe for char in text):
            return text
        if escape is not None:
            text = text.replace(escape, escape * 2)
        return f"{mark}{text.replace(mark, doubled)}{mark}"

    return quote


def _cell(column: Column, quote: Callable[[str], str]) -> Callable[[Any], str]:
    if isinstance(column.type, RowTypeInfo):
        shows = [formatter(field) for field in column.type.get_field_types()]
        return lambda row: quote(
            column.separator.join("" if v is None else show(v) for show, v in zip(shows, row, strict=True))
        )
    element = element_type(column.type)
    show = formatter(element or column.type)
    if element is not None:
        separator = column.separator
        return lambda values: quote(separator.join("" if v is None else show(v) for v in values))
    return show if _is_bare(column.type) else lambda value: quote(show(value))


def _is_bare(type_: TypeInformation) -> bool:
    """Return true for numbers and booleans, which are never quoted."""
    texts = (BasicType.STRING, BasicType.CHAR, BasicType.INSTANT)
    return isinstance(type_, BasicTypeInfo) and type_._basic_type not in texts
