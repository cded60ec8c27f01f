"""Constant folding: what depends on no row is computed now, by the evaluator that would compute it later."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.common.errors import FiresteelError
from firesteel.sql.expressions import Call, Expression, InputRef, Literal, Outer, SubQuery, walk
from firesteel.sql.functions.registry import FUNCTIONS
from firesteel.sql.types import ArrayType, RawType, RowType, SymbolType, VariantType

__all__ = ["folded", "is_constant"]


def is_constant(expression: Expression) -> bool:
    """Whether it gives the same value for every row, whenever it is computed."""
    for part in walk(expression):
        if isinstance(part, InputRef | Outer | SubQuery):
            return False
        if isinstance(part, Call):
            definition = FUNCTIONS.find(part.function)
            if definition is None or not definition.deterministic:
                return False
            if definition.dynamic and part.function not in ("CAST", "TRY_CAST"):
                return False
    return True


def folded(expression: Expression) -> Expression:
    """The value of a constant expression; the expression itself where it is none, or fails."""
    if not isinstance(expression, Call) or expression.type.children or isinstance(expression.type, _KEPT):
        return expression
    if not is_constant(expression) or _depends_on_zone(expression):
        return expression
    try:
        value = _value(expression)
    except (FiresteelError, ArithmeticError, ValueError):
        return expression  # it fails for the rows that need it, not before
    return Literal(value, expression.type)


def _depends_on_zone(expression: Expression) -> bool:
    from firesteel.sql.types import LocalZonedTimestampType

    parts = [e for e in walk(expression) if not isinstance(e.type, SymbolType)]
    return any(isinstance(d, LocalZonedTimestampType) for e in parts for d in e.type.walk())


def _value(expression: Expression) -> Any:
    from firesteel.sql.context import EvaluationContext
    from firesteel.sql.evaluator import compile_expressions
    from firesteel.sql.values import scalar_value

    program = compile_expressions([expression], [], {})
    (array,) = program.run(Columns((), 1), EvaluationContext())
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    found = array[0] if not isinstance(array, pa.Scalar) else array
    return scalar_value(found, expression.type)


#: Values that are no literals of a plan.
_KEPT = (ArrayType, RowType, RawType, VariantType, SymbolType)
