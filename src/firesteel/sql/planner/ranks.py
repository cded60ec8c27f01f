"""OVER, Top-N, deduplication, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from firesteel.common.options import table as options
from firesteel.sql import logical as l, physical as p
from firesteel.sql.expressions import (
    Call,
    Expression,
    InputRef,
    Literal,
    Ordering,
    identity,
    references,
    rewrite,
    substitute,
)
from firesteel.sql.planner import conditions as c
from firesteel.sql.planner.calcs import calc, select
from firesteel.sql.planner.context import PlannerContext
from firesteel.sql.planner.errors import unsupported
from firesteel.sql.planner.exchanges import exchange
from firesteel.sql.planner.time_attributes import LOST_TIME
from firesteel.sql.planner.window_columns import window_columns
from firesteel.sql.types import (
    BigIntType,
    BitmapType,
    IntType,
    MapType,
    MultisetType,
    RowType,
    SmallIntType,
    TinyIntType,
    VariantType,
    is_proctime,
    is_rowtime,
)

if TYPE_CHECKING:
    from firesteel.sql.parser.errors import Place
    from firesteel.sql.planner.builder import Planner

__all__ = ["deduplications", "filter_of_rank", "over", "project_of_rank", "sort"]

RANKS: Final = frozenset(("ROW_NUMBER", "RANK", "DENSE_RANK"))
_WITHOUT_ORDER: Final = (MapType, MultisetType, BitmapType, VariantType)


# ---- Top-N


@dataclass(frozen=True, slots=True)
class _Ranked:
    """A filter on a rank: the OVER below it, which of its calls, and from where to where."""

    over: l.Over
    call: l.OverCall
    column: int
    start: int
    end: int | None
    end_column: int | None
    rest: Expression | None


def filter_of_rank(planner: Planner, node: l.Filter) -> p.Physical | None:
    """``WHERE rank <= n`` over ROW_NUMBER: the best rows, not all of them (Flink:
    ``FlinkLogicalRankRule``)."""
    below = node.input
    if isinstance(below, l.Project) and isinstance(below.input, l.Over):
        condition = substitute(node.condition, below.expressions)
        found = _ranked(planner.context, below.input, condition)
        if found is None:
            return None
        ranked = _rank(planner, found, _reads(below.expressions, found))
        return _calc_over_rank(planner.context, ranked, found, below.expressions, node.row)
    if isinstance(below, l.Over):
        found = _ranked(planner.context, below, node.condition)
        if found is None:
            return None
        ranked = _rank(planner, found, True)
        return _calc_over_rank(planner.context, ranked, found, identity(below.row), node.row)
    return None


def project_of_rank(planner: Planner, node: l.Project) -> p.Physical | None:
    """A projection of such a filter: where it leaves the number out, it is not made."""
    below = node.input
    if not isinstance(below, l.Filter):
        return None
    if isinstance(below.input, l.Project) and isinstance(below.input.input, l.Over):
        inner = below.input.expressions
        expressions = tuple(substitute(e, inner) for e in node.expressions)
        condition = substitute(below.condition, inner)
        over_node = below.input.input
    elif isinstance(below.input, l.Over):
        expressions, condition, over_node = node.expressions, below.condition, below.input
    else:
        return None
    found = _ranked(planner.context, over_node, condition)
    if found is None:
        return None
    ranked = _rank(planner, found, _reads(expressions, found))
    return _calc_over_rank(planner.context, ranked, found, expressions, node.row)


def _reads(expressions: Sequence[Expression], found: _Ranked) -> bool:
    """Whether the number is used behind the rank. Where it can only be one number, that is no use of it."""
    if found.start == found.end and found.call.call.function == "ROW_NUMBER":
        return False
    rest = [] if found.rest is None else [found.rest]
    return any(found.column in references(e) for e in [*expressions, *rest])


def _ranked(context: PlannerContext, node: l.Over, condition: Expression) -> _Ranked | None:
    _check_order(node.calls[0].order, node.input, node.calls[0].place)
    if len(node.calls) != 1 or node.calls[0].call.function not in RANKS:
        return None
    if context.batch:
        return None  # The number of every row is known when its input has ended.
    call = node.calls[0]
    column = len(node.input.row.fields)
    low, high, end_column = 1, None, None
    rest: list[Expression] = []
    for part in c.conjuncts(condition):
        found = c.comparison(part)
        variable = _variable_end(part, column)
        if found is not None and found.column == column and isinstance(found.other, Literal):
            value = found.other.value
            if not isinstance(value, int):
                rest.append(part)
                continue
            if found.function in (c.EQUALS, c.GREATER_EQUAL, c.GREATER):
                low = max(low, value + (found.function == c.GREATER))
            if found.function in (c.EQUALS, c.LESS_EQUAL, c.LESS):
                bound = value - (found.function == c.LESS)
                high = bound if high is None else min(high, bound)
            continue
        if variable is not None and end_column is None:
            end_column = variable
            continue
        rest.append(part)
    if high is None and end_column is None:
        return None
    return _Ranked(node, call, column, low, high, end_column, c.and_(rest))


def _variable_end(part: Expression, column: int) -> int | None:
    """``rank <= another column``."""
    if not isinstance(part, Call) or part.function not in (c.LESS_EQUAL, c.GREATER_EQUAL):
        return None
    operands = part.operands if part.function == c.LESS_EQUAL else part.operands[::-1]
    first, second = map(_widened, operands)
    if isinstance(first, InputRef) and isinstance(second, InputRef) and first.index == column != second.index:
        return second.index
    return None


def _widened(expression: Expression) -> Expression:
    """A column of whole numbers that is cast to compare it with the rank; anything else as it is."""
    if isinstance(expression, Call) and expression.function == "CAST":
        (inner,) = expression.operands
        if isinstance(inner.type, _WHOLE) and isinstance(expression.type, BigIntType):
            return inner
    return expression


_WHOLE: Final = (TinyIntType, SmallIntType, IntType)


def _rank(planner: Planner, found: _Ranked, show: bool) -> p.Physical:
    context = planner.context
    child = planner.plan(found.over.input)
    call = found.call
    if found.end is not None and found.end < found.start:
        return p.Values(row=_rank_row(child.row, show), rows=())
    windows = window_columns(child)
    if windows is not None:
        partition = set(call.partition)
        if partition & windows.start and partition & windows.end:
            return _window_rank(context, child, found, show)
    if call.call.function != "ROW_NUMBER":
        raise unsupported(
            f"{call.call.function}() on streaming table is not supported currently", place=call.place
        )
    return p.Rank(
        row=_rank_row(child.row, show),
        inputs=(exchange(child, call.partition),),
        function=call.call.function,
        partition=call.partition,
        order=call.order,
        start=found.start,
        end=found.end,
        end_column=found.end_column,
        show_number=show,
        ttl_ms=context.ttl_ms,
    )


def _rank_row(row: RowType, show: bool) -> RowType:
    if not show:
        return row
    return RowType.of([*row.names, "w0$o0"], [*row.types, BigIntType(nullable=False)])


def _window_rank(context: PlannerContext, child: p.Physical, found: _Ranked, show: bool) -> p.Physical:
    call = found.call
    windows = window_columns(child)
    assert windows is not None
    if call.call.function != "ROW_NUMBER":
        raise unsupported(f"{call.call.function}() on window is not supported currently", place=call.place)
    if found.end is None:
        raise unsupported(
            "Rank strategy rankEnd in rankRange must be constant for a window Top-N.", place=call.place
        )
    partition = tuple(
        column for column in call.partition if column not in windows.start | windows.end | windows.time
    )
    time = call.order[0] if len(call.order) == 1 else None
    by_time = time is not None and (
        is_rowtime(child.row.types[time.index]) or is_proctime(child.row.types[time.index])
    )
    window = windows.attached()
    if by_time and found.start == found.end == 1 and time is not None:
        if not is_rowtime(child.row.types[time.index]):
            raise unsupported("Processing time Window Deduplication is not supported yet.", place=call.place)
        return p.WindowDeduplicate(
            row=child.row,
            inputs=(exchange(child, partition),),
            window=window,
            partition=partition,
            time=time.index,
            keep_last=not time.ascending,
        )
    return p.WindowRank(
        row=_rank_row(child.row, show),
        inputs=(exchange(child, partition),),
        window=window,
        partition=partition,
        order=call.order,
        start=found.start,
        end=found.end,
        show_number=show,
    )


def _calc_over_rank(
    context: PlannerContext,
    ranked: p.Physical,
    found: _Ranked,
    expressions: Sequence[Expression],
    row: RowType,
) -> p.Physical:
    """What stands over the rank; a number that is known is a constant."""
    if len(ranked.row.fields) == found.column:
        constant = Literal(found.start, BigIntType(nullable=False))

        def known(e: Expression) -> Expression:
            return constant if isinstance(e, InputRef) and e.index == found.column else e

        expressions = [rewrite(e, known) for e in expressions]
        rest = None if found.rest is None else rewrite(found.rest, known)
    else:
        rest = found.rest
    return calc(context, ranked, expressions, row, rest)


def deduplications(root: p.Physical, context: PlannerContext) -> p.Physical:
    """Ranks that keep the first or the last row by time become what they are (Flink: ``RankUtil``)."""
    done: dict[int, p.Physical] = {}

    def visit(node: p.Physical) -> p.Physical:
        if id(node) not in done:
            inputs = tuple(visit(i) for i in node.inputs)
            changed = (
                node
                if all(a is b for a, b in zip(inputs, node.inputs, strict=True))
                else replace(node, inputs=inputs)
            )
            done[id(node)] = _deduplicated(changed, context) if isinstance(changed, p.Rank) else changed
        return done[id(node)]

    return visit(root)


def is_deduplication(node: p.Rank) -> bool:
    """One row of each key, by one time attribute. (The row has no number then.)"""
    if node.function != "ROW_NUMBER" or not node.start == node.end == 1 or len(node.order) != 1:
        return False
    time = node.input.row.types[node.order[0].index]
    return (is_rowtime(time) or is_proctime(time)) and not node.show_number


def keeps_inserts_only(node: p.Rank) -> bool:
    return node.order[0].ascending


def _deduplicated(node: p.Rank, context: PlannerContext) -> p.Physical:
    if not is_deduplication(node) or not node.input.is_insert_only:
        return node
    time = node.order[0]
    return p.Deduplicate(
        row=node.row,
        inputs=node.inputs,
        kinds=node.kinds,
        update=node.update,
        key=node.partition,
        time=time.index,
        rowtime=is_rowtime(node.input.row.types[time.index]),
        keep_last=not time.ascending,
        insert_only=node.is_insert_only,
        mini_batch=context.mini_batch,
        ttl_ms=node.ttl_ms,
    )


# ---- OVER


def over(planner: Planner, node: l.Over) -> p.Physical:
    """Calls of one window are one operator; of several windows they follow each other."""
    context = planner.context
    child = planner.plan(node.input)
    width = len(child.row.fields)
    groups: dict[tuple[object, ...], list[int]] = {}
    for position, call in enumerate(node.calls):
        groups.setdefault(_frame(call), []).append(position)
    places: dict[int, int] = {}
    for positions in groups.values():
        calls = [node.calls[position] for position in positions]
        _check_order(calls[0].order, node.input, calls[0].place)
        time = _time_of(child, calls[0])
        if not context.batch:
            _check_streamed(calls, time)
        first = len(child.row.fields)
        for offset, position in enumerate(positions):
            places[position] = first + offset
        names = [*child.row.names, *(f"w{len(places)}$o{i}" for i in range(len(calls)))]
        row = RowType.of(names, [*child.row.types, *(call.call.type for call in calls)])
        child = p.OverAggregate(
            row=row,
            inputs=(exchange(child, calls[0].partition),),
            calls=tuple(calls),
            time=time,
            ttl_ms=context.ttl_ms,
            hints=node.hints,
        )
    columns = [*range(width), *(places[position] for position in range(len(node.calls)))]
    if columns == list(range(len(columns))) and node.row.names == child.row.names:
        return child
    return select(context, child, columns, node.row)


def _check_order(order: Sequence[Ordering], node: l.Node, place: Place | None) -> None:
    """Of values of some types there is no order, nor of what has such values in it."""
    parts = (part for ordering in order for part in node.row.types[ordering.index].walk())
    found = next((part for part in parts if isinstance(part, _WITHOUT_ORDER)), None)
    if found is not None:
        raise unsupported(
            f"Type({found}) is not an orderable data type, it is not supported as a "
            "ORDER_BY/GROUP_BY/JOIN_EQUAL field.",
            hint="order by a number or a text that is made of it",
            place=place,
        )


def _frame(call: l.OverCall) -> tuple[object, ...]:
    return call.partition, call.order, call.rows, call.preceding, call.following


def _time_of(child: p.Physical, call: l.OverCall) -> str | None:
    if len(call.order) != 1:
        return None
    time = child.row.types[call.order[0].index]
    if not (is_rowtime(time) or is_proctime(time)):
        return None
    if not call.order[0].ascending:
        raise unsupported("The window can only be ordered in ASCENDING mode.", place=call.place)
    return "rowtime" if is_rowtime(time) else "proctime"


_OF_LATER_ROWS: Final = ("LEAD", "NTILE", "PERCENT_RANK", "CUME_DIST")


def _check_streamed(calls: Sequence[l.OverCall], time: str | None) -> None:
    """:param calls: those of one window."""
    window = calls[0]
    ranks = [call.call.function for call in calls if call.call.function in RANKS]
    if ranks and not window.order:
        raise unsupported(
            f"{ranks[0]}() needs an ORDER BY.",
            hint="OVER (PARTITION BY ... ORDER BY ...)",
            place=window.place,
        )
    waiting = [call.call.function for call in calls if call.call.function in _OF_LATER_ROWS]
    if waiting:
        raise unsupported(
            f"{waiting[0]} Function is not supported in stream mode.",
            hint="run the query in batch mode",
            place=window.place,
        )
    if time is not None and window.following != 0:
        raise unsupported("OVER RANGE FOLLOWING windows are not supported yet.", place=window.place)
    if time is None and (window.preceding is not None or window.following != 0):
        raise unsupported(
            "Non-time attribute sort is not supported for bounded OVER window."
            if len(window.order) == 1
            else "The window can only be ordered by a single time column.",
            hint="use a frame from UNBOUNDED PRECEDING to CURRENT ROW, or order by one time attribute: "
            f"{LOST_TIME}",
            place=window.place,
        )


# ---- order


def sort(planner: Planner, node: l.Sort) -> p.Physical:
    context = planner.context
    _check_order(node.order, node.input, node.place)
    child = planner.plan(node.input)
    fetch = node.fetch
    if context.batch and node.order and fetch is None:
        limit = int(context.get(options.SORT_DEFAULT_LIMIT) or -1)
        fetch = limit if limit >= 0 else None
    together = exchange(child, ())
    if not node.order:
        if not node.offset and fetch is None:
            return child
        return p.Limit(row=node.row, inputs=(together,), offset=node.offset, fetch=fetch)
    if context.batch:
        ordered: p.Physical = p.Sort(row=node.row, inputs=(together,), order=node.order)
        if node.offset or fetch is not None:
            ordered = p.Limit(row=node.row, inputs=(ordered,), offset=node.offset, fetch=fetch)
        return ordered
    if fetch is not None:
        return p.SortLimit(
            row=node.row,
            inputs=(together,),
            order=node.order,
            offset=node.offset,
            fetch=fetch,
            ttl_ms=context.ttl_ms,
        )
    if node.offset:
        raise unsupported(
            "FETCH is missed, which on streaming table is not supported currently.", place=node.place
        )
    first = node.order[0]
    time = child.row.types[first.index]
    if not (is_rowtime(time) or is_proctime(time)):
        raise unsupported(
            "Sort on a non-time-attribute field is not supported.",
            hint=f"order by a time attribute first or add LIMIT: {LOST_TIME}",
            place=node.place,
        )
    if not first.ascending:
        raise unsupported(
            "Sort: Primary sort order of a streaming table must be ascending on time.", place=node.place
        )
    return p.TemporalSort(row=node.row, inputs=(together,), order=node.order, rowtime=is_rowtime(time))
