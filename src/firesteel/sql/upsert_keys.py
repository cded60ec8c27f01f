"""Which columns of a node's output identify a row of its table (Flink: ``FlinkRelMdUniqueKeys``,
``FlinkRelMdUpsertKeys``).

A *unique* key identifies a row at each instant; an *upsert* key does so while its changes stay in order, too,
so an exchange by other columns loses it. Keys are sets of columns; ``shortest`` picks the one that operators
use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from firesteel.sql import physical as p, types as t
from firesteel.sql.expressions import Call, Expression, InputRef

__all__ = ["Key", "Keys", "shortest", "unique_keys", "upsert_keys"]

Key = frozenset[int]
Keys = frozenset[Key]

NO_KEYS: Final[Keys] = frozenset()
_MOST: Final = 16  # combinations of keys of many joins grow without a limit


def upsert_keys(node: p.Physical) -> Keys:
    return _keys(node, upsert=True)


def unique_keys(node: p.Physical) -> Keys:
    return _keys(node, upsert=False)


def shortest(keys: Keys) -> tuple[int, ...] | None:
    """The key of fewest columns, of equally many the first ones."""
    return min((tuple(sorted(k)) for k in keys), key=lambda k: (len(k), k), default=None)


def _keys(node: p.Physical, upsert: bool) -> Keys:
    rule = _RULES.get(type(node))
    return _reduced(rule(node, upsert)) if rule is not None else NO_KEYS


def _reduced(keys: Iterable[Key]) -> Keys:
    """Without those that have another one in them."""
    found: list[Key] = []
    for key in sorted(set(keys), key=lambda k: (len(k), sorted(k))):
        if not any(smaller <= key for smaller in found):
            found.append(key)
    return frozenset(found[:_MOST])


def _same(node: p.Physical, upsert: bool) -> Keys:
    return _keys(node.input, upsert)


def _none(node: p.Physical, upsert: bool) -> Keys:
    return NO_KEYS


def _source(node: Any, upsert: bool) -> Keys:
    key = node.table.schema.primary_key
    if key is None:
        return NO_KEYS
    names = node.row.names
    if not all(column in names for column in key.columns):
        return NO_KEYS
    return frozenset([frozenset(names.index(column) for column in key.columns)])


def _values(node: p.Values, upsert: bool) -> Keys:
    return frozenset([frozenset()]) if len(node.rows) <= 1 else NO_KEYS


def is_injective_cast(expression: Expression) -> InputRef | None:
    """The column that a cast keeps apart: to a type that has each of its values (Flink:
    ``isFidelityCast``)."""
    if not isinstance(expression, Call) or expression.function != "CAST":
        return None
    operand = expression.operands[0]
    if not isinstance(operand, InputRef):
        return None
    return operand if _keeps_apart(operand.type, expression.type) else None


_WIDTHS: Final = {t.TinyIntType: 1, t.SmallIntType: 2, t.IntType: 4, t.BigIntType: 8}


def _keeps_apart(source: t.DataType, target: t.DataType) -> bool:
    if source.equals_ignoring_nullability(target):
        return True
    if type(source) in _WIDTHS and type(target) in _WIDTHS:
        return _WIDTHS[type(source)] <= _WIDTHS[type(target)]
    if isinstance(target, t.VarCharType) and type(source) in _WIDTHS:
        return target.length >= 20
    if isinstance(source, t.CharType | t.VarCharType) and isinstance(target, t.VarCharType):
        return source.length <= target.length
    if isinstance(source, t.TimestampType | t.LocalZonedTimestampType) and type(source) is type(target):
        return source.precision <= target.precision
    return False


def _calc(node: p.Calc, upsert: bool) -> Keys:
    places: dict[int, list[int]] = {}
    for position, expression in enumerate(node.expressions):
        column = expression if isinstance(expression, InputRef) else is_injective_cast(expression)
        if column is not None:
            places.setdefault(column.index, []).append(position)
    return frozenset(_mapped(_keys(node.input, upsert), places))


def _mapped(keys: Keys, places: dict[int, list[int]]) -> Iterable[Key]:
    for key in keys:
        if all(column in places for column in key):
            yield frozenset(places[column][0] for column in key)


def _exchange(node: p.Exchange, upsert: bool) -> Keys:
    keys = _keys(node.input, upsert)
    if not upsert or node.keys is None:
        return keys
    needed = frozenset(node.keys)
    return frozenset(key for key in keys if needed <= key)


def _correlate(node: p.Correlate, upsert: bool) -> Keys:
    return NO_KEYS  # a row may become several


def _group(node: Any, upsert: bool) -> Keys:
    if node.table_function:
        return NO_KEYS
    return frozenset([frozenset(range(len(node.group)))])


def _window_aggregate(node: p.WindowAggregate, upsert: bool) -> Keys:
    first = len(node.group) + len(node.calls)
    places = {name: first + i for i, name in enumerate(node.properties)}
    if "start" not in places or "end" not in places:
        return NO_KEYS
    group = range(len(node.group))
    return frozenset([frozenset([*group, places["start"], places["end"]])])


def _group_window(node: p.GroupWindowAggregate, upsert: bool) -> Keys:
    first = len(node.group) + len(node.calls)
    group = range(len(node.group))
    return frozenset(
        frozenset([*group, first + i]) for i, name in enumerate(node.properties) if name in ("start", "end")
    )


def _expand(node: p.Expand, upsert: bool) -> Keys:
    *first, _ = node.projects[0]
    places = {
        column.index: [i]
        for i, column in enumerate(first)
        if isinstance(column, InputRef) and all(project[i] == column for project in node.projects)
    }
    return frozenset(key | {len(first)} for key in _mapped(_keys(node.input, upsert), places))


def _rank(node: p.Rank, upsert: bool) -> Keys:
    keys = set(_keys(node.input, upsert)) if not upsert or node.kinds else set(_keys(node.input, False))
    partition = frozenset(node.partition)
    if node.function == "ROW_NUMBER":
        if node.show_number:
            keys.add(partition | {len(node.row.fields) - 1})
        elif node.start == node.end == 1:
            keys.add(partition)
    return frozenset(keys)


def _deduplicate(node: p.Deduplicate, upsert: bool) -> Keys:
    return frozenset([frozenset(node.key), *_keys(node.input, upsert)])


def _window_rank(node: p.WindowRank, upsert: bool) -> Keys:
    keys = set(_keys(node.input, upsert))
    window = {c for c in (node.window.start, node.window.end) if c is not None}
    if node.show_number:
        keys.add(frozenset(node.partition) | window | {len(node.row.fields) - 1})
    elif node.start == node.end == 1:
        keys.add(frozenset(node.partition) | window)
    return frozenset(keys)


def _window_deduplicate(node: p.WindowDeduplicate, upsert: bool) -> Keys:
    window = {c for c in (node.window.start, node.window.end) if c is not None}
    return frozenset([frozenset(node.partition) | window, *_keys(node.input, upsert)])


def _normalize(node: p.ChangelogNormalize, upsert: bool) -> Keys:
    return frozenset([frozenset(node.key)])


def _sort_limit(node: Any, upsert: bool) -> Keys:
    keys = set(_keys(node.input, upsert))
    if node.fetch is not None and node.fetch <= 1:
        keys.add(frozenset())
    return frozenset(keys)


def _join(node: Any, upsert: bool) -> Keys:
    left = _keys(node.left, upsert)
    if node.kind in ("SEMI", "ANTI"):
        return left
    right = _keys(node.right, upsert)
    width = len(node.left.row.fields)
    keys: set[Key] = {a | {c + width for c in b} for a in left for b in right}
    left_key, right_key = frozenset(node.keys.left), frozenset(node.keys.right)
    left_unique = any(key <= left_key for key in left)
    right_unique = any(key <= right_key for key in right)
    if right_unique and node.kind in ("INNER", "LEFT"):
        keys |= {k for k in left if not upsert or left_key <= k or (node.kind == "INNER" and left_key <= k)}
    if left_unique and node.kind in ("INNER", "RIGHT"):
        keys |= {frozenset(c + width for c in k) for k in right if not upsert or right_key <= k}
    return frozenset(keys)


def _left_side(node: Any, upsert: bool) -> Keys:
    if isinstance(node, p.LookupJoin):
        # Which rows the table outside has is not known unless its primary key is asked.
        key = node.table.schema.primary_key
        asked = {column for column, _ in node.lookup}
        names = node.right_row.names
        if key is None or not all(names.index(c) in asked for c in key.columns):
            return NO_KEYS
    return _keys(node.left, upsert)


_RULES: Final[dict[type[p.Physical], Callable[[Any, bool], Keys]]] = {
    p.TableSourceScan: _source,
    p.DataStreamScan: _source,
    p.Values: _values,
    p.WatermarkAssigner: _same,
    p.MiniBatchAssigner: _same,
    p.Calc: _calc,
    p.Exchange: _exchange,
    p.Correlate: _correlate,
    p.Expand: _expand,
    p.DropUpdateBefore: _same,
    p.ChangelogNormalize: _normalize,
    p.GroupAggregate: _group,
    p.WindowAggregate: _window_aggregate,
    p.GroupWindowAggregate: _group_window,
    p.OverAggregate: _same,
    p.Rank: _rank,
    p.Deduplicate: _deduplicate,
    p.WindowRank: _window_rank,
    p.WindowDeduplicate: _window_deduplicate,
    p.Sort: _same,
    p.FinalRows: _same,
    p.TemporalSort: _same,
    p.SortLimit: _sort_limit,
    p.Limit: _sort_limit,
    p.Join: _join,
    p.IntervalJoin: _none,
    p.WindowJoin: _none,
    p.TemporalJoin: _left_side,
    p.LookupJoin: _left_side,
}
