"""Equal parts of a plan become one (Flink: ``SubplanReuser``)."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, Final

from firesteel.common.options import table as options
from firesteel.sql import physical as p
from firesteel.sql.expressions import Call, Expression, InputRef, Literal, walk
from firesteel.sql.planner.context import PlannerContext

__all__ = ["with_shared_parts"]

_TRAITS: Final = frozenset(("inputs", "kinds", "update", "source"))


def with_shared_parts(root: p.Physical, context: PlannerContext) -> p.Physical:
    """The same plan, in which equal nodes over equal inputs are the same object."""
    if not context.get(options.REUSE_SUB_PLAN):
        return root
    known: dict[Any, p.Physical] = {}
    done: dict[int, p.Physical] = {}

    def visit(node: p.Physical) -> p.Physical:
        if id(node) in done:
            return done[id(node)]
        inputs = tuple(visit(i) for i in node.inputs)
        same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        made = node if same else replace(node, inputs=inputs)
        key = _digest(made, context)
        if key is not None:
            made = known.setdefault(key, made)
        done[id(node)] = made
        return made

    return visit(root)


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
