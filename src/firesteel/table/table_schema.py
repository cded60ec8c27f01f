"""Names and types of the columns of a table (PyFlink: ``pyflink.table.table_schema``)."""

from __future__ import annotations

from firesteel.common.errors import ProgramError
from firesteel.sql.types import RowType as LogicalRow
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
        self._logical: LogicalRow | None = None

    @classmethod
    def _of(cls, row: LogicalRow) -> TableSchema:
        found = cls(list(row.names), [data_type_of(x) for x in row.types])
        found._logical = row
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
        types = self._logical.types if self._logical is not None else [x.logical for x in self._types]
        lines = [f" |-- {name}: {found}" for name, found in zip(self._names, types, strict=True)]
        return "\n".join(["root", *lines, ""])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TableSchema) and (self._names, self._types) == (other._names, other._types)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(tuple(self._names))
