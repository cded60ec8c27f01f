"""SQL expressions to values, for tests: text -> binder -> evaluator, on a row of constants."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from sqlglot import exp

from firesteel.common.columns import Columns
from firesteel.common.errors import FiresteelError
from firesteel.sql import functions, types as t
from firesteel.sql.binder.binder import Binder
from firesteel.sql.binder.expressions import ExpressionBinder
from firesteel.sql.binder.scope import Scope, relation_of
from firesteel.sql.catalog_manager import CatalogManager
from firesteel.sql.evaluator import EvaluationContext, compile_expressions
from firesteel.sql.expressions import Expression, references
from firesteel.sql.functions.calls import cast
from firesteel.sql.parser.dialect import parse_expression, parse_query
from firesteel.sql.values import values_of

#: answers recorded from Flink
DATA: Final = Path(__file__).parent.parent / "data"

CONTEXT = EvaluationContext(attributes={"current_database": "default_database"})


@dataclass
class Row:
    """Columns of one row; one whose expression fails has its error as its value."""

    names: Sequence[str] = ()
    types: Sequence[t.DataType] = ()
    columns: Sequence[Any] = ()


def _binder(row: Row) -> ExpressionBinder:
    manager = CatalogManager(builtin=functions.find, builtin_names=functions.sql_names)
    fields = t.RowType.of(list(row.names), list(row.types))
    return ExpressionBinder(Binder(manager), Scope([relation_of("T", fields)]))


def bind(sql: str, row: Row | None = None) -> Expression:
    return _binder(row or Row()).bind(parse_expression(sql))


def row_of(query: str, context: EvaluationContext = CONTEXT) -> Row:
    """The row of ``SELECT x AS a, ...`` or ``SELECT ... FROM (VALUES (x, ...)) T(a, ...)``."""
    tree = parse_query(query)
    values = list(tree.find_all(exp.Values))
    names = [e.this.this if isinstance(e, exp.Column) else e.alias_or_name for e in tree.args["expressions"]]
    nodes = (
        values[0].expressions[0].expressions
        if values
        else [e.this if isinstance(e, exp.Alias) else e for e in tree.args["expressions"]]
    )
    binder = _binder(Row())
    expressions = [binder.bind(n) for n in nodes]
    columns: list[Any] = []
    for expression in expressions:
        try:
            columns += compile_expressions([expression], []).run(Columns([], 1), context)
        except FiresteelError as error:
            columns.append(error)
    return Row(names, [e.type for e in expressions], columns)


def run(expression: Expression, row: Row | None = None, context: EvaluationContext = CONTEXT) -> Any:
    """The physical value of an expression on a row."""
    row = row or Row()
    for index in references(expression):
        if isinstance(row.columns[index], Exception):
            raise row.columns[index]
    columns = [pa.nulls(1) if isinstance(c, Exception) else c for c in row.columns]
    found = compile_expressions([expression], row.types).run(Columns(columns, 1), context)[0]
    assert len(found) == 1
    return values_of(found, expression.type)[0]


def value(sql: str, row: Row | None = None, context: EvaluationContext = CONTEXT) -> Any:
    return run(bind(sql, row), row, context)


def text(sql: str, row: Row | None = None, context: EvaluationContext = CONTEXT) -> Any:
    """``CAST(... AS STRING)`` of an expression, or its value where there is no such cast."""
    expression = bind(sql, row)
    try:
        shown = cast(expression, t.VarCharType())
    except FiresteelError:
        shown = expression
    return run(shown, row, context)


def type_text(expression: Expression) -> str:
    """The type as Flink shows it: of intervals it knows months and milliseconds only."""
    shown = re.sub(
        r"INTERVAL (?:DAY|HOUR|MINUTE|SECOND)(?:\(\d+\))?(?: TO (?:HOUR|MINUTE|SECOND)(?:\(\d+\))?)?",
        "INTERVAL SECOND(3)",
        str(expression.type),
    )
    return re.sub(r"INTERVAL YEAR(?:\(\d+\))?(?: TO MONTH)?", "INTERVAL MONTH", shown)
