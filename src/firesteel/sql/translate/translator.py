"""Physical nodes -> transformations.

A node becomes one transformation; an ``Exchange`` becomes the partitioning of the edge. Uids are made of the
names that ``node_names.py`` gives to nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Final, Protocol

from firesteel.common.options import table as options
from firesteel.graph.uids import PLANNED
from firesteel.program.call_site import call_site
from firesteel.program.column_keys import ColumnKeys
from firesteel.program.operators import OperatorSpec
from firesteel.program.transformations import (
    OneInputTransformation,
    PartitionTransformation,
    Transformation,
    TwoInputTransformation,
    UnionTransformation,
    is_single,
    make_single,
)
from firesteel.sql import physical as p
from firesteel.sql.async_options import with_options
from firesteel.sql.expression_text import infix_text
from firesteel.sql.expressions import AggregateCall, Call, Expression, walk
from firesteel.sql.node_names import NodeNames
from firesteel.sql.operators.borders import columns_type
from firesteel.sql.plan_text import describe
from firesteel.sql.planner.context import PlannerContext
from firesteel.sql.session import session_zone
from firesteel.sql.translate import (
    aggregates,
    changelogs,
    exchanges,
    joins,
    matching,
    process_tables,
    ranks,
    row_by_row,
    sinks,
    sources,
    windows,
)
from firesteel.sql.translate.alike import representatives
from firesteel.sql.types import RowType

__all__ = ["Program", "Translator"]


class Program(Protocol):
    """What a plan becomes a part of: the program of an environment."""

    _uids: dict[str, Transformation]

    def _add(self, transformation: Transformation) -> None: ...

    def _register_uid(self, uid: str, transformation: Transformation) -> None: ...


class Translator:
    """Makes the transformations of plans. What two nodes read is made once, and so are nodes that are alike.

    :param roots: all plans that will be translated.
    """

    def __init__(self, context: PlannerContext, program: Program, roots: Sequence[p.Physical]) -> None:
        self.context = context
        self.program = program
        self.names = NodeNames(roots)
        self._prefix = _free_prefix(program)
        self._done: dict[int, tuple[p.Physical, Transformation]] = {}
        shares = context.get(options.REUSE_SUB_PLAN)
        self._instead = representatives(roots, self.names.of) if shares else {}
        self.zone = session_zone(context.configuration)

    def translate(self, node: p.Physical) -> Transformation:
        node = self._instead.get(id(node), node)
        found = self._done.get(id(node))
        if found is None:
            found = (node, _BUILDERS[type(node)](self, node))
            self._done[id(node)] = found
        return found[1]

    def uid_of(self, node: p.Physical) -> str | None:
        """Return the uid of the operator that a node has become, of several that of the one called as the
        node; None: it has become none of its own."""
        node = self._instead.get(id(node), node)
        found = self._done.get(id(node))
        if found is None or isinstance(node, p.Sink) or found[1].uid is None:
            return None
        own = self._uid(node, node.name)
        return own if own in self.program._uids else found[1].uid

    # ---- for builders

    def one(
        self,
        node: p.Physical,
        spec: OperatorSpec,
        *,
        keys: tuple[int, ...] | None = None,
        row: RowType | None = None,
        source: Transformation | None = None,
        name: str | None = None,
    ) -> Transformation:
        """An operator of one input. :param keys: it has state by these columns of the input."""
        single = keys == ()
        made = OneInputTransformation(
            name=name or node.name,
            input=self.translate(node.input) if source is None else source,
            operator=spec,
            output_type=columns_type(row or node.row),
            key_selector=None if keys is None else ColumnKeys(keys),
            description=describe(node, infix_text),
        )
        return self.add(made, node, single, name)

    def two(
        self, node: p.Physical, spec: OperatorSpec, left: tuple[int, ...], right: tuple[int, ...]
    ) -> Transformation:
        made = TwoInputTransformation(
            name=node.name,
            input1=self.translate(node.left),
            input2=self.translate(node.right),
            operator=spec,
            output_type=columns_type(node.row),
            key_selector1=ColumnKeys(left),
            key_selector2=ColumnKeys(right),
            description=describe(node, infix_text),
        )
        return self.add(made, node, not left)

    def add(
        self, made: Transformation, node: p.Physical, single: bool = False, name: str | None = None
    ) -> Transformation:
        if not isinstance(made, UnionTransformation | PartitionTransformation) and made.parallelism is None:
            # As in Flink, only an exchange leads to more subtasks again.
            if single or (made.inputs and all(map(is_single, made.inputs))):
                make_single(made)
            else:
                parallelism = int(self.context.get(options.DEFAULT_PARALLELISM) or -1)
                if parallelism > 0:
                    made.parallelism = parallelism
        if made.created_at is None:
            made.created_at = call_site()
        self.give_uid(made, node, name or node.name)
        self.program._add(made)
        return made

    def give_uid(self, made: Transformation, node: p.Physical, role: str) -> None:
        """:param role: which of the operators that the node becomes it is."""
        if made.uid is None:
            made.uid = self._uid(node, role)
        self.program._register_uid(made.uid, made)

    def _uid(self, node: p.Physical, role: str) -> str:
        return f"{self._prefix}{role.lower().replace(' ', '-')}-{self.names.of(node)}"

    def functions(
        self,
        expressions: Iterable[Expression | None] = (),
        calls: Iterable[AggregateCall] = (),
        names: Iterable[str] = (),
    ) -> Mapping[str, Any]:
        """The functions of users that are called there."""
        known = self.context.functions
        called = {e.function for x in expressions if x is not None for e in walk(x) if isinstance(e, Call)}
        called.update(call.function for call in calls)
        called.update(names)
        configuration = self.context.configuration
        return {name: with_options(known[name], configuration) for name in sorted(called) if name in known}

    @property
    def bundle(self) -> int:
        return int(self.context.get(options.MINI_BATCH_SIZE)) if self.context.mini_batch else 0


def _free_prefix(program: Program) -> str:
    """Of the uids of the next plan of a program. Plans are numbered within the program, so what ran before in
    the same session, of this job or of others, changes no uid."""
    taken = {uid.split("-")[1] for uid in program._uids if uid.startswith(PLANNED)}
    number = next(n for n in count(1) if str(n) not in taken)
    return f"{PLANNED}{number}-"


_BUILDERS: Final[dict[type[p.Physical], Callable[[Translator, Any], Transformation]]] = {
    p.TableSourceScan: sources.scan,
    p.DataStreamScan: sources.stream,
    p.Values: sources.values,
    p.WatermarkAssigner: sources.watermarks,
    p.MiniBatchAssigner: sources.mini_batches,
    p.Calc: row_by_row.calc,
    p.Expand: row_by_row.expand,
    p.Correlate: row_by_row.correlate,
    p.Union: exchanges.union,
    p.Exchange: exchanges.exchange,
    p.DropUpdateBefore: changelogs.drop_update_before,
    p.ChangelogNormalize: changelogs.normalize,
    p.GroupAggregate: aggregates.group_aggregate,
    p.LocalGroupAggregate: aggregates.local_group_aggregate,
    p.GlobalGroupAggregate: aggregates.global_group_aggregate,
    p.OverAggregate: aggregates.over,
    p.WindowTableFunction: windows.window_table,
    p.WindowAggregate: windows.window_aggregate,
    p.GroupWindowAggregate: windows.group_window,
    p.Rank: ranks.rank,
    p.SortLimit: ranks.sort_limit,
    p.Limit: ranks.limit,
    p.Sort: ranks.sort,
    p.FinalRows: ranks.final_rows,
    p.TemporalSort: ranks.temporal_sort,
    p.Deduplicate: ranks.deduplicate,
    p.WindowRank: ranks.window_rank,
    p.WindowDeduplicate: ranks.window_deduplicate,
    p.Join: joins.join,
    p.IntervalJoin: joins.interval_join,
    p.WindowJoin: joins.window_join,
    p.TemporalJoin: joins.temporal_join,
    p.LookupJoin: joins.lookup_join,
    p.ProcessTable: process_tables.process_table,
    p.Match: matching.match,
    p.Sink: sinks.sink,
}
