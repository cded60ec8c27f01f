"""Nodes that differ only in what their columns are called: one operator does the work of all of them.

Such nodes stay apart in a plan, as in Flink's, because its texts show the names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any, Final

from firesteel.sql import physical as p

__all__ = ["representatives"]

_AGGREGATES: Final = (p.GroupAggregate, p.WindowAggregate, p.GroupWindowAggregate)
_ASIDE: Final = frozenset(("row", "inputs", "calls"))


def representatives(
    roots: Sequence[p.Physical], name_of: Callable[[p.Physical], str]
) -> dict[int, p.Physical]:
    """Return for the id of each node that has others of its like the one that stands for all of them.

    :param roots: all plans. :param name_of: gives each node a name that does not depend on the order of the
        plans, of which the least decides.
    """
    known: dict[Any, int] = {}
    firsts: dict[int, int] = {}  # of each node the first one that is like it
    groups: dict[int, list[p.Physical]] = defaultdict(list)
    for root in roots:
        for node in p.walk(root):
            if id(node) not in firsts:
                like = _likeness(node, tuple(firsts[id(i)] for i in node.inputs))
                firsts[id(node)] = id(node) if like is None else known.setdefault(like, id(node))
                groups[firsts[id(node)]].append(node)
    return {id(node): min(group, key=name_of) for group in groups.values() if group[1:] for node in group}


def _likeness(node: p.Physical, inputs: tuple[int, ...]) -> Any:
    """What is equal for nodes that do the same; None: the node is like no other one."""
    if not isinstance(node, _AGGREGATES):
        return None
    calls = tuple(replace(call, name="") for call in node.calls)
    rest = tuple(getattr(node, f.name) for f in fields(node) if f.name not in _ASIDE)
    found = (type(node), inputs, node.row.types, calls, rest)
    try:
        hash(found)
    except TypeError:
        return None
    return found
