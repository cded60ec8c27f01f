"""Pieces of type rules: which arguments a function takes, and which type its result has.

``takes(TEXT, optional(INT), result=nullable(STRING))`` is a rule. An ``Argument`` answers with the type to
which what is given is cast, or None; ``result`` is a type, or computes it from the types of the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from firesteel.sql import type_rules as r, types as t
from firesteel.sql.functions.registry import CallTypes, TypeRule, Typing

__all__ = [
    "ANY",
    "ARRAY",
    "BIGINT",
    "BOOLEAN",
    "BYTES",
    "STRING",
    "Argument",
    "Result",
    "any_of",
    "common",
    "exactly",
    "family",
    "first",
    "many",
    "not_null",
    "nullable",
    "of_first",
    "optional",
    "strict",
    "takes",
]

STRING: Final = t.VarCharType()
BYTES: Final = t.VarBinaryType()
BOOLEAN: Final = t.BooleanType()
INT: Final = t.IntType()
BIGINT: Final = t.BigIntType()
DOUBLE: Final = t.DoubleType()

Result = t.DataType | Callable[[Sequence[t.DataType]], t.DataType | None]


@dataclass(frozen=True, slots=True)
class Argument:
    """What stands at one place of a call.

    :param text: for error messages, such as ``<CHARACTER_STRING>``.
    :param accept: the given type -> the type it is cast to; None: it does not go here.
    """

    text: str
    accept: Callable[[t.DataType], t.DataType | None]
    optional: bool = False
    many: bool = False


def optional(argument: Argument) -> Argument:
    return replace(argument, optional=True)


def many(argument: Argument) -> Argument:
    """The last argument: it may come any number of times, also none."""
    return replace(argument, optional=True, many=True)


def family(text: str, kinds: tuple[type[t.DataType], ...], default: t.DataType) -> Argument:
    """Types of a family stay as they are, NULL becomes *default*, others are cast to it if that goes
    implicitly."""

    def accept(given: t.DataType) -> t.DataType | None:
        if isinstance(given, kinds):
            return given
        if isinstance(given, t.NullType):
            return default
        wanted = default.with_nullability(given.nullable)
        return wanted if r.implicitly_castable(given, wanted) else None

    return Argument(text, accept)


def exactly(data_type: t.DataType) -> Argument:
    """What can be cast to the type implicitly, is."""

    def accept(given: t.DataType) -> t.DataType | None:
        if isinstance(given, t.NullType):
            return data_type
        wanted = data_type.with_nullability(given.nullable)
        return wanted if r.implicitly_castable(given, wanted) else None

    return Argument(f"<{data_type.text()}>", accept)


def any_of(*arguments: Argument) -> Argument:
    """The first that accepts."""

    def accept(given: t.DataType) -> t.DataType | None:
        return next((found for a in arguments if (found := a.accept(given)) is not None), None)

    return Argument("[" + " | ".join(a.text for a in arguments) + "]", accept)


def _kind(text: str, *kinds: type[t.DataType]) -> Argument:
    return Argument(text, lambda given: given if isinstance(given, kinds) else None)


ANY: Final = Argument("<ANY>", lambda given: given)
TEXT: Final = family("<CHARACTER_STRING>", r.CHARACTER, STRING)
BINARY: Final = family("<BINARY_STRING>", r.BINARY, BYTES)
TEXT_OR_BINARY: Final = any_of(TEXT, BINARY)
TRUTH: Final = family("<BOOLEAN>", (t.BooleanType,), BOOLEAN)
NUMBER: Final = family("<NUMERIC>", r.NUMERIC, INT)
EXACT: Final = family("<EXACT_NUMERIC>", r.EXACT, INT)
INTEGER: Final = family("<INTEGER_NUMERIC>", r.INTEGER, INT)
AS_INT: Final = exactly(INT)
AS_BIGINT: Final = exactly(BIGINT)
AS_DOUBLE: Final = Argument(
    "<NUMERIC>",
    lambda g: t.DoubleType(nullable=g.nullable) if isinstance(g, (*r.NUMERIC, t.NullType)) else None,
)
DATETIME: Final = _kind("<DATETIME>", *r.DATETIME)
TIMESTAMP: Final = _kind("<TIMESTAMP>", *r.TIMESTAMPS)
INTERVAL: Final = _kind("<INTERVAL>", *r.INTERVAL)
ARRAY: Final = family("<ARRAY>", (t.ArrayType,), t.ArrayType(element_type=t.NullType()))
MAP: Final = family("<MAP>", (t.MapType,), t.MapType(key_type=t.NullType(), value_type=t.NullType()))
ROW: Final = _kind("<ROW>", t.RowType)
BITMAP: Final = family("<BITMAP>", (t.BitmapType,), t.BitmapType())
VARIANT: Final = family("<VARIANT>", (t.VariantType,), t.VariantType())
SYMBOL: Final = _kind("<SYMBOL>", t.SymbolType)


# ---- results


def nullable(data_type: t.DataType) -> Result:
    """Always nullable."""
    return data_type.with_nullability(True)


def not_null(data_type: t.DataType) -> Result:
    return data_type.with_nullability(False)


def any_nullable(types: Sequence[t.DataType]) -> bool:
    return any(d.nullable for d in types if not isinstance(d, t.SymbolType))


def strict(data_type: t.DataType) -> Result:
    """Nullable if an argument is: the usual case."""
    return lambda types: data_type.with_nullability(any_nullable(types))


def first(types: Sequence[t.DataType]) -> t.DataType:
    """The type of the first argument, nullable if any argument is."""
    return types[0].with_nullability(any_nullable(types))


def of_first(change: Callable[[Any], t.DataType]) -> Result:
    """Computed from the type of the first argument; nullable if an argument is."""
    return lambda types: change(types[0]).with_nullability(any_nullable(types))


def varying(types: Sequence[t.DataType]) -> t.DataType:
    """CHAR(n) becomes VARCHAR(n) of the first argument; nullable if any is."""
    return varying_of(types[0]).with_nullability(any_nullable(types))


def varying_of(data_type: t.DataType) -> t.DataType:
    if isinstance(data_type, t.CharType):
        return t.VarCharType(length=data_type.length, nullable=data_type.nullable)
    if isinstance(data_type, t.BinaryType):
        return t.VarBinaryType(length=data_type.length, nullable=data_type.nullable)
    return data_type


# ---- rules


@dataclass(frozen=True, slots=True, eq=False)
class _Takes:
    arguments: tuple[Argument, ...]
    result: Result

    def __call__(self, call: CallTypes) -> Typing | None:
        arguments, given = self.arguments, call.types
        if len(given) < sum(not a.optional for a in arguments):
            return None
        if len(given) > len(arguments) and not (arguments and arguments[-1].many):
            return None
        found: list[t.DataType] = []
        for i, data_type in enumerate(given):
            accepted = arguments[min(i, len(arguments) - 1)].accept(data_type)
            if accepted is None:
                return None
            found.append(accepted)
        made = self.result(found) if callable(self.result) else self.result
        return None if made is None else Typing(made, tuple(found))


def takes(*arguments: Argument, result: Result) -> TypeRule:
    """The rule of a function whose arguments do not depend on each other."""
    return _Takes(arguments, result)


def common(
    *leading: Argument,
    least: int = 1,
    most: int | None = None,
    result: Callable[[t.DataType], t.DataType] | None = None,
    accept: Callable[[t.DataType], bool] = lambda _: True,
) -> TypeRule:
    """The rule of a function whose arguments, after *leading*, are all cast to their common type.

    :param result: from the common type; by default it is the result.
    :param accept: whether the function takes that type.
    """

    def rule(call: CallTypes) -> Typing | None:
        ahead = [a.accept(g) for a, g in zip(leading, call.types, strict=False)]
        rest = call.types[len(leading) :]
        if None in ahead or len(rest) < least or (most is not None and len(rest) > most):
            return None
        found = r.common_type(rest)
        if found is None:
            if not all(r.is_null_type(d) for d in rest):
                return None
            found = t.NullType()
        if not accept(found):
            return None
        wanted = tuple(found.with_nullability(d.nullable) for d in rest)
        made = found if result is None else result(found)
        return Typing(made, (*(a for a in ahead if a is not None), *wanted))

    return rule


@dataclass(frozen=True, slots=True, eq=False)
class _Either:
    rules: tuple[TypeRule, ...]

    def __call__(self, call: CallTypes) -> Typing | None:
        return next((found for one in self.rules if (found := one(call)) is not None), None)


def either(*rules: TypeRule) -> TypeRule:
    """The first rule that takes the arguments."""
    return _Either(rules)


def signatures_of(name: str, rule: TypeRule) -> tuple[str, ...]:
    """How error messages write a call."""
    match rule:
        case _Takes(arguments):
            variants: Sequence[Sequence[Argument]] = [arguments]
        case _Either(rules):
            variants = [one.arguments if isinstance(one, _Takes) else () for one in rules]
        case _:
            return (f"{name}(...)",)
    return tuple(f"{name}({', '.join(_shown(a) for a in variant)})" for variant in variants)


def _shown(argument: Argument) -> str:
    text = argument.text + ("..." if argument.many else "")
    return f"[{text}]" if argument.optional else text
