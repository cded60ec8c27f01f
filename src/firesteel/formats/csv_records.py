"""Parses lines of text to CSV records, as lists of text. The rules are those of Jackson, which Flink uses.

The fastest of three ways that the text allows is used: splitting lines at the delimiter, Python's ``csv``
module, or a parser of our own. The last is for what ``csv`` does differently (escapes, blanks after a closing
quote) and for errors.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from firesteel.common.errors import ConfigurationError, FiresteelError

_ESCAPES: Final = {"n": "\n", "r": "\r", "t": "\t", "0": "\0"}


class CsvParseError(FiresteelError, ValueError):
    """Raised when a CSV message, or the header of a CSV file, does not match the schema."""


@dataclass(frozen=True, slots=True)
class CsvDialect:
    """The special characters of a CSV file. If ``quote`` or ``escape`` is None there is none."""

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    comments: bool = False  # skip lines that begin with ``#``
    trim: bool = False  # leave blanks around a field away, but for those in quotes

    def __post_init__(self) -> None:
        for name, value in (("delimiter", self.delimiter), ("quote", self.quote), ("escape", self.escape)):
            if value is not None and (not isinstance(value, str) or len(value) != 1 or value in "\r\n"):
                raise ConfigurationError(f"the {name} of a CSV file is not one character: {value!r}")
        if len({self.delimiter, self.quote, self.escape} - {None}) < 3 - [self.quote, self.escape].count(
            None
        ):
            raise ConfigurationError("delimiter, quote and escape of a CSV file must differ")


class CsvError(ValueError):
    """Raised for a record that is not CSV. ``line`` counts from 0, the first line of the given text."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class BadLines(NamedTuple):
    """A malformed record, from line ``start`` to the line of the error; ``before`` records precede it."""

    before: int
    start: int
    error: CsvError


class Records(NamedTuple):
    """``starts[i]`` is the line on which record i begins, ``ends[i]`` the line after it (None: each line is a
    record). ``used`` is the number of lines read, including those of ``errors``."""

    rows: list[list[str]]
    starts: list[int] | None
    ends: list[int] | None
    used: int
    errors: Sequence[BadLines] = ()


def parse_records(texts: Sequence[str], whole: str, dialect: CsvDialect, at_end: bool) -> Records:  # hot
    """Parse whole lines: ``texts`` are the lines without their ends, ``whole`` is the unsplit text.

    A quoted field that is still open at the last line is an error if ``at_end``; otherwise its record is not
    read.
    """
    delimiter, quote, escape = dialect.delimiter, dialect.quote, dialect.escape
    comments = dialect.comments and "#" in whole
    if (quote is None or quote not in whole) and (escape is None or escape not in whole):
        if dialect.trim:
            texts = [delimiter.join(map(_trimmed, line.split(delimiter))) for line in texts]
        if not comments:
            return Records([line.split(delimiter) for line in texts], None, None, len(texts))
        kept = [(i, line) for i, line in enumerate(texts) if not _is_comment(line)]
        starts = [i for i, _ in kept]
        return Records(
            [line.split(delimiter) for _, line in kept], starts, [i + 1 for i in starts], len(texts)
        )
    lines = io.StringIO(whole, newline="").readlines()
    rows: list[list[str]] = []
    ends: list[int] = []
    if quote is not None and not comments and not dialect.trim and (escape is None or escape not in whole):
        reader = csv.reader(lines, delimiter=delimiter, quotechar=quote, strict=True)
        try:
            for row in reader:
                rows.append(row or [""])
                ends.append(reader.line_num)
        except csv.Error:
            pass  # the record after the last one given is left to the careful parser
        if len(rows) == len(lines):
            return Records(rows, None, None, len(rows))
    return _parse_carefully(lines, dialect, at_end, rows, ends)


def _trimmed(field: str) -> str:
    return field.strip(" \t")


def _is_comment(line: str) -> bool:
    return line.lstrip(" \t").startswith("#")


def _parse_carefully(
    lines: list[str], dialect: CsvDialect, at_end: bool, rows: list[list[str]], ends: list[int]
) -> Records:
    """Continue after the records read so far, and after an error on the line after it."""
    line, count = ends[-1] if ends else 0, len(lines)
    starts = [0, *ends[:-1]] if ends else []
    errors: list[BadLines] = []
    while line < count:
        if dialect.comments and _is_comment(lines[line]):
            line += 1
            continue
        try:
            row, next_line = _parse_record(lines, line, dialect)
            if row is None:  # a quote is still open
                if not at_end:
                    break
                raise CsvError("closing quote is missing", line)
        except CsvError as error:
            errors.append(BadLines(len(rows), line, error))
            line = error.line + 1
            continue
        rows.append(row)
        starts.append(line)
        line = next_line
        ends.append(line)
    return Records(rows, starts, ends, line, errors)


def _parse_record(lines: list[str], line: int, dialect: CsvDialect) -> tuple[list[str] | None, int]:
    """Return the record that begins at a line, and the line after it; None if a quote is still open."""
    text, at = lines[line].rstrip("\r\n"), 0
    fields: list[str] = []
    while True:
        while dialect.trim and text[at : at + 1] in (" ", "\t"):
            at += 1
        if dialect.quote is not None and text[at : at + 1] == dialect.quote:
            quoted = _quoted_field(lines, line, at + 1, dialect)
            if quoted is None:
                return None, line
            value, line, at = quoted
            text = lines[line].rstrip("\r\n")
            while text[at : at + 1] in (" ", "\t"):
                at += 1
            if at < len(text) and text[at] != dialect.delimiter:
                raise CsvError(f"{text[at]!r} after a closing quote", line)
        else:
            value, at = _bare_field(text, at, dialect)
            value = _trimmed(value) if dialect.trim else value
        fields.append(value)
        if at >= len(text):
            return fields, line + 1
        at += 1  # skip the delimiter


def _bare_field(text: str, at: int, dialect: CsvDialect) -> tuple[str, int]:
    delimiter, escape = dialect.delimiter, dialect.escape
    end = text.find(delimiter, at)
    end = len(text) if end < 0 else end
    if escape is None or escape not in text[at:end]:
        return text[at:end], end
    parts = []
    while at < len(text) and text[at] != delimiter:
        if text[at] == escape and at + 1 < len(text):
            at += 1
            parts.append(_ESCAPES.get(text[at], text[at]))
        else:
            parts.append(text[at])
        at += 1
    return "".join(parts), at


def _quoted_field(lines: list[str], line: int, at: int, dialect: CsvDialect) -> tuple[str, int, int] | None:
    quote, escape = dialect.quote, dialect.escape
    parts = []
    while line < len(lines):
        text = lines[line]
        while at < len(text):
            char = text[at]
            if char == escape and at + 1 < len(text):
                at += 1
                parts.append(_ESCAPES.get(text[at], text[at]))
            elif char == quote:
                if text[at + 1 : at + 2] != quote:
                    return "".join(parts), line, at + 1
                at += 1
                parts.append(char)
            else:
                parts.append(char)
            at += 1
        line, at = line + 1, 0
    return None
