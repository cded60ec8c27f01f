"""FROM: tables, joins, sub-queries, table functions, time travel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NoReturn

from sqlglot import exp

from firesteel.sql import types as t
from firesteel.sql.binder.binder import Binder
from firesteel.sql.binder.errors import near
from firesteel.sql.binder.expressions import ExpressionBinder
from firesteel.sql.binder.hints import Hints, join_hints, table_options
from firesteel.sql.binder.scope import Relation, Scope, ScopeColumn, relation_of
from firesteel.sql.expressions import Expression, Literal, Outer, SubQuery, identity, walk
from firesteel.sql.logical import Correlate, Join, Node, Project, Snapshot, TableCall
from firesteel.sql.parser import nodes
from firesteel.sql.parser.errors import Place

__all__ = ["Relations", "bind_from"]

TRUE: Final = Literal(True, t.BooleanType(nullable=False))


@dataclass(frozen=True, slots=True)
class Relations:
    """A part of FROM: its plan, and what names mean in it."""

    node: Node
    relations: list[Relation]
    merged: Mapping[str, ScopeColumn] = field(default_factory=dict)

    def names(self) -> list[str]:
        return [r.name for r in self.relations if r.name is not None]

    def scope(self, outer: Scope | None) -> Scope:
        return Scope(self.relations, outer, self.merged)


@dataclass(slots=True)
class _From:
    """:param hints: of the SELECT. :param left: what LATERAL sees: the items before it."""

    binder: Binder
    outer: Scope | None
    hints: Hints


def bind_from(binder: Binder, tree: exp.Expr, outer: Scope | None, hints: Hints = ()) -> Relations:
    """The FROM of a SELECT."""
    found = _relation(_From(binder, outer, hints), tree, None)
    _refuse_repeated(binder, tree, found.relations)
    return found


def _refuse_repeated(binder: Binder, tree: exp.Expr, relations: Sequence[Relation]) -> None:
    seen: set[str] = set()
    for relation in relations:
        if relation.name is not None and relation.name in seen:
            binder.refuse(tree, f"Duplicate relation name '{relation.name}' in FROM clause")
        if relation.name is not None:
            seen.add(relation.name)


def _relation(context: _From, tree: exp.Expr, left: Relations | None) -> Relations:
    handler = _RELATIONS.get(type(tree))
    if handler is None:
        context.binder.refuse(tree, f"{type(tree).__name__} cannot stand in FROM")
    return handler(context, tree, left)


# ---- names


def _aliased(
    binder: Binder, tree: exp.Expr, node: Node, default: str | None, path: Sequence[str] = ()
) -> Relations:
    alias = tree.args.get("alias")
    if alias is None:
        return Relations(node, [relation_of(default, node.row, path)])
    columns = [c.this for c in alias.args.get("columns") or ()]
    if columns:
        if len(columns) != len(node.row.fields):
            binder.refuse(
                alias,
                "List of column aliases must have same degree as table; table has "
                f"{len(node.row.fields)} columns "
                f"({', '.join(repr(n) for n in node.row.names)}), whereas alias list has "
                f"{len(columns)} columns",
            )
        for i, column in enumerate(alias.args["columns"]):
            if column.this in columns[:i]:
                binder.refuse(column, f"Duplicate name '{column.this}' in column alias list")
        node = _named(node, columns)
    return Relations(node, [relation_of(alias.this.this, node.row)])


def _named(node: Node, names: Sequence[str]) -> Node:
    """The node with other names of its columns."""
    row = replace(
        node.row, fields=tuple(replace(f, name=n) for f, n in zip(node.row.fields, names, strict=True))
    )
    if row == node.row:
        return node
    if isinstance(node, Project | TableCall):
        return replace(node, row=row)
    if isinstance(node, Snapshot):  # it stands directly in its join, which knows by what time it is read
        return replace(node, row=row, input=_named(node.input, names))
    return Project(row=row, input=node, expressions=identity(node.row))


# ---- tables


def _table(context: _From, tree: exp.Expr, left: Relations | None) -> Relations:
    binder = context.binder
    path = [p.this for p in tree.args["path"]]
    node = table_plan(binder, tree)
    travel = tree.args.get("travel")
    if travel is not None:
        node = _snapshot(context, travel, node, left)
    if len(path) == 1 and path[0] in binder.common:
        return _aliased(binder, tree, node, path[0])
    return _aliased(binder, tree, node, path[-1], _full(binder, path))


def _full(binder: Binder, path: Sequence[str]) -> tuple[str, ...]:
    return binder.catalog.path(path).parts if 1 <= len(path) <= 3 else tuple(path)


def table_plan(binder: Binder, tree: exp.Expr) -> Node:
    """What a table's name stands for."""
    from firesteel.sql.binder.tables import plan_of_table

    path = [p.this for p in tree.args["path"]]
    common = binder.common.get(path[0]) if len(path) == 1 else None
    if common is not None:
        return _named(common.plan, common.row.names)
    found = binder.catalog.find_table(path)
    if found is None:
        _refuse_table(binder, tree, path)
    names = tree.args["path"]
    if not binder.views and "start" in names[0].meta:
        binder.named.append((names[0].meta["start"], names[-1].meta["end"], str(found.path)))
    options = table_options(tree.args.get("hints"))
    if options and (found.table.query or found.table.plan is not None or found.table.stream is not None):
        binder.refuse(
            tree,
            f"View '{'.'.join(found.path.parts)}' cannot be enriched with new options. Hints can "
            "only be applied to tables.",
        )
    return plan_of_table(binder, found, options)


