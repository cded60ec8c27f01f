"""What sinks of tables share."""

from __future__ import annotations

from typing import Any, Final

from firesteel.program.sinks import Sink
from firesteel.program.transformations import SinkTransformation, Transformation, is_single, make_single
from firesteel.sql import physical as p

__all__ = ["CHANGES_BY_KEY", "kinds_by_key", "sink_transformation"]

#: The kinds of rows of a table that is written by key: the row before a change is not needed.
CHANGES_BY_KEY: Final = frozenset({"+I", "+U", "-D"})


def kinds_by_key(schema: Any) -> frozenset[str]:
    """Return which kinds of rows a table takes whose rows are replaced by key, if it has one."""
    return frozenset({"+I"}) if schema.primary_key is None else CHANGES_BY_KEY


def sink_transformation(
    environment: Any,
    rows: Transformation,
    node: p.Sink,
    sink: Sink,
    parallelism: int | None = None,
    name: str | None = None,
) -> SinkTransformation:
    """Add the end of a plan to the program."""
    shown = name or f"Sink: {node.target.name.rpartition('.')[2]}"
    made = SinkTransformation(name=shown, input=rows, sink=sink, parallelism=parallelism)
    if parallelism is None and is_single(rows):
        make_single(made)
    environment._add(made)
    return made
