"""How rows get from one operator to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.program.column_keys import ColumnKeys
from firesteel.program.transformations import (
    OneInputTransformation,
    Partitioning,
    PartitionKind,
    PartitionTransformation,
    SourceTransformation,
    Transformation,
    UnionTransformation,
    is_single,
)
from firesteel.sql import physical as p
from firesteel.sql.operators.borders import columns_type
from firesteel.sql.types import RowType

if TYPE_CHECKING:
    from firesteel.sql.translate.translator import Translator

__all__ = ["by_keys", "exchange", "union"]


def exchange(run: Translator, node: p.Exchange) -> Transformation:
    source = run.translate(node.input)
    if node.keys == () and is_single(source) and not _comes_from_sources(source):
        return source  # they are together
    if node.keys is None:
        partitioning = Partitioning(PartitionKind.BROADCAST)
    else:
        partitioning = Partitioning(PartitionKind.HASH, ColumnKeys(node.keys))
    return PartitionTransformation(
        name="Exchange",
        input=source,
        partitioning=partitioning,
        output_type=columns_type(node.row),
    )


def _comes_from_sources(stream: Transformation) -> bool:
    """Whether rows come straight from a source. An operator that reads two of them has those first that are
    nearer, as in Flink, where only what is behind another exchange comes later."""
    while isinstance(stream, OneInputTransformation) and stream.key_selector is None:
        stream = stream.input
    if isinstance(stream, UnionTransformation):
        return any(map(_comes_from_sources, stream.union_of))
    return isinstance(stream, SourceTransformation)


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
