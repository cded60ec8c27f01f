"""``optimize``: the rules, in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from firesteel.sql.logical import Node
from firesteel.sql.rules.empty_inputs import prune_empty_inputs
from firesteel.sql.rules.fold_constants import fold_constants
from firesteel.sql.rules.lateral_queries import lateral_queries_to_joins
from firesteel.sql.rules.prune_columns import prune_columns
from firesteel.sql.rules.push_filters import push_filters
from firesteel.sql.rules.set_operations import set_operations_to_joins
from firesteel.sql.rules.subqueries import subqueries_to_joins

__all__ = ["RULES", "optimize"]

_FIRST: Final = (
    subqueries_to_joins,
    lateral_queries_to_joins,
    set_operations_to_joins,
    fold_constants,
    push_filters,
)
_LAST: Final = (fold_constants, prune_empty_inputs, prune_columns)
RULES: Final = (*_FIRST, *_LAST)


def optimize(plan: Node, reorder: Callable[[Node], Node] | None = None) -> Node:
    """The plan that the physical planner gets: ``docs/design/sql.md``, section "Logical plan".

    :param reorder: puts joins into another order, by what is known of their tables.
    """
    for rule in (*_FIRST, *((reorder,) if reorder else ()), *_LAST):
        plan = rule(plan)
    return plan
