"""Functions in FROM: windows, UNNEST, table functions of users, functions that take whole tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from sqlglot import exp

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql import types as t
from firesteel.sql.binder.binder import Binder
from firesteel.sql.binder.calls import bind_definition, calcite_text, unknown_function
from firesteel.sql.binder.changelog_functions import CHANGELOG_FUNCTIONS
from firesteel.sql.binder.errors import near
from firesteel.sql.binder.expressions import ExpressionBinder
from firesteel.sql.binder.group_windows import millis
from firesteel.sql.binder.scope import Scope, relation_of
from firesteel.sql.expressions import Call, Expression, InputRef
from firesteel.sql.functions.registry import FunctionDefinition, FunctionKind
from firesteel.sql.logical import Node, ProcessTable, TableCall, WindowTable
from firesteel.sql.parser import nodes

__all__ = ["in_order", "table_function", "table_input", "unnest"]

_TABLE_KINDS: Final = (FunctionKind.TABLE, FunctionKind.ASYNC_TABLE)


def table_function(binder: Binder, tree: exp.Expr, scope: Scope) -> Node:
    """A call in FROM. :param scope: what its arguments see: the items before it."""
    call = tree.this
    if isinstance(call, exp.Anonymous):
        name = call.this.upper()
        user = binder.catalog.find_function(call.args.get("path") or (call.this,))
        if user is not None and user.kind in _TABLE_KINDS:
            return _user_function(binder, call, user, scope)
        if user is not None and user.kind is FunctionKind.PROCESS_TABLE and name not in CHANGELOG_FUNCTIONS:
            return _process_table(binder, call, user, scope)
        if not call.args.get("path"):
            special = _SPECIAL.get(name)
            if special is not None:
                return special(binder, call, scope)
        if user is not None:
            binder.refuse(
                call,
                f"'{call.this}' is a {user.kind.value} function and gives no rows: it cannot stand in FROM",
            )
        expressions = ExpressionBinder(binder, scope)
        plain = [a for a in call.expressions if not isinstance(a, nodes.TableArgument | nodes.Descriptor)]
        operands = [expressions.bind(_value(a)) for a in plain if not _is_table(a)]
        unknown_function(binder, call.meta.get("written", call.this), operands, call)
    return binder.refuse(call, "A table function is expected here")


def _value(node: exp.Expr) -> exp.Expr:
    return node.expression if isinstance(node, nodes.NamedArgument) else node


def _is_table(node: exp.Expr) -> bool:
    return isinstance(_value(node), nodes.TableArgument | nodes.Descriptor | exp.Var)


def _user_function(binder: Binder, call: exp.Expr, definition: FunctionDefinition, scope: Scope) -> Node:
    definition = binder.function(call.args.get("path") or (call.this,)) or definition
    expressions = ExpressionBinder(binder, scope, "the arguments of a table function")
    operands = expressions.arguments(call, definition)
    made = bind_definition(binder, definition, operands, call)
    assert isinstance(made, Call)
    return TableCall(row=_rows_of(made.type), function=made.function, arguments=made.operands)


def _rows_of(result: t.DataType) -> t.RowType:
    if isinstance(result, t.RowType):
        fields = result.fields
        return t.RowType.of([f.name for f in fields], [f.data_type for f in fields])
    return t.RowType.of(["EXPR$0"], [result])


# ---- UNNEST


def unnest(binder: Binder, tree: exp.Expr, scope: Scope) -> Node:
    """UNNEST of arrays, maps and multisets."""
    expressions = ExpressionBinder(binder, scope, "UNNEST")
    operands = expressions.bind_all(tree.expressions)
    names: list[str] = []
    types: list[t.DataType] = []
    for node, operand in zip(tree.expressions, operands, strict=True):
        for name, data_type in _elements(binder, node, operand, len(operands) > 1):
            names.append(name)
            types.append(data_type)
    function = "UNNEST"
    if tree.args.get("ordinality"):
        function = "UNNEST_WITH_ORDINALITY"
        names.append("ORDINALITY")
        types.append(t.IntType(nullable=False))
    return TableCall(row=t.RowType.of(t.unique(names), types), function=function, arguments=tuple(operands))


def _elements(
    binder: Binder, node: exp.Expr, operand: Expression, several: bool
) -> list[tuple[str, t.DataType]]:
    data_type = operand.type
    if isinstance(data_type, t.MapType):
        return [("KEY", data_type.key_type), ("VALUE", data_type.value_type)]
    if not isinstance(data_type, t.ArrayType | t.MultisetType):
        binder.refuse(
            node,
            f"Cannot apply 'UNNEST' to arguments of type 'UNNEST(<{data_type.text()}>)'. Supported form(s): "
            "'UNNEST(<MULTISET>)' 'UNNEST(<ARRAY>)' 'UNNEST(<MAP>)'",
        )
    element = data_type.element_type
    if isinstance(element, t.RowType):
        return [
            (f.name, f.data_type.with_nullability(f.data_type.nullable or element.nullable or several))
            for f in element.fields
        ]
    return [("EXPR$0", element.with_nullability(element.nullable or several))]


# ---- arguments of functions on tables


def in_order(binder: Binder, call: exp.Expr, parameters: Sequence[str], required: int) -> dict[str, exp.Expr]:
    """Arguments by the names of their parameters; those that are DEFAULT or missing are not there."""
    items = call.expressions
    found: dict[str, exp.Expr] = {}
    if any(isinstance(i, nodes.NamedArgument) for i in items):
        by_lower = {p.lower(): p for p in parameters}
        for item in items:
            if not isinstance(item, nodes.NamedArgument):
                binder.refuse(item, "Positional and named arguments cannot be mixed")
            name = by_lower.get(item.this.lower())
            if name is None:
                binder.refuse(
                    item,
                    f"Param '{item.this}' not found in function '{call.this}'",
                    near(item.this, parameters),
                )
            found[name] = item.expression
    else:
        if len(items) > len(parameters):
            binder.refuse(
                call,
                f"Invalid number of arguments to function '{call.this}'. Was expecting "
                f"{len(parameters)} arguments",
            )
        found = dict(zip(parameters, items, strict=False))
    found = {k: v for k, v in found.items() if not (isinstance(v, exp.Var) and v.this == "DEFAULT")}
    for name in parameters[:required]:
        if name not in found:
            binder.refuse(
                call,
                f"Invalid number of arguments to function '{call.this}'. Was expecting {required} arguments",
                f"the argument {name} is missing",
            )
    return found


def table_input(binder: Binder, argument: exp.Expr, scope: Scope | None = None) -> Node:
    """The plan of a table argument."""
    from firesteel.sql.binder.relations import table_plan

    if not isinstance(argument, nodes.TableArgument):
        if isinstance(argument, exp.Subquery):
            return binder.bind_query(argument.this)
        binder.refuse(argument, "A table is expected here: TABLE name, or a query in parentheses")
    inner = argument.this
    if isinstance(inner, exp.Table):
        return table_plan(binder, inner)
    if isinstance(inner, nodes.TableFunction):
        return table_function(binder, inner, Scope([]))
    return binder.bind_query(inner)


def partition_of(binder: Binder, argument: exp.Expr, node: Node) -> tuple[int, ...] | None:
    """The columns of PARTITION BY of a table argument."""
    items = argument.args.get("partition")
    if items is None:
        return None
    columns = ExpressionBinder(binder, Scope([relation_of(_name_of(argument), node.row)]), "PARTITION BY")
    found = []
    for item in items:
        bound = columns.bind(item)
        if not isinstance(bound, InputRef):
            binder.refuse(item, "PARTITION BY of a table argument takes columns")
        found.append(bound.index)
    return tuple(found)


def _name_of(argument: exp.Expr) -> str | None:
    inner = argument.this
    return inner.args["path"][-1].this if isinstance(inner, exp.Table) else None


def descriptor_columns(binder: Binder, argument: exp.Expr) -> list[exp.Identifier]:
    if not isinstance(argument, nodes.Descriptor):
        binder.refuse(argument, "A DESCRIPTOR is expected here")
    return list(argument.expressions)


# ---- windows

_WINDOWS: Final = {
    "TUMBLE": (("DATA", "TIMECOL", "SIZE", "OFFSET"), 3),
    "HOP": (("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"), 4),
    "CUMULATE": (("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"), 4),
    "SESSION": (("DATA", "TIMECOL", "GAP"), 3),
}


def _window(binder: Binder, call: exp.Expr, scope: Scope) -> Node:
    kind = call.this.upper()
    parameters, required = _WINDOWS[kind]
    found = in_order(binder, call, parameters, required)
    node = table_input(binder, found["DATA"])
    time = _time_column(binder, call, found["TIMECOL"], node)
    expressions = ExpressionBinder(binder, Scope([]))
    sizes = {
        name: millis(expressions, found[name], expressions.bind(found[name]))
        for name in parameters[2:]
        if name in found
    }
    partition = partition_of(binder, found["DATA"], node) or ()
    if partition and kind != "SESSION":
        binder.refuse(
            found["DATA"],
            f"PARTITION BY is not allowed in the table argument of {kind}",
            "only SESSION windows have it",
        )
    size = sizes.get("SIZE", sizes.get("GAP", 0))
    slide = sizes.get("SLIDE", sizes.get("STEP", 0))
    _check_sizes(binder, call, kind, size, slide)
    attribute_type = node.row.types[time].with_nullability(False)
    edge = t.TimestampType(precision=3, nullable=False)
    names = [*node.row.names, "window_start", "window_end", "window_time"]
    row = t.RowType.of(t.unique(names), [*node.row.types, edge, edge, attribute_type])
    return WindowTable(
        row=row,
        input=node,
        kind=kind,
        time=time,
        size=size,
        slide=slide,
        offset=sizes.get("OFFSET", 0),
        partition=partition,
        place=binder.place(descriptor_columns(binder, found["TIMECOL"])[0]),
    )


_SYNTAX: Final = {
    "TUMBLE": "TUMBLE(TABLE table_name, DESCRIPTOR(timecol), datetime interval[, datetime interval])",
    "HOP": "HOP(TABLE table_name, DESCRIPTOR(timecol), datetime interval, datetime "
    "interval[, datetime interval])",
    "CUMULATE": "CUMULATE(TABLE table_name, DESCRIPTOR(timecol), datetime interval, datetime interval"
    "[, datetime interval])",
    "SESSION": "SESSION(TABLE table_name [PARTITION BY expression [, expression]*] [ORDER BY expression "
    "[, expression]*], DESCRIPTOR(timecol), datetime interval)",
}


def _time_column(binder: Binder, call: exp.Expr, argument: exp.Expr, node: Node) -> int:
    columns = descriptor_columns(binder, argument)
    if len(columns) != 1:
        binder.refuse(argument, f"{call.this} takes one time column")
    name = columns[0].this
    if name not in node.row.names:
        binder.refuse(columns[0], f"Unknown identifier '{name}'", near(name, node.row.names))
    index = node.row.names.index(name)
    data_type = node.row.types[index]
    attribute = getattr(data_type, "attribute", None)
    streaming = binder.settings.streaming
    if not isinstance(data_type, t.TimestampType | t.LocalZonedTimestampType):
        binder.refuse(
            None,
            f"The window function {_SYNTAX[call.this.upper()]} requires the timecol to be TIMESTAMP or "
            f"TIMESTAMP_LTZ, but is {calcite_text(data_type)}.\n"
            "Besides, the timecol must be a time attribute type in streaming mode.",
        )
    if streaming and attribute == t.TimeAttribute.NONE:
        binder.refuse(
            call,
            f"The window function requires the timecol is a time attribute type, but is {data_type.text()}.",
            "a column with a WATERMARK, or PROCTIME()",
        )
    return index


def _check_sizes(binder: Binder, call: exp.Expr, kind: str, size: int, slide: int) -> None:
    if size <= 0 or (kind in ("HOP", "CUMULATE") and slide <= 0):
        binder.refuse(call, f"{kind} table function based aggregate requires sizes that are positive")
    if kind == "CUMULATE" and size % slide:
        binder.refuse(
            call,
            "CUMULATE table function based aggregate requires maxSize must be an integral multiple of step, "
            f"but got maxSize {size} ms and step {slide} ms",
        )


# ---- process table functions


def _process_table(binder: Binder, call: exp.Expr, definition: FunctionDefinition, scope: Scope) -> Node:
    """A function of the user on whole tables. Its parameters are told by ``definition.parameters``."""
    definition = binder.function(call.args.get("path") or (call.this,)) or definition
    parameters: Sequence[str] = getattr(definition, "parameters", ())
    if not parameters:
        raise UnsupportedFeatureError(
            f"The process table function {call.this} says nothing of its parameters and cannot "
            "be called in SQL."
        )
    found = in_order(binder, call, (*parameters, "on_time", "uid"), 0)
    tables: list[Node] = []
    partitions: list[tuple[int, ...] | None] = []
    arguments: list[tuple[str, Any]] = []
    expressions = ExpressionBinder(binder, Scope([]), "the arguments of a process table function")
    for name, value in found.items():
        if isinstance(value, nodes.TableArgument):
            node = table_input(binder, value)
            tables.append(node)
            partitions.append(partition_of(binder, value, node))
        elif isinstance(value, nodes.Descriptor):
            arguments.append((name, tuple(c.this for c in value.expressions)))
        else:
            arguments.append((name, expressions.bind(value)))
    made = bind_definition(binder, definition, [e for _, e in arguments if not isinstance(e, tuple)], call)
    passed = [
        (tables[i].row.fields[c].name, tables[i].row.types[c])
        for i, p in enumerate(partitions)
        for c in p or ()
    ]
    rows = _rows_of(made.type)
    names = t.unique([*(n for n, _ in passed), *rows.names])
    row = t.RowType.of(names, [*(d for _, d in passed), *rows.types])
    return ProcessTable(
        row=row,
        tables=tuple(tables),
        function=definition.name,
        arguments=tuple(arguments),
        partitions=tuple(partitions),
    )


def _refused(what: str, hint: str) -> Callable[[Binder, exp.Expr, Scope], Node]:
    def refuse(binder: Binder, call: exp.Expr, scope: Scope) -> Node:
        raise UnsupportedFeatureError(f"{what} is not supported.", hint=hint)

    return refuse


_SPECIAL: Final[dict[str, Callable[[Binder, exp.Expr, Scope], Node]]] = {
    **dict.fromkeys(_WINDOWS, _window),
    **CHANGELOG_FUNCTIONS,
    "ML_PREDICT": _refused("ML_PREDICT", "call the model from a Python function"),
    "ML_EVALUATE": _refused("ML_EVALUATE", "call the model from a Python function"),
    "VECTOR_SEARCH": _refused("VECTOR_SEARCH", "call the store from an asynchronous table function"),
}
