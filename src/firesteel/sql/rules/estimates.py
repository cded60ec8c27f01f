"""How many rows a plan gives, as far as statistics of its tables tell."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from firesteel.sql import logical as l
from firesteel.sql.expressions import Call, Expression, InputRef, Literal
from firesteel.sql.rules.conditions import conjuncts
from firesteel.sql.statistics import ColumnStatistics, StatisticsOf

__all__ = ["Estimate", "estimate", "selectivity"]

# Where nothing is known of values, as Calcite guesses.
_EQUAL: Final = 0.15
_COMPARED: Final = 0.5
_NULL: Final = 0.1
_OTHERWISE: Final = 0.25
_UNKNOWN: Final = ColumnStatistics()
_COMPARISONS: Final = ("LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL")


@dataclass(frozen=True, slots=True)
class Estimate:
    """:param columns: what is known of each column of the row."""

    rows: float
    columns: tuple[ColumnStatistics, ...]

    def distinct(self, column: int) -> float | None:
        """How many values a column has: never more than there are rows."""
        known = self.columns[column].distinct
        return None if known is None else max(1.0, min(float(known), self.rows))

    def with_rows(self, rows: float) -> Estimate:
        return replace(self, rows=rows)


def estimate(node: l.Node, statistics: StatisticsOf) -> Estimate | None:
    """None: nothing can be said, for example as nothing is known of a table."""
    handler = _NODES.get(type(node))
    return None if handler is None else handler(node, statistics)


def selectivity(condition: Expression, of: Estimate) -> float:
    """Which share of rows fulfils a condition over their columns."""
    return _all_of(conjuncts(condition), of)


# ---- conditions


def _share(part: Expression, of: Estimate) -> float:
    if isinstance(part, Literal):
        return 1.0 if part.value is True else 0.0
    if not isinstance(part, Call):
        return _COMPARED
    handler = _CONDITIONS.get(part.function)
    return _OTHERWISE if handler is None else handler(part, of)


def _compared(part: Call, of: Estimate) -> float:
    end = _end_of(part, of)
    return _COMPARED if end is None else end[2] - end[1]


def _any_of(part: Call, of: Estimate) -> float:
    none = 1.0
    for operand in part.operands:
        none *= 1 - _share(operand, of)
    return 1 - none


def _all_of(parts: Sequence[Expression], of: Estimate) -> float:
    """Conditions count as independent of each other, but for the two ends of a range."""
    share = 1.0
    ends: dict[int, tuple[float, float]] = {}
    for part in parts:
        end = _end_of(part, of)
        if end is None:
            share *= _share(part, of)
            continue
        column, above, below = end
        least, most = ends.get(column, (0.0, 1.0))
        ends[column] = max(least, above), min(most, below)
    return share * math.prod(max(0.0, most - least) for least, most in ends.values())


def _end_of(part: Expression, of: Estimate) -> tuple[int, float, float] | None:
    """A column, and between which shares of its values, in order, a comparison with a constant is true."""
    if not isinstance(part, Call) or part.function not in _COMPARISONS:
        return None
    less, more = part.operands if part.function.startswith("LESS") else reversed(part.operands)
    if isinstance(less, InputRef) and isinstance(more, Literal):
        share = _part_below(of.columns[less.index], more.value)
        return None if share is None else (less.index, 0.0, share)
    if isinstance(less, Literal) and isinstance(more, InputRef):
        share = _part_below(of.columns[more.index], less.value)
        return None if share is None else (more.index, share, 1.0)
    return None


def _equal(part: Call, of: Estimate) -> float:
    counts = [of.distinct(o.index) for o in part.operands if isinstance(o, InputRef)]
    known = [count for count in counts if count is not None]
    return 1 / max(known) if known else _EQUAL


def _one_of(part: Call, of: Estimate) -> float:
    first, *values = part.operands
    return min(1.0, len(values) * _equal(Call("EQUALS", (first,), part.type), of))


def _is_null(part: Call, of: Estimate) -> float:
    (operand,) = part.operands
    if isinstance(operand, InputRef) and (nulls := of.columns[operand.index].nulls) is not None:
        return min(1.0, nulls / max(of.rows, 1.0))
    return _NULL


def _part_below(column: ColumnStatistics, bound: Any) -> float | None:
    """The share of the values of a column that are less than a constant, as if all were as far apart."""
    low, high, at = (_number(value) for value in (column.low, column.high, bound))
    if low is None or high is None or at is None:
        return None
    if low == high:
        return 1.0 if low <= at else 0.0
    return min(1.0, max(0.0, (at - low) / (high - low)))


def _number(value: Any) -> float | None:
    """A value on a line, where it has a place there."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=value.tzinfo or dt.UTC).timestamp()
    if isinstance(value, dt.date):
        return float(value.toordinal())
    return float(value) if isinstance(value, int | float | Decimal) else None


