"""MATCH_RECOGNIZE: clauses to ``MatchSpecification``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from sqlglot import exp

from firesteel.common.errors import UnsupportedFeatureError
from firesteel.sql import types as t
from firesteel.sql.binder.aggregates import aggregate_of, pending_call
from firesteel.sql.binder.binder import Binder
from firesteel.sql.binder.errors import near
from firesteel.sql.binder.expressions import ExpressionBinder
from firesteel.sql.binder.group_windows import millis
from firesteel.sql.binder.scope import Scope
from firesteel.sql.expressions import Expression, InputRef, Literal, Ordering
from firesteel.sql.logical import Match, Node
from firesteel.sql.match_recognize import (
    AggregateValue,
    MatchExpression,
    MatchSpecification,
    RowValue,
    SpecialValue,
    Value,
    check_pattern,
    stages_of,
    variables_of,
)
from firesteel.sql.row_patterns import Pattern
from firesteel.sql.schema import with_attribute

if TYPE_CHECKING:
    from firesteel.sql.binder.relations import Relations

__all__ = ["bind_match"]

_NAVIGATION: Final = ("FIRST", "LAST", "PREV", "NEXT")


def bind_match(binder: Binder, tree: exp.Expr, table: Relations) -> Node:
    """The Match over *table*."""
    scope = table.scope(None)
    if tree.args.get("all_rows"):
        raise UnsupportedFeatureError(
            "All rows per match mode is not supported yet.", hint="ONE ROW PER MATCH and MEASURES"
        )
    pattern = tree.args["pattern"].this
    check_pattern(pattern)
    variables = variables_of(pattern)
    if len(set(variables)) < len(variables):
        raise UnsupportedFeatureError(
            "Pattern variables must be unique. That might change in the future.",
            hint="say how often with a quantifier: A{2}",
        )
    _check_last_stage(pattern)
    subsets = {
        s.args["alias"].this: tuple(i.this for i in s.this.expressions)
        for s in tree.args.get("subsets") or ()
    }
    known = [*variables, *subsets]
    for name, members in subsets.items():
        for member in members:
            if member not in variables:
                binder.refuse(tree, f"Unknown pattern '{member}' in SUBSET '{name}'", near(member, variables))
    columns = ExpressionBinder(binder, scope, "MATCH_RECOGNIZE")
    partition = [_column(columns, n, "PARTITION BY") for n in tree.args.get("partition") or ()]
    order = _order(binder, columns, tree)
    define: dict[str, MatchExpression] = {}
    for item in tree.args["define"]:
        name = item.args["alias"].this
        if name not in variables:
            binder.refuse(item.args["alias"], f"Unknown pattern '{name}'", near(name, variables))
        rows = _RowsBinder(binder, scope, known, name)
        bound = rows.condition(item.this, "DEFINE clause")
        define[name] = MatchExpression(bound, tuple(rows.values))
    measures = []
    for item in tree.args.get("measures") or ():
        rows = _RowsBinder(binder, scope, known, None)
        measures.append((item.args["alias"].this, MatchExpression(rows.bind(item.this), tuple(rows.values))))
    within = tree.args.get("within")
    after = tree.args.get("after") or ("NEXT ROW", None)
    if after[1] is not None and after[1] not in variables:
        binder.refuse(tree, f"Unknown pattern '{after[1]}'", near(after[1], variables))
    specification = MatchSpecification(
        pattern=pattern,
        define=define,
        measures=tuple(m for _, m in measures),
        partition=tuple(partition),
        order=order,
        skip=after,
        within=None if within is None else millis(columns, within, columns.bind(within)),
        subsets=subsets,
    )
    source = table.node.row
    names = t.unique([*(source.names[i] for i in partition), *(n for n, _ in measures)])
    types = [*(source.types[i] for i in partition), *(_type_of_measure(m) for _, m in measures)]
    return Match(
        row=t.RowType.of(names, types),
        input=table.node,
        specification=specification,
        place=binder.place(tree.args["order"].expressions[0]),
    )


def _type_of_measure(measure: MatchExpression) -> t.DataType:
    """Of the values of a match, only MATCH_ROWTIME() and MATCH_PROCTIME() are its time."""
    expression = measure.expression
    if isinstance(expression, InputRef) and isinstance(measure.values[expression.index], SpecialValue):
        return expression.type
    return with_attribute(expression.type, t.TimeAttribute.NONE)


def _check_last_stage(pattern: Pattern) -> None:
    last = stages_of(pattern)[-1]
    if last.greedy and last.low != last.high and (last.low, last.high) != (0, 1):
        raise UnsupportedFeatureError(
            "Greedy quantifiers are not allowed as the last element of a Pattern yet. Finish "
            "your pattern with "
            "either a simple variable or reluctant quantifier."
        )


def _column(columns: ExpressionBinder, node: exp.Expr, clause: str) -> int:
    bound = columns.bind(node)
    if not isinstance(bound, InputRef):
        columns.refuse(node, f"{clause} of MATCH_RECOGNIZE takes columns")
    return bound.index


def _order(binder: Binder, columns: ExpressionBinder, tree: exp.Expr) -> tuple[Ordering, ...]:
    order = tree.args.get("order")
    terms = []
    for item in order.expressions if order else ():
        ascending = not item.args.get("desc")
        nulls_first = bool(item.args.get("nulls_first", ascending))
        terms.append(Ordering(_column(columns, item.this, "ORDER BY"), ascending, nulls_first))
    if order is None:
        binder.refuse(tree, "You must specify either rowtime or proctime for order by.")
    first = columns.scope.all_columns()[terms[0].index].type
    if (
        getattr(first, "attribute", t.TimeAttribute.NONE) == t.TimeAttribute.NONE
        and binder.settings.streaming
    ):
        binder.refuse(
            order.expressions[0], "You must specify either rowtime or proctime for order by as the first one."
        )
    if not terms[0].ascending:
        binder.refuse(
            order.expressions[0], "Primary sort order of a streaming table must be ascending on time."
        )
    return tuple(terms)


class _RowsBinder(ExpressionBinder):
    """Expressions over rows of pattern variables.

    :param defined: the variable of DEFINE; None in MEASURES. :ivar values: what is to be gathered.
    """

    def __init__(self, binder: Binder, scope: Scope, variables: Sequence[str], defined: str | None) -> None:
        super().__init__(binder, scope, "DEFINE" if defined else "MEASURES")
        self.variables = variables
        self.defined = defined
        self.values: list[Value] = []

    def own(self, node: exp.Expr) -> Expression | None:
        if isinstance(node, exp.Column):
            variable, expression = self._split(node)
            return self._value(RowValue(variable, True, 0, expression), expression.type)
        if isinstance(node, exp.Anonymous) and not node.args.get("path"):
            if node.this in ("RUNNING", "FINAL"):
                return self.bind(node.expressions[0])
            if node.this in ("MATCH_ROWTIME", "MATCH_PROCTIME"):
                return self._special(node)
            if node.this in ("CLASSIFIER", "MATCH_NUMBER"):
                raise UnsupportedFeatureError(f"{node.this} is not supported.")
            if node.this in _NAVIGATION:
                return self._navigation(node)
        if aggregate_of(self.binder, node) is not None:
            return self._aggregate(node)
        return None

    def _value(self, value: Value, data_type: t.DataType) -> Expression:
        if value not in self.values:
            self.values.append(value)
        if isinstance(value, RowValue):
            data_type = data_type.with_nullability(True)
        return InputRef(self.values.index(value), data_type)

    def _split(self, node: exp.Expr) -> tuple[str, Expression]:
        """The variable of ``A.price``, and ``price`` over the input's columns."""
        path = node.args["path"]
        first = path[0].this
        if len(path) > 1 and first in self.variables:
            column = exp.Column(this=path[-1], path=list(path[1:]))
            column.meta.update(path[1].meta)
            if path[1].this not in self.scope.names():
                hint = near(path[1].this, self.scope.names())
                self.refuse(path[1], f"Column '{path[1].this}' not found in table '{first}'", hint)
            return first, super().column(column)
        if len(path) > 1 and self.scope.find([p.this for p in path]) is None:
            self.refuse(path[0], f"Table '{first}' not found", near(first, self.variables))
        return self.defined or "*", super().column(node)

    def _navigation(self, node: exp.Expr) -> Expression:
        if node.this in ("PREV", "NEXT"):
            raise UnsupportedFeatureError(
                f"{node.this} is not supported in MATCH_RECOGNIZE.", hint="LAST(variable.column, 1)"
            )
        items = node.expressions
        if not 1 <= len(items) <= 2:
            self.refuse(node, f"{node.this} takes a column of a variable and a number")
        offset = 0
        if len(items) == 2:
            bound = self.binder_constant(items[1])
            offset = bound
        variable, expression = self._of_one_variable(items[0])
        return self._value(RowValue(variable, node.this == "LAST", offset, expression), expression.type)

    def binder_constant(self, node: exp.Expr) -> int:
        from firesteel.sql.rules.constants import folded

        found = folded(ExpressionBinder(self.binder, Scope([])).bind(node))
        if not isinstance(found, Literal) or not isinstance(found.value, int):
            self.refuse(node, "The offset of a navigation must be a constant number")
        return found.value

    def _of_one_variable(self, node: exp.Expr) -> tuple[str, Expression]:
        """An expression over the columns of one variable."""
        inner = _OneVariable(self)
        expression = inner.bind(node)
        if len(inner.of) > 1:
            self.refuse(
                node,
                f"Columns of one variable are expected here, and these are of {', '.join(sorted(inner.of))}",
            )
        return next(iter(inner.of), self.defined or "*"), expression

    def _aggregate(self, node: exp.Expr) -> Expression:
        call = aggregate_of(self.binder, node)
        assert call is not None
        inner = _OneVariable(self)
        star = len(call.expressions) == 1 and isinstance(call.expressions[0], exp.Dot | exp.Column)
        if (
            star
            and isinstance(call.expressions[0], exp.Column)
            and isinstance(call.expressions[0].this, exp.Star)
        ):
            variable = call.expressions[0].args["path"][0].this
            value = AggregateValue(variable, "COUNT", (), t.BigIntType(nullable=False))
            return self._value(value, value.type)
        pending = pending_call(inner, node, call, grouped=False)
        if len(inner.of) > 1:
            self.refuse(
                node,
                "SQL validation failed. Aggregation must be applied to a single pattern "
                f"variable, and this one is to {', '.join(sorted(inner.of))}",
            )
        if pending.filter is not None or pending.order:
            self.refuse(node, "FILTER and ORDER BY of aggregates are not supported in MATCH_RECOGNIZE")
        variable = next(iter(inner.of), "*")
        value = AggregateValue(
            variable, pending.function, pending.arguments, pending.type, pending.distinct, pending.literals
        )
        return self._value(value, value.type)

    def _special(self, node: exp.Expr) -> Expression:
        if node.this == "MATCH_PROCTIME":
            ltz = t.LocalZonedTimestampType(precision=3, nullable=False)
            data_type: t.DataType = with_attribute(ltz, t.TimeAttribute.PROCTIME)
        else:
            times = [c.type for c in self.scope.all_columns() if t.is_rowtime(c.type)]
            if not times:
                self.refuse(node, "MATCH_ROWTIME needs a table with a rowtime attribute")
            data_type = times[0].with_nullability(False)
        return self._value(SpecialValue(node.this, data_type), data_type)


class _OneVariable(ExpressionBinder):
    """The inside of LAST(...) or of an aggregate: columns of the input; ``of`` says of which variables."""

    def __init__(self, rows: _RowsBinder) -> None:
        super().__init__(rows.binder, rows.scope, "an aggregate of MATCH_RECOGNIZE")
        self.rows = rows
        self.of: set[str] = set()

    def own(self, node: exp.Expr) -> Expression | None:
        if isinstance(node, exp.Column):
            variable, expression = self.rows._split(node)
            self.of.add(variable)
            return expression
        return None
