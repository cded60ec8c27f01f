"""The layer of GROUP BY: aggregate calls and grouping keys inside the expressions of a SELECT.

While expressions are bound nobody knows yet how many calls there will be. So a reference to a call is
numbered from ``CALL``, one to a property of a group window from ``PROPERTY``; ``aggregate_node`` says where
they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from sqlglot import exp

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql import types as t
from firesteel.sql.binder.binder import Binder
from firesteel.sql.binder.calls import plain, refuse_operands
from firesteel.sql.binder.expressions import ExpressionBinder
from firesteel.sql.binder.group_windows import AUXILIARY, Window, is_window_call, property_type
from firesteel.sql.binder.json_calls import operands_of
from firesteel.sql.binder.scope import Relation, Scope
from firesteel.sql.expressions import (
    AggregateCall,
    Call,
    Expression,
    InputRef,
    Literal,
    Ordering,
    Outer,
    SubQuery,
    identity,
    references,
    rewrite,
    walk,
)
from firesteel.sql.functions.calls import implicit, symbol
from firesteel.sql.functions.null_literals import refused_null
from firesteel.sql.functions.registry import FunctionDefinition, FunctionKind, Typing
from firesteel.sql.logical import Aggregate, GroupWindow, GroupWindowAggregate, Node, Project
from firesteel.sql.parser import nodes

__all__ = ["CALL", "OVER", "PROPERTY", "AggregateBinder", "PendingCall", "aggregate_of", "has_aggregate"]

CALL: Final = 1_000_000
PROPERTY: Final = 2_000_000
#: Where the numbers of the layer above begin (``over.py``).
OVER: Final = 4_000_000

_GROUPING: Final = ("GROUPING", "GROUPING_ID", "GROUP_ID")


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the order inside an aggregate."""

    expression: Expression
    ascending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class PendingCall:
    """An aggregate whose arguments are expressions, not columns yet."""

    function: str
    arguments: tuple[Expression, ...]
    type: t.DataType
    distinct: bool = False
    filter: Expression | None = None
    literals: tuple[Literal, ...] = ()
    order: tuple[Term, ...] = ()

    def needed(self) -> list[Expression]:
        found = [*self.arguments, *(o.expression for o in self.order)]
        return found if self.filter is None else [*found, self.filter]

    def placed(self, place: Callable[[Expression], int], name: str) -> AggregateCall:
        return AggregateCall(
            function=self.function,
            arguments=tuple(place(a) for a in self.arguments),
            type=self.type,
            distinct=self.distinct,
            filter=None if self.filter is None else place(self.filter),
            literals=self.literals,
            order=tuple(Ordering(place(o.expression), o.ascending, o.nulls_first) for o in self.order),
            name=name,
        )


@dataclass(slots=True)
class Columns:
    """Expressions that a Project is to compute, each one once."""

    expressions: list[Expression] = field(default_factory=list)

    def place(self, expression: Expression) -> int:
        for i, known in enumerate(self.expressions):
            if known == expression:
                return i
        self.expressions.append(expression)
        return len(self.expressions) - 1

    def over(self, node: Node) -> Node:
        """The Project; *node* itself where it has just these columns."""
        if self.expressions == list(identity(node.row)):
            return node
        names = t.unique([_column_name(e, node, i) for i, e in enumerate(self.expressions)])
        row = t.RowType.of(names, [e.type for e in self.expressions])
        return Project(row=row, input=node, expressions=tuple(self.expressions))


def _column_name(expression: Expression, node: Node, position: int) -> str:
    return node.row.names[expression.index] if isinstance(expression, InputRef) else f"$f{position}"


def definition_of(binder: Binder, node: exp.Expr) -> FunctionDefinition | None:
    if isinstance(node, exp.Anonymous | nodes.JsonCall):
        return binder.catalog.find_function(node.args.get("path") or (node.this,))
    return None


def aggregate_of(binder: Binder, node: exp.Expr) -> exp.Expr | None:
    """The call inside FILTER and WITHIN GROUP, if *node* is an aggregate; else None."""
    inner = node
    while isinstance(inner, exp.Filter | exp.WithinGroup):
        inner = inner.this
    if isinstance(inner, exp.Anonymous) and inner.this in _GROUPING:
        return inner
    definition = definition_of(binder, inner)
    return inner if definition is not None and definition.kind is FunctionKind.AGGREGATE else None


