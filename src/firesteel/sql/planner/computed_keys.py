"""Keys of joins that are computed: equal expressions of both sides become columns."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.sql import logical as l, physical as p
from firesteel.sql.expressions import Call, Expression, InputRef, identity, references, shift
from firesteel.sql.planner import conditions as c
from firesteel.sql.planner.calcs import calc
from firesteel.sql.planner.context import PlannerContext
from firesteel.sql.types import RowType

__all__ = ["computed_keys", "joined_row", "without_added"]


def computed_keys(
    context: PlannerContext, left: p.Physical, right: p.Physical, equi: c.EquiJoin
) -> tuple[p.Physical, p.Physical, c.EquiJoin, tuple[int, int]]:
    """Equal *expressions* of both sides become columns, so that rows can meet by them."""
    width = len(left.row.fields)
    found: list[tuple[Expression, Expression, bool]] = []
    rest: list[Expression] = []
    for part in equi.rest:
        pair = _sides(part, width)
        if pair is None:
            rest.append(part)
        else:
            found.append(pair)
    if not found:
        return left, right, equi, (0, 0)
    left, lefts = _with_columns(context, left, [pair[0] for pair in found])
    shifted = [shift(pair[1], lambda i: i - width) for pair in found]
    right, rights = _with_columns(context, right, shifted)
    more = len(left.row.fields) - width

    def moved(i: int) -> int:
        return i if i < width else i + more

    keys = p.JoinKeys(
        (*equi.keys.left, *lefts),
        (*equi.keys.right, *rights),
        (*equi.keys.null_safe, *(pair[2] for pair in found)),
    )
    return left, right, c.EquiJoin(keys, tuple(shift(part, moved) for part in rest)), (more, len(rights))


def _sides(part: Expression, width: int) -> tuple[Expression, Expression, bool] | None:
    if not isinstance(part, Call) or part.function not in (c.EQUALS, c.NOT_DISTINCT):
        return None
    first, second = part.operands
    if not first.type.equals_ignoring_nullability(second.type):
        return None
    a, b = references(first), references(second)
    if not a or not b:
        return None
    if all(i >= width for i in a) and all(i < width for i in b):
        first, second, a, b = second, first, b, a
    if all(i < width for i in a) and all(i >= width for i in b):
        return first, second, part.function == c.NOT_DISTINCT
    return None


def _with_columns(
    context: PlannerContext, node: p.Physical, expressions: Sequence[Expression]
) -> tuple[p.Physical, tuple[int, ...]]:
    width = len(node.row.fields)
    every: list[Expression] = list(identity(node.row))
    places = []
    for expression in expressions:
        if expression not in every:
            every.append(expression)
        places.append(every.index(expression))
    names = [*node.row.names, *(f"$f{i}" for i in range(width, len(every)))]
    row = RowType.of(names, [e.type for e in every])
    return calc(context, node, every, row), tuple(places)


def without_added(
    context: PlannerContext, made: p.Physical, node: l.Join, left: p.Physical, added: tuple[int, int]
) -> p.Physical:
    """Without the columns that were added for the keys."""
    wide = len(left.row.fields)
    kept = list(range(wide - added[0]))
    if node.kind not in ("SEMI", "ANTI"):
        rights = len(node.row.fields) - len(kept)
        kept += range(wide, wide + rights)
    types = made.row.types
    return calc(context, made, [InputRef(i, types[i]) for i in kept], node.row)


def joined_row(node: l.Join, left: p.Physical, right: p.Physical) -> RowType:
    """The row of a join whose sides may have columns that the query does not."""
    if node.kind in ("SEMI", "ANTI"):
        return left.row if len(left.row.fields) != len(node.row.fields) else node.row
    if len(left.row.fields) + len(right.row.fields) == len(node.row.fields):
        return node.row
    left_nullable = node.kind in ("RIGHT", "FULL")
    right_nullable = node.kind in ("LEFT", "FULL")
    fields = [f.with_nullability(True) if left_nullable else f for f in left.row.types]
    fields += [f.with_nullability(True) if right_nullable else f for f in right.row.types]
    return RowType.of([*left.row.names, *right.row.names], fields)
