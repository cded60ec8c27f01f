"""What a logical plan means, row by row: slow, obvious, without any rule. Sub-queries are evaluated for
each row."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from firesteel.sql import logical as l
from firesteel.sql.expressions import Call, InputRef, Literal, Outer, SubQuery

Row = tuple[Any, ...]
Tables = Mapping[str, Sequence[Row]]


def run(plan: l.Node, tables: Tables, outer: tuple[Row, ...] = ()) -> list[Row]:
    """The rows of a plan, in no order unless it sorts last."""
    return _NODES[type(plan)](plan, tables, outer)


def bag(rows: Sequence[Row]) -> Counter[Row]:
    return Counter(rows)


# ---- expressions


def value(e: Any, row: Row, tables: Tables, outer: tuple[Row, ...]) -> Any:
    if isinstance(e, InputRef):
        return row[e.index]
    if isinstance(e, Literal):
        return e.value
    if isinstance(e, Outer):
        return outer[-e.level][e.index]
    if isinstance(e, SubQuery):
        return _sub_query(e, row, tables, outer)
    assert isinstance(e, Call)
    if e.function == "CASE":
        for condition, result in zip(e.operands[:-1:2], e.operands[1:-1:2], strict=True):
            if value(condition, row, tables, outer) is True:
                return value(result, row, tables, outer)
        return value(e.operands[-1], row, tables, outer)
    operands = [value(o, row, tables, outer) for o in e.operands]
    special = _NULLS.get(e.function)
    if special is not None:
        return special(operands)
    return None if None in operands else _STRICT[e.function](*operands)


def _and(values: list[Any]) -> Any:
    return False if False in values else None if None in values else True


def _or(values: list[Any]) -> Any:
    return True if True in values else None if None in values else False


_NULLS = {
    "AND": _and,
    "OR": _or,
    "IS_NULL": lambda v: v[0] is None,
    "IS_NOT_NULL": lambda v: v[0] is not None,
    "IS_TRUE": lambda v: v[0] is True,
    "IS_FALSE": lambda v: v[0] is False,
    "IS_NOT_TRUE": lambda v: v[0] is not True,
    "IS_NOT_FALSE": lambda v: v[0] is not False,
    "IS_NOT_DISTINCT_FROM": lambda v: v[0] == v[1],
    "COALESCE": lambda v: next((x for x in v if x is not None), None),
}
_STRICT = {
    "NOT": lambda a: not a,
    "EQUALS": lambda a, b: a == b,
    "NOT_EQUALS": lambda a, b: a != b,
    "LESS_THAN": lambda a, b: a < b,
    "LESS_THAN_OR_EQUAL": lambda a, b: a <= b,
    "GREATER_THAN": lambda a, b: a > b,
    "GREATER_THAN_OR_EQUAL": lambda a, b: a >= b,
    "PLUS": lambda a, b: a + b,
    "MINUS": lambda a, b: a - b,
    "TIMES": lambda a, b: a * b,
    "MOD": lambda a, b: a % b,
    "CAST": lambda a: a,
}


def _sub_query(e: SubQuery, row: Row, tables: Tables, outer: tuple[Row, ...]) -> Any:
    rows = run(e.plan, tables, (*outer, row))
    if e.kind == "EXISTS":
        return bool(rows)
    if e.kind == "SCALAR":
        assert len(rows) <= 1
        return rows[0][0] if rows else None
    operands = [value(o, row, tables, outer) for o in e.operands]
    if e.kind == "IN":
        return _or([_and([_equal(a, b) for a, b in zip(operands, r, strict=True)]) for r in rows])
    quantifier, _, function = e.kind.partition("_")
    compared = [
        None if operands[0] is None or r[0] is None else _STRICT[function](operands[0], r[0]) for r in rows
    ]
    return _or(compared) if quantifier == "SOME" else _and(compared)


def _equal(a: Any, b: Any) -> Any:
    return None if a is None or b is None else a == b


# ---- nodes


def _scan(n: l.Scan, tables: Tables, outer: Any) -> list[Row]:
    positions = n.columns if n.columns is not None else range(len(n.row.fields))
    return [tuple(row[i] for i in positions) for row in tables[n.table.path.name]]


def _values(n: l.Values, tables: Tables, outer: Any) -> list[Row]:
    return [tuple(literal.value for literal in row) for row in n.rows]


def _project(n: l.Project, tables: Tables, outer: Any) -> list[Row]:
    return [tuple(value(e, row, tables, outer) for e in n.expressions) for row in run(n.input, tables, outer)]


def _filter(n: l.Filter, tables: Tables, outer: Any) -> list[Row]:
    return [row for row in run(n.input, tables, outer) if value(n.condition, row, tables, outer) is True]


def _join(n: l.Join, tables: Tables, outer: Any) -> list[Row]:
    left, right = run(n.left, tables, outer), run(n.right, tables, outer)
    width = len(n.right.row.fields)
    found: list[Row] = []
    matched: set[int] = set()
    for a in left:
        hits = [i for i, b in enumerate(right) if value(n.condition, (*a, *b), tables, outer) is True]
        matched.update(hits)
        if n.kind in ("SEMI", "ANTI"):
            found += [a] if bool(hits) is (n.kind == "SEMI") else []
            continue
        found += [(*a, *right[i]) for i in hits]
        if not hits and n.kind in ("LEFT", "FULL"):
            found.append((*a, *(None,) * width))
    if n.kind in ("RIGHT", "FULL"):
        empty = (None,) * len(n.left.row.fields)
        found += [(*empty, *b) for i, b in enumerate(right) if i not in matched]
    return found


def _correlate(n: l.Correlate, tables: Tables, outer: Any) -> list[Row]:
    found: list[Row] = []
    for a in run(n.left, tables, outer):
        if isinstance(n.right, l.TableCall):
            rows = _call(n.right, a, tables, outer)
        else:
            rows = run(n.right, tables, (*outer, a))
        joined = [(*a, *b) for b in rows]
        if n.condition is not None:
            joined = [r for r in joined if value(n.condition, r, tables, outer) is True]
        found += joined or ([(*a, *(None,) * len(n.right.row.fields))] if n.kind == "LEFT" else [])
    return found


def _call(n: l.TableCall, row: Row, tables: Tables, outer: Any) -> list[Row]:
    assert n.function == "REPLICATE_ROWS"
    times, *columns = (value(a, row, tables, outer) for a in n.arguments)
    return [tuple(columns)] * times


def _aggregate(n: l.Aggregate, tables: Tables, outer: Any) -> list[Row]:
    rows = run(n.input, tables, outer)
    found: list[Row] = []
    for one in n.sets or (tuple(range(len(n.group))),):
        groups: dict[Row, list[Row]] = {} if n.group else {(): []}
        if not one:
            groups.setdefault((None,) * len(n.group), [])
        for row in rows:
            key = tuple(row[g] if i in one else None for i, g in enumerate(n.group))
            groups.setdefault(key, []).append(row)
        found += [(*key, *(_aggregated(c, members) for c in n.calls)) for key, members in groups.items()]
    return found


def _aggregated(call: Any, rows: list[Row]) -> Any:
    if call.filter is not None:
        rows = [r for r in rows if r[call.filter] is True]
    values = [tuple(r[a] for a in call.arguments) for r in rows]
    values = [v for v in values if None not in v]
    if call.distinct:
        values = list(dict.fromkeys(values))
    if call.function == "COUNT":
        return len(values)
    column = [v[0] for v in values]
    if call.function == "SINGLE_VALUE":
        assert len(rows) <= 1
        return rows[0][call.arguments[0]] if rows else None
    if not column:
        return None
    return {"SUM": sum, "MIN": min, "MAX": max}[call.function](column)


def _ordered(rows: list[Row], order: Any) -> list[Row]:
    for term in reversed(order):

        def key(row: Row, term: Any = term) -> Any:
            v = row[term.index]
            return (v is None) is not term.nulls_first, 0 if v is None else v if term.ascending else -v

        rows = sorted(rows, key=key)
    return rows


def _sort(n: l.Sort, tables: Tables, outer: Any) -> list[Row]:
    rows = _ordered(run(n.input, tables, outer), n.order)[n.offset :]
    return rows if n.fetch is None else rows[: n.fetch]


def _over(n: l.Over, tables: Tables, outer: Any) -> list[Row]:
    rows = run(n.input, tables, outer)
    extra: list[list[Any]] = [[None] * len(n.calls) for _ in rows]
    for position, call in enumerate(n.calls):
        assert call.call.function == "ROW_NUMBER"
        groups: dict[Row, list[int]] = {}
        for i, row in enumerate(rows):
            groups.setdefault(tuple(row[p] for p in call.partition), []).append(i)
        for members in groups.values():
            numbered = _ordered([(*rows[i], i) for i in members], call.order)
            for number, row in enumerate(numbered, 1):
                extra[row[-1]][position] = number
    return [(*row, *more) for row, more in zip(rows, extra, strict=True)]


def _set(n: l.SetOperation, tables: Tables, outer: Any) -> list[Row]:
    bags = [Counter(run(o, tables, outer)) for o in n.operands]
    found = bags[0]
    for other in bags[1:]:
        if n.kind == "UNION":
            found = found + other
        elif n.all:
            found = found & other if n.kind == "INTERSECT" else found - other
        else:
            inside = n.kind == "INTERSECT"
            found = Counter({row: 1 for row in found if (row in other) is inside})
    if not n.all:
        return list(found)
    return list(itertools.chain.from_iterable([row] * count for row, count in found.items()))


def _through(n: Any, tables: Tables, outer: Any) -> list[Row]:
    return run(n.input, tables, outer)


_NODES: dict[type[l.Node], Any] = {
    l.Scan: _scan,
    l.Values: _values,
    l.Project: _project,
    l.Filter: _filter,
    l.Join: _join,
    l.Correlate: _correlate,
    l.Aggregate: _aggregate,
    l.Sort: _sort,
    l.Over: _over,
    l.SetOperation: _set,
    l.WatermarkAssigner: _through,
}
