"""Logical plans as texts: EXPLAIN's abstract syntax tree, in Calcite's words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from firesteel.sql import logical as l
from firesteel.sql.expression_text import aggregate_text, expression_text
from firesteel.sql.expressions import Expression, InputRef, Ordering, rewrite, walk
from firesteel.sql.plan_text import draw
from firesteel.sql.types import RowType

__all__ = ["logical_text"]


def logical_text(root: l.Node) -> str:
    return draw(_renamed(root), _line, lambda node: [_renamed(child) for child in node.inputs])


def _renamed(node: l.Node) -> l.Node:
    """An aggregate that a projection only gives other names has these names, as in Calcite."""
    if not isinstance(node, l.Project) or not isinstance(node.input, l.Aggregate):
        return node
    every = node.input.row
    if len(node.expressions) != len(every.fields) or any(
        not isinstance(e, InputRef) or e.index != i for i, e in enumerate(node.expressions)
    ):
        return node
    return replace(node.input, row=RowType.of(node.row.names, every.types))


def _number(i: int) -> str:
    return f"${i}"


def _text(expression: Any) -> str:
    if any(isinstance(e, l.SubQuery) for e in walk(expression)):
        return _with_queries(expression)
    return expression_text(expression, _number)


def _with_queries(expression: Expression) -> str:
    """Sub-queries in braces, as Calcite writes them."""
    queries: list[l.SubQuery] = []

    def hidden(e: Expression) -> Expression:
        if not isinstance(e, l.SubQuery):
            return e
        queries.append(e)
        return InputRef(_QUERY + len(queries) - 1, e.type)

    def name(index: int) -> str:
        return _number(index) if index < _QUERY else _query(queries[index - _QUERY])

    return expression_text(rewrite(expression, hidden), name)


#: Where numbers of sub-queries begin among those of columns.
_QUERY: Final = 10_000_000


def _query(query: l.SubQuery) -> str:
    kind = {"SCALAR": "$SCALAR_QUERY"}.get(query.kind, query.kind)
    operands = "".join(f"{_text(o)}, " for o in query.operands)
    return f"{kind}({operands}{{\n{_indented(query.plan, 0)}\n}})"


def _indented(node: Any, depth: int) -> str:
    lines = ["  " * depth + _line(node)]
    return "\n".join([*lines, *(_indented(i, depth + 1) for i in node.inputs)])


def _line(node: Any) -> str:
    make = _LINES.get(type(node))
    return f"Logical{type(node).__name__}()" if make is None else make(node)


def _columns(names: Sequence[str], expressions: Sequence[Expression]) -> str:
    return ", ".join(f"{n}=[{_text(e)}]" for n, e in zip(names, expressions, strict=True))


def _table(node: Any) -> str:
    path = node.table.path if hasattr(node.table, "path") else None
    return node.table.name if path is None else ", ".join(path.parts)


def _scan(node: l.Scan) -> str:
    """What is asked of the source stands behind its name, as in Flink's plans."""
    parts = [_table(node)]
    if node.predicates:
        names = node.row.names
        shown = ", ".join(expression_text(p, lambda i: names[i]) for p in node.predicates)
        parts.append(f"filter=[{shown}]")
    if node.columns is not None:
        parts.append(f"project=[{', '.join(node.row.names)}]")
    return f"LogicalTableScan(table=[[{', '.join(parts)}]])"


def _values(node: l.Values) -> str:
    rows = ", ".join("{ " + ", ".join(_text(x) for x in row) + " }" for row in node.rows)
    return f"LogicalValues(tuples=[[{rows}]])"


def _watermark(node: l.WatermarkAssigner) -> str:
    name = node.row.names[node.column]
    return f"LogicalWatermarkAssigner(rowtime=[{name}], watermark=[{_text(node.expression)}])"


def _aggregate(node: Any) -> str:
    group = ", ".join(map(str, node.group))
    names = node.row.names[len(node.group) :]
    calls = "".join(f", {n}=[{aggregate_text(c, _number)}]" for n, c in zip(names, node.calls, strict=False))
    sets = ""
    if len(getattr(node, "sets", ())) > 1:
        shown = ", ".join("{" + ", ".join(str(node.group[i]) for i in s) + "}" for s in node.sets)
        sets = f", groups=[[{shown}]]"
    return f"LogicalAggregate(group=[{{{group}}}]{sets}{calls})"


def _join(node: l.Join) -> str:
    return f"LogicalJoin(condition=[{_text(node.condition)}], joinType=[{node.kind.lower()}])"


def _set(node: l.SetOperation) -> str:
    word = {"UNION": "Union", "INTERSECT": "Intersect", "EXCEPT": "Minus"}[node.kind]
    return f"Logical{word}(all=[{str(node.all).lower()}])"


def _order(order: Sequence[Ordering]) -> list[str]:
    return [f"sort{i}=[${o.index}]" for i, o in enumerate(order)] + [
        f"dir{i}=[{'ASC' if o.ascending else 'DESC'}-nulls-{'first' if o.nulls_first else 'last'}]"
        for i, o in enumerate(order)
    ]


def _sort(node: l.Sort) -> str:
    parts = _order(node.order)
    parts += [f"offset=[{node.offset}]"] if node.offset else []
    parts += [f"fetch=[{node.fetch}]"] if node.fetch is not None else []
    return f"LogicalSort({', '.join(parts)})"


def _over(node: l.Over) -> str:
    shown = [f"{n}=[${i}]" for i, n in enumerate(node.row.names[: len(node.input.row.names)])]
    for name, over in zip(node.row.names[len(shown) :], node.calls, strict=True):
        by = f"PARTITION BY {', '.join(map(_number, over.partition))}" if over.partition else ""
        terms = [
            f"${o.index}{'' if o.ascending else ' DESC'} NULLS {'FIRST' if o.nulls_first else 'LAST'}"
            for o in over.order
        ]
        order = f"ORDER BY {', '.join(terms)}" if terms else ""
        shown.append(
            f"{name}=[{aggregate_text(over.call, _number)} OVER ({' '.join(x for x in (by, order) if x)})]"
        )
    return f"LogicalProject({', '.join(shown)})"


def _window(node: l.WindowTable) -> str:
    return (
        f"LogicalTableFunctionScan(invocation=[{node.kind}(DESCRIPTOR(${node.time}), {node.size}:INTERVAL)])"
    )


_LINES: Final[dict[type[Any], Callable[[Any], str]]] = {
    l.Scan: _scan,
    l.Values: _values,
    l.Project: lambda n: f"LogicalProject({_columns(n.row.names, n.expressions)})",
    l.Filter: lambda n: f"LogicalFilter(condition=[{_text(n.condition)}])",
    l.WatermarkAssigner: _watermark,
    l.Aggregate: _aggregate,
    l.GroupWindowAggregate: _aggregate,
    l.WindowTable: _window,
    l.Join: _join,
    l.SetOperation: _set,
    l.Sort: _sort,
    l.Over: _over,
    l.Snapshot: lambda n: f"LogicalSnapshot(period=[{_text(n.period)}])",
    l.Correlate: lambda n: f"LogicalCorrelate(joinType=[{n.kind.lower()}])",
    l.TableCall: lambda n: (
        f"LogicalTableFunctionScan(invocation=[{n.function}({', '.join(map(_text, n.arguments))})])"
    ),
    l.Sink: lambda n: f"LogicalSink(table=[{n.table.name}], fields=[{', '.join(n.input.row.names)}])",
}
