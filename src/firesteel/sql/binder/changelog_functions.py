"""TO_CHANGELOG and FROM_CHANGELOG: kinds of changes as values of a column, and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NoReturn

from sqlglot import exp

from firesteel.sql import types as t
from firesteel.sql.expressions import Call, Literal
from firesteel.sql.logical import Node, ProcessTable

if TYPE_CHECKING:
    from firesteel.sql.binder.binder import Binder
    from firesteel.sql.binder.scope import Scope

__all__ = [
    "CHANGELOG_FUNCTIONS",
    "KINDS",
    "ONE_COLUMN",
    "changes_as_rows",
    "no_such_column",
    "rows_as_changes",
]

#: name of a change -> number of its RowKind
KINDS: Final = {"INSERT": 0, "UPDATE_BEFORE": 1, "UPDATE_AFTER": 2, "DELETE": 3}
ONE_COLUMN: Final = "The descriptor for argument 'op' must contain exactly one column name."
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
        binder.refuse(found["op"], ONE_COLUMN, "op => DESCRIPTOR(column)")
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


def to_changelog(binder: Binder, call: exp.Expr, scope: Scope) -> Node:
    found, node = _arguments(binder, call)
    column = _operation_column(binder, call, found)
    pairs = _mapping(binder, call, found)
    return changes_as_rows(node, column, pairs, partial(binder.refuse, call), _uid(found))


def from_changelog(binder: Binder, call: exp.Expr, scope: Scope) -> Node:
    found, node = _arguments(binder, call)
    column = _operation_column(binder, call, found)
    if column not in node.row.names:
        binder.refuse(found.get("op", call), *no_such_column(node, column))
    pairs = _mapping(binder, call, found)
    return rows_as_changes(node, column, pairs, partial(binder.refuse, call), _uid(found))


def _uid(found: dict[str, exp.Expr]) -> str | None:
    uid = found.get("uid")
    return str(uid.this) if isinstance(uid, exp.Literal) else None


# ---- for every door

#: Raises the error of a message.
Refuse = Callable[[str], NoReturn]
Pairs = Sequence[tuple[str, str]]
_ALL: Final[Pairs] = [(name, name) for name in KINDS]


def changes_as_rows(node: Node, column: str, pairs: Pairs | None, refuse: Refuse, uid: str | None) -> Node:
    """TO_CHANGELOG. ``arguments``: op: the name of the new first column; mapping: pairs of a kind and its
    code. Changes of kinds without a code are left out.

    :param pairs: names of kinds, separated by commas, and their code; None: the names are the codes.
    """
    codes: dict[int, str] = {}
    for keys, code in _ALL if pairs is None else pairs:
        for key in keys.split(","):
            kind = _kind(key, refuse)
            if kind in codes:
                refuse(
                    "Invalid target mapping for argument 'op_mapping'. Duplicate change operation: "
                    f"'{key.strip()}'. Use comma-separated keys to map multiple operations to the same code."
                )
            codes[kind] = code
    names = t.unique([column, *node.row.names])
    row = t.RowType.of(names, [t.VarCharType(), *node.row.types])
    return _made("TO_CHANGELOG", row, node, column, tuple(codes.items()), uid)


def rows_as_changes(node: Node, column: str, pairs: Pairs | None, refuse: Refuse, uid: str | None) -> Node:
    """FROM_CHANGELOG. ``arguments``: op: the column of codes, which is no column of the output; mapping:
    pairs of a code and a kind.

    :param pairs: codes, separated by commas, and the name of their kind; None: the names are the codes.
    """
    index = node.row.names.index(column)
    if not isinstance(node.row.types[index], t.CharType | t.VarCharType):
        refuse(
            f"Invalid function call: the op column '{column}' must be of a character type, and "
            f"is {node.row.types[index]}"
        )
    kinds: dict[str, int] = {}
    for codes, name in _ALL if pairs is None else pairs:
        for code in codes.split(","):
            if code.strip() in kinds:
                refuse(
                    f"Invalid target mapping for argument 'op_mapping'. Duplicate op code: '{code.strip()}'."
                )
            kinds[code.strip()] = _kind(name, refuse)
    fields = [f for i, f in enumerate(node.row.fields) if i != index]
    row = t.RowType.of([f.name for f in fields], [f.data_type for f in fields])
    return _made("FROM_CHANGELOG", row, node, index, tuple(kinds.items()), uid)


def no_such_column(node: Node, column: str) -> tuple[str, str]:
    """The message, and the hint, where FROM_CHANGELOG does not find its column of codes."""
    return (
        f"Invalid function call: the op column '{column}' does not exist in the input table.",
        f"its columns are {', '.join(node.row.names)}; op => DESCRIPTOR(column)",
    )


def _kind(text: str, refuse: Refuse) -> int:
    name = text.strip()
    if name not in KINDS:
        refuse(
            f"Invalid target mapping for argument 'op_mapping'. Unknown change operation: '{name}'. "
            f"Valid values are: {', '.join(KINDS)}."
        )
    return KINDS[name]


def _made(
    function: str, row: t.RowType, node: Node, op: Any, mapping: tuple[Any, ...], uid: str | None
) -> Node:
    arguments: list[tuple[str, Any]] = [("op", op), ("mapping", mapping)]
    if uid is not None:
        arguments.append(("uid", uid))
    return ProcessTable(
        row=row, tables=(node,), function=function, arguments=tuple(arguments), partitions=(None,)
    )


CHANGELOG_FUNCTIONS: Final[dict[str, Callable[[Any, exp.Expr, Any], Node]]] = {
    "TO_CHANGELOG": to_changelog,
    "FROM_CHANGELOG": from_changelog,
}
