"""Expressions to a program over columns.

A program is a graph of nodes in which equal expressions are one node. It is evaluated once for a batch, in a *frame*:
the columns, and what nodes have given so far. CASE, AND, OR and COALESCE evaluate a branch that may fail, or that
is costly, in a frame of the rows that need it only; what the larger frame has computed already is not
computed anew there. What depends on no column is computed when the program is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.common.columns import Columns
from firesteel.common.errors import FiresteelError, ProgramError
from firesteel.sql import values as v
from firesteel.sql.arrow import arrow_type
from firesteel.sql.context import CallSite, EvaluationContext, EvaluationError
from firesteel.sql.expressions import Call, Expression, InputRef, Literal
from firesteel.sql.functions import named
from firesteel.sql.functions.calls import describe
from firesteel.sql.functions.lifting import lifted
from firesteel.sql.functions.registry import FunctionDefinition
from firesteel.sql.types import DataType

__all__ = [
    "EvaluationContext",
    "EvaluationError",
    "Filter",
    "Program",
    "compile_expressions",
    "compile_filter",
]

Value = Any  # pa.Array, or pa.Scalar for what is the same in all rows


class _Frame:
    """Some rows, and the values of nodes for them."""

    __slots__ = ("arrays", "context", "indices", "length", "memo", "parent")

    def __init__(
        self,
        arrays: Sequence[pa.Array],
        length: int,
        context: EvaluationContext,
        parent: _Frame | None = None,
        indices: pa.Array | None = None,
    ) -> None:
        self.arrays = arrays
        self.length = length
        self.context = context
        self.parent = parent
        self.indices = indices
        self.memo: dict[int, Value] = {}

    def part(self, rows: Any) -> _Frame:
        """Only the rows at the positions *rows*."""
        return _Frame((), len(rows), self.context, self, pa.array(rows))

    def column(self, index: int) -> pa.Array:
        if self.parent is None:
            return self.arrays[index]
        return self.parent.column(index).take(self.indices)

    def known(self, number: int) -> Value | None:
        """What a node has given already, here or for more rows."""
        found = self.memo.get(number)
        if found is None and self.parent is not None:
            found = self.parent.known(number)
            if found is not None:
                if isinstance(found, pa.Array):
                    found = found.take(self.indices)
                self.memo[number] = found
        return found


class _Node:
    """One expression. ``total``: it fails for no row and costs little."""

    __slots__ = ("number", "total", "type")

    def __init__(self, number: int, data_type: DataType, total: bool) -> None:
        self.number = number
        self.type = data_type
        self.total = total

    def value(self, frame: _Frame) -> Value:
        found = frame.known(self.number)
        if found is None:
            found = frame.memo[self.number] = self.compute(frame)
        return found

    def compute(self, frame: _Frame) -> Value:
        raise NotImplementedError

    def array(self, frame: _Frame) -> pa.Array:
        found = self.value(frame)
        return found if isinstance(found, pa.Array) else pa.repeat(found, frame.length)


class _Input(_Node):
    __slots__ = ("index",)

    def __init__(self, number: int, data_type: DataType, index: int) -> None:
        super().__init__(number, data_type, True)
        self.index = index

    def compute(self, frame: _Frame) -> Value:
        return frame.column(self.index)


class _Constant(_Node):
    __slots__ = ("scalar",)

    def __init__(self, number: int, data_type: DataType, scalar: pa.Scalar) -> None:
        super().__init__(number, data_type, True)
        self.scalar = scalar

    def compute(self, frame: _Frame) -> Value:
        return self.scalar


class _CallNode(_Node):
    __slots__ = ("definition", "operands", "site")

    def __init__(
        self, number: int, call: Call, definition: FunctionDefinition, operands: Sequence[_Node]
    ) -> None:
        super().__init__(number, call.type, definition.total and all(o.total for o in operands))
        self.definition = definition
        self.operands = operands
        self.site = CallSite(tuple(o.type for o in operands), call.type, describe(call))

    def compute(self, frame: _Frame) -> Value:
        arguments = [o.value(frame) for o in self.operands]
        if arguments and not any(isinstance(a, pa.Array) for a in arguments):
            length = 1 if self.definition.deterministic else frame.length
            if not frame.length:
                return pa.nulls(0, arrow_type(self.type))
            arguments = [a if isinstance(a, _SymbolScalar) else pa.repeat(a, length) for a in arguments]
            found = self._apply(arguments, frame, length)
            return found[0] if self.definition.deterministic else found
        return self._apply(arguments, frame, frame.length)

    def _apply(self, arguments: Sequence[Value], frame: _Frame, length: int) -> pa.Array:
        site = self.site
        site.length = length
        site.evaluation = frame.context
        definition = self.definition
        try:
            if definition.columns is not None:
                return _array(definition.columns(site, *arguments), site, length)
            return lifted(definition, site, arguments)
        except FiresteelError:
            raise
        except (ValueError, ArithmeticError, TypeError, LookupError, pa.ArrowException) as error:
            raise EvaluationError(
                str(error) or type(error).__name__,
                detail=f"while {site.text} was evaluated",
                expression=site.text,
            ) from error


def _array(found: Any, site: CallSite, length: int) -> pa.Array:
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    if isinstance(found, pa.Scalar):
        found = pa.repeat(found, length)
    wanted = arrow_type(site.result)
    return found if found.type == wanted else found.cast(wanted)


# ---- what evaluates branches


def _positions(mask: Any) -> Any:
    return np.flatnonzero(mask)


def _truth(node: _Node, frame: _Frame) -> Any:
    """A NumPy mask: true where a condition is TRUE."""
    found = node.value(frame)
    if isinstance(found, pa.Scalar):
        return np.full(frame.length, found.as_py() is True)
    if found.null_count:
        found = pc.fill_null(found, False)
    return found.to_numpy(zero_copy_only=False)


class _Case(_Node):
    """Conditions and results in turn, then the result of ELSE."""

    __slots__ = ("conditions", "otherwise", "results")

    def __init__(self, number: int, data_type: DataType, operands: Sequence[_Node]) -> None:
        super().__init__(number, data_type, all(o.total for o in operands))
        self.conditions = operands[:-1:2]
        self.results = operands[1:-1:2]
        self.otherwise = operands[-1]

    def compute(self, frame: _Frame) -> Value:
        if self.total:
            return self._at_once(frame)
        return self._in_turn(frame)

    def _at_once(self, frame: _Frame) -> Value:
        found = self.otherwise.value(frame)
        for condition, result in zip(reversed(self.conditions), reversed(self.results), strict=True):
            truth = condition.value(frame)
            if isinstance(truth, pa.Scalar):
                found = result.value(frame) if truth.as_py() is True else found
            else:
                found = pc.if_else(pc.fill_null(truth, False), result.value(frame), found)
        return found

    def _in_turn(self, frame: _Frame) -> Value:
        parts: list[tuple[Any, pa.Array]] = []
        rows = np.arange(frame.length)
        inner = frame
        for condition, result in zip(self.conditions, self.results, strict=True):
            if not len(rows):
                break
            truth = _truth(condition, inner)
            taken = np.flatnonzero(truth)
            if len(taken) == len(rows):
                parts.append((rows, result.array(inner)))
                rows = rows[:0]
            elif len(taken):
                parts.append((rows[taken], result.array(inner.part(taken))))
                left = np.flatnonzero(~truth)
                rows, inner = rows[left], inner.part(left)
        if len(rows):
            parts.append((rows, self.otherwise.array(inner)))
        return _merged(parts, frame.length, self.type)


def _merged(parts: Sequence[tuple[Any, pa.Array]], length: int, data_type: DataType) -> pa.Array:
    """One column of values that are computed for some of its rows each."""
    if not parts:
        return pa.nulls(0, arrow_type(data_type))
    if len(parts) == 1:
        return parts[0][1]
    order = np.empty(length, np.int64)
    order[np.concatenate([rows for rows, _ in parts])] = np.arange(length)
    return pa.concat_arrays([a for _, a in parts]).take(pa.array(order))


class _Logic(_Node):
    """AND and OR: an operand is evaluated where those before it have not decided."""

    __slots__ = ("decisive", "kernel", "operands")

    def __init__(
        self, number: int, data_type: DataType, operands: Sequence[_Node], conjunction: bool
    ) -> None:
        super().__init__(number, data_type, all(o.total for o in operands))
        self.operands = operands
        self.decisive = not conjunction
        self.kernel = pc.and_kleene if conjunction else pc.or_kleene

    def compute(self, frame: _Frame) -> Value:
        found = self.operands[0].value(frame)
        for operand in self.operands[1:]:
            if operand.total:
                found = self.kernel(found, operand.value(frame))
            else:
                found = self._where_open(found, operand, frame)
        return found

    def _where_open(self, found: Value, operand: _Node, frame: _Frame) -> Value:
        if isinstance(found, pa.Scalar):
            return found if found.as_py() is self.decisive else self.kernel(found, operand.value(frame))
        decided = pc.fill_null(pc.equal(found, self.decisive), False).to_numpy(zero_copy_only=False)
        left = np.flatnonzero(~decided)
        if len(left) == frame.length:
            return self.kernel(found, operand.value(frame))
        if not len(left):
            return found
        more = self.kernel(found.take(pa.array(left)), operand.array(frame.part(left)))
        return _merged(
            [
                (np.flatnonzero(decided), pa.array(np.full(frame.length - len(left), self.decisive))),
                (left, more),
            ],
            frame.length,
            self.type,
        )


class _Coalesce(_Node):
    __slots__ = ("operands",)

    def __init__(self, number: int, data_type: DataType, operands: Sequence[_Node]) -> None:
        super().__init__(number, data_type, all(o.total for o in operands))
        self.operands = operands

    def compute(self, frame: _Frame) -> Value:
        found = self.operands[0].value(frame)
        for operand in self.operands[1:]:
            if isinstance(found, pa.Scalar):
                if found.is_valid:
                    return found
                found = operand.value(frame)
            elif found.null_count and operand.total:
                found = pc.coalesce(found, operand.value(frame))
            elif found.null_count:
                found = self._filled(found, operand, frame)
        return found

    def _filled(self, found: pa.Array, operand: _Node, frame: _Frame) -> pa.Array:
        empty = found.is_null().to_numpy(zero_copy_only=False)
        rows, kept = np.flatnonzero(empty), np.flatnonzero(~empty)
        parts = [(kept, found.take(pa.array(kept))), (rows, operand.array(frame.part(rows)))]
        return _merged(parts, frame.length, self.type)


_Special = Callable[[int, DataType, Sequence[_Node]], _Node]
_SPECIAL: Final[dict[str, _Special]] = {
    "CASE": _Case,
    "COALESCE": _Coalesce,
    "AND": lambda n, d, o: _Logic(n, d, o, True),
    "OR": lambda n, d, o: _Logic(n, d, o, False),
}


# ---- compiling


class _Compiler:
    def __init__(self, input_types: Sequence[DataType], functions: Mapping[str, FunctionDefinition]) -> None:
        self.input_types = input_types
        self.functions = functions
        self.nodes: dict[Any, _Node] = {}
        self.count = 0

    def node(self, expression: Expression) -> _Node:
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

    def _made(self, number: int, expression: Expression) -> _Node:
        if isinstance(expression, InputRef):
            return _Input(number, expression.type, expression.index)
        if isinstance(expression, Literal):
            return _Constant(number, expression.type, _literal(expression))
        if not isinstance(expression, Call):
            raise ProgramError(
                "An expression of an outer query cannot be evaluated.", detail=describe(expression)
            )
        definition = self._definition(expression)
        operands = [self.node(o) for o in expression.operands]
        special = _SPECIAL.get(definition.name)
        made = (
            special(number, expression.type, operands)
            if special
            else self._call(number, expression, definition, operands)
        )
        return self._folded(made, definition, operands)

    def _call(
        self, number: int, call: Call, definition: FunctionDefinition, operands: Sequence[_Node]
    ) -> _Node:
        if definition.columns is None and definition.value is None:
            raise ProgramError(
                f"{definition.name} cannot be evaluated here.",
                detail=describe(call),
                hint="aggregates and table functions have places of their own in a query",
            )
        return _CallNode(number, call, definition, operands)

    def _folded(self, made: _Node, definition: FunctionDefinition, operands: Sequence[_Node]) -> _Node:
        if not definition.deterministic or definition.dynamic or not operands:
            return made
        if not all(isinstance(o, _Constant) for o in operands):
            return made
        try:
            found = made.array(_Frame((), 1, EvaluationContext()))
        except FiresteelError:
            return made  # it fails where, and if, a row needs it
        return _Constant(made.number, made.type, found[0])


def _literal(literal: Literal) -> pa.Scalar:
    if not isinstance(literal.type, _symbol_type()):
        return v.constant(literal.value, literal.type)[0]
    return _SymbolScalar(literal.value)  # type: ignore[return-value]


def _symbol_type() -> type[DataType]:
    from firesteel.sql.types import SymbolType

    return SymbolType


class _SymbolScalar:
    """A keyword: it goes to the implementation as it is."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def as_py(self) -> Any:
        return self.value


def _key(expression: Expression) -> Any:
    """What equal expressions have in common; literals of lists are not hashable themselves."""
    if isinstance(expression, Literal):
        return ("literal", expression.type, type(expression.value), repr(expression.value))
    if isinstance(expression, Call):
        return (expression.function, expression.type, tuple(_key(o) for o in expression.operands))
    return expression


class Program:
    """What ``compile_expressions`` makes."""

    def __init__(self, nodes: Sequence[_Node]) -> None:
        self._nodes = nodes

    def run(self, columns: Columns, context: EvaluationContext) -> list[pa.Array]:
        """Return one column for each expression.

        :raises EvaluationError: an expression fails for a row that needs it.
        """
        frame = _Frame(columns.arrays, columns.length, context)
        return [node.array(frame) for node in self._nodes]


class Filter:
    """What ``compile_filter`` makes."""

    def __init__(self, node: _Node) -> None:
        self._node = node

    def run(self, columns: Columns, context: EvaluationContext) -> Any:
        """Return a NumPy mask: true for rows where the condition is TRUE."""
        return _truth(self._node, _Frame(columns.arrays, columns.length, context))


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
