"""``optimize``: the rules, in their order."""

from __future__ import annotations

from firesteel.sql.logical import Node

__all__ = ["optimize"]


def optimize(plan: Node) -> Node:
    """The plan that the physical planner gets."""
    return plan
