"""From names and operands to calls: what SQL and the Table API share.

``bind_call(binder, "UPPER", [operand])``: finds the function, casts the operands where it needs that,
derives the type. Time attributes are lost in whatever a function gives, PROCTIME apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NoReturn

from sqlglot import exp

from firesteel.sql.binder.binder import Binder
from firesteel.sql.catalog_manager import CatalogManager
from firesteel.sql.expressions import Call, Expression, Literal
from firesteel.sql.functions import calls as function_calls
from firesteel.sql.functions.calls import InvalidCallError
from firesteel.sql.functions.null_literals import refused_null
from firesteel.sql.functions.registry import FunctionDefinition, FunctionKind
from firesteel.sql.schema import with_attribute
from firesteel.sql.types import (
    ArrayType,
    DataType,
    IntType,
    MapType,
    MultisetType,
    RowType,
    TimeAttribute,
    VarBinaryType,
    VarCharType,
)

__all__ = [
    "bind_call",
    "bind_cast",
    "bind_definition",
    "calcite_text",
    "plain",
    "refuse_operands",
    "signature_text",
    "unknown_function",
]

_KEEP_TIME: Final = frozenset({"PROCTIME"})
_FACTS: Final[Mapping[str, Callable[[CatalogManager], str]]] = {
    "CURRENT_DATABASE": lambda catalog: catalog.current_database
}


def bind_call(
    binder: Binder, name: str | Sequence[str], operands: Sequence[Expression], node: exp.Expr | None = None
) -> Expression:
    """A call of the function that SQL, or a plan, calls *name*.

    :param node: where it stands, for messages.
    :raises SqlValidationError: there is no such function, or it does not take such operands.
    """
    path = (name,) if isinstance(name, str) else tuple(name)
    definition = binder.function(path)
    if definition is None and len(path) == 1:
        definition = _named(path[0])
    if definition is None:
        unknown_function(binder, ".".join(path), operands, node)
    if definition.kind not in (FunctionKind.SCALAR, FunctionKind.ASYNC_SCALAR):
        binder.refuse(
            node, f"Function '{'.'.join(path)}' is a {definition.kind.value} function and cannot be used here"
        )
    return bind_definition(binder, definition, operands, node)


def _named(name: str) -> FunctionDefinition | None:
    from firesteel.common.errors import ProgramError
    from firesteel.sql.functions import named

    try:
        return named(name)
    except ProgramError:
        return None


def bind_definition(
    binder: Binder,
    definition: FunctionDefinition,
    operands: Sequence[Expression],
    node: exp.Expr | None = None,
) -> Expression:
    """A call of a function that is known. Facts of the session are constants from here on: a job has none."""
    fact = _FACTS.get(definition.name)
    if fact is not None:
        return Literal(fact(binder.catalog), VarCharType(nullable=False))
    wrong = None if node is None else refused_null(definition, [o.type for o in operands])
    if wrong is not None:
        binder.refuse(node, wrong, "CAST(NULL AS a type)")
    try:
        made = function_calls.call(definition, operands)
    except InvalidCallError as error:
        if error.hint is not None:  # it says itself what is wrong
            binder.refuse(node, error.message, error.hint)
        refuse_operands(binder, definition, operands, node)
    if isinstance(made, Call) and definition.name not in _KEEP_TIME:
        kept = plain(made.type)
        if kept is not made.type:
            made = replace(made, type=kept)
    return made


def refuse_operands(
    binder: Binder, definition: FunctionDefinition, operands: Sequence[Expression], node: exp.Expr | None
) -> NoReturn:
    """Flink's ``Cannot apply '+' to arguments of type '<INTEGER> + <BOOLEAN>'. Supported form(s): ...``."""
    if definition.name == "CASE":
        binder.refuse(node, "Illegal mixing of types in CASE or COALESCE statement")
    types = [f"<{calcite_text(o.type)}>" for o in operands]
    sign = _SIGNS.get(definition.name)
    name = sign or (definition.sql_names[0] if definition.sql_names else definition.name)
    if definition.name == "AT":
        name = "ITEM"  # Flink's name for it, whose forms it shows without quotes
    if sign is not None:
        shown = f" {sign} ".join(types) if len(types) > 1 else f"{sign}{types[0]}"
    else:
        shown = f"{name}({', '.join(types)})"
    counts = {form.count("<") for form in definition.signatures}
    if sign is None and len(counts) == 1 and not any(set(form) & set("[.") for form in definition.signatures):
        (wanted,) = counts
        if wanted != len(operands):
            binder.refuse(
                node, f"Invalid number of arguments to function '{name}'. Was expecting {wanted} arguments"
            )
    quote = "" if name == "ITEM" else "'"
    forms = "\n".join(f"{quote}{form}{quote}" for form in definition.signatures)
    message = f"Cannot apply '{name}' to arguments of type '{shown}'."
    binder.refuse(node, f"{message} Supported form(s): {forms}" if forms else message)


