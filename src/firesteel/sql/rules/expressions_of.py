"""The expressions inside a node of the plan, and nodes with changed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from firesteel.sql.expressions import Expression
from firesteel.sql.logical import (
    Correlate,
    Filter,
    Join,
    Node,
    Project,
    Snapshot,
    TableCall,
    WatermarkAssigner,
)

__all__ = ["expressions_of", "map_expressions"]


def expressions_of(node: Node) -> Iterator[Expression]:
    """Those of the node itself, not of its inputs; those of a Correlate's function too."""
    match node:
        case Project():
            yield from node.expressions
        case Filter():
            yield node.condition
        case Join():
            yield node.condition
        case WatermarkAssigner():
            yield node.expression
        case Snapshot():
            yield node.period
        case TableCall():
            yield from node.arguments
        case Correlate():
            if node.condition is not None:
                yield node.condition
        case _:
            return


def map_expressions(node: Node, change: Callable[[Expression], Expression]) -> Node:
    """The node with changed expressions; itself where nothing changes."""
    changes: dict[str, Any] = {}
    match node:
        case Project():
            made = tuple(change(e) for e in node.expressions)
            changes = {} if made == node.expressions else {"expressions": made}
        case Filter() | Join():
            condition = change(node.condition)
            changes = {} if condition == node.condition else {"condition": condition}
        case WatermarkAssigner():
            expression = change(node.expression)
            changes = {} if expression == node.expression else {"expression": expression}
        case Snapshot():
            period = change(node.period)
            changes = {} if period == node.period else {"period": period}
        case TableCall():
            arguments = tuple(change(e) for e in node.arguments)
            changes = {} if arguments == node.arguments else {"arguments": arguments}
        case Correlate() if node.condition is not None:
            condition = change(node.condition)
            changes = {} if condition == node.condition else {"condition": condition}
    return replace(node, **changes) if changes else node
