"""Inner joins of several tables in the order that makes the fewest rows between them."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeGuard

from firesteel.sql import logical as l
from firesteel.sql.expressions import Call, Expression, InputRef, references, shift
from firesteel.sql.rules.conditions import conjunction, conjuncts, is_deterministic
from firesteel.sql.rules.estimates import Estimate, estimate, selectivity
from firesteel.sql.rules.trees import over, walk_plan
from firesteel.sql.statistics import StatisticsOf
from firesteel.sql.types import RowType, is_proctime, is_rowtime

__all__ = ["reorder_joins"]

#: A tree of joins: the number of a table, or the two sides of a join.
_Tree = int | tuple["_Tree", "_Tree"]
#: Another order must promise so much less than the one that is written: estimates are no measurements.
_BETTER: Final = 0.99


def reorder_joins(plan: l.Node, statistics: StatisticsOf, most_bushy: int) -> l.Node:
    """*plan* with inner joins in the order in which the fewest rows lie between them, by what is known of
    their tables.

    They stay as they are written where nothing is known of one of the tables, where they have hints, and
    where they are joins of windows or of times, which need their two sides as they are.

    :param most_bushy: all trees of so many tables are looked at; with more one table joins at a time.
    """
    done: dict[int, tuple[l.Node, l.Node]] = {}

    def visit(node: l.Node) -> l.Node:
        if id(node) not in done:
            made = _reordered(node, visit, statistics, most_bushy) if _is_inner(node) else None
            done[id(node)] = (node, over(node, visit) if made is None else made)
        return done[id(node)][1]

    return visit(plan)


def _is_inner(node: l.Node) -> TypeGuard[l.Join]:
    return (
        isinstance(node, l.Join)
        and node.kind == "INNER"
        and not node.hints
        and not isinstance(node.right, l.Snapshot)
        and is_deterministic(node.condition)
    )


def _reordered(
    top: l.Join, visit: Callable[[l.Node], l.Node], statistics: StatisticsOf, most_bushy: int
) -> l.Node | None:
    group = _group_of(top)
    if len(group.tables) < 3 or _joins_times(group):
        return None
    found = [estimate(table, statistics) for table in group.tables]
    known = [one for one in found if one is not None]
    if len(known) < len(found):
        return None
    search = _Search(group, known)
    tree = search.bushy() if len(known) <= most_bushy else search.one_at_a_time()
    if tree is None or search.between(tree) >= _BETTER * search.between(group.written):
        return None
    return _built(replace(group, tables=tuple(visit(table) for table in group.tables)), tree, top)


@dataclass(frozen=True, slots=True)
class _Group:
    """Inner joins below each other. Columns are numbered as in the row of the topmost one.

    :param tables: what is joined, in the order in which it is written.
    :param begins: the number of the first column of each, and of the one behind the last.
    :param parts: the conditions of all joins.
    :param written: the tree that is written.
    """

    row: RowType
    tables: tuple[l.Node, ...]
    begins: tuple[int, ...]
    parts: tuple[Expression, ...]
    written: _Tree

    def table_of(self, column: int) -> int:
        return bisect_right(self.begins, column) - 1

    def tables_of(self, part: Expression) -> int:
        """A bit for each table that a condition is about."""
        found = 0
        for column in references(part):
            found |= 1 << self.table_of(column)
        return found


def _group_of(top: l.Join) -> _Group:
    tables: list[l.Node] = []
    begins = [0]
    parts: list[Expression] = []

    def add(node: l.Node) -> _Tree:
        begin = begins[-1]
        if not _is_inner(node):
            tables.append(node)
            begins.append(begin + len(node.row.fields))
            return len(tables) - 1
        left = add(node.left)
        right = add(node.right)
        parts.extend(shift(part, lambda i: i + begin) for part in conjuncts(node.condition))
        return left, right

    tree = add(top)
    return _Group(top.row, tuple(tables), tuple(begins), tuple(parts), tree)


def _joins_times(group: _Group) -> bool:
    """Whether a join may be one of windows, or of times within bounds of each other."""
    if any(isinstance(node, l.WindowTable) for table in group.tables for node in walk_plan(table)):
        return True
    times = {i for i, t in enumerate(group.row.types) if is_rowtime(t) or is_proctime(t)}
    return any(references(part) & times for part in group.parts)


# ---- which order


class _Search:
    """Sets of tables are the bits of an integer. What a join of some gives does not depend on their order."""

    def __init__(self, group: _Group, estimates: Sequence[Estimate]) -> None:
        self._estimates = estimates
        self._all = (1 << len(estimates)) - 1
        columns = tuple(column for one in estimates for column in one.columns)
        pairs = math.prod(one.rows for one in estimates)
        self._links = [
            (tables, self._share(group, part, tables, Estimate(pairs, columns)))
            for part in group.parts
            if (tables := group.tables_of(part)).bit_count() > 1
        ]
        self._rows: dict[int, float] = {}

    def _share(self, group: _Group, part: Expression, tables: int, of: Estimate) -> float:
        """Which share of the pairs of rows fulfils a condition. A column of which nothing is known counts as
        one whose values differ, as that of a key: joins without one are rare."""
        if not (isinstance(part, Call) and part.function == "EQUALS" and tables.bit_count() == 2):
            return selectivity(part, of)
        counts = {n: max(1.0, one.rows) for n, one in enumerate(self._estimates) if tables >> n & 1}
        for operand in part.operands:
            if isinstance(operand, InputRef):
                table = group.table_of(operand.index)
                known = self._estimates[table].distinct(operand.index - group.begins[table])
                counts[table] = counts[table] if known is None else known
        return 1 / max(counts.values())

    def rows(self, tables: int) -> float:
        """How many rows a join of these tables gives."""
        found = self._rows.get(tables)
        if found is None:
            found = math.prod(one.rows for n, one in enumerate(self._estimates) if tables >> n & 1)
            for linked, share in self._links:
                if linked & ~tables == 0:
                    found *= share
            self._rows[tables] = found
        return found

    def between(self, tree: _Tree) -> float:
        """How many rows all joins of a tree give, but the last."""
        return sum(self.rows(tables) for tables in _joins_of(tree) if tables != self._all)

    def _are_linked(self, one: int, other: int) -> bool:
        return any(
            linked & one and linked & other and linked & ~(one | other) == 0 for linked, _ in self._links
        )

    def bushy(self) -> _Tree | None:
        """The best of all trees in which each join has a condition; None: there is none."""
        best: dict[int, tuple[float, _Tree]] = {1 << n: (0.0, n) for n in range(len(self._estimates))}
        for tables in range(3, self._all + 1):
            if tables.bit_count() < 2:
                continue
            least: tuple[float, _Tree] | None = None
            for one in _halves(tables):
                other = tables & ~one
                if one not in best or other not in best or not self._are_linked(one, other):
                    continue
                cost = best[one][0] + best[other][0] + (self.rows(tables) if tables != self._all else 0.0)
                if least is None or cost < least[0]:
                    least = (cost, (best[one][1], best[other][1]))
            if least is not None:
                best[tables] = least
        return best[self._all][1] if self._all in best else None

    def one_at_a_time(self) -> _Tree | None:
        """From the pair that gives the fewest rows on, always the table that adds the fewest."""
        count = len(self._estimates)
        pairs = [
            (self.rows(1 << a | 1 << b), a, b)
            for a in range(count)
            for b in range(a + 1, count)
            if self._are_linked(1 << a, 1 << b)
        ]
        if not pairs:
            return None
        _, a, b = min(pairs)
        tables = 1 << a | 1 << b
        tree: _Tree = (a, b)
        while tables != self._all:
            left = [n for n in range(count) if not tables >> n & 1 and self._are_linked(tables, 1 << n)]
            if not left:
                return None
            following = min(left, key=lambda n: (self.rows(tables | 1 << n), n))
            tree, tables = (tree, following), tables | 1 << following
        return tree


def _halves(tables: int) -> Iterator[int]:
    """All parts of a set that have its first element, but the whole."""
    first = tables & -tables
    rest = tables & ~first
    part = rest
    while part:
        part = (part - 1) & rest
        yield part | first


def _tables_of(tree: _Tree) -> int:
    return 1 << tree if isinstance(tree, int) else _tables_of(tree[0]) | _tables_of(tree[1])


def _joins_of(tree: _Tree) -> Iterator[int]:
    if not isinstance(tree, int):
        yield _tables_of(tree)
        for side in tree:
            yield from _joins_of(side)


# ---- the plan of it


def _built(group: _Group, tree: _Tree, top: l.Join) -> l.Node:
    """The joins of a tree, with the columns of *top*. A condition is at the first join that can judge it."""
    left_over = list(group.parts)

    def build(tree: _Tree) -> tuple[l.Node, list[int]]:
        if isinstance(tree, int):
            return group.tables[tree], list(range(group.begins[tree], group.begins[tree + 1]))
        (left, of_left), (right, of_right) = build(tree[0]), build(tree[1])
        columns = of_left + of_right
        places = {column: place for place, column in enumerate(columns)}
        own = [part for part in left_over if references(part) <= places.keys()]
        left_over[:] = [part for part in left_over if part not in own]
        condition = conjunction(shift(part, places.__getitem__) for part in own)
        row = replace(group.row, fields=tuple(group.row.fields[column] for column in columns))
        return l.Join(
            row=row, left=left, right=right, kind="INNER", condition=condition, place=top.place
        ), columns

    joined, columns = build(tree)
    places = {column: place for place, column in enumerate(columns)}
    expressions = (InputRef(places[i], t) for i, t in enumerate(group.row.types))
    return l.Project(row=group.row, input=joined, expressions=tuple(expressions), place=top.place)
