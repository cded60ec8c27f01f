"""Columns that nobody reads are not made, down to the Scan; projections on projections become one.

``_prune(node, wanted)`` gives a node with just the wanted columns, in their order, or with more of them,
and says where each wanted one is now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from firesteel.sql.expressions import (
    AggregateCall,
    Expression,
    InputRef,
    Literal,
    Ordering,
    references,
    shift,
    substitute,
)
from firesteel.sql.logical import (
    Aggregate,
    Correlate,
    Filter,
    GroupWindowAggregate,
    Join,
    Node,
    Over,
    OverCall,
    Project,
    Scan,
    SetOperation,
    Sink,
    Snapshot,
    Sort,
    TableCall,
    Values,
    WatermarkAssigner,
    WindowTable,
)
from firesteel.sql.rules.conditions import is_deterministic
from firesteel.sql.types import RowType, is_rowtime, unique

__all__ = ["prune_columns"]

#: old position -> new position
Moved = dict[int, int]


def prune_columns(plan: Node) -> Node:
    """The plan, its own columns as they are."""
    every = range(len(plan.row.fields))
    made, moved = _prune(plan, every)
    return _exactly(made, [moved[i] for i in every], plan.row)


def _exactly(node: Node, positions: Sequence[int], row: RowType) -> Node:
    if list(positions) == list(range(len(node.row.fields))) and node.row.names == row.names:
        return node
    if isinstance(node, Project):
        expressions = tuple(node.expressions[i] for i in positions)
        return replace(node, row=_named(row, expressions), expressions=expressions)
    refs = tuple(InputRef(i, node.row.types[i]) for i in positions)
    return Project(row=_named(row, refs), input=node, expressions=refs)


def _named(row: RowType, expressions: Sequence[Expression]) -> RowType:
    return RowType.of(row.names, [e.type for e in expressions])


def _prune(node: Node, wanted: Iterable[int]) -> tuple[Node, Moved]:
    needed = sorted(set(wanted))
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return _whole(node), {i: i for i in range(len(node.row.fields))}
    made: tuple[Node, Moved] = handler(node, needed)
    return made


def _whole(node: Node) -> Node:
    """A node of which every column of every input counts."""
    from firesteel.sql.rules.trees import with_inputs

    return with_inputs(node, [prune_columns(i) for i in node.inputs])


def _row_of(row: RowType, positions: Sequence[int]) -> RowType:
    names, types = row.names, row.types
    return RowType.of([names[i] for i in positions], [types[i] for i in positions])


def _same(positions: Sequence[int]) -> Moved:
    return {old: new for new, old in enumerate(positions)}


def _move(expression: Expression, moved: Moved) -> Expression:
    return shift(expression, lambda i: moved[i])


# ---- nodes


def _project(node: Project, needed: list[int]) -> tuple[Node, Moved]:
    expressions = [node.expressions[i] for i in needed]
    below = node.input
    while isinstance(below, Project) and _mergeable(expressions, below):
        expressions = [substitute(e, below.expressions) for e in expressions]
        below = below.input
    used = {i for e in expressions for i in references(e)}
    child, moved = _prune(below, used)
    made = tuple(_move(e, moved) for e in expressions)
    row = _row_of(node.row, needed)
    names = row.names
    if _is_identity(made, child) and child.row.names == names and not node.hints:
        return child, _same(needed)
    row = RowType.of(names, [e.type for e in made])
    return replace(node, row=row, input=child, expressions=made), _same(needed)


def _mergeable(expressions: Sequence[Expression], below: Project) -> bool:
    """Whether nothing is computed twice, and nothing that must be computed once is."""
    uses = [0] * len(below.expressions)
    for expression in expressions:
        for index in references(expression):
            uses[index] += 1
    return (
        all(
            isinstance(e, InputRef | Literal) or (count <= 1 and is_deterministic(e)) or count == 0
            for e, count in zip(below.expressions, uses, strict=True)
        )
        and not below.hints
    )


def _is_identity(expressions: Sequence[Expression], child: Node) -> bool:
    return len(expressions) == len(child.row.fields) and all(
        isinstance(e, InputRef) and e.index == i and e.type == child.row.types[i]
        for i, e in enumerate(expressions)
    )


def _filter(node: Filter, needed: list[int]) -> tuple[Node, Moved]:
    used = {*needed, *references(node.condition)}
    child, moved = _prune(node.input, used)
    made = replace(node, row=child.row, input=child, condition=_move(node.condition, moved))
    return made, moved


def _scan(node: Scan, needed: list[int]) -> tuple[Node, Moved]:
    key = node.table.schema.primary_key
    kept = {*needed, *(i for p in node.predicates for i in references(p))}
    if key is not None:
        kept.update(i for i, name in enumerate(node.row.names) if name in key.columns)
    positions = sorted(kept)
    if len(positions) == len(node.row.fields):
        return node, {i: i for i in positions}
    own = node.columns if node.columns is not None else tuple(range(len(node.row.fields)))
    moved = _same(positions)
    made = replace(
        node,
        row=_row_of(node.row, positions),
        columns=tuple(own[i] for i in positions),
        predicates=tuple(_move(p, moved) for p in node.predicates),
    )
    return made, moved


def _values(node: Values, needed: list[int]) -> tuple[Node, Moved]:
    rows = tuple(tuple(row[i] for i in needed) for row in node.rows)
    return replace(node, row=_row_of(node.row, needed), rows=rows), _same(needed)


def _watermark(node: WatermarkAssigner, needed: list[int]) -> tuple[Node, Moved]:
    used = {*needed, node.column, *references(node.expression)}
    child, moved = _prune(node.input, used)
    back = {new: old for old, new in moved.items()}
    fields = tuple(node.row.fields[back[i]] if i in back else f for i, f in enumerate(child.row.fields))
    row = replace(child.row, fields=fields)
    expression = _move(node.expression, moved)
    return replace(node, row=row, input=child, column=moved[node.column], expression=expression), moved


def _ordering(order: Sequence[Ordering], moved: Moved) -> tuple[Ordering, ...]:
    return tuple(replace(o, index=moved[o.index]) for o in order)


def _call(call: AggregateCall, moved: Moved) -> AggregateCall:
    if call.function in _POSITIONS:
        return call
    return replace(
        call,
        arguments=tuple(moved[a] for a in call.arguments),
        filter=None if call.filter is None else moved[call.filter],
        order=_ordering(call.order, moved),
    )


#: Calls whose arguments are positions of keys, not columns.
_POSITIONS: Final = frozenset({"GROUPING", "GROUPING_ID", "GROUP_ID"})


def _reads(calls: Iterable[AggregateCall]) -> set[int]:
    found: set[int] = set()
    for call in calls:
        if call.function not in _POSITIONS:
            found.update(call.arguments)
            found.update(o.index for o in call.order)
            if call.filter is not None:
                found.add(call.filter)
    return found


def _aggregate(node: Aggregate, needed: list[int]) -> tuple[Node, Moved]:
    keys = len(node.group)
    kept = [i for i in range(len(node.calls)) if keys + i in needed]
    if not keys and not kept and node.calls:
        kept = [0]  # there is one row whatever is read of it
    positions = [*range(keys), *(keys + i for i in kept)]
    if len(node.row.fields) > keys + len(node.calls):  # one call of a table aggregate gives several columns
        kept, positions = list(range(len(node.calls))), list(range(len(node.row.fields)))
    calls = [node.calls[i] for i in kept]
    child, moved = _prune(node.input, {*node.group, *_reads(calls)})
    made = replace(
        node,
        row=_row_of(node.row, positions),
        input=child,
        group=tuple(moved[i] for i in node.group),
        calls=tuple(_call(c, moved) for c in calls),
    )
    return made, _same(positions)


def _group_window(node: GroupWindowAggregate, needed: list[int]) -> tuple[Node, Moved]:
    keys, count = len(node.group), len(node.calls)
    kept = [i for i in range(count) if keys + i in needed]
    properties = [i for i in range(len(node.properties)) if keys + count + i in needed]
    calls = [node.calls[i] for i in kept]
    child, moved = _prune(node.input, {*node.group, node.window.time, *_reads(calls)})
    positions = [*range(keys), *(keys + i for i in kept), *(keys + count + i for i in properties)]
    made = replace(
        node,
        row=_row_of(node.row, positions),
        input=child,
        window=replace(node.window, time=moved[node.window.time]),
        group=tuple(moved[i] for i in node.group),
        calls=tuple(_call(c, moved) for c in calls),
        properties=tuple(node.properties[i] for i in properties),
    )
    return made, _same(positions)


def _window(node: WindowTable, needed: list[int]) -> tuple[Node, Moved]:
    width = len(node.input.row.fields)
    used = {*(i for i in needed if i < width), node.time, *node.partition}
    child, moved = _prune(node.input, used)
    new_width = len(child.row.fields)
    added = list(node.row.fields[width:])
    row = replace(node.row, fields=(*_renamed(node.row, child.row, moved), *added))
    made = replace(
        node,
        row=row,
        input=child,
        time=moved[node.time],
        partition=tuple(moved[i] for i in node.partition),
    )
    return made, {**moved, **{width + i: new_width + i for i in range(len(added))}}


def _renamed(row: RowType, child: RowType, moved: Moved) -> Sequence[Any]:
    """The fields of *child*, those that come from *row* with its names and types."""
    back = {new: old for old, new in moved.items()}
    return [row.fields[back[i]] if i in back else f for i, f in enumerate(child.fields)]


def _over(node: Over, needed: list[int]) -> tuple[Node, Moved]:
    width = len(node.input.row.fields)
    kept = [i for i in range(len(node.calls)) if width + i in needed]
    if not kept:
        return _prune(node.input, needed)
    calls = [node.calls[i] for i in kept]
    used = {i for i in needed if i < width}
    for call in calls:
        used |= {*call.partition, *(o.index for o in call.order), *_reads([call.call])}
    child, moved = _prune(node.input, used)
    new_width = len(child.row.fields)
    fields = [*_renamed(node.row, child.row, moved), *(node.row.fields[width + i] for i in kept)]
    made = replace(
        node,
        row=replace(node.row, fields=tuple(fields)),
        input=child,
        calls=tuple(_over_call(c, moved) for c in calls),
    )
    return made, {**moved, **{width + old: new_width + new for new, old in enumerate(kept)}}


def _over_call(call: OverCall, moved: Moved) -> OverCall:
    return replace(
        call,
        call=_call(call.call, moved),
        partition=tuple(moved[i] for i in call.partition),
        order=_ordering(call.order, moved),
    )


def _join(node: Join, needed: list[int]) -> tuple[Node, Moved]:
    width = len(node.left.row.fields)
    used = {*needed, *references(node.condition)}
    if isinstance(node.right, Snapshot):
        used |= references(node.right.period)
    left, left_moved = _prune(node.left, {i for i in used if i < width})
    right, right_moved = _prune(node.right, {i - width for i in used if i >= width})
    if isinstance(right, Snapshot):
        right = replace(right, period=_move(right.period, left_moved))
    new_width = len(left.row.fields)
    moved = {**left_moved, **{width + o: new_width + n for o, n in right_moved.items()}}
    condition = _move(node.condition, {i: moved[i] for i in references(node.condition)})
    fields = list(_renamed(node.row, left.row, left_moved))
    if node.kind not in ("SEMI", "ANTI"):
        back = {new: old for old, new in right_moved.items()}
        fields += [
            node.row.fields[width + back[i]] if i in back else f for i, f in enumerate(right.row.fields)
        ]
    else:
        moved = dict(left_moved)
    row = replace(node.row, fields=tuple(_distinct(fields)))
    return replace(node, row=row, left=left, right=right, condition=condition), moved


def _distinct(fields: Sequence[Any]) -> list[Any]:
    names = unique([f.name for f in fields])
    return [f if f.name == n else replace(f, name=n) for f, n in zip(fields, names, strict=True)]


def _snapshot(node: Snapshot, needed: list[int]) -> tuple[Node, Moved]:
    """The time of its versions counts, whether it is read or not."""
    types = node.input.row.types
    times = [i for i, d in enumerate(types) if is_rowtime(d)]
    child, moved = _prune(node.input, {*needed, *times})
    return replace(node, row=child.row, input=child), moved


def _correlate(node: Correlate, needed: list[int]) -> tuple[Node, Moved]:
    width = len(node.left.row.fields)
    used = {i for i in needed if i < width}
    used |= {i for i in references(node.condition) if i < width} if node.condition is not None else set()
    core: Node = node.right
    if not isinstance(core, TableCall):
        return _whole(node), {i: i for i in range(len(node.row.fields))}
    for argument in core.arguments:
        used |= references(argument)
    left, moved = _prune(node.left, used)
    right = replace(core, arguments=tuple(_move(a, moved) for a in core.arguments))
    new_width = len(left.row.fields)
    added = node.row.fields[width:]
    all_moved = {**moved, **{width + i: new_width + i for i in range(len(added))}}
    condition = None if node.condition is None else _move(node.condition, all_moved)
    fields = (*_renamed(node.row, left.row, moved), *added)
    row = replace(node.row, fields=fields)
    return replace(node, row=row, left=left, right=right, condition=condition), all_moved


def _set_operation(node: SetOperation, needed: list[int]) -> tuple[Node, Moved]:
    if not (node.kind == "UNION" and node.all) or not needed:
        return _whole(node), {i: i for i in range(len(node.row.fields))}
    operands = []
    for operand in node.operands:
        made, moved = _prune(operand, needed)
        operands.append(_exactly(made, [moved[i] for i in needed], _row_of(operand.row, needed)))
    return replace(node, row=_row_of(node.row, needed), operands=tuple(operands)), _same(needed)


def _sort(node: Sort, needed: list[int]) -> tuple[Node, Moved]:
    child, moved = _prune(node.input, {*needed, *(o.index for o in node.order)})
    return replace(node, row=child.row, input=child, order=_ordering(node.order, moved)), moved


def _sink(node: Sink, needed: list[int]) -> tuple[Node, Moved]:
    child, moved = _prune(node.input, {c for c in node.columns if c is not None})
    columns = tuple(None if c is None else moved[c] for c in node.columns)
    return replace(node, input=child, columns=columns), {i: i for i in range(len(node.row.fields))}


_HANDLERS: Final[dict[type[Node], Callable[[Any, list[int]], tuple[Node, Moved]]]] = {
    Project: _project,
    Filter: _filter,
    Scan: _scan,
    Values: _values,
    WatermarkAssigner: _watermark,
    Aggregate: _aggregate,
    GroupWindowAggregate: _group_window,
    WindowTable: _window,
    Over: _over,
    Join: _join,
    Snapshot: _snapshot,
    Correlate: _correlate,
    SetOperation: _set_operation,
    Sort: _sort,
    Sink: _sink,
}
