"""TO_CHANGELOG and FROM_CHANGELOG: kinds of changes as values of a column, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from sqlglot import exp

from firesteel.sql import types as t
from firesteel.sql.expressions import Call, Literal
from firesteel.sql.logical import Node, ProcessTable

if TYPE_CHECKING:
    from firesteel.sql.binder.binder import Binder
    from firesteel.sql.binder.scope import Scope

__all__ = ["CHANGELOG_FUNCTIONS", "KINDS"]

#: name of a change -> number of its RowKind
KINDS: Final = {"INSERT": 0, "UPDATE_BEFORE": 1, "UPDATE_AFTER": 2, "DELETE": 3}
_PARAMETERS: Final = ("input", "op", "op_mapping", "on_time", "uid")


def _arguments(binder: Binder, call: exp.Expr) -> tuple[dict[str, exp.Expr], Node]:
    from firesteel.sql.binder.table_functions import in_order, table_input

    found = in_order(binder, call, _PARAMETERS, 1)
    argument = found["input"]
    if argument.args.get("partition") is not None:
        binder.refuse(
            call,
            "Only tables with set semantics may be partitioned. Invalid PARTITION BY clause in "
            "the 0-th operand "
            f"of table function '{call.this}'",
        )
    if "on_time" in found:
        binder.refuse(found["on_time"], f"The function {call.this} has no use for on_time")
    return found, table_input(binder, argument)


def _operation_column(binder: Binder, call: exp.Expr, found: dict[str, exp.Expr]) -> str:
    from firesteel.sql.binder.table_functions import descriptor_columns

    if "op" not in found:
        return "op"
    columns = descriptor_columns(binder, found["op"])
    if len(columns) != 1:
        binder.refuse(found["op"], f"The argument op of {call.this} names one column")
    return str(columns[0].this)


def _mapping(binder: Binder, call: exp.Expr, found: dict[str, exp.Expr]) -> list[tuple[str, str]] | None:
    """The pairs of MAP[...], which must be constant texts."""
    from firesteel.sql.binder.expressions import ExpressionBinder
    from firesteel.sql.binder.scope import Scope

    if "op_mapping" not in found:
        return None
    node = found["op_mapping"]
    bound = ExpressionBinder(binder, Scope([])).bind(node)
    while isinstance(bound, Call) and bound.function == "CAST":
        bound = bound.operands[0]
    if not isinstance(bound, Call) or bound.function != "MAP":
        binder.refuse(node, f"The argument op_mapping of {call.this} must be a constant MAP of texts")
    values = []
    for operand in bound.operands:
        while isinstance(operand, Call) and operand.function == "CAST":
            operand = operand.operands[0]
        if not isinstance(operand, Literal) or not isinstance(operand.value, str):
            binder.refuse(node, f"The argument op_mapping of {call.this} must be a constant MAP of texts")
        values.append(operand.value)
    return list(zip(values[::2], values[1::2], strict=True))


def _kind(binder: Binder, node: exp.Expr, text: str) -> int:
    name = text.strip()
    if name not in KINDS:
        binder.refuse(
            node,
            f"Invalid target mapping for argument 'op_mapping'. Unknown change operation: '{name}'. "
            f"Valid values are: {', '.join(KINDS)}.",
        )
    return KINDS[name]


def to_changelog(binder: Binder, call: exp.Expr, scope: Scope) -> Node:
    """``arguments``: op: the name of the new first column; mapping: pairs of a kind and its code. Changes
    of kinds without a code are left out."""
    found, node = _arguments(binder, call)
    column = _operation_column(binder, call, found)
    pairs = _mapping(binder, call, found)
    codes: dict[int, str] = {}
    for keys, code in [(k, k) for k in KINDS] if pairs is None else pairs:
        for key in keys.split(","):
            kind = _kind(binder, call, key)
            if kind in codes:
                binder.refuse(
                    call,
                    "Invalid target mapping for argument 'op_mapping'. Duplicate change operation: "
                    f"'{key.strip()}'. Use comma-separated keys to map multiple operations to the same code.",
                )
            codes[kind] = code
    names = t.unique([column, *node.row.names])
    row = t.RowType.of(names, [t.VarCharType(), *node.row.types])
    return _made(call, row, node, found, column, tuple(codes.items()))


def from_changelog(binder: Binder, call: exp.Expr, scope: Scope) -> Node:
    """``arguments``: op: the column of codes, which is no column of the output; mapping: pairs of a code
    and a kind."""
    found, node = _arguments(binder, call)
    column = _operation_column(binder, call, found)
    if column not in node.row.names:
        binder.refuse(
            found.get("op", call),
            f"Invalid function call: the op column '{column}' does not exist in the input table.",
            f"its columns are {', '.join(node.row.names)}; op => DESCRIPTOR(column)",
        )
    index = node.row.names.index(column)
    if not isinstance(node.row.types[index], t.CharType | t.VarCharType):
        binder.refuse(
            call,
            f"Invalid function call: the op column '{column}' must be of a character type, and "
            f"is {node.row.types[index]}",
        )
    pairs = _mapping(binder, call, found)
    kinds: dict[str, int] = {}
    for codes, name in [(k, k) for k in KINDS] if pairs is None else pairs:
        for code in codes.split(","):
            if code.strip() in kinds:
                binder.refuse(
                    call,
                    f"Invalid target mapping for argument 'op_mapping'. Duplicate op code: '{code.strip()}'.",
                )
            kinds[code.strip()] = _kind(binder, call, name)
    fields = [f for i, f in enumerate(node.row.fields) if i != index]
    row = t.RowType.of([f.name for f in fields], [f.data_type for f in fields])
    return _made(call, row, node, found, index, tuple(kinds.items()))


def _made(
    call: exp.Expr, row: t.RowType, node: Node, found: dict[str, exp.Expr], op: Any, mapping: tuple[Any, ...]
) -> Node:
    arguments: list[tuple[str, Any]] = [("op", op), ("mapping", mapping)]
    uid = found.get("uid")
    if isinstance(uid, exp.Literal):
        arguments.append(("uid", uid.this))
    return ProcessTable(
        row=row, tables=(node,), function=call.this.upper(), arguments=tuple(arguments), partitions=(None,)
    )


CHANGELOG_FUNCTIONS: Final[dict[str, Callable[[Any, exp.Expr, Any], Node]]] = {
    "TO_CHANGELOG": to_changelog,
    "FROM_CHANGELOG": from_changelog,
}
