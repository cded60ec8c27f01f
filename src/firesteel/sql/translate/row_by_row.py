"""Nodes that make rows of each single row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.program.transformations import Transformation
from firesteel.sql import physical as p
from firesteel.sql.operators import specs

if TYPE_CHECKING:
    from firesteel.sql.translate.translator import Translator

__all__ = ["calc", "correlate", "expand"]


def calc(run: Translator, node: p.Calc) -> Transformation:
    spec = specs.Calc(
        input=node.input.row,
        output=node.row,
        projection=node.expressions,
        condition=node.condition,
        functions=run.functions([*node.expressions, node.condition]),
    )
    return run.one(node, spec)


def expand(run: Translator, node: p.Expand) -> Transformation:
    return run.one(node, specs.Expand(input=node.input.row, output=node.row, projections=node.projects))


def correlate(run: Translator, node: p.Correlate) -> Transformation:
    spec = specs.Correlate(
        input=node.input.row,
        output=node.row,
        function=node.function,
        arguments=node.arguments,
        outer=node.kind == "LEFT",
        condition=node.condition,
        functions=run.functions([*node.arguments, node.condition], names=[node.function]),
    )
    return run.one(node, spec)
