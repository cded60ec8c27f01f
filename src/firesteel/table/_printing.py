"""Results as tables of text, as Flink prints them (``TableauStyle``)."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from firesteel.common.columns import Columns
from firesteel.sql import types as t
from firesteel.sql.cast import cast_column
from firesteel.sql.row_texts import KIND_TEXTS

__all__ = ["print_result"]

_OP: Final = "op"


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
    else the columns are as wide as what is in them. :param plain: a result of one text alone, such as a
    plan. :param null: what stands for NULL."""
    if plain:
        for part in parts:
            for text in part.arrays[0].to_pylist():
                write(text)
        return
    if streaming:
        _stream(parts, row, width, zone, null, write)
    else:
        _whole(parts, row, zone, null, write)


def texts(columns: Columns, row: t.RowType, zone: str, null: str) -> list[list[str]]:
    """The rows as texts."""
    found = []
    for array, data_type in zip(columns.arrays, row.types, strict=True):
        shown = cast_column(array, data_type, t.VarCharType(), zone).to_pylist()
        found.append([null if v is None else v for v in shown])
    return [list(r) for r in zip(*found, strict=True)] if found else [[] for _ in range(len(columns))]


def _stream(
    parts: Iterator[Columns], row: t.RowType, width: int, zone: str, null: str, write: Callable[[str], Any]
) -> None:
    names = [_OP, *row.names]
    widths = [
        2,
        *(min(_type_width(d, width), width) if _variable(d) else _type_width(d, width) for d in row.types),
    ]
    widths = [max(w, _length(n)) if i else w for i, (w, n) in enumerate(zip(widths, names, strict=True))]
    border = _border(widths)
    started, count = False, 0
    for part in parts:
        for kind, fields in zip(part.kinds_or_inserts().tolist(), texts(part, row, zone, null), strict=True):
            if not started:
                write("\n".join([border, _line(names, widths), border]))
                started = True
            write(_line([KIND_TEXTS[kind], *fields], widths))
            count += 1
    if not started:
        write("Empty set")
        return
    write(border)
    write(f"{count} row{'s' if count > 1 else ''} in set")


def _whole(
    parts: Iterator[Columns], row: t.RowType, zone: str, null: str, write: Callable[[str], Any]
) -> None:
    rows = [fields for part in parts for fields in texts(part, row, zone, null)]
    if not rows:
        write("Empty set")
        return
    widths = [max(_length(name), *(_length(r[i]) for r in rows)) for i, name in enumerate(row.names)]
    border = _border(widths)
    write("\n".join([border, _line(list(row.names), widths), border]))
    for fields in rows:
        write(_line(fields, widths))
    write(border)
    write(f"{len(rows)} row{'s' if len(rows) > 1 else ''} in set")


def _border(widths: Sequence[int]) -> str:
    return "+" + "+".join("-" * (w + 2) for w in widths) + "+"


def _line(fields: Sequence[str], widths: Sequence[int]) -> str:
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


def _variable(data_type: t.DataType) -> bool:
    return not isinstance(data_type, tuple(_WIDTHS))


_WIDTHS: Final[dict[type[t.DataType], int]] = {
    t.BooleanType: 7,
    t.TinyIntType: 4,
    t.SmallIntType: 6,
    t.IntType: 11,
    t.BigIntType: 20,
    t.FloatType: 30,
    t.DoubleType: 30,
    t.DateType: 10,
    t.TimeType: 8,
}


def _type_width(data_type: Any, width: int) -> int:
    if type(data_type) in _WIDTHS:
        return _WIDTHS[type(data_type)]
    if isinstance(data_type, t.DecimalType):
        return data_type.precision + 2
    if isinstance(data_type, t.TimestampType | t.LocalZonedTimestampType):
        return 20 + data_type.precision if data_type.precision else 19
    if isinstance(data_type, t.CharType | t.VarCharType):
        return min(data_type.length, width)
    return width
