"""How rows get from one operator to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.program.column_keys import ColumnKeys
from firesteel.program.transformations import (
    Partitioning,
    PartitionKind,
    PartitionTransformation,
    Transformation,
    UnionTransformation,
)
from firesteel.sql import physical as p
from firesteel.sql.operators.borders import columns_type
from firesteel.sql.types import RowType

if TYPE_CHECKING:
    from firesteel.sql.translate.translator import Translator

__all__ = ["by_keys", "exchange", "union"]


def exchange(run: Translator, node: p.Exchange) -> Transformation:
    if node.keys is None:
        partitioning = Partitioning(PartitionKind.BROADCAST)
    else:
        partitioning = Partitioning(PartitionKind.HASH, ColumnKeys(node.keys))
    return PartitionTransformation(
        name="Exchange",
        input=run.translate(node.input),
        partitioning=partitioning,
        output_type=columns_type(node.row),
    )


def by_keys(source: Transformation, keys: tuple[int, ...], row: RowType) -> Transformation:
    partitioning = Partitioning(PartitionKind.HASH, ColumnKeys(keys))
    return PartitionTransformation(
        name="Exchange", input=source, partitioning=partitioning, output_type=columns_type(row)
    )


def union(run: Translator, node: p.Union) -> Transformation:
    return UnionTransformation(
        name="Union",
        union_of=tuple(run.translate(i) for i in node.inputs),
        output_type=columns_type(node.row),
    )
