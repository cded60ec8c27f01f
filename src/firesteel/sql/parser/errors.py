"""Errors of SQL texts, with the place and the marked text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.common.errors import ProgramError

__all__ = ["Place", "SqlParserError", "SqlValidationError"]


class SqlParserError(ProgramError):
    """The text is not SQL as Flink reads it (Flink: ``SqlParserException``).

    :param line: and *column*, counted from 1.
    """

    def __init__(self, message: str, *, line: int = 0, column: int = 0, **details: Any) -> None:
        super().__init__(message, **details)
        self.line = line
        self.column = column

    @classmethod
    def at(cls, place: Place, message: str, *, detail: str = "", hint: str | None = None) -> SqlParserError:
        """The error of what stands there, which is shown behind *detail*."""
        line, column = place.line_and_column
        return cls(message, line=line, column=column, detail=detail + place.marked, hint=hint)


class SqlValidationError(ProgramError):
    """SQL that can be read and means nothing: unknown names, types that do not fit, what is not
    allowed (Flink: ``ValidationException``)."""

    def __init__(self, message: str, *, line: int = 0, column: int = 0, **details: Any) -> None:
        super().__init__(message, **details)
        self.line = line
        self.column = column


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands in a statement. :param start: and *end*, its first and last character."""

    sql: str
    start: int
    end: int

    @property
    def line_and_column(self) -> tuple[int, int]:
        """Return those of the first character, counted from 1."""
        return self._at(self.start)

    @property
    def where(self) -> str:
        """The same in words."""
        line, column = self.line_and_column
        return f"line {line}, column {column}"

    @property
    def span(self) -> str:
        """As Flink's validator begins a message: ``From line 1, column 8 to line 1, column 10``."""
        line, column = self._at(self.start)
        last_line, last_column = self._at(max(self.end, self.start))
        if (line, column) == (last_line, last_column):
            return f"At line {line}, column {column}"
        return f"From line {line}, column {column} to line {last_line}, column {last_column}"

    @property
    def marked(self) -> str:
        """The line where it begins, with marks under what is meant, below each other."""
        sql, start = self.sql, self.start
        line_start = sql.rfind("\n", 0, start) + 1
        line_end = sql.find("\n", start)
        line = sql[line_start : len(sql) if line_end < 0 else line_end]
        shown_from = max(0, start - line_start - 60)
        width = max(1, min(self.end, line_start + len(line) - 1) - start + 1)
        shown = line[shown_from : shown_from + 110].replace("\t", " ")
        return f"\n  {shown}\n  {' ' * (start - line_start - shown_from)}{'^' * min(width, 110)}"

    def _at(self, offset: int) -> tuple[int, int]:
        before = self.sql[:offset]
        return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
