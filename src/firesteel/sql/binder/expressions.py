"""Expressions: sqlglot node -> bound expression, by one open table of handlers.

``ExpressionBinder`` sees the columns of a scope. What a SELECT adds - aggregates, windows, grouping - are
subclasses that look at a node first (``own``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from sqlglot import exp

from firesteel.sql import type_rules, types as t
from firesteel.sql.binder import literals
from firesteel.sql.binder.binder import Binder
from firesteel.sql.binder.calls import (
    bind_call,
    bind_cast,
    bind_definition,
    calcite_text,
    plain,
    unknown_function,
)
from firesteel.sql.binder.errors import near
from firesteel.sql.binder.scope import AmbiguousError, Found, Scope
from firesteel.sql.expressions import Call, Expression, InputRef, Literal, Outer, SubQuery
from firesteel.sql.functions.calls import symbol
from firesteel.sql.functions.registry import FunctionDefinition, FunctionKind
from firesteel.sql.parser import nodes
from firesteel.sql.type_text import TypeTextError, parse_type

__all__ = ["ExpressionBinder", "name_of"]

_COMPARISONS: Final[dict[type[exp.Expr], str]] = {
    exp.EQ: "EQUALS",
    exp.NEQ: "NOT_EQUALS",
    exp.LT: "LESS_THAN",
    exp.LTE: "LESS_THAN_OR_EQUAL",
    exp.GT: "GREATER_THAN",
    exp.GTE: "GREATER_THAN_OR_EQUAL",
}
_BINARY: Final[dict[type[exp.Expr], tuple[str, str]]] = {
    exp.Add: ("PLUS", "+"),
    exp.Sub: ("MINUS", "-"),
    exp.Mul: ("TIMES", "*"),
    exp.Div: ("DIVIDE", "/"),
    exp.Mod: ("MOD", "%"),
    exp.DPipe: ("CONCAT_OPERATOR", "||"),
    exp.And: ("AND", "AND"),
    exp.Or: ("OR", "OR"),
    exp.EQ: ("EQUALS", "="),
    exp.NEQ: ("NOT_EQUALS", "<>"),
    exp.LT: ("LESS_THAN", "<"),
    exp.LTE: ("LESS_THAN_OR_EQUAL", "<="),
    exp.GT: ("GREATER_THAN", ">"),
    exp.GTE: ("GREATER_THAN_OR_EQUAL", ">="),
    exp.NullSafeNEQ: ("IS_DISTINCT_FROM", "IS DISTINCT FROM"),
}
_IS: Final = {"NULL": "IS_NULL", "TRUE": "IS_TRUE", "FALSE": "IS_FALSE", "UNKNOWN": "IS_NULL"}


class ExpressionBinder:
    """:param place: for messages about what cannot stand there, such as ``WHERE clause``."""

    def __init__(self, binder: Binder, scope: Scope, place: str = "") -> None:
        self.binder = binder
        self.scope = scope
        self.place = place

    def bind(self, node: exp.Expr) -> Expression:
        """:raises SqlValidationError: it means nothing here."""
        own = self.own(node)
        if own is not None:
            return own
        handler = _HANDLERS.get(type(node))
        if handler is None:
            self.refuse(node, f"{type(node).__name__} cannot stand in an expression")
        return handler(self, node)

    def own(self, node: exp.Expr) -> Expression | None:
        """What a subclass makes of a node before the table is asked."""
        return None

    def bind_all(self, items: Sequence[exp.Expr]) -> list[Expression]:
        return [self.bind(item) for item in items]

    def condition(self, node: exp.Expr, what: str) -> Expression:
        """A BOOLEAN."""
        made = self.bind(node)
        if isinstance(made.type, t.NullType):
            return Literal(None, t.BooleanType())
        if not isinstance(made.type, t.BooleanType):
            self.refuse(node, f"{what} must be a condition")
        return made

    def refuse(self, node: exp.Expr | None, message: str, hint: str | None = None) -> NoReturn:
        self.binder.refuse(node, message, hint)

    def call(self, name: str, operands: Sequence[Expression], node: exp.Expr | None = None) -> Expression:
        return bind_call(self.binder, name, operands, node)

    # ---- columns

    def column(self, node: exp.Expr) -> Expression:
        """A column, or a field of one, of this scope or one further outwards."""
        path = node.args["path"]
        names = [part.this for part in path]
        try:
            found = self.scope.find(names)
        except AmbiguousError as error:
            self.refuse(node, f"Column '{error}' is ambiguous", "write the table before it: table.column")
        if found is None:
            self._refuse_column(node, names)
        made = self.found(found, node)
        return self.fields(made, found.rest, node)

    def found(self, found: Found, node: exp.Expr) -> Expression:
        column = found.column
        if found.level == 0:
            return InputRef(column.index, column.type)
        return Outer(found.level, column.index, column.type)

    def fields(self, made: Expression, rest: Sequence[str], node: exp.Expr) -> Expression:
        for name in rest:
            made = self.field(made, name, node)
        return made

    def field(self, row: Expression, name: str, node: exp.Expr) -> Expression:
        if not isinstance(row.type, t.RowType):
            self.refuse(node, f"Column '{name}' not found: {row.type} has no fields")
        if name not in row.type.names:
            self.refuse(node, f"Column '{name}' not found in {row.type}", near(name, row.type.names))
        index = row.type.names.index(name)
        data_type = row.type.fields[index].data_type
        result = data_type.with_nullability(data_type.nullable or row.type.nullable)
        return Call("GET", (row, Literal(index, t.IntType(nullable=False))), result)

    def _refuse_column(self, node: exp.Expr, names: list[str]) -> NoReturn:
        first = node.args["path"][0]
        if len(names) == 1:
            hint = near(names[0], self.scope.names())
            self.refuse(node, f"Column '{names[0]}' not found in any table", hint)
        if self.scope.has_table(names[0]):
            relation = self.scope.relation(names[:1])
            known = [] if relation is None else [c.name for c in relation.columns]
            part = node.args["path"][1]
            self.refuse(part, f"Column '{names[1]}' not found in table '{names[0]}'", near(names[1], known))
        tables = [r.name for r in self.scope.relations if r.name]
        self.refuse(first, f"Table '{names[0]}' not found", near(names[0], [*tables, *self.scope.names()]))

    def dot(self, node: exp.Expr) -> Expression:
        inner = self.bind(node.this)
        return self.field(inner, node.expression.this, node)

    def bracket(self, node: exp.Expr) -> Expression:
        collection, index = self.bind(node.this), self.bind(node.expressions[0])
        if isinstance(collection.type, t.RowType) and isinstance(index, Literal):
            if isinstance(index.value, str):
                return self.field(collection, index.value, node)
            if isinstance(index.value, int) and 1 <= index.value <= len(collection.type.fields):
                return self.field(collection, collection.type.names[index.value - 1], node)
        return self.call("AT", [collection, index], node)

    # ---- literals

    def literal(self, node: exp.Expr) -> Expression:
        try:
            return literals.text(node.this) if node.args["is_string"] else literals.number(node.this)
        except literals.LiteralError as error:
            self.refuse(node, str(error))

    def hex_string(self, node: exp.Expr) -> Expression:
        value = bytes.fromhex(node.this)
        return Literal(value, t.BinaryType(length=len(value), nullable=False))

    def typed_literal(self, node: exp.Expr) -> Expression:
        kind = node.args["kind"]
        if kind == "TIMESTAMP_LTZ":
            self.refuse(node, "There are no literals of TIMESTAMP_LTZ", "CAST('...' AS TIMESTAMP_LTZ)")
        zoned = kind == "TIMESTAMP WITH LOCAL TIME ZONE"
        try:
            found = literals.typed("TIMESTAMP" if zoned else kind, node.this)
            if not zoned:
                return found
            assert isinstance(found.type, t.TimestampType)
            wanted = t.LocalZonedTimestampType(precision=found.type.precision, nullable=False)
            return bind_cast(self.binder, found, wanted, node)
        except literals.LiteralError as error:
            self.refuse(node, str(error))

    def interval(self, node: exp.Expr) -> Expression:
        args = node.args
        negative = bool(args.get("negative"))
        if isinstance(node.this, exp.Literal):
            try:
                return literals.interval(
                    node.this.this, args["unit"], negative=negative, precision=args.get("precision")
                )
            except literals.LiteralError as error:
                self.refuse(node, str(error))
        one = literals.interval("1", args["unit"], negative=negative)
        return self.call("TIMES", [one, self.bind(node.this)], node)

    def difference(self, node: exp.Expr) -> Expression:
        kind = node.args["kind"].args
        data_type = literals.interval_type(kind["unit"])
        operands = [self.bind(node.this), self.bind(node.expression), symbol(data_type)]
        return self.call("DATETIME_DIFFERENCE", operands, node)

    def null(self, node: exp.Expr) -> Expression:
        return Literal(None, t.BooleanType() if node.args.get("boolean") else t.NullType())

    def boolean(self, node: exp.Expr) -> Expression:
        return Literal(node.this, t.BooleanType(nullable=False))

    def symbol(self, node: exp.Expr) -> Expression:
        return symbol(node.this)

    # ---- operators

    def binary(self, node: exp.Expr) -> Expression:
        if isinstance(node.expression, exp.Any | exp.All):
            return self.quantified(node)
        name, _ = _BINARY[type(node)]
        left, right = node.this, node.expression
        if isinstance(node, exp.EQ | exp.NEQ) and _is_row(left) and _is_row(right):
            pairs = self._pairs(node, left, right)
            if isinstance(node, exp.EQ):
                return self._rows_equal(node, pairs)
            # <> compares the rows as values, where NULL is one like others, as in Flink
        return self.call(name, [self.bind(left), self.bind(right)], node)

    def comparable(self, node: exp.Expr, operands: list[Expression]) -> list[Expression]:
        """In a list of IN texts are cast to numbers, times or truth values that they are compared with."""
        others = [o.type for o in operands if isinstance(o.type, _WEAKER)]
        if len(operands) == 2 and isinstance(operands[1].type, t.NullType):
            if isinstance(node, exp.In) and isinstance(operands[0].type, t.NullType):
                self.refuse(node, "Values in expression list must have compatible types")
            return operands
        if type_rules.common_type([plain(o.type) for o in operands[1:]]) is None:
            self.refuse(node, "Values in expression list must have compatible types")
        texts = [isinstance(o.type, t.CharType | t.VarCharType) for o in operands]
        if not others or not any(texts):
            return operands
        wanted = type_rules.common_type([plain(d) for d in others])
        if wanted is None:
            return operands
        return [
            bind_cast(self.binder, o, wanted) if is_text else o
            for o, is_text in zip(operands, texts, strict=True)
        ]

    def _pairs(self, node: exp.Expr, left: exp.Expr, right: exp.Expr) -> list[tuple[exp.Expr, exp.Expr]]:
        if len(left.expressions) != len(right.expressions):
            self.refuse(node, "Unequal number of entries in ROW expressions")
        return list(zip(left.expressions, right.expressions, strict=True))

    def _rows_equal(self, node: exp.Expr, pairs: list[tuple[exp.Expr, exp.Expr]]) -> Expression:
        """Field by field: NULL where one is NULL and no other ones differ."""
        return self.conjunction([self.call("EQUALS", [self.bind(a), self.bind(b)], node) for a, b in pairs])

    def connective(self, node: exp.Expr) -> Expression:
        """AND and OR: a chain of them is one call, however long."""
        kind = type(node)
        parts: list[exp.Expr] = []
        stack = [node]
        while stack:
            part = stack.pop()
            if type(part) is kind and self.own(part) is None:
                stack += [part.expression, part.this]
            else:
                parts.append(part)
        bound = [self.bind(p) for p in parts]
        for operand in bound:
            if not isinstance(operand.type, t.BooleanType | t.NullType):
                name = _BINARY[kind][1]
                self.refuse(
                    node,
                    f"Cannot apply '{name}' to arguments of type "
                    f"'{f' {name} '.join(f'<{o.type.text()}>' for o in bound)}'. "
                    f"Supported form(s): '<BOOLEAN> {name} <BOOLEAN>'",
                )
        return self.call(_BINARY[kind][0], bound, node)

    def conjunction(self, parts: Sequence[Expression]) -> Expression:
        return parts[0] if len(parts) == 1 else self.call("AND", list(parts))

    def negate(self, node: exp.Expr) -> Expression:
        inner = node.this
        if isinstance(inner, exp.Is) and inner.expression.this in ("NULL", "UNKNOWN"):
            return self.call("IS_NOT_NULL", [self.bind(inner.this)], node)
        if isinstance(inner, exp.Is):
            return self.call(f"IS_NOT_{inner.expression.this}", [self.bind(inner.this)], node)
        if isinstance(inner, exp.NullSafeNEQ):
            return self.call(
                "IS_NOT_DISTINCT_FROM", [self.bind(inner.this), self.bind(inner.expression)], node
            )
        return self.call("NOT", [self.bind(inner)], node)

    def minus(self, node: exp.Expr) -> Expression:
        return self.call("MINUS_PREFIX", [self.bind(node.this)], node)

    def paren(self, node: exp.Expr) -> Expression:
        return self.bind(node.this)

    def is_(self, node: exp.Expr) -> Expression:
        return self.call(_IS[node.expression.this], [self.bind(node.this)], node)

    def between(self, node: exp.Expr) -> Expression:
        value, low, high = (self.bind(node.args[k]) for k in ("this", "low", "high"))

        def within(a: Expression, b: Expression) -> Expression:
            above = self.call("GREATER_THAN_OR_EQUAL", [value, a], node)
            return self.call("AND", [above, self.call("LESS_THAN_OR_EQUAL", [value, b], node)], node)

        if node.args.get("symmetric"):
            return self.call("OR", [within(low, high), within(high, low)], node)
        return within(low, high)

    def in_(self, node: exp.Expr) -> Expression:
        query = node.args.get("query")
        if query is not None:
            return self.in_query(node, query)
        if isinstance(node.this, exp.Tuple) or all(map(_is_row, (node.this, *node.expressions))):
            equal = [
                self._rows_equal(node, self._pairs(node, node.this, item))
                if _is_row(item)
                else self.refuse(item, "Unequal number of entries in ROW expressions")
                for item in node.expressions
            ]
            return equal[0] if len(equal) == 1 else self.call("OR", equal, node)
        operands = self.comparable(node, [self.bind(node.this), *self.bind_all(node.expressions)])
        if len(operands) == 2:
            return self.call("EQUALS", operands, node)
        return self.call("IN", operands, node)

    def like(self, node: exp.Expr) -> Expression:
        name = "SIMILAR" if isinstance(node, exp.SimilarTo) else "LIKE"
        return self.call(name, [self.bind(node.this), self.bind(node.expression)], node)

    def escape(self, node: exp.Expr) -> Expression:
        inner = node.this
        name = "SIMILAR" if isinstance(inner, exp.SimilarTo) else "LIKE"
        operands = [self.bind(inner.this), self.bind(inner.expression), self.bind(node.expression)]
        return self.call(name, operands, node)

    def overlaps(self, node: exp.Expr) -> Expression:
        operands: list[Expression] = []
        for side in (node.this, node.expression):
            items = side.expressions
            if not isinstance(side, exp.Tuple | nodes.Collection) or len(items) != 2:
                self.refuse(side, "OVERLAPS needs two pairs: (start, end) OVERLAPS (start, end)")
            operands += self.bind_all(items)
        return self.call("TEMPORAL_OVERLAPS", operands, node)

    # ---- sub-queries

    def plan_of(self, query: exp.Expr) -> Any:
        return self.binder.bind_query(query, self.sub_scope())

    def sub_scope(self) -> Scope:
        """What a sub-query sees outside of itself."""
        return self.scope

    def exists(self, node: exp.Expr) -> Expression:
        return SubQuery("EXISTS", self.plan_of(node.this), (), t.BooleanType(nullable=False))

    def scalar(self, node: exp.Expr) -> Expression:
        plan = self.plan_of(node.this)
        if len(plan.row.fields) != 1:
            shown = ", ".join(f"{calcite_text(f.data_type)} {f.name.upper()}" for f in plan.row.fields)
            self.refuse(
                node.this,
                f"Cannot apply '$SCALAR_QUERY' to arguments of type '$SCALAR_QUERY(<RECORDTYPE({shown})>)'. "
                "Supported form(s): '$SCALAR_QUERY(<RECORDTYPE(SINGLE FIELD)>)'",
            )
        return SubQuery("SCALAR", plan, (), plan.row.types[0].with_nullability(True))

    def in_query(self, node: exp.Expr, query: exp.Expr) -> Expression:
        left = node.this
        operands = self.bind_all(left.expressions) if isinstance(left, exp.Tuple) else [self.bind(left)]
        plan = self.plan_of(query)
        if len(plan.row.fields) != len(operands):
            self.refuse(
                node,
                f"Values passed to IN operator must have compatible types: {len(operands)} on the left, "
                f"{len(plan.row.fields)} columns on the right",
            )
        wanted, plan = self._aligned(node, operands, plan)
        nullable = any(o.type.nullable for o in wanted) or any(d.nullable for d in plan.row.types)
        return SubQuery("IN", plan, tuple(wanted), t.BooleanType(nullable=nullable))

    def quantified(self, node: exp.Expr) -> Expression:
        """``a < ANY (SELECT ...)``."""
        some = isinstance(node.expression, exp.Any)
        name = _COMPARISONS[type(node)]
        if some and name == "EQUALS":
            return self.in_query(node, node.expression.this)
        if not some and name == "NOT_EQUALS":
            return self.call("NOT", [self.in_query(node, node.expression.this)], node)
        operand = self.bind(node.this)
        plan = self.plan_of(node.expression.this)
        wanted, plan = self._aligned(node, [operand], plan)
        kind = f"{'SOME' if some else 'ALL'}_{name}"
        return SubQuery(kind, plan, tuple(wanted), t.BooleanType())

    def _aligned(self, node: exp.Expr, operands: list[Expression], plan: Any) -> tuple[list[Expression], Any]:
        """Both sides of IN with common types."""
        from firesteel.sql.binder.row_types import common_type, project_to

        types = []
        for operand, data_type in zip(operands, plan.row.types, strict=True):
            found = common_type([operand.type, data_type])
            if found is None:
                self.refuse(
                    node,
                    f"Values passed to IN operator must have compatible types: {operand.type} "
                    f"and {data_type}",
                )
            types.append(found)
        cast = [self._implicit(o, d) for o, d in zip(operands, types, strict=True)]
        return cast, project_to(plan, types)

    def _implicit(self, operand: Expression, data_type: t.DataType) -> Expression:
        from firesteel.sql.functions.calls import implicit

        return implicit(operand, data_type.with_nullability(operand.type.nullable))

    # ---- calls

    def anonymous(self, node: exp.Expr) -> Expression:
        path = node.args.get("path") or (node.this,)
        definition = self.binder.function(path)
        if definition is None:
            self._unknown(node, path)
        self.check_kind(node, definition)
        if node.args.get("distinct") or node.args.get("order") or node.args.get("nulls"):
            self.refuse(node, f"'{node.this}' is no aggregate: DISTINCT and ORDER BY cannot be used with it")
        operands = self.arguments(node, definition)
        return bind_definition(self.binder, definition, operands, node)

    def _unknown(self, node: exp.Expr, path: Sequence[str]) -> NoReturn:
        operands = [self.bind(a) for a in node.expressions if not isinstance(a, _NOT_SCALAR)]
        unknown_function(self.binder, node.meta.get("written", node.this), operands, node)

    def check_kind(self, node: exp.Expr, definition: FunctionDefinition) -> None:
        """Refuse what is not a scalar function."""
        if definition.kind is FunctionKind.AGGREGATE:
            place = self.place or "this place"
            self.refuse(node, f"Aggregate expression is illegal in {place}")
        if definition.kind not in (FunctionKind.SCALAR, FunctionKind.ASYNC_SCALAR):
            self.refuse(
                node,
                f"'{definition.name}' is a {definition.kind.value} function and gives rows",
                "call it in FROM: LATERAL TABLE(...)",
            )

    def arguments(self, node: exp.Expr, definition: FunctionDefinition) -> list[Expression]:
        """The operands; arguments with names are put in their places."""
        items = node.expressions
        if any(isinstance(i, nodes.NamedArgument) for i in items):
            items = self._in_order(node, definition)
        return [self.argument(i) for i in items]

    def argument(self, item: exp.Expr) -> Expression:
        if isinstance(item, exp.Star):
            self.refuse(item, "Unknown identifier '*'")
        if isinstance(item, exp.Var) and item.this == "DEFAULT":
            return symbol("DEFAULT")
        return self.bind(item)

    def _in_order(self, node: exp.Expr, definition: FunctionDefinition) -> list[exp.Expr]:
        names: Sequence[str] = getattr(definition, "parameters", ())
        if not names:
            self.refuse(node, f"The function '{node.this}' has no named arguments")
        given = {}
        for item in node.expressions:
            if not isinstance(item, nodes.NamedArgument):
                self.refuse(item, "Positional and named arguments cannot be mixed")
            if item.this not in names:
                self.refuse(
                    item, f"Param '{item.this}' not found in function '{node.this}'", near(item.this, names)
                )
            given[item.this] = item.expression
        last = max((i for i, n in enumerate(names) if n in given), default=-1)
        default = exp.Var(this="DEFAULT")
        return [given.get(n, default) for n in names[: last + 1]]

    def cast(self, node: exp.Expr) -> Expression:
        target = self.data_type(node.args["to"])
        operand = self.bind(node.this)
        return bind_cast(self.binder, operand, target, node, attempt=isinstance(node, exp.TryCast))

    def data_type(self, node: exp.Expr) -> t.DataType:
        try:
            return parse_type(node.this)
        except TypeTextError as error:
            self.refuse(node, error.message, error.hint)

    def case(self, node: exp.Expr) -> Expression:
        operand = node.args.get("this")
        bound_operand = None if operand is None else self.bind(operand)
        operands: list[Expression] = []
        for branch in node.args["ifs"]:
            if bound_operand is None:
                condition = self.bind(branch.this)
                if not isinstance(condition.type, t.BooleanType | t.NullType):
                    self.refuse(node, "Expected a boolean type")
            else:
                both = self.comparable(node, [bound_operand, self.bind(branch.this)])
                condition = self.call("EQUALS", both, branch.this)
            operands += [condition, self.bind(branch.args["true"])]
        default = node.args.get("default")
        operands.append(Literal(None, t.NullType()) if default is None else self.bind(default))
        return self.call("CASE", operands, node)

    def collection(self, node: exp.Expr) -> Expression:
        kind = node.args["kind"]
        if kind == "ARRAY QUERY":
            self.refuse(node, "ARRAY of a query is not supported", "ARRAY_AGG in a sub-query")
        if kind == "MULTISET":
            self.refuse(node, "MULTISET[...] is not supported", "COLLECT makes a multiset")
        return self.call(kind, self.bind_all(node.expressions), node)

    def tuple_(self, node: exp.Expr) -> Expression:
        return self.call("ROW", self.bind_all(node.expressions), node)

    def json_call(self, node: exp.Expr) -> Expression:
        """Clauses of the JSON functions follow the operands as symbols: pairs of a clause and its value."""
        from firesteel.sql.binder.json_calls import operands_of

        definition = self.binder.function((node.this,))
        if definition is None:
            self._unknown(node, (node.this,))
        self.check_kind(node, definition)
        return bind_definition(self.binder, definition, operands_of(self, node), node)

    def star(self, node: exp.Expr) -> Expression:
        self.refuse(node, "Unknown identifier '*'")

    def windowed(self, node: exp.Expr) -> Expression:
        self.refuse(node, f"Windowed aggregate expression is illegal in {self.place or 'this place'}")

    def filtered(self, node: exp.Expr) -> Expression:
        self.refuse(node, f"Aggregate expression is illegal in {self.place or 'this place'}")

    def named_argument(self, node: exp.Expr) -> Expression:
        self.refuse(node, "A named argument stands in the call of a function only")

    def descriptor(self, node: exp.Expr) -> Expression:
        self.refuse(node, "DESCRIPTOR is an argument of a table function only")


#: Types to which a text is cast when it is compared with one of them.
_WEAKER: Final = (
    *type_rules.NUMERIC,
    t.BooleanType,
    t.DateType,
    t.TimeType,
    t.TimestampType,
    t.LocalZonedTimestampType,
)

_NOT_SCALAR: Final = (
    nodes.TableArgument,
    nodes.Descriptor,
    nodes.NamedArgument,
    exp.Star,
    exp.Var,
)

_B = ExpressionBinder
_HANDLERS: Final[dict[type[exp.Expr], Callable[[Any, exp.Expr], Expression]]] = {
    exp.Column: _B.column,
    exp.Dot: _B.dot,
    exp.Bracket: _B.bracket,
    exp.Literal: _B.literal,
    exp.HexString: _B.hex_string,
    nodes.TypedLiteral: _B.typed_literal,
    nodes.IntervalLiteral: _B.interval,
    nodes.DateTimeDifference: _B.difference,
    exp.Null: _B.null,
    exp.Boolean: _B.boolean,
    nodes.Symbol: _B.symbol,
    **dict.fromkeys(_BINARY, _B.binary),
    exp.And: _B.connective,
    exp.Or: _B.connective,
    exp.Not: _B.negate,
    exp.Neg: _B.minus,
    exp.Paren: _B.paren,
    exp.Is: _B.is_,
    exp.Between: _B.between,
    exp.In: _B.in_,
    exp.Like: _B.like,
    exp.SimilarTo: _B.like,
    exp.Escape: _B.escape,
    exp.Overlaps: _B.overlaps,
    exp.Exists: _B.exists,
    exp.Subquery: _B.scalar,
    exp.Anonymous: _B.anonymous,
    exp.Cast: _B.cast,
    exp.TryCast: _B.cast,
    exp.Case: _B.case,
    nodes.Collection: _B.collection,
    exp.Tuple: _B.tuple_,
    nodes.JsonCall: _B.json_call,
    exp.Star: _B.star,
    exp.Window: _B.windowed,
    exp.Filter: _B.filtered,
    exp.WithinGroup: _B.filtered,
    nodes.NamedArgument: _B.named_argument,
    nodes.Descriptor: _B.descriptor,
}


def _is_row(node: exp.Expr) -> bool:
    """``(a, b)`` or ``ROW(a, b)``."""
    return isinstance(node, exp.Tuple) or (isinstance(node, nodes.Collection) and node.args["kind"] == "ROW")


def name_of(node: exp.Expr, position: int) -> str:
    """The name of a column of SELECT without an alias: that of the column or field, else ``EXPR$n``."""
    if isinstance(node, exp.Alias):
        return str(node.args["alias"].this)
    if isinstance(node, exp.Column):
        return str(node.this.this)
    if isinstance(node, exp.Paren):
        return name_of(node.this, position)
    if node.args.get("bare"):
        return str(node.this)
    return f"EXPR${position}"
