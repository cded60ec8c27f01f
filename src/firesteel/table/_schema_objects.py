"""Columns, constraints, watermarks and resolved schemas under PyFlink's names."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.sql import schema as logical
from firesteel.sql.schema import ColumnKind, DeclaredColumn, DeclaredSchema, DeclaredWatermark, PrimaryKey
from firesteel.table._conversions import data_type_of, logical_type
from firesteel.table.resolved_expression import ResolvedExpression
from firesteel.table.types import DataType, RowField, RowType

__all__ = [
    "Column",
    "ComputedColumn",
    "Constraint",
    "MetadataColumn",
    "PhysicalColumn",
    "ResolvedSchema",
    "UniqueConstraint",
    "WatermarkSpec",
]


class Column:
    """A column of a resolved schema. Made by its static methods."""

    def __init__(self, column: logical.Column) -> None:
        self._column = column

    @staticmethod
    def _of(column: logical.Column) -> Column:
        return _KINDS[column.kind](column)

    @staticmethod
    def physical(name: str, data_type: DataType) -> PhysicalColumn:
        """A column that the table stores."""
        return PhysicalColumn(logical.Column(name, logical_type(data_type)))

    @staticmethod
    def computed(name: str, resolved_expression: ResolvedExpression) -> ComputedColumn:
        """A column that is computed of others."""
        bound = resolved_expression._bound
        text = resolved_expression.as_summary_string()
        return ComputedColumn(
            logical.Column(name, bound.type, ColumnKind.COMPUTED, expression=bound, text=text)
        )

    @staticmethod
    def metadata(
        name: str, data_type: DataType, metadata_key: str | None, is_virtual: bool
    ) -> MetadataColumn:
        """A column of what the connector knows beside the rows."""
        return MetadataColumn(
            logical.Column(name, logical_type(data_type), ColumnKind.METADATA, metadata_key, is_virtual)
        )

    def with_comment(self, comment: str | None) -> Any:
        return type(self)(replace(self._column, comment=comment))

    def is_physical(self) -> bool:
        return self._column.kind is ColumnKind.PHYSICAL

    def is_persisted(self) -> bool:
        """Whether a sink writes it."""
        return self._column.is_persisted

    def get_data_type(self) -> DataType:
        return data_type_of(self._column.data_type)

    def get_name(self) -> str:
        return self._column.name

    def get_comment(self) -> str | None:
        return self._column.comment

    def as_summary_string(self) -> str:
        extras, comment = self.explain_extras(), self._column.comment
        text = f"`{self._column.name}` {self._column.data_type}" + (f" {extras}" if extras else "")
        if comment is None:
            return text
        quoted = comment.replace("'", "''")
        return f"{text} COMMENT '{quoted}'"

    def explain_extras(self) -> str | None:
        """What there is to say beside name and type."""
        return self._column.extras

    def copy(self, new_type: DataType) -> Any:
        """The same column with another type."""
        return type(self)(replace(self._column, data_type=logical_type(new_type)))

    def rename(self, new_name: str) -> Any:
        """The same column with another name."""
        return type(self)(replace(self._column, name=new_name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Column) and self._column == other._column

    def __hash__(self) -> int:
        return hash(self._column)

    def __str__(self) -> str:
        return self.as_summary_string()


class PhysicalColumn(Column):
    """A column that the table stores."""

    def with_comment(self, comment: str | None) -> PhysicalColumn:
        return PhysicalColumn(replace(self._column, comment=comment))

    def is_physical(self) -> bool:
        return True

    def is_persisted(self) -> bool:
        return True

    def copy(self, new_data_type: DataType) -> PhysicalColumn:
        return PhysicalColumn(replace(self._column, data_type=logical_type(new_data_type)))

    def rename(self, new_name: str) -> PhysicalColumn:
        return PhysicalColumn(replace(self._column, name=new_name))


class ComputedColumn(Column):
    """A column that is computed of others."""

    def with_comment(self, comment: str | None) -> ComputedColumn:
        return ComputedColumn(replace(self._column, comment=comment))

    def is_physical(self) -> bool:
        return False

    def is_persisted(self) -> bool:
        return False

    def get_expression(self) -> ResolvedExpression:
        return ResolvedExpression(self._column.expression, self._column.text)

    def copy(self, new_data_type: DataType) -> ComputedColumn:
        return ComputedColumn(replace(self._column, data_type=logical_type(new_data_type)))

    def rename(self, new_name: str) -> ComputedColumn:
        return ComputedColumn(replace(self._column, name=new_name))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComputedColumn) and self._column == other._column

    def __hash__(self) -> int:
        return hash(self._column)


class MetadataColumn(Column):
    """A column of what the connector knows beside the rows."""

    def with_comment(self, comment: str | None) -> MetadataColumn:
        return MetadataColumn(replace(self._column, comment=comment))

    def is_virtual(self) -> bool:
        """Whether sinks leave it out."""
        return self._column.virtual

    def get_metadata_key(self) -> str | None:
        return self._column.metadata_key

    def is_physical(self) -> bool:
        return False

    def is_persisted(self) -> bool:
        return not self._column.virtual

    def copy(self, new_data_type: DataType) -> MetadataColumn:
        return MetadataColumn(replace(self._column, data_type=logical_type(new_data_type)))

    def rename(self, new_name: str) -> MetadataColumn:
        return MetadataColumn(
            replace(self._column, name=new_name, metadata_key=self._column.metadata_key or self._column.name)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MetadataColumn) and self._column == other._column

    def __hash__(self) -> int:
        return hash(self._column)


_KINDS: dict[ColumnKind, type[Column]] = {
    ColumnKind.PHYSICAL: PhysicalColumn,
    ColumnKind.COMPUTED: ComputedColumn,
    ColumnKind.METADATA: MetadataColumn,
}


class WatermarkSpec:
    """Which column is event time, and what its watermark is."""

    def __init__(self, watermark: logical.Watermark) -> None:
        self._watermark = watermark

    @staticmethod
    def of(rowtime_attribute: str, watermark_expression: ResolvedExpression) -> WatermarkSpec:
        text = watermark_expression.as_summary_string()
        return WatermarkSpec(logical.Watermark(rowtime_attribute, watermark_expression._bound, text))

    def get_rowtime_attribute(self) -> str:
        return self._watermark.column

    def get_watermark_expression(self) -> ResolvedExpression:
        return ResolvedExpression(self._watermark.expression, self._watermark.text)

    def as_summary_string(self) -> str:
        return (
            f"WATERMARK FOR `{self._watermark.column}`: {self._watermark.expression.type} AS "
            f"{self._watermark.text}"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WatermarkSpec) and self._watermark == other._watermark

    def __hash__(self) -> int:
        return hash(self._watermark)

    def __str__(self) -> str:
        return self.as_summary_string()


class Constraint:
    """What is promised of the rows of a table."""

    class ConstraintType(Enum):
        PRIMARY_KEY = 0
        UNIQUE_KEY = 1

    def __init__(self, key: PrimaryKey) -> None:
        self._key = key

    def get_name(self) -> str:
        return self._key.name

    def is_enforced(self) -> bool:
        """Nobody looks after it."""
        return False

    def get_type(self) -> Constraint.ConstraintType:
        return Constraint.ConstraintType.PRIMARY_KEY

    def as_summary_string(self) -> str:
        columns = ", ".join(f"`{c}`" for c in self._key.columns)
        return f"CONSTRAINT `{self._key.name}` PRIMARY KEY ({columns}) NOT ENFORCED"

    def __str__(self) -> str:
        return self.as_summary_string()


class UniqueConstraint(Constraint):
    """A primary key."""

    @staticmethod
    def primary_key(name: str, columns: list[str]) -> UniqueConstraint:
        return UniqueConstraint(PrimaryKey(tuple(columns), name))

    def get_columns(self) -> list[str]:
        return list(self._key.columns)

    def get_type_string(self) -> str:
        return "PRIMARY KEY"


class ResolvedSchema:
    """Columns whose types are known, watermark and primary key."""

    def __init__(
        self,
        columns: list[Column] | None = None,
        watermark_specs: list[WatermarkSpec] | None = None,
        primary_key: UniqueConstraint | None = None,
    ) -> None:
        self._schema = logical.ResolvedSchema(
            tuple(c._column for c in columns or ()),
            tuple(w._watermark for w in watermark_specs or ()),
            None if primary_key is None else primary_key._key,
        )

    @classmethod
    def _of(cls, schema: logical.ResolvedSchema) -> ResolvedSchema:
        found = cls()
        found._schema = schema
        return found

    @staticmethod
    def of(columns: list[Column]) -> ResolvedSchema:
        """Columns alone."""
        return ResolvedSchema(columns)

    @staticmethod
    def physical(column_names: list[str], column_data_types: list[DataType]) -> ResolvedSchema:
        """Stored columns of names and types."""
        if len(column_names) != len(column_data_types):
            raise ProgramError("Mismatch between number of columns names and data types.")
        return ResolvedSchema(
            [Column.physical(n, d) for n, d in zip(column_names, column_data_types, strict=True)]
        )

    def get_column_count(self) -> int:
        return len(self._schema.columns)

    def get_columns(self) -> list[Column]:
        return [Column._of(c) for c in self._schema.columns]

    def get_column_names(self) -> list[str]:
        return list(self._schema.names)

    def get_column_data_types(self) -> list[DataType]:
        return [data_type_of(c.data_type) for c in self._schema.columns]

    def get_column(self, column_index_or_name: int | str) -> Column | None:
        """A column by its number from 0 on, or its name; None: there is none."""
        if isinstance(column_index_or_name, str):
            found = self._schema.column(column_index_or_name)
            return None if found is None else Column._of(found)
        if not 0 <= column_index_or_name < len(self._schema.columns):
            return None
        return Column._of(self._schema.columns[column_index_or_name])

    def get_watermark_specs(self) -> list[WatermarkSpec]:
        return [WatermarkSpec(w) for w in self._schema.watermarks]

    def get_primary_key(self) -> UniqueConstraint | None:
        return None if self._schema.primary_key is None else UniqueConstraint(self._schema.primary_key)

    def get_primary_key_indexes(self) -> list[int]:
        key = self._schema.primary_key
        physical = [c.name for c in self._schema.columns if c.kind is ColumnKind.PHYSICAL]
        return [] if key is None else [physical.index(c) for c in key.columns]

    def to_source_row_data_type(self) -> DataType:
        """All columns as a row."""
        return _row(self._schema.columns)

    def to_physical_row_data_type(self) -> DataType:
        """The stored columns as a row."""
        return _row(tuple(c for c in self._schema.columns if c.kind is ColumnKind.PHYSICAL))

    def to_sink_row_data_type(self) -> DataType:
        """The columns that are written as a row."""
        return _row(self._schema.sink_columns)

    def _as_declared(self) -> DeclaredSchema:
        columns = tuple(
            DeclaredColumn(
                c.name,
                c.kind,
                data_type=None if c.kind is ColumnKind.COMPUTED else c.data_type,
                expression=_Known(c.expression, c.text) if c.kind is ColumnKind.COMPUTED else None,
                metadata_key=c.metadata_key,
                virtual=c.virtual,
                comment=c.comment,
            )
            for c in self._schema.columns
        )
        marks = tuple(
            DeclaredWatermark(w.column, _Known(w.expression, w.text)) for w in self._schema.watermarks
        )
        return DeclaredSchema(columns, marks, self._schema.primary_key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ResolvedSchema) and self._schema == other._schema

    def __hash__(self) -> int:
        return hash(self._schema)

    def __str__(self) -> str:
        lines = [f"  {c.as_summary_string()}" for c in self.get_columns()]
        lines += [f"  {w.as_summary_string()}" for w in self.get_watermark_specs()]
        key = self.get_primary_key()
        lines += [] if key is None else [f"  {key.as_summary_string()}"]
        return "(\n" + ",\n".join(lines) + "\n)"


class _Known:
    """An expression that is bound already, as a schema declares it."""

    def __init__(self, bound: Any, text: str) -> None:
        self.bound = bound
        self.expression = text

    def __call__(self, row: Any, binder: Any) -> Any:
        return self.bound


def _row(columns: tuple[logical.Column, ...]) -> DataType:
    return RowType([RowField(c.name, data_type_of(c.data_type)) for c in columns], False)
