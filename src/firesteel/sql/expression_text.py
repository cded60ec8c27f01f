"""Expressions as plans show them: ``+(a, 1)`` in physical plans, ``(a + 1)`` in execution plans, ``+($0, 1)``
in abstract syntax trees."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Sequence
from typing import Any, Final

from firesteel.sql import types as t
from firesteel.sql.expressions import (
    AggregateCall,
    Call,
    Expression,
    InputRef,
    Literal,
    Ordering,
    Outer,
    SubQuery,
)

__all__ = ["aggregate_text", "expression_text", "infix_text", "ordering_text"]

_SYMBOLS: Final = {
    "PLUS": "+",
    "MINUS": "-",
    "TIMES": "*",
    "DIVIDE": "/",
    "MOD": "MOD",
    "EQUALS": "=",
    "NOT_EQUALS": "<>",
    "LESS_THAN": "<",
    "LESS_THAN_OR_EQUAL": "<=",
    "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL": ">=",
    "AND": "AND",
    "OR": "OR",
    "CONCAT_OPERATOR": "||",
}
_POSTFIX: Final = frozenset(
    (
        "IS_NULL",
        "IS_NOT_NULL",
        "IS_TRUE",
        "IS_NOT_TRUE",
        "IS_FALSE",
        "IS_NOT_FALSE",
        "IS_UNKNOWN",
        "IS_NOT_UNKNOWN",
    )
)


def column_names(names: Sequence[str]) -> Callable[[int], str]:
    return lambda i: names[i] if i < len(names) else f"${i}"


def expression_text(expression: Expression, name: Callable[[int], str]) -> str:
    """Function first: ``>(a, 1)``."""
    if isinstance(expression, InputRef):
        return name(expression.index)
    if isinstance(expression, Outer):
        return f"$cor{expression.level}.${expression.index}"
    if isinstance(expression, Literal):
        return _literal(expression, typed=True)
    if isinstance(expression, SubQuery):
        return f"{expression.kind}(...)"  # gone before a plan is physical
    function, operands = expression.function, [expression_text(o, name) for o in expression.operands]
    if function in ("CAST", "TRY_CAST"):
        return f"{function}({operands[0]} AS {_type(expression.type)})"
    symbol = _SYMBOLS.get(function, function.replace("_", " ") if function in _POSTFIX else function)
    return f"{symbol}({', '.join(operands)})"


def infix_text(expression: Expression, name: Callable[[int], str]) -> str:
    """Operators between their operands: ``(a > 1)``."""
    if isinstance(expression, Literal):
        return _literal(expression, typed=False)
    if not isinstance(expression, Call):
        return expression_text(expression, name)
    function, operands = expression.function, [infix_text(o, name) for o in expression.operands]
    if function in ("CAST", "TRY_CAST"):
        return f"{function}({operands[0]} AS {_type(expression.type)})"
    if function in _SYMBOLS and len(operands) > 1 and function != "MOD":
        return f"({f' {_SYMBOLS[function]} '.join(operands)})"
    if function in _POSTFIX:
        return f"{operands[0]} {function.replace('_', ' ')}"
    return f"{function}({', '.join(operands)})"


def _type(data_type: t.DataType) -> str:
    text = data_type.text()
    if isinstance(data_type, t.VarCharType):
        return f"VARCHAR({data_type.length})"
    if isinstance(data_type, t.IntType):
        return "INTEGER"
    return text


def _literal(literal: Literal, typed: bool) -> str:
    value, data_type = literal.value, literal.type
    if value is None:
        return f"null:{_type(data_type)}" if typed else "null"
    if isinstance(data_type, t.DayTimeIntervalType):
        return f"{value}:INTERVAL {_unit(data_type)}"
    if isinstance(data_type, t.YearMonthIntervalType):
        return f"{value}:INTERVAL {data_type.resolution.replace('_', ' ')}"
    text = _value(value)
    return f"{text}:BIGINT" if typed and isinstance(data_type, t.BigIntType) else text


def _unit(data_type: t.DayTimeIntervalType) -> str:
    return data_type.resolution.replace("_", " ")


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, float):
        return repr(value).upper() if "e" in repr(value) else repr(value)
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return str(value)


def ordering_text(order: Sequence[Ordering], name: Callable[[int], str]) -> str:
    return ", ".join(f"{name(term.index)} {'ASC' if term.ascending else 'DESC'}" for term in order)


def aggregate_text(call: AggregateCall, name: Callable[[int], str], retract: bool = False) -> str:
    """``COUNT(DISTINCT c) FILTER f``."""
    function = f"{call.function}_RETRACT" if retract and call.function in _RETRACTED else call.function
    function = "$SUM0" if function == "SUM0" else function
    arguments = ", ".join([name(i) for i in call.arguments] + [_literal(x, False) for x in call.literals])
    shown = arguments or "*"
    distinct = "DISTINCT " if call.distinct else ""
    filtered = "" if call.filter is None else f" FILTER {name(call.filter)}"
    return f"{function}({distinct}{shown}){filtered}"


_RETRACTED: Final = frozenset(("COUNT", "SUM", "AVG", "MIN", "MAX", "LISTAGG", "FIRST_VALUE", "LAST_VALUE"))
