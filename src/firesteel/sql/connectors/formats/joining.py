"""Chunks of columns, cells and lines put together: what the formats of text share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["as_lines", "as_messages", "joined", "whole"]


def whole(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def joined(cells: Sequence[Any], delimiter: str) -> list[str]:
    """Return the text of each row: its cells, separated by *delimiter*."""
    texts = pc.binary_join_element_wise(*cells, delimiter) if len(cells) > 1 else cells[0]
    found: list[str] = texts.to_pylist()
    return found


def as_lines(texts: Iterable[str]) -> bytes:
    """Return texts as the lines of a file."""
    return b"".join([f"{text}\n".encode() for text in texts])


def as_messages(texts: Iterable[str]) -> list[bytes | None]:
    """Return texts as messages."""
    return [text.encode() for text in texts]
