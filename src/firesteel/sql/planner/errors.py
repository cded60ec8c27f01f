"""What a planner says of a query that cannot run, in Flink's words."""

from __future__ import annotations

from firesteel.sql.physical import Physical
from firesteel.util.exceptions import TableException

__all__ = ["PlanningError", "cannot_consume", "no_plan", "unsupported", "wrong"]


class PlanningError(TableException):
    """A query that is right cannot be run as it stands (Flink: ``TableException`` of the planner)."""


def cannot_consume(consumer: str, changes: str, node: Physical) -> PlanningError:
    from firesteel.sql.plan_text import describe

    return PlanningError(
        f"{consumer} doesn't support consuming {changes} changes which is produced by node {describe(node)}"
    )


def no_plan(root: Physical) -> PlanningError:
    from firesteel.sql.plan_text import plan_text

    return PlanningError(
        "Can't generate a valid execution plan for the given query:\n" + plan_text(root),
        hint=(
            "the changes that an operator needs of its input are not made there: see the changelog "
            "modes in the plan"
        ),
    )


def unsupported(message: str, hint: str | None = None) -> PlanningError:
    return PlanningError(message, hint=hint)


def wrong(message: str, hint: str | None = None) -> PlanningError:
    return PlanningError(message, hint=hint)
