"""From a function and bound operands to a typed call: what the SQL binder and the Table API share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from firesteel.common.errors import ProgramError
from firesteel.sql import type_rules as r, types as t
from firesteel.sql.expressions import Call, Expression, InputRef, Literal, Outer
from firesteel.sql.functions import find, named
from firesteel.sql.functions.registry import FunctionDefinition

__all__ = ["InvalidCallError", "call", "call_named", "cast", "describe", "symbol"]


class InvalidCallError(ProgramError):
    """A function does not take the arguments that it is given."""


@dataclass(frozen=True, slots=True)
class _Given:
    operands: tuple[Expression, ...]

    @property
    def types(self) -> Sequence[t.DataType]:
        return [o.type for o in self.operands]

    def literal(self, index: int) -> Any:
        operand = self.operands[index] if index < len(self.operands) else None
        while isinstance(operand, Call) and operand.function in ("CAST", "MINUS_PREFIX"):
            if operand.function == "MINUS_PREFIX":
                value = _Given(operand.operands).literal(0)
                return None if value is None else -value
            operand = operand.operands[0]
        return operand.value if isinstance(operand, Literal) else None


def symbol(value: Any) -> Literal:
    """A keyword as an operand: a unit of time, LEADING, a clause of JSON_VALUE, a data type."""
    return Literal(value, t.SymbolType(nullable=False))


def call(definition: FunctionDefinition, operands: Sequence[Expression]) -> Expression:
    """Return the call, with casts of its operands where the function needs them.

    :raises InvalidCallError: the function does not take such operands.
    """
    given = tuple(operands)
    if definition.expand is not None:
        return definition.expand(*given)
    typing = definition.rule(_Given(given))
    if typing is None:
        raise invalid(definition, given)
    wanted = tuple(implicit(o, d) for o, d in zip(given, typing.arguments, strict=True))
    return Call(definition.name, wanted, typing.result)


def call_named(name: str, *operands: Expression) -> Expression:
    """Call a built-in function by its name in plans, or else by its name in SQL."""
    return call(find(name) or named(name), operands)


def implicit(operand: Expression, wanted: t.DataType) -> Expression:
    """*operand* as *wanted*; nothing is done where only nullability differs."""
    if operand.type.equals_ignoring_nullability(wanted) or isinstance(wanted, t.SymbolType):
        return operand
    if isinstance(operand, Literal) and operand.value is None:
        return Literal(None, wanted.with_nullability(True))
    return Call("CAST", (operand,), wanted.with_nullability(operand.type.nullable))


def cast(operand: Expression, target: t.DataType, *, attempt: bool = False) -> Expression:
    """CAST, or TRY_CAST (*attempt*), as it is written in a query.

    :raises InvalidCallError: there is no such cast.
    """
    source = operand.type
    if not r.explicitly_castable(source, target):
        raise InvalidCallError(
            f"Cast function cannot convert value of type {source} to type {target.text()}.",
            detail=describe(operand),
            hint=_cast_hint(source, target),
        )
    result = target.with_nullability(attempt or source.nullable or r.is_null_type(source))
    if not attempt and source == result:
        return operand
    return Call("TRY_CAST" if attempt else "CAST", (operand,), result)


def _cast_hint(source: t.DataType, target: t.DataType) -> str | None:
    numbers, times = r.NUMERIC, (t.TimestampType, t.LocalZonedTimestampType)
    if isinstance(source, numbers) and isinstance(target, times):
        return "use TO_TIMESTAMP(FROM_UNIXTIME(number)) or TO_TIMESTAMP_LTZ(number, precision)"
    if isinstance(source, times) and isinstance(target, numbers):
        return "use UNIX_TIMESTAMP(CAST(timestamp AS STRING))"
    return None


def invalid(definition: FunctionDefinition, operands: Sequence[Expression]) -> InvalidCallError:
    name = definition.sql_names[0] if definition.sql_names else definition.name
    shown = ", ".join(f"<{o.type}>" for o in operands)
    return InvalidCallError(
        f"Cannot apply {name!r} to arguments of type {name}({shown}).",
        detail="Supported form(s): " + "; ".join(definition.signatures) if definition.signatures else None,
    )


def describe(expression: Expression) -> str:
    """The text of an expression, for errors: ``UPPER($0)``."""
    if isinstance(expression, InputRef):
        return f"${expression.index}"
    if isinstance(expression, Outer):
        return f"$outer{expression.level}.{expression.index}"
    if isinstance(expression, Literal):
        return "NULL" if expression.value is None else repr(expression.value)
    if not isinstance(expression, Call):
        return f"{expression.kind}(sub-query)"
    if expression.function in ("CAST", "TRY_CAST"):
        return f"{expression.function}({describe(expression.operands[0])} AS {expression.type.text()})"
    return f"{expression.function}({', '.join(describe(o) for o in expression.operands)})"
