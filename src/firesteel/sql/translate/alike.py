"""Nodes that differ only in what their columns are called: one operator does the work of all of them.

Such nodes stay apart in a plan, as in Flink's, because its texts show the names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Final

from firesteel.program.transformations import Transformation
from firesteel.sql import physical as p

__all__ = ["likeness"]

_AGGREGATES: Final = (p.GroupAggregate, p.WindowAggregate, p.GroupWindowAggregate)
_ASIDE: Final = frozenset(("row", "inputs", "calls"))


def likeness(node: p.Physical, inputs: Sequence[Transformation]) -> Any:
    """Return what is equal for nodes that do the same; None: the node is like no other one.

    :param inputs: what the inputs of the node have become.
    """
    if not isinstance(node, _AGGREGATES):
        return None
    calls = tuple(replace(call, name="") for call in node.calls)
    rest = tuple(getattr(node, f.name) for f in fields(node) if f.name not in _ASIDE)
    found = (type(node), tuple(map(id, inputs)), node.row.types, calls, rest)
    try:
        hash(found)
    except TypeError:
        return None
    return found