def _refuse_table(binder: Binder, tree: exp.Expr, path: list[str]) -> NoReturn:
    catalog = binder.catalog
    name_node = tree.args["path"][-1]
    here = f"{catalog.current_catalog}.{catalog.current_database}"
    if len(path) == 1:
        known = [*catalog.list_tables(), *binder.common]
        hint = near(path[0], known)
        binder.refuse(tree, f"Object '{path[0]}' not found" + (f" within '{here}'" if hint else ""), hint)
    if len(path) in (2, 3):
        home = catalog.find_catalog(path[0] if len(path) == 3 else catalog.current_catalog)
        if home is None:
            binder.refuse(tree, f"Object '{path[0]}' not found", near(path[0], catalog.list_catalogs()))
        database = path[-2]
        if not home.database_exists(database):
            binder.refuse(tree, f"Object '{database}' not found", near(database, home.list_databases()))
        within = ".".join(catalog.path(path).parts[:2])
        hint = near(path[-1], catalog.list_tables(*catalog.path(path).parts[:2]))
        binder.refuse(name_node, f"Object '{path[-1]}' not found within '{within}'", hint)
    binder.refuse(tree, f"Object '{'.'.join(path)}' not found: a name has at most three parts")


def _snapshot(context: _From, travel: exp.Expr, node: Node, left: Relations | None) -> Node:
    binder = context.binder
    if left is None:
        binder.refuse(
            travel,
            "FOR SYSTEM_TIME AS OF stands at the right side of a join",
            "FROM orders AS o JOIN rates FOR SYSTEM_TIME AS OF o.ts AS r ON ...",
        )
    period = ExpressionBinder(binder, left.scope(context.outer), "FOR SYSTEM_TIME AS OF").bind(travel.this)
    if not isinstance(period.type, t.TimestampType | t.LocalZonedTimestampType):
        binder.refuse(
            travel.this,
            f"The system time period specification expects Timestamp type but is '{period.type.text()}'",
        )
    return Snapshot(row=node.row, input=node, period=period, place=binder.place(travel.this))


# ---- queries


def _subquery(context: _From, tree: exp.Expr, left: Relations | None) -> Relations:
    lateral = tree.args.get("lateral")
    outer = context.outer
    if lateral and left is not None:
        outer = left.scope(context.outer)
    elif outer is not None:
        outer = context.outer
    node = context.binder.bind_query(tree.this, outer)
    return _aliased(context.binder, tree, node, None)


def _query(context: _From, tree: exp.Expr, left: Relations | None) -> Relations:
    alias = tree.args.get("alias")
    body = tree
    node = context.binder.bind_query(body, context.outer)
    holder = exp.Paren(alias=alias) if alias is not None else exp.Paren()
    holder.meta.update(tree.meta)
    return _aliased(context.binder, holder, node, None)


def _parenthesis(context: _From, tree: exp.Expr, left: Relations | None) -> Relations:
    inner = _relation(context, tree.this, None)
    if tree.args.get("alias") is None:
        return inner
    return _aliased(context.binder, tree, inner.node, None)


# ---- functions


def _unnest(context: _From, tree: exp.Expr, left: Relations | None) -> Relations:
    from firesteel.sql.binder.table_functions import unnest

    node = unnest(context.binder, tree, _left_scope(context, left))
    return _aliased(context.binder, tree, node, None)


