"""VALUES and other rows that are part of the program."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.common.columns import Columns
from firesteel.program.transformations import SourceTransformation
from firesteel.sql.arrow import arrow_type
from firesteel.sql.connectors.columns_source import ColumnsSource
from firesteel.sql.expressions import Literal
from firesteel.sql.operators.borders import columns_type
from firesteel.sql.types import RowType
from firesteel.sql.values import array_of, physical

__all__ = ["columns_source", "values_source"]


def values_source(row: RowType, rows: Sequence[Sequence[Literal]], name: str) -> SourceTransformation:
    """The rows of VALUES as a source."""
    arrays = []
    for i, data_type in enumerate(row.types):
        arrays.append(array_of([physical(r[i].value, data_type) for r in rows], data_type))
        assert arrays[-1].type == arrow_type(data_type), f"{arrays[-1].type} is not the type of {data_type}"
    return columns_source(Columns(arrays, len(rows)), row, name)


def columns_source(columns: Columns, row: RowType, name: str) -> SourceTransformation:
    return SourceTransformation(
        name=name,
        source=ColumnsSource.of(columns, name),
        output_type=columns_type(row),
        parallelism=1,
        max_parallelism=1,
    )
