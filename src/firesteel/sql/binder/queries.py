"""Queries: WITH, SELECT, set operations, VALUES, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Final

from sqlglot import exp

from firesteel.sql import types as t
from firesteel.sql.binder.aggregates import AggregateBinder, has_aggregate
from firesteel.sql.binder.binder import Binder, CommonTable
from firesteel.sql.binder.expressions import ExpressionBinder, name_of
from firesteel.sql.binder.group_windows import Window, bind_window, is_window_call
from firesteel.sql.binder.hints import aggregate_hints, query_hints
from firesteel.sql.binder.over import OVER, SelectBinder
from firesteel.sql.binder.relations import Relations, bind_from
from firesteel.sql.binder.row_types import common_type, project_to
from firesteel.sql.binder.scope import Relation, Scope, relation_of
from firesteel.sql.expressions import Expression, InputRef, Literal, Ordering, identity, shift, walk
from firesteel.sql.functions.calls import implicit
from firesteel.sql.logical import Aggregate, Filter, Node, Project, SetOperation, Sort, Values
from firesteel.sql.parser.errors import Place

__all__ = ["bind_query", "one_row"]


def one_row() -> Node:
    """The input of a SELECT without FROM: one row without columns."""
    return Values(row=t.RowType.of((), ()), rows=((),))


def bind_query(binder: Binder, tree: exp.Expr, outer: Scope | None = None) -> Node:
    """The plan of a query. :param outer: what a sub-query sees outside."""
    with_ = tree.args.get("with_")
    if with_ is not None:
        binder = _with(binder, with_, outer)
    if isinstance(tree, exp.Select):
        return _select(binder, tree, outer)
    if isinstance(tree, exp.Subquery):
        return _ordered(binder, tree, bind_query(binder, tree.this, outer))
    if isinstance(tree, exp.SetOperation):
        return _ordered(binder, tree, _set_operation(binder, tree, outer))
    if isinstance(tree, exp.Values):
        return _ordered(binder, tree, _values(binder, tree, outer))
    return binder.refuse(tree, f"{type(tree).__name__} is no query")


def _with(binder: Binder, with_: exp.Expr, outer: Scope | None) -> Binder:
    if with_.args.get("recursive"):
        binder.refuse(with_, "WITH RECURSIVE is not supported")
    common = dict(binder.common)
    for item in with_.expressions:
        alias = item.args["alias"]
        name = alias.this.this
        plan = binder.inside(common=common).bind_query(item.this, outer)
        columns = [c.this for c in alias.args.get("columns") or ()]
        if columns and len(columns) != len(plan.row.fields):
            binder.refuse(
                alias,
                f"Number of columns must match number of query columns: {len(columns)} names, "
                f"{len(plan.row.fields)} columns",
            )
        row = t.RowType.of(columns, plan.row.types) if columns else plan.row
        common[name] = CommonTable(name, plan, row)
    return binder.inside(common=common)


# ------------------------------------------------------------------------------------- SELECT


class _Item:
    """A column of the result: name and node, or what a star has given already."""

    __slots__ = ("bound", "name", "node")

    def __init__(self, name: str, node: exp.Expr | None, bound: Expression | None = None) -> None:
        self.name = name
        self.node = node
        self.bound = bound


def _select(binder: Binder, tree: exp.Select, outer: Scope | None) -> Node:
    hints = query_hints(tree.args.get("hints"))
    source = tree.args.get("from_")
    relations = Relations(one_row(), []) if source is None else bind_from(binder, source, outer, hints)
    scope = Scope(relations.relations, outer, relations.merged)
    node = relations.node
    where = tree.args.get("where")
    if where is not None:
        if has_aggregate(binder, where):
            _refuse_aggregate(binder, where, "WHERE clause")
        condition = ExpressionBinder(binder, scope, "WHERE clause").condition(where, "WHERE clause")
        node = Filter(row=node.row, input=node, condition=condition)
    items = _items(binder, tree, scope)
    base: ExpressionBinder = ExpressionBinder(binder, scope, "the SELECT list")
    grouped = _grouped(binder, tree, scope, items)
    if grouped is not None:
        base = grouped
    windows = {w.this.this: w for w in tree.args.get("windows") or ()}
    select = SelectBinder(base, windows)
    expressions = [
        item.bound if item.bound is not None and grouped is None else _bind_item(select, item, grouped)
        for item in items
    ]
    having = tree.args.get("having")
    having_bound = None
    if having is not None:
        having_bound = base.condition(having, "HAVING clause")
    qualify = tree.args.get("qualify")
    qualify_bound = None if qualify is None else _qualify(select, qualify, items, expressions)
    order = _Order(binder, select, items, expressions, tree)
    if grouped is not None:
        node, position = grouped.node(node, aggregate_hints(hints, relations.names()))
        expressions = [shift(e, position) for e in expressions]
        order.shift(position)
        select.moved(position)
        if having_bound is not None:
            node = Filter(row=node.row, input=node, condition=shift(having_bound, position))
        if qualify_bound is not None:
            qualify_bound = shift(qualify_bound, position)
    node, position = select.node(node)
    expressions = [shift(e, position) for e in expressions]
    order.shift(position)
    if qualify_bound is not None:
        node = Filter(row=node.row, input=node, condition=shift(qualify_bound, position))
    names = t.unique([item.name for item in items])
    return order.over(_projected(node, names, expressions), node, names, expressions, tree)


def _qualify(
    select: SelectBinder, node: exp.Expr, items: Sequence[_Item], expressions: Sequence[Expression]
) -> Expression:
    aliases = {i.name: e for i, e in zip(items, expressions, strict=True) if isinstance(i.node, exp.Alias)}
    before = len(select.overs)
    bound = _WithAliases(select, aliases).condition(node, "QUALIFY clause")
    if not select.overs or (before == len(select.overs) and not any(_is_over(e) for e in walk(bound))):
        select.refuse(node, "QUALIFY expression must contain a window function")
    return bound


def _is_over(expression: Expression) -> bool:
    return isinstance(expression, InputRef) and expression.index >= OVER


def _refuse_aggregate(binder: Binder, node: exp.Expr, place: str) -> None:
    from firesteel.sql.binder.aggregates import aggregate_of

    for part in node.walk():
        if aggregate_of(binder, part) is not None:
            binder.refuse(part, f"Aggregate expression is illegal in {place}")


def _projected(node: Node, names: Sequence[str], expressions: Sequence[Expression]) -> Node:
    row = t.RowType.of(list(names), [e.type for e in expressions])
    return Project(row=row, input=node, expressions=tuple(expressions))


def _bind_item(select: SelectBinder, item: _Item, grouped: AggregateBinder | None) -> Expression:
    assert item.node is not None
    node = item.node.this if isinstance(item.node, exp.Alias) else item.node
    made = select.bind(node)
    if isinstance(made, Literal) and isinstance(made.type, t.NullType) and isinstance(node, exp.Null):
        select.refuse(node, "Illegal use of 'NULL'", "CAST(NULL AS a type)")
    return made


def _items(binder: Binder, tree: exp.Select, scope: Scope) -> list[_Item]:
    items: list[_Item] = []
    expressions = ExpressionBinder(binder, scope, "the SELECT list")
    for position, node in enumerate(tree.expressions):
        if isinstance(node, exp.Star):
            if not scope.relations:
                binder.refuse(node, "SELECT * requires a FROM clause")
            items += [_column_item(c.name, c.index, c.type, None) for c in scope.columns()]
        elif isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
            items += _star_of(binder, node, scope, expressions)
        elif isinstance(node, exp.Dot) and isinstance(node.expression, exp.Star):
            items += _fields_of(binder, node, expressions.bind(node.this), expressions)
        else:
            items.append(_Item(name_of(node, position), node))
    return items


def _column_item(name: str, index: int, data_type: t.DataType, relation: Relation | None) -> _Item:
    path = [exp.Identifier(this=name, quoted=True)]
    if relation is not None and relation.name is not None:
        path.insert(0, exp.Identifier(this=relation.name, quoted=True))
    return _Item(name, exp.Column(this=path[-1], path=path), InputRef(index, data_type))


def _star_of(binder: Binder, node: exp.Expr, scope: Scope, expressions: ExpressionBinder) -> list[_Item]:
    path = [p.this for p in node.args["path"]]
    relation = scope.relation(path)
    if relation is not None:
        return [_column_item(c.name, c.index, c.type, relation) for c in relation.columns]
    found = scope.find(path)
    if found is None:
        from firesteel.sql.binder.errors import near

        known = [r.name for r in scope.relations if r.name]
        binder.refuse(node.args["path"][0], f"Unknown identifier '{'.'.join(path)}'", near(path[0], known))
    column = exp.Column(this=node.args["path"][-1], path=node.args["path"])
    column.meta.update(node.meta)
    return _fields_of(binder, node, expressions.bind(column), expressions)


def _fields_of(binder: Binder, node: exp.Expr, row: Expression, expressions: ExpressionBinder) -> list[_Item]:
    if not isinstance(row.type, t.RowType):
        binder.refuse(node, f"Only a row has fields, and this is {row.type}")
    return [_Item(n, None, expressions.field(row, n, node)) for n in row.type.names]


# ---- GROUP BY


def _grouped(
    binder: Binder, tree: exp.Select, scope: Scope, items: Sequence[_Item]
) -> AggregateBinder | None:
    group = tree.args.get("group")
    parts = [i.node for i in items if i.node is not None]
    order = tree.args.get("order")
    in_order = [o.this for o in order.expressions] if order else []
    having = tree.args.get("having")
    if group is None:
        if having is None and not any(has_aggregate(binder, p) for p in (*parts, *in_order)):
            return None
        return AggregateBinder(binder, scope, (), ())
    return _with_keys(binder, group, scope)


def _with_keys(binder: Binder, group: exp.Expr, scope: Scope) -> AggregateBinder:
    inner = ExpressionBinder(binder, scope, "GROUP BY clause")
    nodes_: list[exp.Expr] = []
    keys: list[Expression] = []
    window: Window | None = None

    def key(node: exp.Expr) -> int | None:
        nonlocal window
        if is_window_call(node) and binder.catalog.find_function((node.this,)) is None:
            if window is not None:
                binder.refuse(node, "Multiple group windows in one GROUP BY are not supported")
            window = bind_window(inner, node)
            return None
        if has_aggregate(binder, node):
            _refuse_aggregate(binder, node, "GROUP BY clause")
        bound = inner.bind(node)
        if bound not in keys:
            keys.append(bound)
            nodes_.append(node)
        return keys.index(bound)

    families = [_grouping_sets(item) for item in group.expressions]
    if all(len(f) == 1 for f in families):
        sets: list[tuple[int, ...]] = []
        for family in families:
            for node in family[0]:
                key(node)
    else:
        sets = []
        for combination in product(*families):
            found = [key(n) for part in combination for n in part]
            one = tuple(sorted({i for i in found if i is not None}))
            sets.append(one)
        _refuse_repeated(binder, group, sets)
    return AggregateBinder(binder, scope, keys, nodes_, window, sets)


def _refuse_repeated(binder: Binder, group: exp.Expr, sets: list[tuple[int, ...]]) -> None:
    unique_sets = list(dict.fromkeys(sets))
    if len(unique_sets) != len(sets):
        sets[:] = unique_sets


def _grouping_sets(node: exp.Expr) -> list[list[exp.Expr]]:
    """The sets of one element of GROUP BY; a plain expression is one set."""
    if isinstance(node, exp.GroupingSets):
        return [s for item in node.expressions for s in _grouping_sets(item)]
    if isinstance(node, exp.Rollup):
        parts = [_grouping_sets(item)[0] for item in node.expressions]
        return [[n for p in parts[:count] for n in p] for count in range(len(parts), -1, -1)]
    if isinstance(node, exp.Cube):
        parts = [_grouping_sets(item)[0] for item in node.expressions]
        count = len(parts)
        masks = range(2**count - 1, -1, -1)
        return [[n for i, p in enumerate(parts) if mask >> (count - 1 - i) & 1 for n in p] for mask in masks]
    if isinstance(node, exp.Tuple):
        return [list(node.expressions)]
    if isinstance(node, exp.Paren):
        return [[node.this]]
    return [[node]]


# ---- ORDER BY, LIMIT


class _Order:
    """ORDER BY of a SELECT: by columns of the result, or by what is computed beside them."""

    def __init__(
        self,
        binder: Binder,
        select: SelectBinder,
        items: Sequence[_Item],
        expressions: Sequence[Expression],
        tree: exp.Select,
    ) -> None:
        self.terms: list[tuple[int | Expression, bool, bool]] = []
        self.binder = binder
        self.hidden: list[Expression] = []
        order = tree.args.get("order")
        self.place = _first_term(binder, order)
        if order is None:
            return
        aliases = {
            i.name: e for i, e in zip(items, expressions, strict=True) if isinstance(i.node, exp.Alias)
        }
        for term in order.expressions:
            target = self._target(select, term.this, expressions, aliases)
            if not isinstance(target, int) and target in expressions:
                target = list(expressions).index(target)
            if not isinstance(target, int) and tree.args.get("distinct"):
                binder.refuse(term, "Expression in ORDER BY is not in the SELECT DISTINCT list")
            ascending = not term.args.get("desc")
            self.terms.append((target, ascending, bool(term.args.get("nulls_first", ascending))))

    def _target(
        self,
        select: SelectBinder,
        node: exp.Expr,
        expressions: Sequence[Expression],
        aliases: dict[str, Expression],
    ) -> int | Expression:
        if isinstance(node, exp.Literal) and not node.args["is_string"] and node.this.isdigit():
            number = int(node.this)
            if not 1 <= number <= len(expressions):
                self.binder.refuse(node, "Ordinal out of range")
            return number - 1
        if isinstance(node, exp.Column) and len(node.args["path"]) == 1:
            found = aliases.get(node.this.this)
            if found is not None:
                return list(expressions).index(found)
        return _WithAliases(select, aliases).bind(node)

    def shift(self, position: Any) -> None:
        self.terms = [
            (target if isinstance(target, int) else shift(target, position), up, nulls)
            for target, up, nulls in self.terms
        ]

    def over(
        self, made: Node, source: Node, names: list[str], expressions: list[Expression], tree: exp.Select
    ) -> Node:
        if tree.args.get("distinct"):
            count = len(names)
            made = Aggregate(
                row=made.row, input=made, group=tuple(range(count)), calls=(), sets=(tuple(range(count)),)
            )
        offset, fetch = _limits(tree)
        if not self.terms and offset == 0 and fetch is None:
            return made
        hidden: list[Expression] = []
        orderings = []
        for target, ascending, nulls_first in self.terms:
            if not isinstance(target, int):
                if target not in hidden:
                    hidden.append(target)
                target = len(names) + hidden.index(target)
            orderings.append(Ordering(target, ascending, nulls_first))
        if hidden:
            wide = t.unique([*names, *(_hidden_name(e, source, i) for i, e in enumerate(hidden))])
            made = _projected(source, wide, [*expressions, *hidden])
        made = Sort(
            row=made.row,
            input=made,
            order=tuple(orderings),
            offset=offset,
            fetch=fetch,
            place=self.place,
        )
        if not hidden:
            return made
        kept = identity(made.row)[: len(names)]
        row = t.RowType.of(names, [e.type for e in kept])
        return Project(row=row, input=made, expressions=kept)


def _hidden_name(expression: Expression, source: Node, position: int) -> str:
    if isinstance(expression, InputRef):
        return source.row.names[expression.index]
    return f"EXPR$o{position}"


class _WithAliases(ExpressionBinder):
    """An expression of ORDER BY, in which the names of the SELECT list stand for their expressions."""

    def __init__(self, select: SelectBinder, aliases: dict[str, Expression]) -> None:
        super().__init__(select.binder, select.scope, "ORDER BY clause")
        self.select = select
        self.aliases = aliases

    def own(self, node: exp.Expr) -> Expression | None:
        if isinstance(node, exp.Column) and len(node.args["path"]) == 1:
            found = self.aliases.get(str(node.this.this))
            if found is not None:
                return found
        return self.select.own(node)


def _first_term(binder: Binder, order: exp.Expr | None) -> Place | None:
    return None if order is None else binder.place(order.expressions[0])


def _limits(tree: exp.Expr) -> tuple[int, int | None]:
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    return (0 if offset is None else int(offset.this)), (None if limit is None else int(limit.this))


def _ordered(binder: Binder, tree: exp.Expr, node: Node) -> Node:
    """ORDER BY and LIMIT of a query that is no SELECT: over its columns."""
    order = tree.args.get("order")
    offset, fetch = _limits(tree)
    if order is None and offset == 0 and fetch is None:
        return node
    columns = ExpressionBinder(binder, Scope([relation_of(None, node.row)]), "ORDER BY clause")
    expressions = list(identity(node.row))
    terms = []
    for term in order.expressions if order else ():
        target = term.this
        if isinstance(target, exp.Literal) and not target.args["is_string"]:
            number = int(target.this)
            if not 1 <= number <= len(node.row.fields):
                binder.refuse(target, "Ordinal out of range")
            index = number - 1
        else:
            bound = columns.bind(target)
            if bound not in expressions:
                expressions.append(bound)
            index = expressions.index(bound)
        ascending = not term.args.get("desc")
        terms.append(Ordering(index, ascending, bool(term.args.get("nulls_first", ascending))))
    names = list(node.row.names)
    if len(expressions) > len(names):
        wide = t.unique([*names, *(f"EXPR$o{i}" for i in range(len(expressions) - len(names)))])
        node = _projected(node, wide, expressions)
    made: Node = Sort(
        row=node.row,
        input=node,
        order=tuple(terms),
        offset=offset,
        fetch=fetch,
        place=_first_term(binder, order),
    )
    if len(expressions) > len(names):
        made = _projected(made, names, expressions[: len(names)])
    return made


# ------------------------------------------------------------------------- set operations, VALUES

_KINDS: Final[Mapping[type[exp.Expr], str]] = {
    exp.Union: "UNION",
    exp.Intersect: "INTERSECT",
    exp.Except: "EXCEPT",
}


def _set_operation(binder: Binder, tree: exp.Expr, outer: Scope | None) -> Node:
    operands = _operands(tree)
    kind = _KINDS[type(tree)]
    shown_kind = kind if tree.args["distinct"] else f"{kind} ALL"
    plans = [bind_query(binder, operand, outer) for operand in operands]
    first = plans[0]
    for operand, plan in zip(operands, plans, strict=True):
        if len(plan.row.fields) != len(first.row.fields):
            last = operand.expressions[-1] if operand.expressions else operand
            binder.refuse(last, f"Column count mismatch in {shown_kind}")
    types = []
    for i, name in enumerate(first.row.names):
        found = common_type([p.row.types[i] for p in plans])
        if found is None:
            shown = ", ".join(str(p.row.types[i]) for p in plans)
            binder.refuse(
                operands[-1], f"Type mismatch in column {i + 1} of {shown_kind}", f"column {name!r}: {shown}"
            )
        types.append(found)
    aligned = tuple(
        project_to(p, [_wanted(d, own) for d, own in zip(types, p.row.types, strict=True)]) for p in plans
    )
    row = t.RowType.of(first.row.names, types)
    return SetOperation(
        row=row, operands=aligned, kind=kind, all=not tree.args["distinct"], place=binder.place(tree)
    )


def _wanted(common: t.DataType, own: t.DataType) -> t.DataType:
    return common.with_nullability(own.nullable)


def _operands(tree: exp.Expr) -> list[exp.Expr]:
    """``a UNION ALL b UNION ALL c`` is one operation of three."""
    left = tree.this
    same = type(left) is type(tree) and left.args["distinct"] == tree.args["distinct"]
    if (
        same
        and not isinstance(tree, exp.Except)
        and not left.args.get("order")
        and not left.args.get("limit")
    ):
        return [*_operands(left), tree.expression]
    return [left, tree.expression]


def _values(binder: Binder, tree: exp.Expr, outer: Scope | None) -> Node:
    expressions = ExpressionBinder(binder, Scope([], outer), "VALUES")
    width = len(tree.expressions[0].expressions)
    rows = []
    for row in tree.expressions:
        if len(row.expressions) != width:
            binder.refuse(row, "Values in VALUES clause must all have the same number of columns")
        for item in row.expressions:
            if isinstance(item, exp.Null):
                binder.refuse(item, "Illegal use of 'NULL'", "CAST(NULL AS a type)")
        rows.append(expressions.bind_all(row.expressions))
    types = []
    for i in range(width):
        found = common_type([row[i].type for row in rows])
        if found is None:
            shown = ", ".join(str(row[i].type) for row in rows)
            binder.refuse(tree, f"Values passed to VALUES operator must have compatible types: {shown}")
        types.append(found)
    names = [f"EXPR${i}" for i in range(width)]
    row_type = t.RowType.of(names, types)
    cast = [
        [implicit(e, d.with_nullability(e.type.nullable)) for e, d in zip(row, types, strict=True)]
        for row in rows
    ]
    literals = [_literals(row) for row in cast]
    if all(found is not None for found in literals):
        return Values(row=row_type, rows=tuple(found for found in literals if found is not None))
    parts = tuple(_projected(one_row(), names, row) for row in cast)
    if len(parts) == 1:
        return parts[0]
    return SetOperation(row=row_type, operands=parts, kind="UNION", all=True)


def _literals(row: Sequence[Expression]) -> tuple[Literal, ...] | None:
    from firesteel.sql.rules.constants import folded

    found = [e if isinstance(e, Literal) else folded(e) for e in row]
    literals = tuple(e for e in found if isinstance(e, Literal))
    return literals if len(literals) == len(found) else None