def _function(context: _From, tree: exp.Expr, left: Relations | None) -> Relations:
    from firesteel.sql.binder.table_functions import table_function

    node = table_function(context.binder, tree, _left_scope(context, left))
    return _aliased(context.binder, tree, node, None)


def _match(context: _From, tree: exp.Expr, left: Relations | None) -> Relations:
    from firesteel.sql.binder.match import bind_match

    inner = _relation(context, tree.this, None)
    node = bind_match(context.binder, tree, inner)
    return _aliased(context.binder, tree, node, None)


def _left_scope(context: _From, left: Relations | None) -> Scope:
    """What a function in FROM sees: the items before it, then the query around."""
    return Scope([], context.outer) if left is None else left.scope(context.outer)


# ---- joins


def _join(context: _From, tree: exp.Expr, before: Relations | None) -> Relations:
    binder = context.binder
    left = _relation(context, tree.this, before)
    right = _relation(context, tree.expression, left)
    kind = {"COMMA": "INNER", "CROSS": "INNER"}.get(tree.args["kind"], tree.args["kind"])
    hints = join_hints(context.hints, left.names(), right.names())
    if _is_correlated(tree.expression, right.node):
        return _correlate(context, tree, left, right, kind, hints)
    width = len(left.node.row.fields)
    relations = [*left.relations, *(r.shifted(width) for r in right.relations)]
    merged: dict[str, ScopeColumn] = {
        **left.merged,
        **{n: replace(c, index=c.index + width) for n, c in right.merged.items()},
    }
    combined = Relations(right.node, relations, merged)
    if tree.args.get("natural") or tree.args.get("using"):
        return _merged_join(context, tree, left, right, kind, combined, hints)
    condition: Expression = TRUE
    on = tree.args.get("on")
    if on is not None:
        scope = combined.scope(context.outer)
        condition = ExpressionBinder(binder, scope, "ON clause").condition(on, "ON clause")
    elif kind in ("LEFT", "RIGHT", "FULL", "SEMI", "ANTI") or tree.args["kind"] == "INNER":
        if kind != "INNER":
            binder.refuse(tree, f"{kind} JOIN needs a condition: ON or USING")
        binder.refuse(
            tree,
            "INNER, LEFT, RIGHT or FULL join requires a condition (NATURAL keyword or ON or USING clause)",
        )
    return _made(left, right, kind, condition, combined, hints, binder.place(on))


def _is_correlated(tree: exp.Expr, node: Node) -> bool:
    if isinstance(tree, nodes.TableFunction | nodes.UnnestTable):
        return isinstance(_core(node), TableCall)
    return isinstance(tree, exp.Subquery) and bool(tree.args.get("lateral")) and _has_outer(node)


def _core(node: Node) -> Node:
    while isinstance(node, Project):
        node = node.input
    return node


def _has_outer(node: Node) -> bool:
    from firesteel.sql.rules.expressions_of import expressions_of

    for e in expressions_of(node):
        for part in walk(e):
            if isinstance(part, Outer) or (isinstance(part, SubQuery) and _has_outer(part.plan)):
                return True
    return any(_has_outer(i) for i in node.inputs)


def _row(left: Node, right: Node, kind: str) -> t.RowType:
    if kind in ("SEMI", "ANTI"):
        return left.row
    left_types = [d.with_nullability(True) if kind in ("RIGHT", "FULL") else d for d in left.row.types]
    right_types = [d.with_nullability(True) if kind in ("LEFT", "FULL") else d for d in right.row.types]
    names = t.unique([*left.row.names, *right.row.names])
    return t.RowType.of(names, [*left_types, *right_types])


def _retyped(relations: Sequence[Relation], row: t.RowType) -> list[Relation]:
    """Columns with the types that they have after the join."""
    types = row.types
    return [replace(r, columns=tuple(replace(c, type=types[c.index]) for c in r.columns)) for r in relations]


def _made(
    left: Relations,
    right: Relations,
    kind: str,
    condition: Expression,
    combined: Relations,
    hints: Hints,
    place: Place | None,
) -> Relations:
    row = _row(left.node, right.node, kind)
    node = Join(
        row=row, left=left.node, right=right.node, kind=kind, condition=condition, hints=hints, place=place
    )
    if kind in ("SEMI", "ANTI"):
        return Relations(node, left.relations, left.merged)
    merged = {n: replace(c, type=row.types[c.index]) for n, c in combined.merged.items()}
    return Relations(node, _retyped(combined.relations, row), merged)


