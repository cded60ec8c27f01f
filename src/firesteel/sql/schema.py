"""The columns of a table: as declared (texts still to be read) and as resolved (types and expressions bound).

Flink: ``Schema`` and ``ResolvedSchema``. A declared schema is what a catalog keeps; a resolved one is what a
``ResolvedTable`` has and what ``get_schema`` shows.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from firesteel.sql.expressions import Expression
from firesteel.sql.types import DataType, LocalZonedTimestampType, RowType, TimeAttribute, TimestampType

__all__ = [
    "Column",
    "ColumnKind",
    "DeclaredColumn",
    "DeclaredExpression",
    "DeclaredSchema",
    "DeclaredWatermark",
    "Distribution",
    "PrimaryKey",
    "ResolvedSchema",
    "Watermark",
    "with_attribute",
]


class ColumnKind(enum.Enum):
    PHYSICAL = "physical"
    METADATA = "metadata"
    COMPUTED = "computed"


# ---- declared

#: SQL text, or what the Table API makes of one of its expression trees: called with the type of the row
#: that the
#: expression sees (and with the functions that it may call), it gives the bound expression.
DeclaredExpression = str | Callable[[RowType, Any], Expression]


@dataclass(frozen=True, slots=True)
class DeclaredColumn:
    """A column as written in CREATE TABLE or with ``Schema.new_builder()``.

    :param data_type: of physical and metadata columns; as text where it is still to be read.
    :param expression: of computed columns.
    :param metadata_key: of metadata columns; None: the key is the name. :param virtual: it is not written
        by a sink.
    """

    name: str
    kind: ColumnKind = ColumnKind.PHYSICAL
    data_type: DataType | str | None = None
    expression: DeclaredExpression | None = None
    metadata_key: str | None = None
    virtual: bool = False
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class DeclaredWatermark:
    column: str
    expression: DeclaredExpression


@dataclass(frozen=True, slots=True)
class PrimaryKey:
    """PRIMARY KEY ... NOT ENFORCED.

    :param name: of the constraint; Flink makes ``PK_`` and the columns of it where none is given.
    """

    columns: tuple[str, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class DeclaredSchema:
    columns: tuple[DeclaredColumn, ...] = ()
    watermarks: tuple[DeclaredWatermark, ...] = ()
    primary_key: PrimaryKey | None = None

    @classmethod
    def of(cls, row: RowType) -> DeclaredSchema:
        """Physical columns with the names and types of *row*."""
        return cls(tuple(DeclaredColumn(f.name, data_type=f.data_type) for f in row.fields))


@dataclass(frozen=True, slots=True)
class Distribution:
    """DISTRIBUTED BY.

    :param kind: HASH, RANGE or None (the connector's choice).
    """

    kind: str | None
    buckets: int | None
    columns: tuple[str, ...]

    def __str__(self) -> str:
        """As CREATE TABLE writes it."""
        if not self.columns:
            return f"DISTRIBUTED INTO {self.buckets} BUCKETS"
        kind = f"{self.kind}" if self.kind else ""
        into = f" INTO {self.buckets} BUCKETS" if self.buckets is not None else ""
        return f"DISTRIBUTED BY {kind}({', '.join(f'`{c}`' for c in self.columns)}){into}"


# ---- resolved


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    :param expression: of a computed column, over the row of physical and metadata columns
        (``ResolvedSchema.source_row``). :param text: its SQL.
    """

    name: str
    data_type: DataType
    kind: ColumnKind = ColumnKind.PHYSICAL
    metadata_key: str | None = None
    virtual: bool = False
    expression: Expression | None = None
    text: str = ""
    comment: str | None = None

    @property
    def is_persisted(self) -> bool:
        """Whether a sink writes it."""
        return self.kind is ColumnKind.PHYSICAL or (self.kind is ColumnKind.METADATA and not self.virtual)

    @property
    def extras(self) -> str | None:
        """What there is to say beside name and type, as Flink shows it."""
        if self.kind is ColumnKind.COMPUTED:
            return f"AS {self.text}"
        if self.kind is ColumnKind.METADATA:
            source = f" FROM '{self.metadata_key}'" if self.metadata_key else ""
            return f"METADATA{source}{' VIRTUAL' if self.virtual else ''}"
        return None

    @property
    def key(self) -> str:
        """Under which a connector knows a metadata column."""
        return self.metadata_key or self.name


@dataclass(frozen=True, slots=True)
class Watermark:
    """WATERMARK FOR ``column`` AS ``expression``, which is over all columns of the table. :param text: its
    SQL."""

    column: str
    expression: Expression
    text: str = ""


@dataclass(frozen=True, slots=True)
class ResolvedSchema:
    """All columns in order. Types of rowtime and processing-time columns have their time attribute."""

    columns: tuple[Column, ...] = ()
    watermarks: tuple[Watermark, ...] = ()
    primary_key: PrimaryKey | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(c.name for c in self.columns)

    @property
    def row(self) -> RowType:
        """All columns: what a query sees."""
        return self._row(self.columns)

    @property
    def source_columns(self) -> tuple[Column, ...]:
        """Physical and metadata columns: what a Scan gives."""
        return tuple(c for c in self.columns if c.kind is not ColumnKind.COMPUTED)

    @property
    def source_row(self) -> RowType:
        """The row of a Scan; without rowtime attributes, which begin at the WatermarkAssigner."""
        row = self._row(self.source_columns)
        rowtimes = {w.column for w in self.watermarks}
        fields = tuple(
            replace(f, data_type=with_attribute(f.data_type, TimeAttribute.NONE)) if f.name in rowtimes else f
            for f in row.fields
        )
        return replace(row, fields=fields)

    @property
    def physical_row(self) -> RowType:
        return self._row(tuple(c for c in self.columns if c.kind is ColumnKind.PHYSICAL))

    @property
    def sink_columns(self) -> tuple[Column, ...]:
        """What INSERT writes: physical columns and metadata columns that are not virtual."""
        return tuple(c for c in self.columns if c.is_persisted)

    @property
    def sink_row(self) -> RowType:
        row = self._row(self.sink_columns)
        fields = tuple(
            replace(f, data_type=with_attribute(f.data_type, TimeAttribute.NONE)) for f in row.fields
        )
        return replace(row, fields=fields)

    def column(self, name: str) -> Column | None:
        return next((c for c in self.columns if c.name == name), None)

    @staticmethod
    def _row(columns: tuple[Column, ...]) -> RowType:
        return RowType.of([c.name for c in columns], [c.data_type for c in columns])

    @classmethod
    def of(cls, row: RowType, primary_key: PrimaryKey | None = None) -> ResolvedSchema:
        """Physical columns with the names and types of *row*."""
        return cls(tuple(Column(f.name, f.data_type) for f in row.fields), primary_key=primary_key)


def with_attribute(data_type: DataType, attribute: str) -> DataType:
    """The same type with a time attribute, or without one (``TimeAttribute.NONE``)."""
    if isinstance(data_type, TimestampType | LocalZonedTimestampType) and data_type.attribute != attribute:
        return replace(data_type, attribute=attribute)
    return data_type