def has_aggregate(binder: Binder, node: exp.Expr) -> bool:
    """Whether an aggregate stands in an expression, outside of OVER and of sub-queries."""
    if isinstance(node, exp.Window):
        inner = [*node.this.expressions] if isinstance(node.this, exp.Anonymous) else []
        order = node.args.get("order")
        parts = [*inner, *(node.args.get("partition_by") or []), *(order.expressions if order else [])]
        return any(has_aggregate(binder, p) for p in parts)
    if isinstance(node, exp.Select | exp.SetOperation | exp.Values):
        return False
    if aggregate_of(binder, node) is not None:
        return True
    return any(has_aggregate(binder, child) for child in node.iter_expressions())


class AggregateBinder(ExpressionBinder):
    """Sees the output of an Aggregate: keys and calls.

    :param keys: the grouping keys, over the input's columns. :param inner: binds over the input's columns.
    """

    def __init__(
        self,
        binder: Binder,
        scope: Scope,
        keys: Sequence[Expression],
        key_nodes: Sequence[exp.Expr],
        window: Window | None = None,
        sets: Sequence[tuple[int, ...]] = (),
    ) -> None:
        super().__init__(binder, scope, "the SELECT list")
        self.inner = ExpressionBinder(binder, scope, "an aggregate")
        self.keys = list(keys)
        self.key_types = [self._key_type(i, key, sets) for i, key in enumerate(keys)]
        self.kinds = {type(_bare(n)) for n in key_nodes} | {exp.Column}
        self.window = window
        self.sets = tuple(sets)
        self.calls: list[PendingCall] = []
        self.properties: list[tuple[str, t.DataType]] = []

    @staticmethod
    def _key_type(index: int, key: Expression, sets: Sequence[tuple[int, ...]]) -> t.DataType:
        if sets and not all(index in s for s in sets):
            return key.type.with_nullability(True)
        return key.type

    # ---- what a node is

    def own(self, node: exp.Expr) -> Expression | None:
        if isinstance(node, exp.Star):
            return None
        if isinstance(node, exp.Anonymous) and node.this in AUXILIARY:
            return self._property(node)
        if aggregate_of(self.binder, node) is not None:
            return self.aggregate(node)
        if is_window_call(node):
            self.refuse(node, f"Group function '${node.this}' can only appear in GROUP BY clause")
        if type(node) in self.kinds and not has_aggregate(self.binder, node):
            return self._key(node)
        return None

    def _key(self, node: exp.Expr) -> Expression | None:
        bound = self.inner.bind(node)
        found = self._by_keys(bound)
        if found is not None:
            return found
        if isinstance(node, exp.Column):
            shown = ".".join(p.this for p in node.args["path"])
            self.refuse(node, f"Expression '{shown}' is not being grouped")
        return None

    def _by_keys(self, bound: Expression) -> Expression | None:
        """The same expression over the keys; None: it needs more."""
        found = self._replace_keys(bound)
        if any(type(e) is InputRef or isinstance(e, SubQuery) for e in walk(found)):
            return None
        return _unmark(found)

    def _replace_keys(self, expression: Expression) -> Expression:
        for i, key in enumerate(self.keys):
            if key == expression:
                return _KeyRef(i, self.key_types[i])
        if isinstance(expression, InputRef | Literal | Outer | SubQuery):
            return expression
        operands = tuple(self._replace_keys(o) for o in expression.operands)
        return replace(expression, operands=operands)

    def sub_scope(self) -> Scope:
        """A sub-query sees the keys that are columns."""
        by_index = {k.index: i for i, k in enumerate(self.keys) if isinstance(k, InputRef)}
        relations = [
            Relation(
                r.name,
                tuple(replace(c, index=by_index[c.index]) for c in r.columns if c.index in by_index),
                r.path,
            )
            for r in self.scope.relations
        ]
        return Scope(relations, self.scope.parent)

    # ---- group windows

    def _property(self, node: exp.Expr) -> Expression:
        kind, name = AUXILIARY[node.this]
        if self.window is None or kind != self.window.kind or not self.window.is_of(self.inner, node):
            self.refuse(
                node,
                f"Call to auxiliary group function '{node.this}' must have matching call to "
                f"group function '${kind}' in GROUP BY clause",
            )
        data_type = property_type(name, self.window, self, node)
        for i, (known, _) in enumerate(self.properties):
            if known == name:
                return InputRef(PROPERTY + i, data_type)
        self.properties.append((name, data_type))
        return InputRef(PROPERTY + len(self.properties) - 1, data_type)

    # ---- aggregates

    def aggregate(self, node: exp.Expr) -> Expression:
        call = aggregate_of(self.binder, node)
        assert call is not None
        if isinstance(call, exp.Anonymous) and call.this in _GROUPING:
            return self._register(self._grouping(call))
        return self._register(pending_call(self.inner, node, call, grouped=bool(self.keys)))

    def _register(self, pending: PendingCall) -> Expression:
        if pending not in self.calls:
            self.calls.append(pending)
        return InputRef(CALL + self.calls.index(pending), pending.type)

    def _grouping(self, node: exp.Expr) -> PendingCall:
        positions: list[Literal] = []
        for item in node.expressions:
            bound = self.inner.bind(item)
            if bound not in self.keys:
                self.refuse(item, f"Argument to {node.this} operator must be a grouped expression")
            positions.append(Literal(self.keys.index(bound), t.IntType(nullable=False)))
        return PendingCall(node.this, (), t.BigIntType(nullable=False), literals=tuple(positions))

    # ---- the node

    def node(self, source: Node, hints: Any = ()) -> tuple[Node, Callable[[int], int]]:
        """The plan of the aggregation, and where references of this layer are in its output."""
        columns = Columns([])
        group = [columns.place(k) for k in self.keys]
        calls = tuple(
            _grouping_call(p, f"EXPR${i}")
            if p.function in _GROUPING
            else p.placed(columns.place, f"EXPR${i}")
            for i, p in enumerate(self.calls)
        )
        time = None if self.window is None else columns.place(self.window.time)
        project = columns.over(source)
        key_names = [project.row.names[i] for i in group]
        names = t.unique([*key_names, *(c.name for c in calls), *(f"w${p}" for p, _ in self.properties)])
        types = [*self.key_types, *(c.type for c in calls), *(d for _, d in self.properties)]
        row = t.RowType.of(names, types)
        keys, count = len(group), len(calls)
        made: Node
        if self.window is None:
            sets = self.sets or (tuple(range(keys)),)
            made = Aggregate(row=row, input=project, group=tuple(group), calls=calls, sets=sets, hints=hints)
        else:
            w = self.window
            window = GroupWindow(kind=w.kind, time=time or 0, size=w.size, slide=w.slide, offset=w.offset)
            made = GroupWindowAggregate(
                row=row,
                input=project,
                window=window,
                group=tuple(group),
                calls=calls,
                properties=tuple(p for p, _ in self.properties),
                hints=hints,
                place=w.place,
            )

        def position(index: int) -> int:
            if index >= OVER:
                return index
            if index >= PROPERTY:
                return keys + count + index - PROPERTY
            return keys + index - CALL if index >= CALL else index

        return made, position


