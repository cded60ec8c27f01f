"""Expressions of programs bound against the columns of a table: names, types, calls.

What SQL does with sqlglot's trees (``sql/binder``) is done here with those of ``_tree.py``; functions are
found and typed by the same ``bind_call``.
"""

from __future__ import annotations

import datetime
import decimal
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import UnionType
from typing import Any, Final

from firesteel.common.errors import ProgramError
from firesteel.common.types import Row
from firesteel.sql import types as t
from firesteel.sql.binder.aggregates import CALL, PROPERTY, PendingCall
from firesteel.sql.binder.binder import Binder
from firesteel.sql.binder.calls import bind_call, bind_cast, bind_definition, plain
from firesteel.sql.binder.errors import near
from firesteel.sql.expressions import Call, Expression, InputRef, Literal, SubQuery
from firesteel.sql.functions.calls import cast, implicit, symbol
from firesteel.sql.functions.registry import FunctionDefinition, FunctionKind
from firesteel.sql.parser.errors import SqlValidationError
from firesteel.table import _tree as tree
from firesteel.table._show import show

__all__ = ["Resolver", "expand", "literal_of", "milliseconds", "resolve_over_row", "strip_alias"]


class ColumnError(SqlValidationError):
    """A column that the table does not have."""


def strip_alias(node: tree.Tree) -> tuple[tree.Tree, str | None]:
    """The expression without its alias, and the alias."""
    if isinstance(node, tree.Alias):
        return node.operand, node.names[0]
    return node, None


# ---- columns


def expand(nodes: Sequence[tree.Tree], row: t.RowType, resolver: Resolver | None = None) -> list[tree.Tree]:
    """``*``, ranges, ``with_columns``, ``flatten`` as single columns."""
    found: list[tree.Tree] = []
    for node in nodes:
        found += _expanded(node, row, resolver)
    return found


def _expanded(node: tree.Tree, row: t.RowType, resolver: Resolver | None) -> list[tree.Tree]:
    if isinstance(node, tree.Column) and node.name == "*":
        return [tree.Column(name) for name in row.names]
    if isinstance(node, tree.ColumnRange):
        return [tree.Column(row.names[i]) for i in range(*_range(node, row))]
    if isinstance(node, tree.Columns):
        chosen = [c for part in node.parts for c in _expanded(_by_number(part, row), row, resolver)]
        if not node.without:
            return chosen
        gone = {c.name for c in chosen if isinstance(c, tree.Column)}
        return [tree.Column(name) for name in row.names if name not in gone]
    if isinstance(node, tree.FunctionCall) and node.function == "$FLATTEN" and resolver is not None:
        bound = resolver.resolve(node.arguments[0])
        if not isinstance(bound.type, t.RowType):
            return [node.arguments[0]]
        return [tree.FunctionCall("GET", (node.arguments[0], tree.Mark(name))) for name in bound.type.names]
    if isinstance(node, tree.FunctionCall) and any(
        isinstance(a, tree.Columns | tree.ColumnRange) for a in node.arguments
    ):
        arguments = tuple(x for a in node.arguments for x in _expanded(a, row, resolver))
        return [tree.FunctionCall(node.function, arguments, node.distinct)]
    if isinstance(node, tree.Alias):
        inner = _expanded(node.operand, row, resolver)
        return [tree.Alias(inner[0], node.names)] if len(inner) == 1 else inner
    return [node]


def _by_number(part: tree.Tree, row: t.RowType) -> tree.Tree:
    if isinstance(part, tree.Value) and isinstance(part.value, int):
        return tree.Column(row.names[_index(part.value, row)])
    return part


def _index(number: int, row: t.RowType) -> int:
    if not 1 <= number <= len(row.names):
        raise ColumnError(
            f"There is no column of the number {number}.", detail=f"the table has {len(row.names)}"
        )
    return number - 1


def _range(node: tree.ColumnRange, row: t.RowType) -> tuple[int, int]:
    def place(end: Any) -> int:
        if isinstance(end, int):
            return _index(end, row)
        if end not in row.names:
            raise _no_column(str(end), row)
        return row.names.index(end)

    start, stop = place(node.start), place(node.end)
    if start > stop:
        raise ProgramError(
            "The start of a range of columns is behind its end.", detail=f"{node.start} to {node.end}"
        )
    return start, stop + 1


