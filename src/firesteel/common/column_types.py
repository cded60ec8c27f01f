"""The declared type of a stream whose batches hold columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.common._basic_types import TypeInformation

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ColumnsTypeInfo"]


class ColumnsTypeInfo(TypeInformation):
    """Rows as ``common.columns.Columns``, with the names and Arrow types of *schema*.

    An exchange ships such columns without their schema: both of its ends know it from the program.
    """

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__()
        self.schema = schema

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ColumnsTypeInfo) and self.schema.equals(other.schema)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        fields = ", ".join(f"{f.name}: {f.type}" for f in self.schema)
        return f"ColumnsTypeInfo({fields})"
