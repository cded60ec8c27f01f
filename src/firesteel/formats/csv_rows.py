"""Converts lists of text to records with the declared columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.common.types import _make_row
from firesteel.formats.csv_columns import Column, ColumnConverter, column_converter


class BadField(ValueError):
    """Raised for a value that does not fit: the row index, the column name (None: the whole row), and the
    text."""

    def __init__(self, row: int, column: str | None, text: str, reason: str) -> None:
        super().__init__(reason if column is None else f"column {column!r}, value {text!r}: {reason}")
        self.row = row


class RowDecoder:
    """Converts each list of text to a Row (or a tuple).

    ``ignored`` counts ignored errors: a field that does not fit its type, or is missing, becomes None; a row
    with too many fields is skipped.
    """

    def __init__(
        self, columns: Sequence[Column], null_literal: str | None, as_rows: bool, ignore_errors: bool
    ) -> None:
        self._names = [column.name for column in columns]
        self._converters: list[ColumnConverter] = [column_converter(c, null_literal) for c in columns]
        self._as_rows = as_rows
        self._ignore_errors = ignore_errors
        self.ignored = 0

    def decode(self, rows: list[list[str]]) -> list[Any]:  # hot
        """:raises BadField: a row does not fit and errors are not ignored. See ``decode_each``."""
        width = len(self._converters)
        missing: dict[int, int] = {}  # row -> number of fields it has
        if set(map(len, rows)) != {width}:
            rows = self._fit(rows, width, missing)
            if not rows:
                return []
        columns = [
            self._column(number, texts, missing) for number, texts in enumerate(zip(*rows, strict=True))
        ]
        if not self._as_rows:
            return list(zip(*columns, strict=True))
        names, make = self._names, _make_row
        return [make(values, names) for values in map(list, zip(*columns, strict=True))]

    def decode_each(self, rows: list[list[str]]) -> tuple[list[Any], list[BadField]]:
        """Return the records of the rows that fit, and the errors of the others."""
        values: list[Any] = []
        bad: list[BadField] = []
        for i, row in enumerate(rows):
            try:
                values += self.decode([row])
            except BadField as error:
                error.row = i
                bad.append(error)
        return values, bad

    def _column(self, number: int, texts: Sequence[str], missing: dict[int, int]) -> list[Any]:
        convert = self._converters[number]
        if not missing:
            try:
                return convert(texts)
            except ValueError:
                pass  # decode one by one, to find the bad ones
        return [
            None if missing.get(i, number + 1) <= number else self._field(i, number, text)
            for i, text in enumerate(texts)
        ]

    def _field(self, row: int, number: int, text: str) -> Any:
        try:
            return self._converters[number]((text,))[0]
        except ValueError as error:
            if not self._ignore_errors:
                raise BadField(row, self._names[number], text, str(error)) from None
            self.ignored += 1
            return None

    def _fit(self, rows: list[list[str]], width: int, missing: dict[int, int]) -> list[list[str]]:
        fitted: list[list[str]] = []
        for i, row in enumerate(rows):
            count = len(row)
            if count == width:
                fitted.append(row)
            elif count == width + 1 and not row[width]:
                fitted.append(row[:width])  # a trailing delimiter
            elif not self._ignore_errors:
                raise BadField(i, None, "", f"{count} fields where {width} are expected")
            else:
                self.ignored += 1
                if count < width:
                    missing[len(fitted)] = count
                    fitted.append(row + [""] * (width - count))
        return fitted