_SIGNS: Final = {
    "PLUS": "+",
    "MINUS": "-",
    "TIMES": "*",
    "DIVIDE": "/",
    "CONCAT_OPERATOR": "||",
    "AND": "AND",
    "OR": "OR",
    "NOT": "NOT",
    "MINUS_PREFIX": "-",
    "EQUALS": "=",
    "NOT_EQUALS": "<>",
    "LESS_THAN": "<",
    "LESS_THAN_OR_EQUAL": "<=",
    "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL": ">=",
}


def calcite_text(data_type: DataType) -> str:
    """A type as Calcite names it in messages: INTEGER, VARCHAR(2147483647)."""
    match data_type:
        case ArrayType():
            return f"{calcite_text(data_type.element_type)} ARRAY"
        case MultisetType():
            return f"{calcite_text(data_type.element_type)} MULTISET"
        case MapType():
            return f"({calcite_text(data_type.key_type)}, {calcite_text(data_type.value_type)}) MAP"
        case RowType():
            fields = ", ".join(f"{calcite_text(f.data_type)} {f.name}" for f in data_type.fields)
            return f"RecordType({fields})"
    if isinstance(data_type, IntType):
        return "INTEGER"
    if isinstance(data_type, VarCharType):
        return f"VARCHAR({data_type.length})"
    if isinstance(data_type, VarBinaryType):
        return f"VARBINARY({data_type.length})"
    return data_type.text()


def bind_cast(
    binder: Binder, operand: Expression, target: DataType, node: exp.Expr | None = None, attempt: bool = False
) -> Expression:
    """CAST or TRY_CAST as written in a query."""
    try:
        return function_calls.cast(operand, target, attempt=attempt)
    except InvalidCallError as error:
        message = (
            f"Cast function cannot convert value of type {calcite_text(operand.type)} "
            f"to type {calcite_text(target)}"
        )
        binder.refuse(node, message, error.hint)


def plain(data_type: DataType) -> DataType:
    """The type without its time attribute."""
    return with_attribute(data_type, TimeAttribute.NONE)


def signature_text(name: str, operands: Sequence[Expression]) -> str:
    """``foo(<NUMERIC>, <CHARACTER>)``, as in Flink's messages."""
    return f"{name}({', '.join(f'<{_family(o.type)}>' for o in operands)})"


def _family(data_type: DataType) -> str:
    return _FAMILIES.get(type(data_type).__name__, type(data_type).__name__.removesuffix("Type").upper())


_FAMILIES: Final = {
    **dict.fromkeys(
        ("TinyIntType", "SmallIntType", "IntType", "BigIntType", "DecimalType", "FloatType", "DoubleType"),
        "NUMERIC",
    ),
    "CharType": "CHARACTER",
    "VarCharType": "CHARACTER",
    "BinaryType": "BINARY",
    "VarBinaryType": "BINARY",
    "BooleanType": "BOOLEAN",
    "LocalZonedTimestampType": "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
    "YearMonthIntervalType": "INTERVAL_YEAR_MONTH",
    "DayTimeIntervalType": "INTERVAL_DAY_TIME",
    "RowType": "RECORDTYPE",
}


def unknown_function(
    binder: Binder, name: str, operands: Sequence[Expression], node: exp.Expr | None = None
) -> NoReturn:
    binder.refuse(
        node,
        f"No match found for function signature {signature_text(name, operands)}",
        binder.near_function(name),
    )