def _merged_join(
    context: _From,
    tree: exp.Expr,
    left: Relations,
    right: Relations,
    kind: str,
    combined: Relations,
    hints: Hints,
) -> Relations:
    binder = context.binder
    left_scope, right_scope = left.scope(None), right.scope(None)
    if tree.args.get("natural"):
        right_names = {c.name for c in right_scope.columns()}
        names = [c.name for c in left_scope.columns() if c.name in right_names]
    else:
        names = [c.this for c in tree.args["using"]]
    width = len(left.node.row.fields)
    conditions: list[Expression] = []
    pairs: list[tuple[str, int, int]] = []
    inner = ExpressionBinder(binder, Scope([]), "USING clause")
    for name in names:
        a, b = left_scope.find([name]), right_scope.find([name])
        if a is None or b is None:
            binder.refuse(tree, f"Column '{name}' not found in any table")
        pairs.append((name, a.column.index, b.column.index + width))
        conditions.append(
            inner.call(
                "EQUALS", [_ref(a.column), _ref(replace(b.column, index=b.column.index + width))], tree
            )
        )
    condition = inner.conjunction(conditions) if conditions else TRUE
    made = _made(left, right, kind, condition, combined, hints, binder.place(tree))
    if kind in ("SEMI", "ANTI"):
        return made
    return _with_merged(inner, made, kind, pairs)


def _ref(column: ScopeColumn) -> Expression:
    from firesteel.sql.expressions import InputRef

    return InputRef(column.index, column.type)


def _with_merged(
    inner: ExpressionBinder, made: Relations, kind: str, pairs: Sequence[tuple[str, int, int]]
) -> Relations:
    """Names of USING mean the left column, of a RIGHT join the right one, of a FULL join what is there of
    both."""
    node, row = made.node, made.node.row
    hidden = {right for _, _, right in pairs}
    merged = dict(made.merged)
    if kind == "FULL" and pairs:
        extra = [inner.call("COALESCE", [identity(row)[a], identity(row)[b]]) for _, a, b in pairs]
        names = t.unique([*row.names, *(n for n, _, _ in pairs)])
        wide = t.RowType.of(names, [*row.types, *(e.type for e in extra)])
        node = Project(row=wide, input=node, expressions=(*identity(row), *extra))
        for i, (name, _, _) in enumerate(pairs):
            index = len(row.fields) + i
            merged[name] = ScopeColumn(name, wide.types[index], index)
    else:
        for name, a, b in pairs:
            index = b if kind == "RIGHT" else a
            merged[name] = ScopeColumn(name, row.types[index], index)
    relations = [
        replace(r, columns=tuple(replace(c, hidden=c.hidden or c.index in hidden) for c in r.columns))
        for r in made.relations
    ]
    return Relations(node, relations, merged)


def _correlate(
    context: _From, tree: exp.Expr, left: Relations, right: Relations, kind: str, hints: Hints
) -> Relations:
    binder = context.binder
    if kind not in ("INNER", "LEFT"):
        binder.refuse(
            tree,
            f"{kind} JOIN with a table function or a lateral query is not supported",
            "LEFT JOIN LATERAL TABLE(...) ON TRUE",
        )
    row = _row(left.node, right.node, kind)
    width = len(left.node.row.fields)
    relations = [*left.relations, *(r.shifted(width) for r in right.relations)]
    combined = Relations(left.node, _retyped(relations, row), left.merged)
    condition = None
    on = tree.args.get("on")
    if on is not None:
        bound = ExpressionBinder(binder, combined.scope(context.outer), "ON clause").condition(
            on, "ON clause"
        )
        if bound != TRUE:
            condition = bound
    node = Correlate(row=row, left=left.node, right=right.node, kind=kind, condition=condition, hints=hints)
    return Relations(node, combined.relations, left.merged)


_RELATIONS: Final[dict[type[exp.Expr], Callable[[Any, Any, Any], Relations]]] = {
    exp.Table: _table,
    exp.Subquery: _subquery,
    exp.Select: _query,
    exp.Values: _query,
    exp.Union: _query,
    exp.Intersect: _query,
    exp.Except: _query,
    exp.Paren: _parenthesis,
    exp.Join: _join,
    nodes.UnnestTable: _unnest,
    nodes.TableFunction: _function,
    nodes.RowMatch: _match,
}
