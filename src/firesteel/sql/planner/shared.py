"""Equal parts of plans become one (Flink: ``SubplanReuser``), and so do scans of one table that read other
columns of it (Flink: ``ScanReuser``)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Final

from firesteel.common.options import table as options
from firesteel.sql import physical as p
from firesteel.sql.expressions import Call, Expression, InputRef, Literal, walk
from firesteel.sql.planner.context import PlannerContext
from firesteel.sql.planner.wider_scans import with_wider_scans

__all__ = ["together", "with_shared_parts"]

_TRAITS: Final = frozenset(("inputs", "kinds", "update", "source"))


def with_shared_parts(root: p.Physical, context: PlannerContext) -> p.Physical:
    """The same plan, in which equal nodes over equal inputs are the same object."""
    return _shared([root], context)[0] if context.get(options.REUSE_SUB_PLAN) else root


def together(plans: Sequence[p.Physical], context: PlannerContext) -> list[p.Physical]:
    """The same plans, with all traits, of one job: a table is read once for all of them, and what they have
    in common is computed once."""
    if not context.get(options.REUSE_SUB_PLAN):
        return list(plans)
    scanned = with_wider_scans(plans) if context.get(options.REUSE_SOURCE) else plans
    return _shared(scanned, context)


def _shared(plans: Sequence[p.Physical], context: PlannerContext) -> list[p.Physical]:
    known: dict[Any, p.Physical] = {}

    def made(node: p.Physical) -> p.Physical:
        key = _digest(node, context)
        return node if key is None else known.setdefault((key, node.kinds, node.update), node)

    return p.rewritten(plans, made)


def _digest(node: p.Physical, context: PlannerContext) -> Any:
    """What makes two nodes equal; None: it is like no other one."""
    if isinstance(node, p.Sink) or not _is_repeatable(node, context):
        return None
    if isinstance(node, p.TableSourceScan):
        if not context.get(options.REUSE_SOURCE):
            return None
        return (
            type(node),
            node.table.path,
            tuple(sorted(node.table.options.items())),
            node.columns,
            node.pushed,
        )
    if isinstance(node, p.DataStreamScan):
        return type(node), id(node.table.stream), node.row.names, node.columns
    parts = [getattr(node, f.name) for f in fields(node) if f.name not in _TRAITS]
    key = (type(node), tuple(id(i) for i in node.inputs), *parts)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _is_repeatable(node: Any, context: PlannerContext) -> bool:
    if not isinstance(node, p.Calc):
        return True
    expressions: list[Expression] = [*node.expressions, *([] if node.condition is None else [node.condition])]
    for expression in expressions:
        for part in walk(expression):
            if isinstance(part, InputRef | Literal):
                continue
            if isinstance(part, Call):
                definition = context.function(part.function)
                if definition is not None and not definition.deterministic and part.function != "PROCTIME":
                    return False
    return True
