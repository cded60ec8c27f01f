"""Rows as Flink prints them: ``+I[1, abc]``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from firesteel.common.columns import Columns
from firesteel.sql.cast import text_of
from firesteel.sql.types import RowType

__all__ = ["KIND_TEXTS", "row_texts"]

KIND_TEXTS: Final = ("+I", "-U", "+U", "-D")


def row_texts(columns: Columns, row: RowType) -> Iterator[str]:
    """Each row as a line."""
    texts: list[list[Any]] = [
        text_of(array, data_type) for array, data_type in zip(columns.arrays, row.types, strict=True)
    ]
    kinds = columns.kinds_or_inserts().tolist()
    rows = zip(*texts, strict=True) if texts else [()] * len(columns)
    for kind, fields in zip(kinds, rows, strict=True):
        shown = ", ".join("null" if f is None else f for f in fields)
        yield f"{KIND_TEXTS[kind]}[{shown}]"
