"""INSERT: what a sink takes, and what has to be done to the rows before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from firesteel.common.options import table as options
from firesteel.sql import logical as l, physical as p
from firesteel.sql.changelog import row_kinds
from firesteel.sql.physical import AFTER, BEFORE_AND_AFTER, INSERT_ONLY

if TYPE_CHECKING:
    from firesteel.sql.planner.builder import Planner

__all__ = ["Target", "in_chosen_mode", "sink"]


@dataclass(frozen=True, slots=True)
class Target:
    """Where rows go.

    :param description: for messages, such as ``Table sink 'c.d.t'``. :param kinds: the changes that it takes.
    :param update: how it takes updates. :param writer: what ``translate`` makes the end of it with. :param
        enforce: whether NOT NULL and lengths of its columns are looked after. :param table: the
        ``ResolvedTable``, where there is one.
    """

    name: str
    description: str
    kinds: frozenset[str]
    update: str | None
    schema: Any
    writer: Any
    enforce: bool = True
    table: Any = None

    @classmethod
    def of_mode(
        cls,
        name: str,
        description: str,
        mode: frozenset[str],
        schema: Any,
        writer: Any,
        enforce: bool = True,
        table: Any = None,
    ) -> Target:
        """:param mode: kinds of rows, such as ``{"+I", "+U", "-D"}``."""
        kinds = set(INSERT_ONLY)
        if "+U" in mode:
            kinds.add(p.UPDATE)
        if "-D" in mode:
            kinds.add(p.DELETE)
        update = None if "+U" not in mode else BEFORE_AND_AFTER if "-U" in mode else AFTER
        return cls(name, description, frozenset(kinds), update, schema, writer, enforce, table)

    @property
    def deletes_by_key(self) -> bool:
        """Whether the key of a deleted row is enough for it: streams are given what there is."""
        return self.writer is None or getattr(self.writer, "deletes_by_key", False)

    def in_mode(self, mode: frozenset[str]) -> Target:
        """The same, which takes these kinds of rows."""
        return Target.of_mode(
            self.name, self.description, mode, self.schema, self.writer, self.enforce, self.table
        )


#: Every kind of row.
EVERY = frozenset(("+I", "-U", "+U", "-D"))


def in_chosen_mode(node: p.Sink, batch: bool) -> p.Sink:
    """The sink with the changelog mode that its connector chooses for what the query makes."""
    target: Target = node.target
    if target.writer is None:
        return node
    mode = target.writer.changelog_mode(row_kinds(node.input, batch))
    return replace(node, target=target.in_mode(mode))


def sink(planner: Planner, node: l.Sink) -> p.Physical:
    """A sink whose ``table`` is a ``Target`` already: ``statements`` asks the connector for it."""
    context = planner.context
    target: Target = node.table
    child = planner.plan(node.input)
    key = target.schema.primary_key
    names = target.schema.sink_row.names
    primary = () if key is None else tuple(names.index(column) for column in key.columns)
    return p.Sink(
        row=node.row,
        inputs=(child,),
        target=target,
        primary_key=primary,
        conflict=node.on_conflict,
        require_on_conflict=bool(context.get(options.REQUIRE_ON_CONFLICT)) and not context.batch,
        materialize_mode="NONE" if context.batch else str(context.get(options.UPSERT_MATERIALIZE)),
        not_null=str(context.get(options.NOT_NULL_ENFORCER)),
        type_length=str(context.get(options.TYPE_LENGTH_ENFORCER)),
        nested=str(context.get(options.NESTED_ENFORCER)),
        ttl_ms=context.ttl_ms,
        hints=node.hints,
    )
