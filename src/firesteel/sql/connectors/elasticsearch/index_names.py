"""``index``: one name, or one for each row: ``orders-{sold|yyyy-MM-dd}`` (Flink: ``IndexGenerator``)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from firesteel.common.clock import SystemClock
from firesteel.common.columns import Columns
from firesteel.common.errors import FiresteelError
from firesteel.connectors.elasticsearch.emitter import check_index
from firesteel.sql import calendars as c, types as t
from firesteel.sql.cast import cast_column
from firesteel.sql.connectors.options import TableOptions
from firesteel.sql.date_patterns import PatternError, format_column, pattern
from firesteel.sql.values import unit_of

__all__ = ["INDEX", "IndexNames", "index_names"]

INDEX: Final = "index"
_DYNAMIC: Final = re.compile(r"\{([^{}]+)\}")
_NOW: Final = ("now()", "NOW()", "current_timestamp", "CURRENT_TIMESTAMP")
_TEXT: Final = t.VarCharType(length=t.MAX_LENGTH)
#: Patterns where none is given after ``|``.
_DEFAULTS: Final[dict[type[t.DataType], str]] = {
    t.DateType: "yyyy_MM_dd",
    t.TimeType: "HH_mm_ss",
    t.TimestampType: "yyyy_MM_dd_HH_mm_ss",
    t.LocalZonedTimestampType: "yyyy_MM_dd_HH_mm_ssX",
}


@dataclass(frozen=True, slots=True)
class IndexNames:
    """:param parts: the text before and after what is dynamic; a static name is all in the first.
    :param column: the place of the column that is dynamic, and its type; None: it is the current time.
    :param pattern: of a date or time. :param zone: of the session.
    """

    parts: tuple[str, str]
    dynamic: bool = False
    column: tuple[int, t.DataType] | None = None
    pattern: str | None = None
    zone: str = "UTC"

    @property
    def of_time(self) -> bool:
        """Whether the name of a row depends on when it is written."""
        return self.dynamic and self.column is None

    def of(self, columns: Columns) -> list[str]:
        """Return the index of each row."""
        if not self.dynamic:
            return [self.parts[0]] * len(columns)
        before, after = self.parts
        return [f"{before}{'' if text is None else text}{after}" for text in self._texts(columns)]

    def _texts(self, columns: Columns) -> list[str | None]:
        if self.column is None:
            now = np.full(len(columns), SystemClock().now_ms(), np.int64)
            return self._formatted(now, 1000, instants=True)
        place, data_type = self.column
        array = columns.arrays[place]
        if self.pattern is None:
            found: list[str | None] = cast_column(array, data_type, _TEXT, self.zone).to_pylist()
            return found
        numbers = np.array(array.cast(_physical(data_type)).fill_null(0), np.int64)
        if isinstance(data_type, t.DateType):
            texts = self._formatted(numbers * 86_400, 1)
        elif isinstance(data_type, t.TimeType):
            texts = self._formatted(numbers, 1000)
        else:
            instants = isinstance(data_type, t.LocalZonedTimestampType)
            texts = self._formatted(numbers, unit_of(data_type), instants)
        valid = array.is_valid().to_pylist()
        return [text if there else None for text, there in zip(texts, valid, strict=True)]

    def _formatted(self, numbers: Any, unit: int, instants: bool = False) -> list[str | None]:
        local = c.to_local(numbers, unit, self.zone) if instants else numbers
        assert self.pattern is not None
        offsets = (local - numbers) // unit
        texts: list[str | None] = format_column(
            pattern(self.pattern), local, unit, offsets, self.zone
        ).to_pylist()
        return texts


def _physical(data_type: t.DataType) -> str:
    return "int32" if isinstance(data_type, t.DateType | t.TimeType) else "int64"


def index_names(options: TableOptions, row: t.RowType, zone: str) -> IndexNames:
    """Return the names of indices that ``index`` says.

    :param row: of the rows that are written.
    :raises FiresteelError: it is no such name, or names a column that is not there or has the wrong type.
    """
    given: str = options[INDEX]
    found = list(_DYNAMIC.finditer(given))
    if not found:
        check_index(given)
        return IndexNames((given, ""))
    if len(found) > 1:
        raise options.error(INDEX, f"{given!r} has more than one dynamic part", "let one of them be")
    before, after = given[: found[0].start()], given[found[0].end() :]
    name, bar, shown = found[0][1].partition("|")
    name = name.strip()
    if name in _NOW:
        if not bar:
            raise options.error(INDEX, f"{name} needs a pattern", f"{{{name}|yyyy-MM-dd}}")
        kind: t.DataType = t.LocalZonedTimestampType(precision=3)
        return IndexNames((before, after), True, None, _checked(options, shown, kind), zone)
    if name not in row.names:
        raise options.error(INDEX, f"there is no column {name!r}", f"columns are {', '.join(row.names)}")
    place = row.names.index(name)
    kind = row.types[place]
    if bar and type(kind) not in _DEFAULTS:
        raise options.error(INDEX, f"column {name} is {kind}", "a pattern is for DATE, TIME and TIMESTAMP")
    shown_ = _checked(options, shown, kind) if bar else None
    return IndexNames((before, after), True, (place, kind), shown_, zone)


def _checked(options: TableOptions, shown: str, data_type: t.DataType) -> str:
    found = shown or _DEFAULTS[type(data_type)]
    try:
        pattern(found)
    except (PatternError, FiresteelError) as error:
        raise options.error(INDEX, f"{shown!r} is not a pattern of dates: {error}") from error
    return found
