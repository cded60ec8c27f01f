"""Constants are computed, conditions are simplified."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from firesteel.sql.expressions import Call, Expression, Literal, SubQuery
from firesteel.sql.logical import Filter, Node, Values
from firesteel.sql.rules.conditions import FALSE, TRUE, is_false, is_true
from firesteel.sql.rules.constants import folded
from firesteel.sql.rules.expressions_of import map_expressions
from firesteel.sql.rules.trees import transform

__all__ = ["fold_constants", "simplified"]

_INVERSE: Final = {
    "EQUALS": "NOT_EQUALS",
    "NOT_EQUALS": "EQUALS",
    "LESS_THAN": "GREATER_THAN_OR_EQUAL",
    "LESS_THAN_OR_EQUAL": "GREATER_THAN",
    "GREATER_THAN": "LESS_THAN_OR_EQUAL",
    "GREATER_THAN_OR_EQUAL": "LESS_THAN",
    "IS_NULL": "IS_NOT_NULL",
    "IS_NOT_NULL": "IS_NULL",
}


def fold_constants(plan: Node) -> Node:
    """Every expression of the plan simplified; a Filter that keeps nothing is an empty Values."""
    return transform(plan, _node)


def _node(node: Node) -> Node:
    made = map_expressions(node, simplified)
    if isinstance(made, Filter):
        if is_true(made.condition):
            return made.input
        if is_false(made.condition):
            return Values(row=made.row, rows=())
    return made


def simplified(expression: Expression) -> Expression:
    """The same value, computed with less."""
    if not isinstance(expression, Call):
        if isinstance(expression, SubQuery):
            return replace(expression, operands=tuple(simplified(o) for o in expression.operands))
        return expression
    operands = tuple(simplified(o) for o in expression.operands)
    if operands != expression.operands:
        expression = replace(expression, operands=operands)
    rule = _SIMPLE.get(expression.function)
    made = expression if rule is None else rule(expression)
    if isinstance(made, Call) and all(isinstance(o, Literal) for o in made.operands):
        return folded(made)
    return made


def _and(call: Call) -> Expression:
    return _connective(call, "AND", TRUE, FALSE)


def _or(call: Call) -> Expression:
    return _connective(call, "OR", FALSE, TRUE)


def _connective(call: Call, name: str, neutral: Literal, final: Literal) -> Expression:
    kept: list[Expression] = []
    for operand in call.operands:
        parts = operand.operands if isinstance(operand, Call) and operand.function == name else (operand,)
        for part in parts:
            if isinstance(part, Literal) and part.value is final.value:
                return final
            if not (isinstance(part, Literal) and part.value is neutral.value) and part not in kept:
                kept.append(part)
    if not kept:
        return neutral
    if len(kept) == 1:
        return kept[0]
    return call if tuple(kept) == call.operands else replace(call, operands=tuple(kept))


def _not(call: Call) -> Expression:
    (operand,) = call.operands
    if isinstance(operand, Call):
        if operand.function == "NOT":
            return operand.operands[0]
        inverse = _INVERSE.get(operand.function)
        if inverse is not None:
            return replace(operand, function=inverse)
    return call


def _is_null(call: Call) -> Expression:
    return call if call.operands[0].type.nullable else FALSE


def _is_not_null(call: Call) -> Expression:
    return call if call.operands[0].type.nullable else TRUE


def _is_true(call: Call) -> Expression:
    return call if call.operands[0].type.nullable else call.operands[0]


def _cast(call: Call) -> Expression:
    (operand,) = call.operands
    if isinstance(operand, Literal) and operand.value is None:
        return Literal(None, call.type.with_nullability(True))
    return operand if operand.type == call.type else call


def _case(call: Call) -> Expression:
    """Branches that never come, and those behind one that always comes, are left out."""
    pairs = list(zip(call.operands[:-1:2], call.operands[1:-1:2], strict=True))
    default = call.operands[-1]
    kept: list[Expression] = []
    for condition, value in pairs:
        if is_false(condition):
            continue
        if is_true(condition):
            default = value
            break
        kept += [condition, value]
    if not kept:
        return default if default.type == call.type else Call("CAST", (default,), call.type)
    return replace(call, operands=(*kept, default))


_SIMPLE: Final = {
    "AND": _and,
    "OR": _or,
    "NOT": _not,
    "IS_NULL": _is_null,
    "IS_NOT_NULL": _is_not_null,
    "IS_TRUE": _is_true,
    "CAST": _cast,
    "CASE": _case,
}
