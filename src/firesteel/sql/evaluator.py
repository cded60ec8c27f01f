"""Expressions to a program over columns.

A program is a graph of nodes in which equal expressions are one node. It is evaluated once for a batch, in
a *frame* (``evaluation.py``): the columns, and what nodes have given so far. What depends on no column is
computed when the program is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.common.errors import FiresteelError, ProgramError
from firesteel.sql import values as v
from firesteel.sql.context import EvaluationContext, EvaluationError
from firesteel.sql.evaluation import SPECIAL, CallNode, Constant, Frame, Input, Node, SymbolScalar, truth
from firesteel.sql.expressions import Call, Expression, InputRef, Literal
from firesteel.sql.functions import named
from firesteel.sql.functions.calls import describe
from firesteel.sql.functions.registry import FunctionDefinition
from firesteel.sql.types import DataType, LocalZonedTimestampType, SymbolType

__all__ = [
    "EvaluationContext",
    "EvaluationError",
    "Filter",
    "Program",
    "compile_expressions",
    "compile_filter",
]


# ---- compiling


class _Compiler:
    def __init__(self, input_types: Sequence[DataType], functions: Mapping[str, FunctionDefinition]) -> None:
        self.input_types = input_types
        self.functions = functions
        self.nodes: dict[Any, Node] = {}
        self.count = 0

    def node(self, expression: Expression) -> Node:
        key = _key(expression)
        found = self.nodes.get(key)
        if found is None or not self._shared(expression):
            self.count += 1
            found = self.nodes[key] = self._made(self.count, expression)
        return found

    def _shared(self, expression: Expression) -> bool:
        """Whether equal expressions have equal values: not two calls of RAND()."""
        if not isinstance(expression, Call):
            return True
        return self._definition(expression).deterministic and all(
            self._shared(o) for o in expression.operands
        )

    def _definition(self, call: Call) -> FunctionDefinition:
        return self.functions.get(call.function) or named(call.function)

    def _made(self, number: int, expression: Expression) -> Node:
        if isinstance(expression, InputRef):
            return Input(number, expression.type, expression.index)
        if isinstance(expression, Literal):
            return Constant(number, expression.type, _literal(expression))
        if not isinstance(expression, Call):
            raise ProgramError(
                "An expression of an outer query cannot be evaluated.", detail=describe(expression)
            )
        definition = self._definition(expression)
        operands = [self.node(o) for o in expression.operands]
        special = SPECIAL.get(definition.name)
        made = (
            special(number, expression.type, operands)
            if special
            else self._call(number, expression, definition, operands)
        )
        return self._folded(made, definition, operands)

    def _call(
        self, number: int, call: Call, definition: FunctionDefinition, operands: Sequence[Node]
    ) -> Node:
        if definition.columns is None and definition.value is None:
            raise ProgramError(
                f"{definition.name} cannot be evaluated here.",
                detail=describe(call),
                hint="aggregates and table functions have places of their own in a query",
            )
        return CallNode(number, call, definition, operands)

    def _folded(self, made: Node, definition: FunctionDefinition, operands: Sequence[Node]) -> Node:
        if not definition.deterministic or definition.dynamic or not operands:
            return made
        if not all(isinstance(o, Constant) for o in operands):
            return made
        if any(isinstance(d, LocalZonedTimestampType) for n in (made, *operands) for d in n.type.walk()):
            return made  # the zone of the session is known where it runs
        try:
            found = made.array(Frame((), 1, EvaluationContext()))
        except FiresteelError:
            return made  # it fails where, and if, a row needs it
        return Constant(made.number, made.type, found[0])


def _literal(literal: Literal) -> pa.Scalar:
    if not isinstance(literal.type, SymbolType):
        try:
            return v.constant(literal.value, literal.type)[0]
        except OverflowError as error:
            raise EvaluationError(
                f"{literal.value!r} is out of the range of {literal.type.text()}.",
                hint="timestamps of more than 6 digits are those from 1677-09-21 to 2262-04-11",
            ) from error
    return SymbolScalar(literal.value)


def _key(expression: Expression) -> Any:
    """What equal expressions have in common; literals of lists are not hashable themselves."""
    if isinstance(expression, Literal):
        return ("literal", expression.type, type(expression.value), repr(expression.value))
    if isinstance(expression, Call):
        return (expression.function, expression.type, tuple(_key(o) for o in expression.operands))
    return expression


class Program:
    """What ``compile_expressions`` makes."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes

    def run(self, columns: Columns, context: EvaluationContext) -> list[pa.Array]:
        """Return one column for each expression.

        :raises EvaluationError: an expression fails for a row that needs it.
        """
        frame = Frame(columns.arrays, columns.length, context)
        return [node.array(frame) for node in self._nodes]


class Filter:
    """What ``compile_filter`` makes."""

    def __init__(self, node: Node) -> None:
        self._node = node

    def run(self, columns: Columns, context: EvaluationContext) -> Any:
        """Return a NumPy mask: true for rows where the condition is TRUE."""
        return truth(self._node, Frame(columns.arrays, columns.length, context))


def compile_expressions(
    expressions: Sequence[Expression],
    input_types: Sequence[DataType],
    functions: Mapping[str, FunctionDefinition] | None = None,
) -> Program:
    """Return a program that computes *expressions* over columns of *input_types*.

    :param functions: functions of the user by their name in plans; the built-in ones are always known.
    """
    compiler = _Compiler(input_types, functions or {})
    return Program([compiler.node(e) for e in expressions])


def compile_filter(
    condition: Expression,
    input_types: Sequence[DataType],
    functions: Mapping[str, FunctionDefinition] | None = None,
) -> Filter:
    """Return a program that says for which rows *condition* is TRUE."""
    return Filter(_Compiler(input_types, functions or {}).node(condition))