def _no_column(name: str, row: t.RowType) -> ColumnError:
    return ColumnError(
        f"Cannot resolve field [{name}], input field list:[{', '.join(row.names)}].",
        hint=near(name, row.names),
    )


def distinct_alone(node: tree.Tree) -> SqlValidationError:
    """:param node: what ``distinct`` was asked of."""
    return SqlValidationError(
        "Distinct operator can only be applied to aggregation expressions!",
        detail=show(node),
        hint="col('a').sum.distinct adds up different values; the rows themselves: table.distinct()",
    )


# ---- constants


def literal_of(value: Any) -> Expression:
    """A constant of a Python value, with the type that it has by itself."""
    if value is None:
        return Literal(None, t.NullType())
    for kind, make in _LITERALS:
        if isinstance(value, kind):
            return Literal(value, make(value))
    if isinstance(value, datetime.timedelta):
        return Literal(
            value // datetime.timedelta(milliseconds=1),
            t.DayTimeIntervalType("DAY_TO_SECOND", nullable=False),
        )
    raise ProgramError("A value is not of a type that a constant may have.", detail=f"got {value!r}")


def _integer(value: int) -> t.DataType:
    if -(2**31) <= value < 2**31:
        return t.IntType(nullable=False)
    if -(2**63) <= value < 2**63:
        return t.BigIntType(nullable=False)
    return t.DecimalType(min(38, len(str(abs(value)))), 0, nullable=False)


def _decimal(value: decimal.Decimal) -> t.DataType:
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    return t.DecimalType(max(len(digits), scale, 1), scale, nullable=False)


def _timestamp(value: datetime.datetime) -> t.DataType:
    kind = t.LocalZonedTimestampType if value.tzinfo is not None else t.TimestampType
    return kind(precision=6 if value.microsecond % 1000 else 3, nullable=False)


_LITERALS: Final[list[tuple[type | UnionType, Callable[[Any], t.DataType]]]] = [
    (bool, lambda _: t.BooleanType(nullable=False)),
    (int, _integer),
    (float, lambda _: t.DoubleType(nullable=False)),
    (decimal.Decimal, _decimal),
    (str, lambda v: t.CharType(max(len(v), 0), nullable=False)),
    (bytes | bytearray, lambda v: t.BinaryType(len(v), nullable=False)),
    (datetime.datetime, _timestamp),
    (datetime.date, lambda _: t.DateType(nullable=False)),
    (datetime.time, lambda v: t.TimeType(3 if v.microsecond else 0, nullable=False)),
]


def milliseconds(node: tree.Tree, resolver: Resolver) -> int:
    """The value of an interval that is constant."""
    from firesteel.sql.rules.constants import folded

    bound = folded(resolver.resolve(node))
    if isinstance(bound, Literal) and isinstance(
        bound.type, t.DayTimeIntervalType | t.BigIntType | t.IntType
    ):
        return int(bound.value)
    raise ProgramError("The size of a window is a constant interval.", hint="such as lit(10).minutes")


# ---- the resolver


