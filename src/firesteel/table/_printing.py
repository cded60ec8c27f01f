"""Results as tables of text, as Flink prints them (``TableauStyle``)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from firesteel.common.columns import Columns
from firesteel.sql import types as t
from firesteel.sql.cast_to_text import printed
from firesteel.sql.row_texts import KIND_TEXTS

__all__ = [
    "Change",
    "changes",
    "column_widths",
    "line",
    "print_result",
    "rows_text",
    "texts",
    "write_changes",
    "write_table",
]

_OP: Final = "op"
_NULL: Final = "<NULL>"

#: The kind of a row, such as ``+I``, and its fields.
Change = tuple[str, list[str]]


def print_result(
    parts: Iterator[Columns],
    row: t.RowType,
    streaming: bool,
    width: int,
    zone: str,
    *,
    plain: bool = False,
    null: str = "<NULL>",
    write: Callable[[str], Any] = print,
) -> None:
    """:param streaming: rows are shown as they come, with their kinds, in columns of a width by their types;
    else the columns are as wide as what is in them. :param plain: a result without borders, such as a plan.
    :param null: what stands for NULL."""
    if plain:
        for part in parts:
            for fields in texts(part, row, zone):
                write(", ".join(null if text is None else text for text in fields))
        return
    found = (change for part in parts for change in changes(part, row, zone, null))
    if not streaming:
        count = write_table((fields for _, fields in found), row, write)
    else:
        count = write_changes(found, row, width, write)
        if count:
            write(f"{rows_text(count)} in set")
    if not count:
        write("Empty set")


def changes(columns: Columns, row: t.RowType, zone: str, null: str) -> Iterator[Change]:
    """The rows as kinds and texts."""
    kinds = columns.kinds_or_inserts().tolist()
    for kind, fields in zip(kinds, texts(columns, row, zone), strict=True):
        yield KIND_TEXTS[kind], [null if text is None else text for text in fields]


def texts(columns: Columns, row: t.RowType, zone: str) -> list[list[str | None]]:
    """The rows as texts; NULL is None."""
    found = [
        printed(array, data_type, zone).to_pylist()
        for array, data_type in zip(columns.arrays, row.types, strict=True)
    ]
    return [list(r) for r in zip(*found, strict=True)] if found else [[] for _ in range(len(columns))]


def write_changes(
    found: Iterator[Change], row: t.RowType, width: int, write: Callable[[str], Any], *, eager: bool = False
) -> int:
    """Write changes as they come; how many there were.

    :param eager: the names of the columns are written before the first row is there.
    """
    names = [_OP, *row.names]
    widths = [2, *column_widths(row, width)]
    border = _border(widths)
    head = "\n".join([border, line(names, widths), border])
    if eager:
        write(head)
    count = 0
    for kind, fields in found:
        if not count and not eager:
            write(head)
        write(line([kind, *fields], widths))
        count += 1
    if count:
        write(border)
    return count


def write_table(found: Iterator[list[str]], row: t.RowType, write: Callable[[str], Any]) -> int:
    """Write rows in columns as wide as what is in them; how many there were. Nothing is written of none."""
    rows = list(found)
    if not rows:
        return 0
    widths = [max(_length(name), *(_length(r[i]) for r in rows)) for i, name in enumerate(row.names)]
    border = _border(widths)
    write("\n".join([border, line(list(row.names), widths), border]))
    for fields in rows:
        write(line(fields, widths))
    write(f"{border}\n{rows_text(len(rows))} in set")
    return len(rows)


def column_widths(row: t.RowType, width: int) -> list[int]:
    """Widths by the types of the columns, and by their names; NULL fits into each.

    :param width: of what has no width by its type: texts, bytes, floating numbers, rows and the like.
    """
    of_types = [_type_width(d, width) for d in row.types]
    return [max(w, len(_NULL), _length(name)) for w, name in zip(of_types, row.names, strict=True)]


def rows_text(count: int) -> str:
    return f"{count} row{'s' if count > 1 else ''}"


def _border(widths: Sequence[int]) -> str:
    return "+" + "+".join("-" * (w + 2) for w in widths) + "+"


def line(fields: Sequence[str], widths: Sequence[int]) -> str:
    """One row; fields that are too long are cut."""
    shown = []
    for text, width in zip(fields, widths, strict=True):
        cut = _cut(text, width)
        shown.append(" " * (width - _length(cut)) + cut)
    return "| " + " | ".join(shown) + " |"


def _length(text: str) -> int:
    """How many columns of a terminal it takes."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _cut(text: str, width: int) -> str:
    if _length(text) <= width:
        return text
    kept, used = [], 0
    for c in text:
        used += _length(c)
        if used > width - 3:
            break
        kept.append(c)
    return "".join(kept) + "..."


_WIDTHS: Final[dict[type[t.DataType], int]] = {
    t.BooleanType: 5,
    t.TinyIntType: 4,
    t.SmallIntType: 6,
    t.IntType: 11,
    t.BigIntType: 20,
    t.DateType: 10,
}


def _type_width(data_type: Any, width: int) -> int:
    if type(data_type) in _WIDTHS:
        return _WIDTHS[type(data_type)]
    if isinstance(data_type, t.DecimalType):
        return data_type.precision + 2
    if isinstance(data_type, t.TimestampType | t.LocalZonedTimestampType):
        return 20 + data_type.precision if data_type.precision else 19
    if isinstance(data_type, t.TimeType):
        return 9 + data_type.precision if data_type.precision else 8
    return width
