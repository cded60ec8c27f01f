"""Functions of whole tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.program.transformations import Transformation
from firesteel.sql import physical as p
from firesteel.sql.operators.changelog_functions import FromChangelog, ToChangelog
from firesteel.sql.planner.errors import unsupported
from firesteel.sql.planner.process_tables import argument

if TYPE_CHECKING:
    from firesteel.sql.translate.translator import Translator

__all__ = ["process_table"]


def process_table(run: Translator, node: p.ProcessTable) -> Transformation:
    if node.function == "TO_CHANGELOG":
        return run.one(node, ToChangelog(codes=argument(node, "mapping")))
    if node.function == "FROM_CHANGELOG":
        return run.one(node, FromChangelog(op=argument(node, "op"), kinds=argument(node, "mapping")))
    raise unsupported(
        f"The process table function {node.function} cannot be run.",
        hint="use a table function, or a ProcessFunction on a stream of the table (to_changelog_stream)",
    )
