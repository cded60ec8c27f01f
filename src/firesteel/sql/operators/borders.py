"""Transformations of table programs: what the translation of a plan and tests build graphs with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from firesteel.common.column_types import ColumnsTypeInfo
from firesteel.common.typeinfo import TypeInformation
from firesteel.program.column_keys import ColumnKeys
from firesteel.program.operators import OperatorSpec
from firesteel.program.transformations import (
    OneInputTransformation,
    Partitioning,
    PartitionKind,
    PartitionTransformation,
    Transformation,
    TwoInputTransformation,
    make_single,
)
from firesteel.sql.arrow import arrow_schema
from firesteel.sql.types import RowType

__all__ = ["columns_type", "exchange", "one_input", "two_inputs"]


def columns_type(row: RowType) -> ColumnsTypeInfo:
    """The declared type of a stream of columns of *row*; each transformation that gives columns needs it."""
    return ColumnsTypeInfo(arrow_schema(row))


def exchange(source: Transformation, keys: Sequence[int]) -> PartitionTransformation:
    """Rows by the hash of the columns *keys*."""
    partitioning = Partitioning(PartitionKind.HASH, ColumnKeys(tuple(keys)))
    return PartitionTransformation(name="Exchange", input=source, partitioning=partitioning)


def one_input(
    source: Transformation,
    name: str,
    spec: OperatorSpec,
    row: RowType | TypeInformation | None,
    keys: Sequence[int] | None = None,
    **traits: Any,
) -> OneInputTransformation:
    """An operator; with *keys* a keyed one behind its exchange. Without any of them it has one subtask."""
    output = columns_type(row) if isinstance(row, RowType) else row
    if keys is None:
        return OneInputTransformation(name=name, input=source, operator=spec, output_type=output, **traits)
    made = OneInputTransformation(
        name=name,
        input=exchange(source, keys),
        operator=spec,
        output_type=output,
        key_selector=ColumnKeys(tuple(keys)),
        **traits,
    )
    if not keys:
        make_single(made)
    return made


def two_inputs(
    left: Transformation,
    right: Transformation,
    name: str,
    spec: OperatorSpec,
    row: RowType,
    keys: tuple[Sequence[int], Sequence[int]],
    **traits: Any,
) -> TwoInputTransformation:
    """A keyed operator with two inputs behind their exchanges."""
    made = TwoInputTransformation(
        name=name,
        input1=exchange(left, keys[0]),
        input2=exchange(right, keys[1]),
        operator=spec,
        output_type=columns_type(row),
        key_selector1=ColumnKeys(tuple(keys[0])),
        key_selector2=ColumnKeys(tuple(keys[1])),
        **traits,
    )
    if not keys[0]:
        make_single(made)
    return made
