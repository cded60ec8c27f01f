"""Functions of whole tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.common.columns import UPDATE_BEFORE
from firesteel.sql import logical as l, physical as p
from firesteel.sql.physical import ALL, INSERT_ONLY
from firesteel.sql.planner.exchanges import exchange

if TYPE_CHECKING:
    from firesteel.sql.planner.builder import Planner

__all__ = ["kinds_of", "process_table"]


def process_table(planner: Planner, node: l.ProcessTable) -> p.Physical:
    inputs = []
    partitions = node.partitions or (None,) * len(node.tables)
    for table, partition in zip(node.tables, partitions, strict=True):
        child = planner.plan(table)
        inputs.append(child if partition is None else exchange(child, partition))
    return p.ProcessTable(
        row=node.row,
        inputs=tuple(inputs),
        function=node.function,
        arguments=node.arguments,
        partitions=partitions,
        hints=node.hints,
    )


def kinds_of(node: p.ProcessTable, inputs: tuple[frozenset[str], ...]) -> frozenset[str]:
    """FROM_CHANGELOG reads changes out of rows; what other functions make are rows."""
    return ALL if node.function == "FROM_CHANGELOG" else INSERT_ONLY


def argument(node: Any, name: str) -> Any:
    return dict(node.arguments).get(name)


def needs_old_rows(node: p.ProcessTable) -> bool:
    """Whether -U rows are asked for: TO_CHANGELOG without a code for them leaves them out."""
    if node.function != "TO_CHANGELOG":
        return True
    return any(kind == UPDATE_BEFORE for kind, _ in argument(node, "mapping"))
