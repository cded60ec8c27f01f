"""The schema of a table as it is declared (PyFlink: ``pyflink.table.schema``)."""

from __future__ import annotations

from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.sql.schema import (
    ColumnKind,
    DeclaredColumn,
    DeclaredExpression,
    DeclaredSchema,
    DeclaredWatermark,
    PrimaryKey,
)
from firesteel.sql.types import RowType as LogicalRow
from firesteel.table._conversions import logical_type
from firesteel.table.expression import Expression
from firesteel.table.types import DataType

__all__ = ["Schema"]


class Schema:
    """Columns, watermark and primary key of a table. Made by ``new_builder()``."""

    class Builder:
        """Puts a schema together; columns stay in the order in which they are added."""

        def __init__(self) -> None:
            self._columns: list[DeclaredColumn] = []
            self._watermarks: list[DeclaredWatermark] = []
            self._primary_key: PrimaryKey | None = None

        def from_schema(self, unresolved_schema: Schema) -> Schema.Builder:
            """Add all that another schema has."""
            declared = unresolved_schema._declared
            self._columns += declared.columns
            self._watermarks += declared.watermarks
            self._primary_key = declared.primary_key or self._primary_key
            return self

        def from_resolved_schema(self, resolved_schema: Any) -> Schema.Builder:
            """Add all that a resolved schema has."""
            return self.from_schema(Schema(resolved_schema._as_declared()))

        def from_row_data_type(self, data_type: DataType) -> Schema.Builder:
            """Add the fields of a row as columns."""
            row = logical_type(data_type)
            if not isinstance(row, LogicalRow):
                raise ProgramError("from_row_data_type() takes a ROW.", detail=f"got {data_type!r}")
            self._columns += [DeclaredColumn(f.name, data_type=f.data_type) for f in row.fields]
            return self

        def from_fields(self, field_names: list[str], field_data_types: list[DataType]) -> Schema.Builder:
            """Add columns of names and types."""
            if len(field_names) != len(field_data_types):
                raise ProgramError("Field names and field data types must have the same length.")
            for name, data_type in zip(field_names, field_data_types, strict=True):
                self.column(name, data_type)
            return self

        def column(self, column_name: str, data_type: str | DataType) -> Schema.Builder:
            """Add a column; its type may be SQL text."""
            found = data_type if isinstance(data_type, str) else logical_type(data_type)
            self._columns.append(DeclaredColumn(_name(column_name), data_type=found))
            return self

        def column_by_expression(self, column_name: str, expr: str | Expression[Any]) -> Schema.Builder:
            """Add a column that is computed of others."""
            self._columns.append(
                DeclaredColumn(_name(column_name), ColumnKind.COMPUTED, expression=_expression(expr))
            )
            return self

        def column_by_metadata(
            self,
            column_name: str,
            data_type: DataType | str,
            metadata_key: str | None = None,
            is_virtual: bool = False,
        ) -> Schema.Builder:
            """Add a column of what the connector knows beside the rows."""
            found = data_type if isinstance(data_type, str) else logical_type(data_type)
            self._columns.append(
                DeclaredColumn(
                    _name(column_name),
                    ColumnKind.METADATA,
                    data_type=found,
                    metadata_key=metadata_key,
                    virtual=is_virtual,
                )
            )
            return self

        def watermark(self, column_name: str, watermark_expr: str | Expression[Any]) -> Schema.Builder:
            """Make a column event time; its watermark is an expression of each row."""
            self._watermarks.append(DeclaredWatermark(_name(column_name), _expression(watermark_expr)))
            return self

        def primary_key(self, *column_names: str) -> Schema.Builder:
            """Say which columns identify a row. Nobody looks after it."""
            if not column_names:
                raise ProgramError("A primary key has at least one column.")
            return self._keyed(PrimaryKey(tuple(map(_name, column_names))))

        def primary_key_named(self, constraint_name: str, *column_names: str) -> Schema.Builder:
            """As ``primary_key``, with a name of the constraint."""
            if not column_names:
                raise ProgramError("A primary key has at least one column.")
            return self._keyed(PrimaryKey(tuple(map(_name, column_names)), constraint_name))

        def _keyed(self, key: PrimaryKey) -> Schema.Builder:
            if self._primary_key is not None:
                raise ProgramError(
                    "Multiple primary keys are not supported.", hint="one key of all its columns"
                )
            self._primary_key = key
            return self

        def build(self) -> Schema:
            return Schema(DeclaredSchema(tuple(self._columns), tuple(self._watermarks), self._primary_key))

    def __init__(self, declared: DeclaredSchema | None = None) -> None:
        self._declared = declared or DeclaredSchema()

    @staticmethod
    def new_builder() -> Schema.Builder:
        return Schema.Builder()

    @property
    def columns(self) -> list[DeclaredColumn]:
        """The columns as they are declared."""
        return list(self._declared.columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self._declared == other._declared

    def __hash__(self) -> int:
        return hash(self._declared)

    def __str__(self) -> str:
        lines = [f"  {_shown(column)}" for column in self._declared.columns]
        lines += [f"  WATERMARK FOR `{w.column}` AS {_text(w.expression)}" for w in self._declared.watermarks]
        key = self._declared.primary_key
        if key is not None:
            columns = ", ".join(f"`{c}`" for c in key.columns)
            name = key.name or "PK_" + "_".join(key.columns)
            lines.append(f"  CONSTRAINT `{name}` PRIMARY KEY ({columns}) NOT ENFORCED")
        return "(\n" + ",\n".join(lines) + "\n)"

    def __repr__(self) -> str:
        return str(self)


def _name(name: str) -> str:
    if not isinstance(name, str):
        raise ProgramError("The name of a column is a text.", detail=f"got {name!r}")
    return name


class _Bound:
    """An expression of a program as a schema keeps it."""

    def __init__(self, expression: Expression[Any]) -> None:
        self.expression = expression

    def __call__(self, row: LogicalRow, binder: Any) -> Any:
        from firesteel.table._resolver import resolve_over_row

        return resolve_over_row(self.expression, row, binder)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Bound) and self.expression._tree == other.expression._tree

    def __hash__(self) -> int:
        return hash(self.expression._tree)


def _expression(expression: Any) -> DeclaredExpression:
    if isinstance(expression, str):
        return expression
    if isinstance(expression, Expression):
        return _Bound(expression)
    raise ProgramError(
        "An expression of a schema is SQL text or an Expression.", detail=f"got {expression!r}"
    )


def _text(expression: Any) -> str:
    """As Flink shows it: what is not bound yet is in brackets."""
    return f"[{expression}]" if isinstance(expression, str) else str(expression.expression)


def _shown(column: DeclaredColumn) -> str:
    name = f"`{column.name}`"
    if column.kind is ColumnKind.COMPUTED:
        return f"{name} AS {_text(column.expression)}"
    typed = f"{name} {_text(column.data_type) if isinstance(column.data_type, str) else column.data_type}"
    if column.kind is ColumnKind.METADATA:
        key = f" FROM '{column.metadata_key}'" if column.metadata_key else ""
        return f"{typed} METADATA{key}{' VIRTUAL' if column.virtual else ''}"
    return typed
