"""The clauses of the JSON functions as operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from firesteel.sql.expressions import Expression
from firesteel.sql.functions.calls import symbol
from firesteel.sql.parser.nodes import TypeText

if TYPE_CHECKING:
    from firesteel.sql.binder.expressions import ExpressionBinder

__all__ = ["operands_of"]


def operands_of(expressions: ExpressionBinder, node: exp.Expr) -> list[Expression]:
    """The operands, then for each clause its name and its value, symbols both; a DEFAULT is an expression."""
    operands = expressions.bind_all(node.expressions)
    for clause, value in node.args.get("options") or ():
        operands.append(symbol(clause))
        if isinstance(value, TypeText):
            operands.append(symbol(expressions.data_type(value)))
        elif isinstance(value, exp.Expr):
            operands.append(expressions.bind(value))
        else:
            operands.append(symbol(value))
    return operands
