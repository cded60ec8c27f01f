"""``JOIN t FOR SYSTEM_TIME AS OF time``: versions of a table in a stream, or a table outside that is
asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.common.options import table as table_options
from firesteel.sql import logical as l, physical as p
from firesteel.sql.expressions import Call, Expression, InputRef, Literal, identity, references, substitute
from firesteel.sql.hints import LookupOptions, lookup_options
from firesteel.sql.planner import conditions as c
from firesteel.sql.planner.computed_keys import computed_keys, joined_row, without_added
from firesteel.sql.planner.errors import unsupported, wrong
from firesteel.sql.planner.exchanges import exchange
from firesteel.sql.types import (
    BinaryType,
    CharType,
    DataType,
    VarBinaryType,
    VarCharType,
    is_proctime,
    is_rowtime,
)
from firesteel.sql.upsert_keys import shortest, unique_keys

if TYPE_CHECKING:
    from firesteel.sql.planner.builder import Planner

__all__ = ["temporal_join"]


def temporal_join(planner: Planner, node: l.Join, snapshot: l.Snapshot) -> p.Physical:
    left = planner.plan(node.left)
    if node.kind not in ("INNER", "LEFT"):
        raise unsupported(
            "Temporal table join currently only supports INNER JOIN and LEFT JOIN, but was "
            f"{node.kind} JOIN.",
            place=snapshot.place,
        )
    period = snapshot.period
    if not isinstance(period, InputRef) or not (is_rowtime(period.type) or is_proctime(period.type)):
        raise wrong(
            "Temporal table join currently only supports 'FOR SYSTEM_TIME AS OF' left table's time "
            "attribute field.",
            place=snapshot.place,
        )
    scan = _scan_of(snapshot.input)
    if is_proctime(period.type):
        lookup = _lookup_join(planner, node, snapshot, left, scan)
        if lookup is not None:
            return lookup
    right = planner.plan(snapshot.input)
    width = len(left.row.fields)
    equi = c.equi_join(node.condition, width)
    left, right, equi, added = computed_keys(planner.context, left, right, equi)
    if not equi.keys.left:
        raise wrong(
            "Currently the join key in Temporal Table Join can not be empty.",
            place=node.place or snapshot.place,
        )
    if is_proctime(period.type):
        raise unsupported(
            "Processing-time temporal join is not supported yet.",
            hint="join with a table that can be looked up (such as jdbc), or by event time",
            place=snapshot.place,
        )
    keys = unique_keys(right)
    if not keys:
        raise wrong(
            "Temporal Table Join requires primary key in versioned table, but no primary key can be found.",
            place=snapshot.place,
        )
    contained = [key for key in keys if key <= frozenset(equi.keys.right)]
    if not contained:
        raise wrong(
            "Temporal table's primary key must be contained in the equivalence condition of temporal join.",
            place=node.place or snapshot.place,
        )
    # Versions are told apart by a column that was a rowtime once: it need not order the changes any more.
    times = [i for i, t in enumerate(snapshot.row.types) if is_rowtime(t)]
    if not times:
        raise wrong(
            "Event-Time Temporal Table Join requires both primary key and row time attribute in "
            "versioned table, "
            "but no row time attribute can be found.",
            place=snapshot.place,
        )
    made = p.TemporalJoin(
        row=joined_row(node, left, right),
        inputs=(exchange(left, equi.keys.left), exchange(right, equi.keys.right)),
        kind=node.kind,
        keys=equi.keys,
        condition=node.condition,
        rest=c.and_(equi.rest),
        left_time=period.index,
        right_time=times[0],
        primary_key=shortest(frozenset(contained)) or (),
        ttl_ms=planner.context.ttl_ms,
        hints=node.hints,
    )
    return made if added == (0, 0) else without_added(planner.context, made, node, left, added)


def _scan_of(node: l.Node) -> l.Scan | None:
    while isinstance(node, l.Project | l.Filter | l.WatermarkAssigner):
        node = node.input
    return node if isinstance(node, l.Scan) else None


# ---- lookups


def _lookup_join(
    planner: Planner, node: l.Join, snapshot: l.Snapshot, left: p.Physical, scan: l.Scan | None
) -> p.Physical | None:
    """Each row asks the table outside, where its connector can look rows up."""
    if scan is None or scan.table.stream is not None or planner.context.lookup is None:
        return None
    projection, right_condition = _calc_over_scan(snapshot.input, scan)
    width = len(left.row.fields)
    lookup: dict[int, Expression] = {}
    rest: list[Expression] = []
    for part in c.conjuncts(node.condition):
        found = _lookup_key(part, width, projection)
        if found is None or found[0] in lookup:
            rest.append(part)
        else:
            lookup[found[0]] = found[1]
    for part in c.conjuncts(right_condition):
        compared = c.comparison(part)
        if compared is not None and compared.function == c.EQUALS and isinstance(compared.other, Literal):
            lookup.setdefault(compared.column, compared.other)
    if not lookup:
        raise wrong(
            f"Temporal table join requires an equality condition on fields of table [{scan.table.name}].",
            hint="join by a column of the table that is looked up",
            place=node.place or snapshot.place,
        )
    columns = tuple(sorted(lookup))
    read = tuple(range(len(scan.row.fields))) if scan.columns is None else scan.columns
    source = planner.context.lookup(scan.table, tuple(read[c] for c in columns), read)
    if source is None:
        return None
    context = planner.context
    usual = LookupOptions(
        capacity=context.get(table_options.ASYNC_LOOKUP_CAPACITY),
        timeout_ms=context.get(table_options.ASYNC_LOOKUP_TIMEOUT),
    )
    options = lookup_options(node.hints, usual)
    if options.asynchronous and not hasattr(source, "lookup_async"):
        raise wrong(
            f"The table '{scan.table.name}' cannot be looked up asynchronously.",
            hint="leave 'async' out of the hint LOOKUP",
        )
    return p.LookupJoin(
        row=node.row,
        inputs=(left,),
        kind=node.kind,
        table=scan.table,
        source=source,
        lookup=tuple((column, lookup[column]) for column in columns),
        condition=node.condition,
        rest=c.and_(rest),
        right_row=scan.row,
        right_calc=(tuple(projection), right_condition),
        options=options,
        hints=node.hints,
    )


def _calc_over_scan(node: l.Node, scan: l.Scan) -> tuple[list[Expression], Expression | None]:
    """The right side as expressions and a condition over the columns of the table."""
    chain: list[l.Node] = []
    current: Any = node
    while current is not scan:
        if not isinstance(current, l.WatermarkAssigner):
            chain.append(current)
        current = current.input
    expressions: list[Expression] = list(identity(scan.row))
    condition: Expression | None = None
    for step in reversed(chain):
        if isinstance(step, l.Project):
            below = expressions
            expressions = [substitute(e, below) for e in step.expressions]
        elif isinstance(step, l.Filter):
            condition = c.and_(
                [*c.conjuncts(condition), *c.conjuncts(substitute(step.condition, expressions))]
            )
    return expressions, condition


def _lookup_key(part: Expression, width: int, projection: list[Expression]) -> tuple[int, Expression] | None:
    """``right column = expression of the left row``."""
    if not isinstance(part, Call) or part.function != c.EQUALS:
        return None
    for mine, other in (part.operands, part.operands[::-1]):
        if not isinstance(mine, InputRef) or mine.index < width:
            continue
        target = projection[mine.index - width]
        if isinstance(target, InputRef) and all(i < width for i in references(other)):
            return (target.index, other) if _comparable(mine.type, other.type) else None
    return None


def _comparable(column: DataType, key: DataType) -> bool:
    """Whether keys of a type can be asked for as they are (Flink: ``PlannerTypeUtils.isInteroperable``)."""
    texts, binaries = (CharType, VarCharType), (BinaryType, VarBinaryType)
    return column.equals_ignoring_nullability(key) or any(
        isinstance(column, family) and isinstance(key, family) for family in (texts, binaries)
    )
