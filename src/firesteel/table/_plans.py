"""Logical plans of what the methods of ``Table`` say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from firesteel.common.errors import ProgramError, UnsupportedFeatureError
from firesteel.sql import logical as l, types as t
from firesteel.sql.binder.aggregates import CALL, PROPERTY, Columns
from firesteel.sql.binder.over import OVER, SelectBinder
from firesteel.sql.binder.row_types import common_type, project_to
from firesteel.sql.expressions import Call, Expression, InputRef, Literal, Ordering, identity, shift
from firesteel.sql.functions.registry import FunctionKind
from firesteel.sql.parser.errors import SqlValidationError
from firesteel.table import _tree as tree
from firesteel.table._resolver import Resolver, expand, milliseconds, strip_alias

__all__ = [
    "add_columns",
    "aggregate_rows",
    "distinct",
    "drop_columns",
    "filtered",
    "flat_aggregate_rows",
    "flat_map",
    "group_select",
    "join",
    "lateral",
    "limit",
    "map_rows",
    "order_by",
    "over_select",
    "rename_columns",
    "renamed",
    "select",
    "set_operation",
    "whole_row_call",
    "window_select",
]


# ---- columns


def names_of(
    nodes: Sequence[tree.Tree], bound: Sequence[Expression], resolver: Resolver | None = None, first: int = 0
) -> list[str]:
    """What columns are called: by their own names, an aggregate ``EXPR$2`` by its number among all of them,
    what is left ``_c0``, ``_c1`` ... by its place.

    :param first: how many columns stand before them.
    """
    numbers = resolver.numbers if resolver is not None else ()
    found = []
    for place, (node, expression) in enumerate(zip(nodes, bound, strict=True), first):
        name = _own_name(node)
        if name is None and isinstance(expression, InputRef) and expression.index in numbers:
            name = f"EXPR${numbers.index(expression.index)}"
        found.append(f"_c{place}" if name is None else name)
    return found


def _own_name(node: tree.Tree) -> str | None:
    """An alias, the name of a column, of a field of it (``r$x``), of a cast of it (``a-STRING``)."""
    if isinstance(node, tree.Alias):
        return node.names[0]
    if isinstance(node, tree.Column):
        return node.name
    if isinstance(node, tree.TypedCall) and node.function == "CAST":
        name = _own_name(node.operand)
        return None if name is None else f"{name}-{node.data_type}"
    if isinstance(node, tree.FunctionCall) and node.function == "GET":
        name = _own_name(node.arguments[0])
        return None if name is None else f"{name}${getattr(node.arguments[1], 'value', '')}"
    return None


def projected(node: l.Node, expressions: Sequence[Expression], names: Sequence[str]) -> l.Node:
    if len(set(names)) != len(names):
        twice = sorted({n for n in names if list(names).count(n) > 1})
        raise SqlValidationError(
            f"Ambiguous column name: {', '.join(twice)}", hint="name one of them with alias()"
        )
    if tuple(names) == node.row.names and tuple(expressions) == identity(node.row):
        return node
    row = t.RowType.of(list(names), [e.type for e in expressions])
    return l.Project(row=row, input=node, expressions=tuple(expressions))


def select(session: Any, node: l.Node, fields: Sequence[tree.Tree]) -> l.Node:
    resolver = Resolver(session, node.row, aggregates=True)
    fields = expand(fields, node.row, resolver)
    if not fields:
        raise ProgramError("select() needs at least one column.")
    bound = [resolver.resolve(f) for f in fields]
    if resolver.calls:
        return _grouped(session, node, [], [], fields, bound, resolver)
    return projected(node, bound, names_of(fields, bound))


def renamed(node: l.Node, names: Sequence[str]) -> l.Node:
    if len(names) == 1 and len(node.row.names) > 1 and "," in names[0]:
        names = [n.strip() for n in names[0].split(",")]
    own = node.row.names
    if len(names) > len(own):
        raise SqlValidationError(
            "List of column aliases must have same degree as table.", detail=f"{len(own)} columns"
        )
    every = [*names, *own[len(names) :]]
    return projected(node, identity(node.row), every)


def filtered(session: Any, node: l.Node, predicate: tree.Tree) -> l.Node:
    condition = Resolver(session, node.row).resolve(predicate)
    if not isinstance(condition.type, t.BooleanType):
        raise SqlValidationError(
            f"Filter operator requires a boolean expression as input, but the type is {condition.type}."
        )
    return l.Filter(row=node.row, input=node, condition=condition)


def add_columns(session: Any, node: l.Node, fields: Sequence[tree.Tree], replace: bool) -> l.Node:
    resolver = Resolver(session, node.row)
    fields = expand(fields, node.row, resolver)
    bound = [resolver.resolve(f) for f in fields]
    names = names_of(fields, bound, first=len(node.row.names))
    every = dict(zip(node.row.names, identity(node.row), strict=True))
    for name, expression in zip(names, bound, strict=True):
        if name in every and not replace:
            raise SqlValidationError(f"Ambiguous column name: {name}", hint="use add_or_replace_columns()")
        every[name] = expression
    return projected(node, list(every.values()), list(every))


def rename_columns(node: l.Node, fields: Sequence[tree.Tree]) -> l.Node:
    names = list(node.row.names)
    for f in expand(fields, node.row):
        inner, name = strip_alias(f)
        if not isinstance(inner, tree.Column) or name is None:
            raise SqlValidationError("Renaming takes columns with other names.", hint="col('a').alias('b')")
        if inner.name not in names:
            raise SqlValidationError(f"Rename column field '{inner.name}' does not exist in source table.")
        names[names.index(inner.name)] = name
    return projected(node, identity(node.row), names)


def drop_columns(node: l.Node, fields: Sequence[tree.Tree]) -> l.Node:
    gone = set()
    for f in expand(fields, node.row):
        if not isinstance(f, tree.Column):
            raise SqlValidationError("Only columns can be dropped.")
        if f.name not in node.row.names:
            raise SqlValidationError(f"Drop column field '{f.name}' does not exist in source table.")
        gone.add(f.name)
    kept = [i for i, name in enumerate(node.row.names) if name not in gone]
    return projected(node, [InputRef(i, node.row.types[i]) for i in kept], [node.row.names[i] for i in kept])


def distinct(node: l.Node) -> l.Node:
    every = tuple(range(len(node.row.fields)))
    return l.Aggregate(row=node.row, input=node, group=every, calls=(), sets=(every,))


# ---- groups


def _keys(session: Any, node: l.Node, keys: Sequence[tree.Tree]) -> tuple[list[Expression], list[tree.Tree]]:
    resolver = Resolver(session, node.row)
    keys = expand(keys, node.row, resolver)
    return [resolver.resolve(k) for k in keys], keys


def group_select(
    session: Any, node: l.Node, keys: Sequence[tree.Tree], fields: Sequence[tree.Tree]
) -> l.Node:
    bound_keys, key_trees = _keys(session, node, keys)
    resolver = _over_keys(session, node, bound_keys, key_trees)
    fields = expand(fields, node.row, resolver)
    bound = [resolver.resolve(f) for f in fields]
    return _grouped(session, node, bound_keys, key_trees, fields, bound, resolver)


def _over_keys(
    session: Any, node: l.Node, keys: Sequence[Expression], trees: Sequence[tree.Tree], window: Any = None
) -> Resolver:
    names = {}
    for key, key_tree in zip(keys, trees, strict=True):
        if isinstance(key_tree, tree.Alias):
            names[key_tree.names[0]] = key
    return Resolver(session, node.row, aggregates=True, keys=keys, window=window, names=names)


def _grouped(
    session: Any,
    node: l.Node,
    keys: Sequence[Expression],
    key_trees: Sequence[tree.Tree],
    fields: Sequence[tree.Tree],
    bound: Sequence[Expression],
    resolver: Resolver,
    window: Any = None,
) -> l.Node:
    """Project the keys and arguments, aggregate, project what was asked for."""
    columns = Columns([])
    group = [columns.place(k) for k in keys]
    calls = tuple(p.placed(columns.place, f"EXPR${i}") for i, p in enumerate(resolver.calls))
    time = None if window is None else columns.place(window.time)
    project = columns.over(node)
    names = t.unique(
        [project.row.names[i] for i in group]
        + [c.name for c in calls]
        + [f"w${p}" for p, _ in resolver.properties]
    )
    types = [*(k.type for k in keys), *(c.type for c in calls), *(d for _, d in resolver.properties)]
    row = t.RowType.of(names, types)
    made: l.Node
    if window is None:
        made = l.Aggregate(
            row=row, input=project, group=tuple(group), calls=calls, sets=(tuple(range(len(group))),)
        )
    else:
        made = l.GroupWindowAggregate(
            row=row,
            input=project,
            window=l.GroupWindow(kind=window.kind, time=time or 0, size=window.size, slide=window.slide),
            group=tuple(group),
            calls=calls,
            properties=tuple(p for p, _ in resolver.properties),
        )
    count = len(group), len(calls)
    out = [_moved(b, keys, count, f) for b, f in zip(bound, fields, strict=True)]
    return projected(made, out, names_of(fields, bound, resolver))


def _moved(
    bound: Expression, keys: Sequence[Expression], count: tuple[int, int], field: tree.Tree
) -> Expression:
    """An expression over keys, calls and properties, as one over the output of the aggregate."""
    for i, key in enumerate(keys):
        if bound == key:
            return InputRef(i, key.type)
    if isinstance(bound, InputRef):
        if bound.index >= PROPERTY:
            return InputRef(count[0] + count[1] + bound.index - PROPERTY, bound.type)
        if bound.index >= CALL:
            return InputRef(count[0] + bound.index - CALL, bound.type)
        raise SqlValidationError(
            f"Expression '{_shown(field)}' is not being grouped.", hint="group by it, or aggregate it"
        )
    if isinstance(bound, Call):
        return replace(bound, operands=tuple(_moved(o, keys, count, field) for o in bound.operands))
    return bound


def _shown(field: tree.Tree) -> str:
    from firesteel.table._show import show

    return show(field)


# ---- windows


@dataclass(frozen=True, slots=True)
class BoundWindow:
    """A group window whose parts are known. :param time: over the columns of the table."""

    kind: str
    time: Expression
    size: int
    slide: int
    name: str

    def property_type(self, name: str) -> t.DataType:
        time: Any = self.time.type
        rowtime = getattr(time, "attribute", "") == t.TimeAttribute.ROWTIME
        zoned = isinstance(time, t.LocalZonedTimestampType)
        if name in ("start", "end"):
            return t.TimestampType(precision=3)
        if name == "rowtime":
            if not rowtime:
                raise SqlValidationError("A rowtime window expects a rowtime attribute.")
            kind = t.LocalZonedTimestampType if zoned else t.TimestampType
            return kind(precision=3, attribute=t.TimeAttribute.ROWTIME)
        return t.LocalZonedTimestampType(precision=3, attribute=t.TimeAttribute.PROCTIME)


def bound_window(session: Any, node: l.Node, parts: Any) -> BoundWindow:
    resolver = Resolver(session, node.row)
    if parts.time is None:
        raise ProgramError("A window needs a time attribute.", hint="on(col('ts'))")
    time_tree = parts.time.operand if isinstance(parts.time, tree.WindowProperty) else parts.time
    time = resolver.resolve(time_tree)
    attribute = getattr(time.type, "attribute", "none")
    if attribute == t.TimeAttribute.NONE and not session.batch:
        raise SqlValidationError(
            "A group window expects a time attribute for grouping in a stream environment; "
            f"{time.type} is none.",
            hint="declare a watermark for the column, or use a processing-time column",
        )
    by_rows = isinstance(parts.size, tree.RowInterval)
    kind = f"COUNT_{parts.kind}" if by_rows else parts.kind

    def size(part: tree.Tree | None) -> int:
        if part is None:
            return 0
        return part.rows if isinstance(part, tree.RowInterval) else milliseconds(part, resolver)

    return BoundWindow(kind, time, size(parts.size), size(parts.slide), parts.alias)


def window_select(
    session: Any, node: l.Node, parts: Any, keys: Sequence[tree.Tree], fields: Sequence[tree.Tree]
) -> l.Node:
    window = bound_window(session, node, parts)
    others = [k for k in keys if not (isinstance(k, tree.Column) and k.name == window.name)]
    if len(others) == len(keys):
        raise SqlValidationError(
            "An aggregation on a windowed table is missing the window.",
            hint=f"group_by(col('{window.name}'), ...)",
        )
    bound_keys, key_trees = _keys(session, node, others)
    resolver = _over_keys(session, node, bound_keys, key_trees, window)
    fields = expand(fields, node.row, resolver)
    bound = [resolver.resolve(f) for f in fields]
    return _grouped(session, node, bound_keys, key_trees, fields, bound, resolver, window)


def over_select(session: Any, node: l.Node, windows: dict[str, Any], fields: Sequence[tree.Tree]) -> l.Node:
    resolver = Resolver(session, node.row)
    resolver.over_windows = windows
    fields = expand(fields, node.row, resolver)
    bound = [resolver.resolve(f) for f in fields]
    columns = Columns(list(identity(node.row)))
    calls = tuple(SelectBinder._placed(p, columns.place, i) for i, p in enumerate(resolver.overs))
    names = names_of(fields, bound)
    if not calls:
        return projected(node, bound, names)
    project = columns.over(node)
    width = len(project.row.fields)
    row = t.RowType.of(
        t.unique([*project.row.names, *(f"w{i}$o0" for i in range(len(calls)))]),
        [*project.row.types, *(c.call.type for c in calls)],
    )
    made = l.Over(row=row, input=project, calls=calls)
    moved = [shift(b, lambda i: width + i - OVER if i >= OVER else i) for b in bound]
    return projected(made, moved, names)


# ---- two tables


def join(session: Any, left: l.Node, right: l.Node, kind: str, condition: tree.Tree | None) -> l.Node:
    common = sorted(set(left.row.names) & set(right.row.names))
    if common:
        raise SqlValidationError(
            f"join relations with ambiguous names: [{', '.join(common)}]",
            hint="rename the columns of one table",
        )
    types = _joined(left.row.types, right.row.types, kind)
    row = t.RowType.of([*left.row.names, *right.row.names], types)
    plain = t.RowType.of(row.names, [*left.row.types, *right.row.types])
    if condition is None:
        bound: Expression = Literal(True, t.BooleanType(nullable=False))
    else:
        bound = Resolver(session, plain).resolve(condition)
        if not isinstance(bound.type, t.BooleanType):
            raise SqlValidationError(
                f"Filter operator requires a boolean expression as input, but the type is {bound.type}."
            )
    return l.Join(row=row, left=left, right=right, kind=kind, condition=bound)


def _joined(left: Sequence[t.DataType], right: Sequence[t.DataType], kind: str) -> list[t.DataType]:
    lefts = [x.with_nullability(True) if kind in ("RIGHT", "FULL") else x for x in left]
    rights = [x.with_nullability(True) if kind in ("LEFT", "FULL") else x for x in right]
    return [*lefts, *rights]


def set_operation(left: l.Node, right: l.Node, kind: str, every: bool) -> l.Node:
    if len(left.row.fields) != len(right.row.fields):
        raise SqlValidationError(
            "The set operation on relations requires the same number of columns.",
            detail=f"{len(left.row.fields)} and {len(right.row.fields)}",
        )
    types = []
    for name, a, b in zip(left.row.names, left.row.types, right.row.types, strict=True):
        found = common_type([a, b])
        if found is None:
            raise SqlValidationError(
                f"The columns {name!r} of a set operation have no common type: {a} and {b}."
            )
        types.append(found)
    operands = (project_to(left, types), project_to(right, types, left.row.names))
    row = t.RowType.of(left.row.names, types)
    return l.SetOperation(row=row, operands=operands, kind=kind, all=every)


# ---- order


def order_by(session: Any, node: l.Node, fields: Sequence[tree.Tree]) -> l.Node:
    resolver = Resolver(session, node.row)
    columns = Columns(list(identity(node.row)))
    terms = []
    for f in expand(fields, node.row, resolver):
        ascending = True
        if isinstance(f, tree.Ordered):
            ascending = f.ascending
            f = f.operand
        # NULL is the greatest value here, and the least one in SQL
        terms.append(Ordering(columns.place(resolver.resolve(f)), ascending, not ascending))
    project = columns.over(node)
    made: l.Node = l.Sort(row=project.row, input=project, order=tuple(terms))
    if project is node:
        return made
    width = len(node.row.fields)
    return projected(made, identity(made.row)[:width], node.row.names)


def limit(node: l.Node, offset: int | None = None, fetch: int | None = None) -> l.Node:
    for what, value in (("offset", offset), ("fetch", fetch)):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
            raise ProgramError(f"{what}() takes a number of rows.", detail=f"got {value!r}")
    if isinstance(node, l.Sort) and node.fetch is None and (fetch is not None or not node.offset):
        return replace(node, offset=node.offset if offset is None else offset, fetch=fetch)
    return l.Sort(row=node.row, input=node, offset=offset or 0, fetch=fetch)


# ---- functions


def whole_row_call(function: Any) -> tree.Tree:
    """A call of a function of the user on all columns, as one row."""
    made: tree.Tree = tree.FunctionCall(function._whole_row(), (tree.Columns((tree.Column("*"),)),))
    names = getattr(function, "_alias_names", None)
    return tree.Alias(made, tuple(names)) if names else made


def lateral(session: Any, node: l.Node, call: tree.Tree, kind: str, condition: tree.Tree | None) -> l.Node:
    rows = _table_call(session, node, call)
    twice = sorted(set(node.row.names) & set(rows.row.names))
    if twice:
        raise SqlValidationError(
            f"join relations with ambiguous names: [{', '.join(twice)}]",
            hint="name the columns of the function with alias()",
        )
    types = _joined(node.row.types, rows.row.types, kind)
    row = t.RowType.of([*node.row.names, *rows.row.names], types)
    bound = None if condition is None else Resolver(session, row).resolve(condition)
    return l.Correlate(row=row, left=node, right=rows, kind=kind, condition=bound)


def _table_call(session: Any, node: l.Node, call: tree.Tree) -> l.TableCall:
    names = call.names if isinstance(call, tree.Alias) else None
    inner = call.operand if isinstance(call, tree.Alias) else call
    if not isinstance(inner, tree.FunctionCall):
        raise ProgramError("A table function is called here.", detail=_shown(inner))
    resolver = Resolver(session, node.row)
    definition = resolver.definition(inner)
    if definition is None or definition.kind not in (FunctionKind.TABLE, FunctionKind.ASYNC_TABLE):
        raise SqlValidationError(f"{_shown(inner)} is not the call of a table function.", hint="use udtf")
    made = resolver.user_call(definition, resolver.operands(inner.arguments))
    assert isinstance(made, Call)
    fields = made.type.fields if isinstance(made.type, t.RowType) else (t.RowField("f0", made.type),)
    if names is not None and len(names) != len(fields):
        raise SqlValidationError(
            "List of column aliases must have same degree as the returned table.",
            detail=f"{len(names)} names, {len(fields)} columns",
        )
    called = list(names) if names is not None else [f.name for f in fields]
    return l.TableCall(
        row=t.RowType.of(called, [f.data_type for f in fields]),
        function=made.function,
        arguments=made.operands,
    )


def map_rows(session: Any, node: l.Node, call: tree.Tree) -> l.Node:
    """A scalar function whose row becomes the columns."""
    resolver = Resolver(session, node.row)
    names = call.names if isinstance(call, tree.Alias) else None
    bound = resolver.resolve(
        expand([call.operand if isinstance(call, tree.Alias) else call], node.row, resolver)[0]
    )
    if not isinstance(bound.type, t.RowType):
        return projected(node, [bound], names or ["_c0"])
    made = projected(node, [bound], ["$row"])
    out = [
        Call("GET", (InputRef(0, bound.type), Literal(i, t.IntType(nullable=False))), f.data_type)
        for i, f in enumerate(bound.type.fields)
    ]
    return projected(made, out, names or [f.name for f in bound.type.fields])


def flat_map(session: Any, node: l.Node, call: tree.Tree) -> l.Node:
    rows = _table_call(session, node, call)
    left = t.unique([*rows.row.names, *node.row.names])[len(rows.row.names) :]
    row = t.RowType.of([*left, *rows.row.names], [*node.row.types, *rows.row.types])
    made = l.Correlate(row=row, left=node, right=rows, kind="INNER")
    width = len(node.row.fields)
    return projected(made, identity(row)[width:], rows.row.names)


def aggregate_rows(
    session: Any,
    node: l.Node,
    keys: Sequence[tree.Tree],
    call: tree.Tree,
    window: Any,
    fields: Sequence[tree.Tree],
) -> l.Node:
    """An aggregate function whose row becomes columns beside the keys."""
    names = call.names if isinstance(call, tree.Alias) else None
    inner = call.operand if isinstance(call, tree.Alias) else call
    inner = _without_time(inner, node, window)
    if window is None:
        key_fields = list(keys)
        made = group_select(session, node, keys, [*key_fields, tree.Alias(inner, ("$aggregate",))])
    else:
        others = [k for k in keys if not (isinstance(k, tree.Column) and k.name == window.alias)]
        properties = [
            tree.Alias(tree.WindowProperty(tree.Column(window.alias), p), (f"$w_{p}",))
            for p in ("start", "end")
        ]
        key_fields = others
        every = [*others, *properties, tree.Alias(inner, ("$aggregate",))]
        made = window_select(session, node, window, keys, every)
    place = len(made.row.fields) - 1
    result = made.row.types[place]
    parts = result.fields if isinstance(result, t.RowType) else (t.RowField("f0", result),)
    called = list(names) if names is not None else [f.name for f in parts]
    out: list[Expression] = list(identity(made.row)[:place])
    if isinstance(result, t.RowType):
        out += [
            Call("GET", (InputRef(place, result), Literal(i, t.IntType(nullable=False))), f.data_type)
            for i, f in enumerate(parts)
        ]
    else:
        out.append(InputRef(place, result))
    flat = projected(made, out, t.unique([*made.row.names[:place], *called]))
    return select(session, flat, [_window_columns(f, window) for f in fields])


def _without_time(call: tree.Tree, node: l.Node, window: Any) -> tree.Tree:
    """A function of the whole row does not get the time attribute of the window."""
    if window is None or not isinstance(call, tree.FunctionCall):
        return call
    time = window.time.operand if isinstance(window.time, tree.WindowProperty) else window.time
    arguments = tuple(
        tree.Columns((time,), without=True) if a == tree.Columns((tree.Column("*"),)) else a
        for a in call.arguments
    )
    return replace(call, arguments=arguments)


def _window_columns(field: tree.Tree, window: Any) -> tree.Tree:
    """``col('w').start`` as the column that has it."""
    if window is None:
        return field
    if isinstance(field, tree.WindowProperty) and field.operand == tree.Column(window.alias):
        return (
            tree.Alias(tree.Column(f"$w_{field.name}"), (f"{window.alias}_{field.name}",))
            if field.name in ("start", "end")
            else field
        )
    if isinstance(field, tree.Alias):
        inner = _window_columns(field.operand, window)
        return replace(field, operand=inner.operand if isinstance(inner, tree.Alias) else inner)
    return field


def flat_aggregate_rows(
    session: Any,
    node: l.Node,
    keys: Sequence[tree.Tree],
    call: tree.Tree,
    window: Any,
    fields: Sequence[tree.Tree],
) -> l.Node:
    """The rows of a table aggregate function beside the keys."""
    if window is not None:
        raise UnsupportedFeatureError(
            "A table aggregate function over a group window is not available.",
            hint="group by other columns alone",
        )
    names = call.names if isinstance(call, tree.Alias) else None
    inner = call.operand if isinstance(call, tree.Alias) else call
    bound_keys, key_trees = _keys(session, node, keys)
    resolver = Resolver(session, node.row)
    assert isinstance(inner, tree.FunctionCall)
    definition = resolver.definition(inner)
    if definition is None or definition.kind is not FunctionKind.TABLE_AGGREGATE:
        raise SqlValidationError(
            f"{_shown(inner)} is not the call of a table aggregate function.", hint="use udtaf"
        )
    pending = resolver.pending(inner, definition, grouped=True)
    columns = Columns([])
    group = tuple(columns.place(k) for k in bound_keys)
    placed = pending.placed(columns.place, "$rows")
    project = columns.over(node)
    result = pending.type
    parts = result.fields if isinstance(result, t.RowType) else (t.RowField("f0", result),)
    called = list(names) if names is not None else [f.name for f in parts]
    key_names = names_of(key_trees, bound_keys)
    row = t.RowType.of(
        t.unique([*key_names, *called]), [*(k.type for k in bound_keys), *(f.data_type for f in parts)]
    )
    made = l.Aggregate(row=row, input=project, group=group, calls=(placed,), sets=(tuple(range(len(group))),))
    return select(session, made, fields)
