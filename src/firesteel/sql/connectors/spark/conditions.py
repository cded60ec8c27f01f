"""Conditions of a query as text for Spark: those that mean the same there.

What a query filters is filtered again by its own operators, so a condition may let pass too much, never too
little. That is why only comparisons of equal types are taken, and no NOT: Spark compares numbers that are not
numbers (NaN), instants and texts with a collation otherwise.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any, Final

from firesteel.program.spark_tables import spark_name
from firesteel.sql import types as t
from firesteel.sql.expressions import Call, Expression, InputRef, Literal

__all__ = ["condition_text"]

_WHOLE: Final = (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType)
_TEXTS: Final = (t.CharType, t.VarCharType)
_ORDERS: Final = {
    "LESS_THAN": "<",
    "LESS_THAN_OR_EQUAL": "<=",
    "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL": ">=",
    "NOT_EQUALS": "<>",
}
_CONNECTIVES: Final = {"AND": " AND ", "OR": " OR "}
_NULLS: Final = {"IS_NULL": "IS NULL", "IS_NOT_NULL": "IS NOT NULL"}
#: Kind of type -> its constants.
_CONSTANTS: Final[tuple[tuple[Any, Callable[[Any], str]], ...]] = (
    (_WHOLE, lambda v: f"{v}L"),
    (t.DateType, lambda v: f"DATE'{v.isoformat()}'"),
    # Whatever escapes the session has in literals of texts.
    (_TEXTS, lambda v: f"CAST(X'{v.encode().hex()}' AS STRING)"),
)


def condition_text(parts: Sequence[Expression], names: Sequence[str]) -> str:
    """Return those of *parts*, of which each must hold, that Spark can test; empty: none of them.

    :param names: of the columns that the expressions are about.
    """
    found = (_text(part, names) for part in parts)
    return " AND ".join(text for text in found if text is not None)


def _text(part: Expression, names: Sequence[str]) -> str | None:
    if not isinstance(part, Call):
        return None
    if part.function in _CONNECTIVES:
        every = [_text(operand, names) for operand in part.operands]
        # An AND is weaker without one of its parts; an OR is not.
        known = [text for text in every if text is not None]
        if not known or (part.function == "OR" and len(known) < len(every)):
            return None
        return f"({_CONNECTIVES[part.function].join(known)})"
    if part.function in _NULLS and isinstance(part.operands[0], InputRef):
        return f"{spark_name(names[part.operands[0].index])} {_NULLS[part.function]}"
    sign = "=" if part.function == "EQUALS" else _ORDERS.get(part.function)
    if sign is None or not _comparable(part.operands, sign):
        return None
    return f" {sign} ".join(_operand(operand, names) for operand in part.operands)


def _comparable(operands: Sequence[Expression], sign: str) -> bool:
    kinds = _WHOLE, (t.DateType,), *([_TEXTS] if sign == "=" else [])
    return any(all(isinstance(o.type, kind) and _plain(o) for o in operands) for kind in kinds)


def _plain(operand: Expression) -> bool:
    if isinstance(operand, Literal):
        # Spark's dates begin where Python's do; what is NULL is compared nowhere.
        return isinstance(operand.value, int | str | datetime.date)
    return isinstance(operand, InputRef)


def _operand(operand: Any, names: Sequence[str]) -> str:
    if isinstance(operand, InputRef):
        return spark_name(names[operand.index])
    return next(made(operand.value) for kind, made in _CONSTANTS if isinstance(operand.type, kind))