class Resolver:
    """Binds over the columns of *row*.

    :param aggregates: whether aggregates may stand in the expressions; they are gathered in ``calls``, and
        references to them are numbered from ``CALL``.
    :param properties: of a window called so, asked for as ``col('w').start``; numbered from ``PROPERTY``.
    """

    def __init__(
        self,
        session: Any,
        row: t.RowType,
        *,
        binder: Binder | None = None,
        aggregates: bool = False,
        keys: Sequence[Expression] = (),
        window: Any = None,
        names: dict[str, Expression] | None = None,
        right: t.RowType | None = None,
    ) -> None:
        self.session = session
        self.binder: Binder = binder if binder is not None else session.binder()
        self.row = row
        self.aggregates = aggregates
        self.keys = list(keys)
        self.window = window
        self.names = names or {}
        self.right = right
        self.calls: list[PendingCall] = []
        #: references to calls and properties, in the order in which they were seen
        self.numbers: list[int] = []
        self.properties: list[tuple[str, t.DataType]] = []
        self.overs: list[Any] = []
        self.over_windows: dict[str, Any] = {}

    # ---- one node

    def resolve(self, node: tree.Tree) -> Expression:
        """:raises SqlValidationError: it means nothing here."""
        handler = _HANDLERS.get(type(node))
        if handler is None:
            raise ProgramError("This cannot stand in an expression.", detail=repr(node))
        made: Expression = handler(self, node)
        return made

    def column(self, node: tree.Column) -> Expression:
        if node.name in self.names:
            return self.names[node.name]
        found = [i for i, name in enumerate(self.row.names) if name == node.name]
        if not found:
            raise _no_column(node.name, self.row)
        if len(found) > 1:
            raise ColumnError(f"Ambiguous column name: {node.name}", hint="rename the columns of one table")
        return InputRef(found[0], self.row.types[found[0]])

    def value(self, node: tree.Value) -> Expression:
        if node.data_type is not None:
            if node.value is None:
                return Literal(None, node.data_type.with_nullability(True))
            return self._typed_value(node.value, node.data_type)
        if isinstance(node.value, list | tuple) and not isinstance(node.value, Row):
            return self.call("ARRAY", [self.resolve(tree.Value(v)) for v in node.value])
        if isinstance(node.value, dict):
            pairs = [x for pair in node.value.items() for x in pair]
            return self.call("MAP", [self.resolve(tree.Value(v)) for v in pairs])
        if isinstance(node.value, Row):
            return self._row([self.resolve(tree.Value(v)) for v in node.value])
        return literal_of(node.value)

    def row_of(self, node: tree.FunctionCall) -> Expression:
        return self._row(self.operands(node.arguments))

    def _row(self, operands: Sequence[Expression]) -> Expression:
        """``row(...)``: its fields are called f0, f1 ..."""
        made = self.call("ROW", operands)
        assert isinstance(made, Call)
        types = [o.type for o in operands]
        return replace(made, type=t.RowType.of([f"f{i}" for i in range(len(types))], types).not_null())

    def _typed_value(self, value: Any, data_type: t.DataType) -> Expression:
        made = self.value(tree.Value(value))
        wanted = data_type.with_nullability(False) if not isinstance(data_type, t.NullType) else data_type
        return made if made.type == wanted else cast(made, wanted)

    def mark(self, node: tree.Mark) -> Expression:
        return symbol(node.value)

    def typed(self, node: tree.TypedCall) -> Expression:
        operand = self.resolve(node.operand)
        wanted = node.data_type.with_nullability(operand.type.nullable)
        return bind_cast(self.binder, operand, wanted, attempt=node.function == "TRY_CAST")

    def alias(self, node: tree.Alias) -> Expression:
        return self.resolve(node.operand)

    def sql_text(self, node: tree.SqlText) -> Expression:
        from firesteel.sql.binder.tables import bind_row_expression

        return bind_row_expression(self.binder, node.text, self.row)

    def in_table(self, node: tree.InTable) -> Expression:
        plan = node.table._node
        operand = self.resolve(node.operand)
        if len(plan.row.fields) != 1:
            raise SqlValidationError(
                "The table of in_() has one column.", detail=f"it has {len(plan.row.fields)}"
            )
        from firesteel.sql.binder.row_types import common_type, project_to

        data_type = common_type([operand.type, plan.row.types[0]])
        if data_type is None:
            raise SqlValidationError(
                f"IN operator on incompatible types: {operand.type} and {plan.row.types[0]}."
            )
        nullable = operand.type.nullable or plan.row.types[0].nullable
        return SubQuery(
            "IN",
            project_to(plan, [data_type]),
            (implicit(operand, data_type.with_nullability(operand.type.nullable)),),
            t.BooleanType(nullable=nullable),
        )

    def property(self, node: tree.WindowProperty) -> Expression:
        operand = node.operand
        window = self.window
        if window is not None and isinstance(operand, tree.Column) and operand.name == window.name:
            data_type = window.property_type(node.name)
            for i, (name, _) in enumerate(self.properties):
                if name == node.name:
                    return InputRef(PROPERTY + i, data_type)
            self.properties.append((node.name, data_type))
            self.numbers.append(PROPERTY + len(self.properties) - 1)
            return InputRef(PROPERTY + len(self.properties) - 1, data_type)
        raise SqlValidationError(
            f"Property {node.name} is not that of a window of this table.",
            hint="window(...alias('w')), group_by(col('w')), then select(col('w').start)",
        )

    def over(self, node: tree.OverRef) -> Expression:
        from firesteel.table._over import over_call

        return over_call(self, node)

    # ---- calls

    def function(self, node: tree.FunctionCall) -> Expression:
        special = _SPECIAL.get(node.function) if isinstance(node.function, str) else None
        definition = self.definition(node) if special is None else None
        if definition is not None and definition.kind is FunctionKind.AGGREGATE:
            return self.aggregate(node, definition)
        if node.distinct:
            raise distinct_alone(node)
        if special is not None:
            found: Expression = special(self, node)
            return found
        operands = self.operands(node.arguments)
        if not isinstance(node.function, str):
            assert definition is not None
            return self.user_call(definition, operands)
        return self.call(self._called(node.function), operands)

    def definition(self, node: tree.FunctionCall) -> FunctionDefinition | None:
        """What a call means; None: that is for ``bind_call`` to say."""
        if not isinstance(node.function, str):
            function = node.function
            if function._takes_row:
                columns = expand(node.arguments, self.row, self)
                names = [c.name if isinstance(c, tree.Column) else f"f{i}" for i, c in enumerate(columns)]
                function = function._for_columns(names)
            found: FunctionDefinition = function._function_definition()
            return self.binder.noted(found)
        path = self._called(node.function)
        found_built_in = self.binder.function(path)
        if found_built_in is not None or len(path) > 1:
            return found_built_in
        from firesteel.sql.binder.calls import _named

        return _named(path[0])

    def _called(self, name: str) -> tuple[str, ...]:
        """What a function is called by, which may have the name that Flink's Table API has for one of SQL."""
        path = self._path(name)
        if len(path) > 1 or self.binder.function(path) is not None:
            return path
        in_sql = _IN_SQL.get(name) or re.sub("(?<=[a-z])(?=[A-Z])", "_", name).upper()
        return path if self.binder.function((in_sql,)) is None else (in_sql,)

    @staticmethod
    def _path(name: str) -> tuple[str, ...]:
        return tuple(part.strip("`") for part in name.split(".")) if "." in name else (name,)

    def operands(self, arguments: Sequence[tree.Tree]) -> list[Expression]:
        expanded = expand(arguments, self.row, self)
        return [self.resolve(a.operand if isinstance(a, tree.Argument) else a) for a in expanded]

    def call(self, name: str | Sequence[str], operands: Sequence[Expression]) -> Expression:
        return bind_call(self.binder, name, operands)

    def user_call(self, definition: FunctionDefinition, operands: Sequence[Expression]) -> Expression:
        return bind_definition(self.binder, definition, operands)

    # ---- aggregates

    def aggregate(self, node: tree.FunctionCall, definition: FunctionDefinition) -> Expression:
        if not self.aggregates:
            raise SqlValidationError(
                f"An aggregate cannot stand here: {definition.name}.",
                hint="use it in select() behind group_by()",
            )
        pending = self.pending(node, definition)
        if pending not in self.calls:
            self.calls.append(pending)
            self.numbers.append(CALL + len(self.calls) - 1)
        return InputRef(CALL + self.calls.index(pending), pending.type)

    def pending(
        self, node: tree.FunctionCall, definition: FunctionDefinition, grouped: bool | None = None
    ) -> PendingCall:
        """An aggregate over expressions of the columns."""
        from firesteel.sql.binder.aggregates import _split
        from firesteel.sql.functions.calls import _Given, invalid

        inside = Resolver(self.session, self.row, binder=self.binder, names=dict(self.names))
        operands = inside.operands(node.arguments)
        if definition.name == "COUNT" and not node.arguments:
            operands = []
        typing = definition.rule(_Given(tuple(operands)))
        if typing is None:
            raise invalid(definition, operands)
        operands = [implicit(o, d) for o, d in zip(operands, typing.arguments, strict=True)]
        result = plain(typing.result)
        if definition.null_when_empty and not (bool(self.keys) if grouped is None else grouped):
            result = result.with_nullability(True)
        arguments, literals = _split(definition, operands)
        return PendingCall(definition.name, arguments, result, distinct=node.distinct, literals=literals)

    # ---- calls with a form of their own

    def interval(self, node: tree.FunctionCall) -> Expression:
        operand = self.resolve(node.arguments[0])
        unit, factor = node.arguments[1], node.arguments[2]
        assert isinstance(unit, tree.Mark)
        assert isinstance(factor, tree.Value)
        if unit.value == "MONTH":
            data_type: t.DataType = t.YearMonthIntervalType("MONTH", nullable=operand.type.nullable)
        else:
            data_type = t.DayTimeIntervalType("DAY_TO_SECOND", nullable=operand.type.nullable)
        if isinstance(operand, Literal):
            return Literal(None if operand.value is None else int(operand.value * factor.value), data_type)
        product = self.call("TIMES", [operand, literal_of(factor.value)])
        return Call("CAST", (product,), data_type)

    def between(self, node: tree.FunctionCall) -> Expression:
        value, low, high = (self.resolve(a) for a in node.arguments)
        within = [
            self.call("GREATER_THAN_OR_EQUAL", [value, low]),
            self.call("LESS_THAN_OR_EQUAL", [value, high]),
        ]
        made = self.call("AND", within)
        return self.call("NOT", [made]) if node.function == "NOT_BETWEEN" else made

    def in_(self, node: tree.FunctionCall) -> Expression:
        value, *others = (self.resolve(a) for a in node.arguments)
        equal = [self.call("EQUALS", [value, other]) for other in others]
        return equal[0] if len(equal) == 1 else self.call("OR", equal)

    def if_then_else(self, node: tree.FunctionCall) -> Expression:
        condition, yes, no = (self.resolve(a) for a in node.arguments)
        return self.call("CASE", [condition, yes, no])

    def plus(self, node: tree.FunctionCall) -> Expression:
        """A sum; what is added to a text, or has one added to it, becomes one."""
        operands = self.operands(node.arguments)
        if not any(isinstance(o.type, t.CharType | t.VarCharType) for o in operands):
            return self.call("PLUS", operands)
        return self.call("CONCAT", [bind_cast(self.binder, o, t.VarCharType()) for o in operands])

    def get(self, node: tree.FunctionCall) -> Expression:
        operand, which = self.resolve(node.arguments[0]), node.arguments[1]
        assert isinstance(which, tree.Mark)
        if not isinstance(operand.type, t.RowType):
            raise SqlValidationError(
                f"get() is for rows, not for {operand.type}.", detail=f"asked for: {which.value}"
            )
        names = operand.type.names
        index = names.index(which.value) if which.value in names else which.value
        if not isinstance(index, int) or not 0 <= index < len(names):
            raise SqlValidationError(
                f"{operand.type} has no field {which.value!r}.", hint=near(str(which.value), names)
            )
        data_type = operand.type.types[index]
        result = data_type.with_nullability(data_type.nullable or operand.type.nullable)
        return Call("GET", (operand, Literal(index, t.IntType(nullable=False))), result)


