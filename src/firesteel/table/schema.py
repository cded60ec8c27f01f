"""The columns of a table."""

from __future__ import annotations

from typing import NoReturn

from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.table.types import DataType

__all__ = ["Schema"]


class Schema:
    """Names and types of columns, in order (Flink: ``Schema``)."""

    def __init__(self, columns: tuple[tuple[str, DataType], ...]) -> None:
        self.columns = columns

    @staticmethod
    def new_builder() -> Schema.Builder:
        return Schema.Builder()

    def __str__(self) -> str:
        return "(" + ", ".join(f"`{name}` {type_}" for name, type_ in self.columns) + ")"

    class Builder:
        """Puts a Schema together."""

        def __init__(self) -> None:
            self._columns: list[tuple[str, DataType]] = []

        def column(self, column_name: str, data_type: DataType) -> Schema.Builder:
            """Add a column."""
            if not isinstance(column_name, str) or not column_name:
                raise ProgramError("A column needs a name.", detail=f"got {column_name!r}")
            if any(column_name == name for name, _ in self._columns):
                raise ProgramError("Two columns have the same name.", detail=column_name)
            if not isinstance(data_type, DataType):
                raise ProgramError(
                    f"The type of column {column_name!r} is not a data type.",
                    detail=f"got {data_type!r}",
                    hint="for example DataTypes.INT()",
                )
            self._columns.append((column_name, data_type))
            return self

        def column_by_expression(self, column_name: str, expr: object) -> NoReturn:
            _refuse("Computed columns", column_name)

        def watermark(self, column_name: str, watermark_expr: object) -> NoReturn:
            _refuse("Watermarks of tables", column_name)

        def build(self) -> Schema:
            if not self._columns:
                raise ProgramError("A schema needs at least one column.")
            return Schema(tuple(self._columns))


def _refuse(what: str, column: str) -> NoReturn:
    raise UnsupportedFeatureError(
        f"{what} are not available.",
        detail=f"column {column!r}",
        hint="turn the table into a stream with to_data_stream(), and use map() and "
        "assign_timestamps_and_watermarks()",
    )