@dataclass(frozen=True, slots=True)
class _KeyRef(InputRef):
    """A reference to a key while others are still references to the input."""


def _unmark(expression: Expression) -> Expression:
    return rewrite(expression, lambda e: InputRef(e.index, e.type) if isinstance(e, _KeyRef) else e)


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


def _grouping_call(pending: PendingCall, name: str) -> AggregateCall:
    positions = tuple(int(literal.value) for literal in pending.literals)
    return AggregateCall(function=pending.function, arguments=positions, type=pending.type, name=name)


# ------------------------------------------------------------------------------- one call


def pending_call(
    inner: ExpressionBinder, node: exp.Expr, call: exp.Expr, *, grouped: bool, over: bool = False
) -> PendingCall:
    """An aggregate with its FILTER and WITHIN GROUP."""
    definition = inner.binder.function(call.args.get("path") or (call.this,))
    assert definition is not None
    if definition.name == "APPROX_COUNT_DISTINCT" and inner.binder.settings.streaming:
        raise UnsupportedFeatureError(
            "APPROX_COUNT_DISTINCT is not supported when streaming.", hint="use COUNT(DISTINCT x)"
        )
    distinct, condition, order = bool(call.args.get("distinct")), None, call.args.get("order")
    outer, within = node, False
    while outer is not call:
        if isinstance(outer, exp.Filter):
            condition = inner.condition(outer.expression, "FILTER clause")
        else:
            order, within = outer.expression, True
        outer = outer.this
    for part in (*call.expressions, *(order.expressions if order else ())):
        if not over and has_aggregate(inner.binder, part):
            inner.refuse(node, "Aggregate expressions cannot be nested")
    operands = _operands(inner, call)
    typing, operands = _typed(inner, definition, operands, node)
    result = plain(typing.result)
    if definition.null_when_empty and (not grouped or condition is not None):
        result = result.with_nullability(True)
    arguments, literals = _split(definition, operands)
    terms = tuple(
        Term(
            inner.bind(o.this),
            not o.args.get("desc"),
            bool(o.args.get("nulls_first", not o.args.get("desc"))),
        )
        for o in (order.expressions if order else ())
    )
    nulls, shown = call.args.get("nulls"), definition.sql_names[0] if definition.sql_names else call.this
    if nulls and definition.name not in _TAKE_NULLS:
        inner.refuse(node, f"Cannot specify IGNORE NULLS or RESPECT NULLS following '{shown}'")
    if nulls == "IGNORE" and definition.name == "ARRAY_AGG":
        literals = (symbol("IGNORE NULLS"),)
    elif nulls == "IGNORE":
        inner.refuse(node, "IGNORE NULLS is not supported")
    if within and definition.name != "JSON_ARRAYAGG":
        inner.refuse(node, f"Aggregate expression '{shown}' must not contain a WITHIN GROUP clause")
    if definition.name in _JSON:
        arguments, literals = _json_given(arguments, literals)
    return PendingCall(
        function=definition.name,
        arguments=arguments,
        type=result,
        distinct=distinct,
        filter=None if condition is None else _truth(inner, condition),
        literals=literals,
        order=terms,
    )


