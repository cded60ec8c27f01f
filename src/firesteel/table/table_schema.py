"""Names and types of the columns of a table (PyFlink: ``pyflink.table.table_schema``)."""

from __future__ import annotations

from firesteel.common.errors import ProgramError
from firesteel.sql.schema import ResolvedSchema
from firesteel.table._conversions import data_type_of
from firesteel.table.types import DataType, RowField, RowType

__all__ = ["TableSchema"]


class TableSchema:
    """Columns in order."""

    class Builder:
        """Puts a schema together."""

        def __init__(self) -> None:
            self._names: list[str] = []
            self._types: list[DataType] = []

        def field(self, name: str, data_type: DataType) -> TableSchema.Builder:
            """Add a column."""
            if not isinstance(name, str) or not isinstance(data_type, DataType):
                raise ProgramError("A field has a name and a data type.", detail=f"{name!r}: {data_type!r}")
            self._names.append(name)
            self._types.append(data_type)
            return self

        def build(self) -> TableSchema:
            return TableSchema(list(self._names), list(self._types))

    def __init__(
        self, field_names: list[str] | None = None, data_types: list[DataType] | None = None
    ) -> None:
        self._names = list(field_names or [])
        self._types = list(data_types or [])
        if len(self._names) != len(self._types):
            raise ProgramError("Number of field names and field data types must be equal.")
        self._resolved: ResolvedSchema | None = None

    @classmethod
    def _of(cls, schema: ResolvedSchema) -> TableSchema:
        found = cls(list(schema.names), [data_type_of(c.data_type) for c in schema.columns])
        found._resolved = schema
        return found

    @classmethod
    def builder(cls) -> TableSchema.Builder:
        return TableSchema.Builder()

    def copy(self) -> TableSchema:
        return TableSchema(list(self._names), list(self._types))

    def get_field_data_types(self) -> list[DataType]:
        return list(self._types)

    def get_field_data_type(self, field: int | str) -> DataType | None:
        """The type of a column, by its name or its number from 0 on; None: there is none."""
        if isinstance(field, str):
            return self._types[self._names.index(field)] if field in self._names else None
        if not isinstance(field, int):
            raise TypeError(f"Expected field index or field name, got {type(field)}")
        return self._types[field] if 0 <= field < len(self._types) else None

    def get_field_count(self) -> int:
        return len(self._names)

    def get_field_names(self) -> list[str]:
        return list(self._names)

    def get_field_name(self, field_index: int) -> str | None:
        """The name of the column of a number from 0 on; None: there is none."""
        return self._names[field_index] if 0 <= field_index < len(self._names) else None

    def to_row_data_type(self) -> RowType:
        """The columns as fields of a row."""
        return RowType([RowField(n, x) for n, x in zip(self._names, self._types, strict=True)], False)

    def __repr__(self) -> str:
        if self._resolved is None:
            lines = [f"{name}: {found.logical}" for name, found in zip(self._names, self._types, strict=True)]
        else:
            lines = _lines(self._resolved)
        return "\n".join(["root", *(f" |-- {line}" for line in lines), ""])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableSchema) and (self._names, self._types) == (other._names, other._types)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self._names))


def _lines(schema: ResolvedSchema) -> list[str]:
    """Columns, watermark and primary key."""
    lines = [f"{c.name}: {c.data_type}" + (f" {c.extras}" if c.extras else "") for c in schema.columns]
    for mark in schema.watermarks:
        lines.append(f"WATERMARK FOR {mark.column}: {mark.expression.type} AS {mark.text}")
    if schema.primary_key is not None:
        key = schema.primary_key
        lines.append(f"CONSTRAINT {key.name} PRIMARY KEY ({', '.join(key.columns)})")
    return lines
