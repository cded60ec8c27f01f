"""A query whose rows are told apart by other columns than the primary key of its sink."""

from __future__ import annotations

from typing import Final

from firesteel.sql import physical as p
from firesteel.sql.planner.errors import PlanningError
from firesteel.sql.upsert_keys import shortest, upsert_keys

__all__ = ["check_conflict", "needs_materialize"]

_CHOICES: Final = (
    "This can lead to non-deterministic results when multiple records with different upsert keys map "
    "to the same "
    "primary key. Please specify an ON CONFLICT clause to define how conflicts should be handled: ON "
    "CONFLICT DO "
    "DEDUPLICATE (update to the latest record, state intensive, since we need to keep the entire "
    "history), or ON "
    "CONFLICT DO ERROR (fail on conflict), or ON CONFLICT DO NOTHING (keep first record)."
)


def check_conflict(node: p.Sink) -> None:
    """Refuse ON CONFLICT where the sink does not tell rows apart by a key.

    :raises PlanningError: it appends rows, or takes their old values back.
    """
    update = node.target.update
    if node.conflict is None or update == p.AFTER:
        return
    why = (
        "it only accepts INSERT (append-only) changes"
        if update is None
        else "it requires UPDATE_BEFORE (retract mode)"
    )
    raise PlanningError(
        "ON CONFLICT clause is only allowed for upsert sinks. "
        f"The sink '{node.target.name}' is not an upsert sink because {why}.",
        hint="leave ON CONFLICT out",
    )


def needs_materialize(node: p.Sink) -> bool:
    """Whether the last row of each primary key has to be found out before the sink
    (Flink: ``analyzeUpsertMaterializeStrategy``).

    :raises PlanningError: nothing says what is to be done where two rows have one primary key.
    """
    upserts = bool(node.primary_key) and node.target.update == p.AFTER
    if not upserts or node.materialize_mode == "NONE":
        return False
    if node.materialize_mode == "FORCE":
        return True
    keys = upsert_keys(node.input)
    primary = frozenset(node.primary_key)
    if any(key <= primary for key in keys):
        return False
    if node.conflict is None and node.require_on_conflict:
        raise _conflict(node, shortest(keys))
    return node.conflict != "DEDUPLICATE" or not node.input.is_insert_only


def _conflict(node: p.Sink, key: tuple[int, ...] | None) -> PlanningError:
    names = node.target.schema.sink_row.names
    primary = ", ".join(names[c] for c in node.primary_key)
    upsert = "none" if key is None else "[" + ", ".join(node.input.row.names[c] for c in key) + "]"
    return PlanningError(
        "The query has an upsert key that differs from the primary key of the sink table "
        f"'{node.target.name}'. Primary key: [{primary}], upsert key: {upsert}. {_CHOICES}"
    )