def _not(part: Call, of: Estimate) -> float:
    return 1 - _share(part.operands[0], of)


_CONDITIONS: Final[dict[str, Callable[[Call, Estimate], float]]] = {
    "OR": _any_of,
    "AND": lambda part, of: _all_of(part.operands, of),
    "NOT": _not,
    "EQUALS": _equal,
    "NOT_EQUALS": lambda part, of: 1 - _equal(part, of),
    "IN": _one_of,
    "IS_NULL": _is_null,
    "IS_NOT_NULL": lambda part, of: 1 - _is_null(part, of),
    **dict.fromkeys(_COMPARISONS, _compared),
}


# ---- nodes


def _scan(node: l.Scan, statistics: StatisticsOf) -> Estimate | None:
    known = statistics(node.table)
    if known is None or known.rows < 0:  # of a table of which somebody has only said what its columns have
        return None
    return Estimate(float(known.rows), tuple(known.columns.get(name, _UNKNOWN) for name in node.row.names))


def _values(node: l.Values, statistics: StatisticsOf) -> Estimate | None:
    columns = zip(*node.rows, strict=True) if node.rows else ()
    found = tuple(ColumnStatistics(distinct=len({v.value for v in column})) for column in columns)
    return Estimate(float(len(node.rows)), found or (_UNKNOWN,) * len(node.row.names))


def _filter(node: l.Filter, statistics: StatisticsOf) -> Estimate | None:
    below = estimate(node.input, statistics)
    if below is None:
        return None
    return below.with_rows(below.rows * selectivity(node.condition, below))


def _project(node: l.Project, statistics: StatisticsOf) -> Estimate | None:
    below = estimate(node.input, statistics)
    if below is None:
        return None
    columns = (below.columns[e.index] if isinstance(e, InputRef) else _UNKNOWN for e in node.expressions)
    return Estimate(below.rows, tuple(columns))


def _aggregate(node: l.Aggregate, statistics: StatisticsOf) -> Estimate | None:
    below = estimate(node.input, statistics)
    if below is None or len(node.sets) > 1:
        return None
    counts = [below.distinct(column) for column in node.group]
    groups = math.prod(below.rows if count is None else count for count in counts)
    unknown = (_UNKNOWN,) * (len(node.row.names) - len(node.group))
    columns = (*(below.columns[column] for column in node.group), *unknown)
    return Estimate(min(groups, below.rows) if counts else 1.0, columns)


def _sort(node: l.Sort, statistics: StatisticsOf) -> Estimate | None:
    below = estimate(node.input, statistics)
    if below is None or node.fetch is None:
        return below
    return below.with_rows(min(below.rows, float(node.fetch)))


def _same(node: l.WatermarkAssigner, statistics: StatisticsOf) -> Estimate | None:
    return estimate(node.input, statistics)


def _union(node: l.SetOperation, statistics: StatisticsOf) -> Estimate | None:
    parts = [estimate(operand, statistics) for operand in node.operands]
    if node.kind != "UNION" or None in parts:
        return None
    rows = sum(part.rows for part in parts if part is not None)
    return Estimate(rows, (_UNKNOWN,) * len(node.row.names))


_NODES: Final[dict[type[l.Node], Callable[[Any, StatisticsOf], Estimate | None]]] = {
    l.Aggregate: _aggregate,
    l.Filter: _filter,
    l.Project: _project,
    l.Scan: _scan,
    l.SetOperation: _union,
    l.Sort: _sort,
    l.Values: _values,
    l.WatermarkAssigner: _same,
}