def resolve_over_row(expression: Any, row: t.RowType, binder: Binder) -> Expression:
    """An expression of a schema over the columns of the table."""
    return Resolver(None, row, binder=binder).resolve(expression._tree)


_HANDLERS: Final[dict[type[tree.Tree], Any]] = {
    tree.Column: Resolver.column,
    tree.Value: Resolver.value,
    tree.Mark: Resolver.mark,
    tree.TypedCall: Resolver.typed,
    tree.Alias: Resolver.alias,
    tree.SqlText: Resolver.sql_text,
    tree.InTable: Resolver.in_table,
    tree.WindowProperty: Resolver.property,
    tree.OverRef: Resolver.over,
    tree.FunctionCall: Resolver.function,
}

#: What SQL calls a function of the Table API, where that is not the same name with ``_`` between its words.
_IN_SQL: Final = {"sum0": "$SUM0", "initCap": "INITCAP", "timestampDiff": "TIMESTAMPDIFF"}

_SPECIAL: Final[dict[str, Any]] = {
    "$INTERVAL": Resolver.interval,
    "BETWEEN": Resolver.between,
    "NOT_BETWEEN": Resolver.between,
    "IN": Resolver.in_,
    "IF_THEN_ELSE": Resolver.if_then_else,
    "GET": Resolver.get,
    "PLUS": Resolver.plus,
    "ROW": Resolver.row_of,
}
