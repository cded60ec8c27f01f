"""Types of whole rows: the common one of several inputs, a plan cast to it."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.sql import type_rules
from firesteel.sql.binder.calls import plain
from firesteel.sql.expressions import InputRef
from firesteel.sql.functions.calls import implicit
from firesteel.sql.logical import Node, Project
from firesteel.sql.types import DataType, RowType

__all__ = ["common_type", "project_to"]


def common_type(types: Sequence[DataType]) -> DataType | None:
    """The least type that all can be cast to implicitly. Equal time attributes stay."""
    if len(set(types)) == 1:
        return types[0]
    first = types[0]
    if all(t.equals_ignoring_nullability(first) for t in types):
        return first.with_nullability(any(t.nullable for t in types))
    return type_rules.common_type([plain(t) for t in types])


def project_to(plan: Node, types: Sequence[DataType], names: Sequence[str] | None = None) -> Node:
    """*plan* with its columns cast to *types*; itself where nothing is to be done."""
    wanted = tuple(names or plan.row.names)
    cast = tuple(
        implicit(InputRef(i, own), data_type)
        for i, (own, data_type) in enumerate(zip(plan.row.types, types, strict=True))
    )
    if wanted == plan.row.names and all(isinstance(c, InputRef) for c in cast):
        return plan
    row = RowType.of(wanted, [c.type for c in cast])
    return Project(row=row, input=plan, expressions=cast)
