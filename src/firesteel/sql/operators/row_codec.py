"""Whole rows in state: as bytes, which is how they are kept in memory, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.sql.types import RowType
from firesteel.sql.values import array_of, values_of

__all__ = ["RowCodec"]

_pack: Final = msgspec.msgpack.Encoder().encode
_unpack: Final = msgspec.msgpack.Decoder(list).decode


class RowCodec:
    """Rows of a type to bytes and back; equal rows have equal bytes."""

    def __init__(self, row: RowType) -> None:
        self._types = row.types

    def encode(self, columns: Columns) -> list[bytes]:
        """The bytes of each row, without its kind."""
        if not self._types:
            return [_pack(())] * len(columns)
        values = [values_of(a, d) for a, d in zip(columns.arrays, self._types, strict=True)]
        return list(map(_pack, zip(*values, strict=True)))

    def decode(self, rows: Sequence[bytes]) -> list[pa.Array]:
        """The columns of rows."""
        return self.arrays(list(map(_unpack, rows)))

    def values(self, row: bytes) -> list[Any]:
        """The physical values of a row."""
        return _unpack(row)

    def arrays(self, rows: Sequence[Sequence[Any]]) -> list[pa.Array]:
        columns: Any = zip(*rows, strict=True) if rows else ((),) * len(self._types)
        return [array_of(list(c), d) for c, d in zip(columns, self._types, strict=True)]
