"""Which deletes have to be whole rows, and which ``ChangelogNormalize`` that leaves without work.

(Flink: ``SatisfyDeleteKindTraitVisitor``.) One that makes a changelog of upserts is left out where nobody
needs the old rows of updates, or more of a deleted row than its key: the upserts themselves go on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from firesteel.sql import physical as p
from firesteel.sql.expressions import references
from firesteel.sql.physical import AFTER, Physical
from firesteel.sql.schema import ColumnKind
from firesteel.sql.upsert_keys import upsert_keys

__all__ = ["without_needless_normalization"]


def without_needless_normalization(root: Physical) -> Physical:
    """:param root: a plan that says which changes its nodes make."""
    return _Deletes().visit(root, True)


class _Deletes:
    def __init__(self) -> None:
        self._done: dict[tuple[int, bool], tuple[Physical, Physical]] = {}

    def visit(self, node: Physical, whole: bool) -> Physical:
        """:param whole: whether a deleted row has to come with all its columns."""
        key = (id(node), whole)
        if key not in self._done:
            self._done[key] = (node, self._node(node, whole))
        return self._done[key][1]

    def _node(self, node: Physical, whole: bool) -> Physical:
        if isinstance(node, p.ChangelogNormalize) and not whole and _only_hands_on(node):
            (exchange,) = node.inputs
            return self.visit(exchange.inputs[0], whole)
        wanted = _WANTED.get(type(node), _all_whole)(node, whole)
        inputs = tuple(self.visit(i, w) for i, w in zip(node.inputs, wanted, strict=True))
        unchanged = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
        return node if unchanged else replace(node, inputs=inputs)


def _only_hands_on(node: p.ChangelogNormalize) -> bool:
    return node.of_upserts and node.update == AFTER and node.condition is None


_Wanted = Callable[[Any, bool], Sequence[bool]]


def _all_whole(node: Physical, whole: bool) -> Sequence[bool]:
    return [True] * len(node.inputs)


def _handed_on(node: Physical, whole: bool) -> Sequence[bool]:
    return [whole] * len(node.inputs)


def _calc(node: p.Calc, whole: bool) -> Sequence[bool]:
    if node.condition is not None:
        read = references(node.condition)
        whole = whole or not any(read <= key for key in upsert_keys(node.input))
    return [whole]


def _sink(node: p.Sink, whole: bool) -> Sequence[bool]:
    by_key = node.target.update == AFTER and node.target.deletes_by_key and not node.materialize
    # A key alone leaves the other columns null.
    may_be_null = all(kind.nullable or i in node.primary_key for i, kind in enumerate(node.row.types))
    return [not (by_key and node.primary_key and may_be_null)]


def _versions(node: p.TemporalJoin, whole: bool) -> Sequence[bool]:
    """Of a version that ends its key and its time are enough. Made whole again, a deleted row would have the
    time at which it began."""
    return [True, not _deletes_have_a_time(node.inputs[1])]


def _deletes_have_a_time(node: Physical) -> bool:
    """Not where the time is in the value of a message, of which a delete has none."""
    while node.inputs:
        node = node.inputs[0]
    if not isinstance(node, p.TableSourceScan):
        return True
    schema = node.table.schema
    times = {watermark.column for watermark in schema.watermarks}
    return any(c.name in times and c.kind is ColumnKind.METADATA for c in schema.columns)


_WANTED: Final[dict[type[Physical], _Wanted]] = {
    p.Sink: _sink,
    p.Calc: _calc,
    p.TemporalJoin: _versions,
    p.Exchange: _handed_on,
    p.WatermarkAssigner: _handed_on,
    p.DropUpdateBefore: _handed_on,
    p.Union: _handed_on,
}
