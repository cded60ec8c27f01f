"""What a planner says of a query that cannot run, in Flink's words."""

from __future__ import annotations

from firesteel.sql.parser.errors import Place
from firesteel.sql.physical import Physical
from firesteel.util.exceptions import TableException

__all__ = ["PlanningError", "cannot_consume", "no_plan", "unsupported", "wrong"]


class PlanningError(TableException):
    """A query that is right cannot be run as it stands (Flink: ``TableException`` of the planner).

    :param place: what of the query is meant, as far as that is known.
    :ivar line: and *column*, counted from 1; 0: the place is not known.
    """

    def __init__(self, message: str, *, place: Place | None = None, hint: str | None = None) -> None:
        super().__init__(message, detail=None if place is None else f"{place.span}{place.marked}", hint=hint)
        self.line, self.column = (0, 0) if place is None else place.line_and_column


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


def unsupported(message: str, hint: str | None = None, place: Place | None = None) -> PlanningError:
    return PlanningError(message, hint=hint, place=place)


def wrong(message: str, hint: str | None = None, place: Place | None = None) -> PlanningError:
    return PlanningError(message, hint=hint, place=place)