_TAKE_NULLS: Final = frozenset({"ARRAY_AGG", "LAG", "LEAD"})
_JSON: Final = frozenset({"JSON_ARRAYAGG", "JSON_OBJECTAGG"})


def _json_given(
    arguments: tuple[Expression, ...], literals: tuple[Literal, ...]
) -> tuple[tuple[Expression, ...], tuple[Literal, ...]]:
    """The value of an aggregate is JSON already where a function made it."""
    value = arguments[-1] if arguments else None
    if not isinstance(value, Call) or value.function not in ("JSON", "JSON_OBJECT", "JSON_ARRAY"):
        return arguments, literals
    inner = value.operands[0] if value.function == "JSON" else value
    return (*arguments[:-1], inner), (symbol("RAW"), *literals)


def _truth(inner: ExpressionBinder, condition: Expression) -> Expression:
    return inner.call("IS_TRUE", [condition]) if condition.type.nullable else condition


def _operands(inner: ExpressionBinder, call: exp.Expr) -> list[Expression]:
    if isinstance(call, nodes.JsonCall):
        return operands_of(inner, call)
    if len(call.expressions) == 1 and isinstance(call.expressions[0], exp.Star):
        if call.this != "COUNT":
            inner.refuse(call, f"'*' is an argument of COUNT only, not of {call.this}")
        return []
    if call.this == "COUNT" and not call.expressions:
        inner.refuse(call, "Invalid number of arguments to function 'COUNT'. Was expecting 1 arguments")
    return [inner.argument(item) for item in call.expressions]


def _typed(
    inner: ExpressionBinder, definition: FunctionDefinition, operands: list[Expression], node: exp.Expr
) -> tuple[Typing, list[Expression]]:
    from firesteel.sql.functions.calls import _Given

    wrong = refused_null(definition, [o.type for o in operands])
    if wrong is not None:
        inner.refuse(node, wrong, "CAST(NULL AS a type)")
    typing = definition.rule(_Given(tuple(operands)))
    if typing is None:
        refuse_operands(inner.binder, definition, operands, node)
    return typing, [implicit(o, d) for o, d in zip(operands, typing.arguments, strict=True)]


def _split(
    definition: FunctionDefinition, operands: Sequence[Expression]
) -> tuple[tuple[Expression, ...], tuple[Literal, ...]]:
    """Columns and constants. The constants after the first argument of a built-in aggregate are
    ``literals``; COUNT of a constant is COUNT(*)."""
    own = isinstance(definition.aggregate, str)
    constant = all(isinstance(o, Literal) and o.value is not None for o in operands)
    if own and definition.name == "COUNT" and constant:
        return (), ()
    arguments: list[Expression] = []
    literals: list[Literal] = []
    for i, operand in enumerate(operands):
        folded = _constant(operand)
        if own and i > 0 and folded is not None:
            literals.append(folded)
        else:
            arguments.append(operand)
    return tuple(arguments), tuple(literals)


def _constant(expression: Expression) -> Literal | None:
    if isinstance(expression, Literal):
        return expression
    if references(expression) or not _is_pure(expression):
        return None
    from firesteel.sql.rules.constants import folded

    found = folded(expression)
    return found if isinstance(found, Literal) else None


def _is_pure(expression: Expression) -> bool:
    return not any(isinstance(e, Outer | SubQuery) for e in walk(expression))
