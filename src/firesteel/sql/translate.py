"""Physical nodes -> transformations, whose operators are specs of ``operators/specs.py``.

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
    Partitioning,
    PartitionKind,
    PartitionTransformation,
    Transformation,
    TwoInputTransformation,
    UnionTransformation,
)
from firesteel.sql import physical as p
from firesteel.sql.async_options import with_options
from firesteel.sql.expression_text import infix_text
from firesteel.sql.expressions import AggregateCall, Call, Expression, identity, walk
from firesteel.sql.matching import translate_match
from firesteel.sql.node_names import NodeNames
from firesteel.sql.operators import specs
from firesteel.sql.operators.borders import columns_type
from firesteel.sql.plan_text import describe
from firesteel.sql.planner.context import PlannerContext
from firesteel.sql.planner.process_tables import translate_process_table
from firesteel.sql.session import session_zone
from firesteel.sql.types import RowType

__all__ = ["Program", "Translator"]


class Program(Protocol):
    """What a plan becomes a part of: the program of an environment."""

    _uids: dict[str, Transformation]

    def _add(self, transformation: Transformation) -> None: ...

    def _register_uid(self, uid: str, transformation: Transformation) -> None: ...


class Translator:
    """Makes the transformations of plans. What two nodes read is made once.

    :param roots: all plans that will be translated.
    """

    def __init__(self, context: PlannerContext, program: Program, roots: Sequence[p.Physical]) -> None:
        self.context = context
        self.program = program
        self.names = NodeNames(roots)
        self._prefix = _free_prefix(program)
        self._done: dict[int, tuple[p.Physical, Transformation]] = {}
        self.zone = session_zone(context.configuration)

    def translate(self, node: p.Physical) -> Transformation:
        found = self._done.get(id(node))
        if found is None:
            found = (node, _BUILDERS[type(node)](self, node))
            self._done[id(node)] = found
        return found[1]

    def uid_of(self, node: p.Physical) -> str | None:
        """Return the uid of the operator that a node has become, of several that of the one called as the
        node; None: it has become none of its own."""
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
        if single:
            made.parallelism, made.max_parallelism, made.non_parallel = 1, 1, True
        elif made.parallelism is None and not isinstance(made, UnionTransformation | PartitionTransformation):
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


def _old_rows(node: p.Physical) -> bool:
    return node.update == p.BEFORE_AND_AFTER


def _retracts(node: p.Physical) -> bool:
    return not node.input.is_insert_only


# ---- sources


def _scan(run: Translator, node: p.TableSourceScan) -> Transformation:
    made: Transformation = node.source.build(run, node)
    return made


def _stream(run: Translator, node: p.DataStreamScan) -> Transformation:
    made: Transformation = node.table.stream.build(run, node)
    return made


def _values(run: Translator, node: p.Values) -> Transformation:
    from firesteel.sql.connectors.values import values_source

    return run.add(values_source(node.row, node.rows, node.name), node)


def _watermarks(run: Translator, node: p.WatermarkAssigner) -> Transformation:
    spec = specs.WatermarkAssigner(
        input=node.input.row,
        column=node.column,
        expression=node.expression,
        idle_timeout_ms=int(run.context.get(options.SOURCE_IDLE) or 0),
        functions=run.functions([node.expression]),
    )
    return run.one(node, spec)


def _mini_batches(run: Translator, node: p.MiniBatchAssigner) -> Transformation:
    return run.one(node, specs.MiniBatchAssigner(interval_ms=node.interval_ms, event_time=node.rowtime))


# ---- row by row


def _calc(run: Translator, node: p.Calc) -> Transformation:
    spec = specs.Calc(
        input=node.input.row,
        output=node.row,
        projection=node.expressions,
        condition=node.condition,
        functions=run.functions([*node.expressions, node.condition]),
    )
    return run.one(node, spec)


def _expand(run: Translator, node: p.Expand) -> Transformation:
    return run.one(node, specs.Expand(input=node.input.row, output=node.row, projections=node.projects))


def _correlate(run: Translator, node: p.Correlate) -> Transformation:
    spec = specs.Correlate(
        input=node.input.row,
        output=node.row,
        function=node.function,
        arguments=node.arguments,
        outer=node.kind == "LEFT",
        condition=node.condition,
        functions=run.functions([*node.arguments, node.condition], names=[node.function]),
    )
    return run.one(node, spec)


def _union(run: Translator, node: p.Union) -> Transformation:
    return UnionTransformation(
        name="Union",
        union_of=tuple(run.translate(i) for i in node.inputs),
        output_type=columns_type(node.row),
    )


def _free_prefix(program: Program) -> str:
    """Of the uids of the next plan of a program. Plans are numbered within the program, so what ran before in
    the same session, of this job or of others, changes no uid."""
    taken = {uid.split("-")[1] for uid in program._uids if uid.startswith(PLANNED)}
    number = next(n for n in count(1) if str(n) not in taken)
    return f"{PLANNED}{number}-"


def _exchange(run: Translator, node: p.Exchange) -> Transformation:
    if node.keys is None:
        partitioning = Partitioning(PartitionKind.BROADCAST)
    else:
        partitioning = Partitioning(PartitionKind.HASH, ColumnKeys(node.keys))
    return PartitionTransformation(
        name="Exchange",
        input=run.translate(node.input),
        partitioning=partitioning,
        output_type=columns_type(node.row),
    )


def _drop(run: Translator, node: p.DropUpdateBefore) -> Transformation:
    return run.one(node, specs.DropUpdateBefore(input=node.input.row))


def _normalize(run: Translator, node: p.ChangelogNormalize) -> Transformation:
    spec = specs.ChangelogNormalize(
        input=node.input.row,
        keys=node.key,
        generate_update_before=_old_rows(node),
        condition=node.condition,
        mini_batch=node.mini_batch,
        bundle=run.bundle,
        ttl_ms=node.ttl_ms,
        functions=run.functions([node.condition]),
    )
    return run.one(node, spec, keys=node.key)


# ---- aggregates


def _by_keys(source: Transformation, keys: tuple[int, ...], row: RowType) -> Transformation:
    partitioning = Partitioning(PartitionKind.HASH, ColumnKeys(keys))
    return PartitionTransformation(
        name="Exchange", input=source, partitioning=partitioning, output_type=columns_type(row)
    )


def _group_aggregate(run: Translator, node: p.GroupAggregate) -> Transformation:
    functions = run.functions(calls=node.calls)
    common: dict[str, Any] = {
        "input": node.input.row,
        "keys": node.group,
        "retracts": _retracts(node),
        "functions": functions,
    }
    if node.table_function:
        return run.one(
            node,
            specs.GroupTableAggregate(
                output=node.row,
                call=node.calls[0],
                generate_update_before=_old_rows(node),
                ttl_ms=node.ttl_ms,
                **common,
            ),
            keys=node.group,
        )
    spec = specs.GroupAggregate(
        output=node.row,
        calls=node.calls,
        generate_update_before=_old_rows(node),
        mini_batch=node.mini_batch,
        bundle=run.bundle,
        ttl_ms=node.ttl_ms,
        **common,
    )
    return run.one(node, spec, keys=node.group)


def _local_group_aggregate(run: Translator, node: p.LocalGroupAggregate) -> Transformation:
    spec = specs.LocalGroupAggregate(
        input=node.input.row,
        output=node.row,
        keys=node.group,
        calls=node.calls,
        retracts=_retracts(node),
        bundle=run.bundle,
        functions=run.functions(calls=node.calls),
    )
    return run.one(node, spec)


def _global_group_aggregate(run: Translator, node: p.GlobalGroupAggregate) -> Transformation:
    local = node.local
    keys = tuple(range(len(local.group)))
    spec = specs.GlobalGroupAggregate(
        input=node.input.row,
        output=node.row,
        keys=keys,
        rows=local.input.row,
        row_keys=local.group,
        calls=local.calls,
        retracts=_retracts(local),
        generate_update_before=_old_rows(node),
        bundle=run.bundle,
        ttl_ms=node.ttl_ms,
        functions=run.functions(calls=local.calls),
    )
    return run.one(node, spec, keys=keys)


def _time_window(run: Translator, window: p.WindowSpec) -> specs.TimeWindow:
    if window.attached and window.kind == "SESSION":
        # Each row has its session, whose start is among the keys: any end may be that of one.
        return specs.TimeWindow(
            kind="TUMBLE", size=1, end=window.end, event_time=window.rowtime, zone=run.zone
        )
    return specs.TimeWindow(
        kind=window.kind,
        size=window.size,
        slide=window.slide,
        offset=window.offset,
        time=window.time,
        start=window.start,
        end=window.end,
        event_time=window.rowtime,
        zone=run.zone,
    )


def _window_table(run: Translator, node: p.WindowTableFunction) -> Transformation:
    row, window = node.input.row, _time_window(run, node.window)
    if node.window.kind != "SESSION":
        return run.one(node, specs.WindowTableFunction(input=row, output=node.row, window=window))
    keys = node.window.partition
    session = specs.SessionTableFunction(input=row, output=node.row, window=window, keys=keys)
    return run.one(node, session, keys=keys)


def _window_aggregate(run: Translator, node: p.WindowAggregate) -> Transformation:
    return _aggregate_of_windows(run, node, _time_window(run, node.window))


def _aggregate_of_windows(
    run: Translator, node: p.WindowAggregate | p.GroupWindowAggregate, window: specs.TimeWindow
) -> Transformation:
    spec = specs.WindowAggregate(
        input=node.input.row,
        output=node.row,
        window=window,
        keys=node.group,
        calls=node.calls,
        properties=node.properties,
        retracts=_retracts(node),
        functions=run.functions(calls=node.calls),
    )
    return run.one(node, spec, keys=node.group)


def _group_window(run: Translator, node: p.GroupWindowAggregate) -> Transformation:
    old = node.window
    window = specs.TimeWindow(
        kind=old.kind,
        size=old.size,
        slide=old.slide,
        offset=old.offset,
        time=old.time,
        event_time=node.rowtime,
        zone=run.zone,
    )
    return _aggregate_of_windows(run, node, window)


def _over(run: Translator, node: p.OverAggregate) -> Transformation:
    first = node.calls[0]
    calls = tuple(over.call for over in node.calls)
    spec = specs.OverAggregate(
        input=node.input.row,
        output=node.row,
        keys=first.partition,
        calls=calls,
        order=first.order,
        time=first.order[0].index if node.time is not None else None,
        event_time=node.time == "rowtime",
        rows=first.rows,
        preceding=first.preceding,
        following=first.following,
        retracts=_retracts(node),
        generate_update_before=_old_rows(node),
        ttl_ms=node.ttl_ms,
        functions=run.functions(calls=calls),
    )
    return run.one(node, spec, keys=first.partition)


# ---- order

_STRATEGIES: Final = {"AppendFast": "append", "UpdateFast": "update_fast", "Retract": "retract"}


def _rank(run: Translator, node: p.Rank) -> Transformation:
    spec = specs.Rank(
        input=node.input.row,
        output=node.row,
        keys=node.partition,
        order=node.order,
        start=node.start,
        end=node.end,
        end_column=node.end_column,
        function=node.function,
        output_number=node.show_number,
        strategy=_STRATEGIES[node.strategy],
        upsert_key=node.key,
        generate_update_before=_old_rows(node),
        ttl_ms=node.ttl_ms,
    )
    return run.one(node, spec, keys=node.partition)


def _sort_limit(run: Translator, node: p.SortLimit) -> Transformation:
    spec = specs.Rank(
        input=node.input.row,
        output=node.row,
        keys=(),
        order=node.order,
        start=node.offset + 1,
        end=node.offset + node.fetch,
        strategy=_STRATEGIES[node.strategy],
        upsert_key=node.key,
        generate_update_before=_old_rows(node),
        ttl_ms=node.ttl_ms,
    )
    return run.one(node, spec, keys=())


_NO_END: Final = 2**62


def _limit(run: Translator, node: p.Limit) -> Transformation:
    if run.context.batch:
        made = run.one(node, specs.Limit(input=node.input.row, offset=node.offset, fetch=node.fetch))
        made.parallelism, made.max_parallelism, made.non_parallel = 1, 1, True
        return made
    spec = specs.Rank(
        input=node.input.row,
        output=node.row,
        keys=(),
        order=(),
        start=node.offset + 1,
        end=_NO_END if node.fetch is None else node.offset + node.fetch,
        strategy="append" if node.input.is_insert_only else "retract",
        generate_update_before=_old_rows(node),
    )
    return run.one(node, spec, keys=())


def _sort(run: Translator, node: p.Sort) -> Transformation:
    return run.one(node, specs.Sort(input=node.input.row, order=node.order), keys=())


def _final_rows(run: Translator, node: p.FinalRows) -> Transformation:
    return run.one(node, specs.FinalRows(input=node.input.row))


def _temporal_sort(run: Translator, node: p.TemporalSort) -> Transformation:
    spec = specs.TemporalSort(
        input=node.input.row, time=node.order[0].index, order=node.order[1:], event_time=node.rowtime
    )
    return run.one(node, spec, keys=())


def _deduplicate(run: Translator, node: p.Deduplicate) -> Transformation:
    spec = specs.Deduplicate(
        input=node.input.row,
        keys=node.key,
        last=node.keep_last,
        time=node.time if node.rowtime else None,
        insert_only=node.insert_only,
        generate_update_before=_old_rows(node),
        generate_insert=bool(run.context.get(options.DEDUPLICATE_SENSITIVE)),
        mini_batch=node.mini_batch,
        bundle=run.bundle,
        ttl_ms=node.ttl_ms,
    )
    return run.one(node, spec, keys=node.key)


def _window_rank(run: Translator, node: p.WindowRank) -> Transformation:
    spec = specs.WindowRank(
        input=node.input.row,
        output=node.row,
        keys=node.partition,
        order=node.order,
        end_column=_end_of(node.window),
        start=node.start,
        end=node.end,
        output_number=node.show_number,
        zone=run.zone,
    )
    return run.one(node, spec, keys=node.partition)


def _end_of(window: p.WindowSpec) -> int:
    assert window.end is not None, "a window that is in columns has its end there"
    return window.end


def _window_deduplicate(run: Translator, node: p.WindowDeduplicate) -> Transformation:
    from firesteel.sql.expressions import Ordering

    spec = specs.WindowRank(
        input=node.input.row,
        output=node.row,
        keys=node.partition,
        order=(Ordering(node.time, not node.keep_last),),
        end_column=_end_of(node.window),
        start=1,
        end=1,
        zone=run.zone,
    )
    return run.one(node, spec, keys=node.partition)


# ---- joins


def _keyed_join(
    run: Translator, node: p.Join | p.IntervalJoin | p.WindowJoin | p.TemporalJoin, spec: Any, **more: Any
) -> Transformation:
    """A join of two inputs by their keys. :param spec: the class of its spec. :param more: its own fields."""
    made = spec(
        left=node.left.row,
        right=node.right.row,
        output=node.row,
        kind=node.kind,
        left_keys=node.keys.left,
        right_keys=node.keys.right,
        condition=node.rest,
        functions=run.functions([node.rest]),
        **more,
    )
    return run.two(node, made, node.keys.left, node.keys.right)


def _join(run: Translator, node: p.Join) -> Transformation:
    return _keyed_join(
        run,
        node,
        specs.Join,
        null_safe=node.keys.null_safe,
        left_unique=node.left_spec.unique,
        right_unique=node.right_spec.unique,
        left_ttl_ms=node.left_ttl_ms,
        right_ttl_ms=node.right_ttl_ms,
        states=("right", "left") if run.names.is_turned(node) else ("left", "right"),
    )


def _interval_join(run: Translator, node: p.IntervalJoin) -> Transformation:
    return _keyed_join(
        run,
        node,
        specs.TimeIntervalJoin,
        left_time=node.left_time,
        right_time=node.right_time,
        lower_ms=node.lower,
        upper_ms=node.upper,
        null_safe=node.keys.null_safe,
        event_time=node.rowtime,
    )


def _window_join(run: Translator, node: p.WindowJoin) -> Transformation:
    return _keyed_join(
        run,
        node,
        specs.WindowJoin,
        left_end=_end_of(node.left_window),
        right_end=_end_of(node.right_window),
        null_safe=node.keys.null_safe,
        zone=run.zone,
    )


def _temporal_join(run: Translator, node: p.TemporalJoin) -> Transformation:
    return _keyed_join(
        run,
        node,
        specs.TemporalJoin,
        left_time=node.left_time,
        right_time=node.right_time,
        ttl_ms=node.ttl_ms,
    )


def _lookup_join(run: Translator, node: p.LookupJoin) -> Transformation:
    projection, condition = node.right_calc or (None, None)
    if projection == identity(node.right_row):
        projection = None
    called = [*(e for _, e in node.lookup), *(projection or ()), condition, node.rest]
    spec = specs.LookupJoin(
        left=node.input.row,
        right=node.right_row,
        output=node.row,
        kind=node.kind,
        lookup=node.source,
        keys=tuple(expression for _, expression in node.lookup),
        condition=node.rest,
        right_condition=condition,
        right_projection=projection,
        options=node.options,
        functions=run.functions(called),
    )
    return run.one(node, spec)


# ---- sinks


def _sink(run: Translator, node: p.Sink) -> Transformation:
    """The rows as the sink takes them; what stands behind them is for the target to add."""
    made = run.translate(node.input)
    row = node.input.row
    enforcer = _enforcer(node)
    if node.materialize:
        keys = node.primary_key
        spec: OperatorSpec = specs.SinkUpsertMaterialize(
            input=row, keys=keys, upsert_key=node.input_key or None, ttl_ms=node.ttl_ms
        )
        made = run.one(
            node, spec, keys=keys, row=row, source=_by_keys(made, keys, row), name="SinkMaterializer"
        )
    elif (
        node.target.update == p.AFTER
        and node.input.update == p.BEFORE_AND_AFTER
        and not getattr(node.target.writer, "deletes_old_rows", False)
    ):
        drop = specs.DropUpdateBefore(input=row)
        made = run.one(node, drop, row=row, source=made, name="DropUpdateBefore")
    if enforcer is not None:
        made = run.one(node, enforcer, row=node.row, source=made, name="ConstraintEnforcer")
    return made


def _enforcer(node: p.Sink) -> specs.ConstraintEnforcer | None:
    if not node.target.enforce:
        return None
    row = node.row
    nested = {"IGNORE": "ignore", "ROWS": "rows", "ROWS_AND_COLLECTIONS": "collections"}[node.nested]
    not_null = tuple(i for i, data_type in enumerate(row.types) if not data_type.nullable)
    inside = nested != "ignore" and any(not x.nullable for d in row.types for x in list(d.walk())[1:])
    length = {"IGNORE": "ignore", "TRIM_PAD": "trim_pad", "ERROR": "error"}[node.type_length]
    if not not_null and not inside and length == "ignore":
        return None
    return specs.ConstraintEnforcer(
        input=row,
        table=node.target.name,
        not_null=not_null,
        null="drop" if node.not_null == "DROP" else "error",
        length=length,  # type: ignore[arg-type]
        nested=nested,  # type: ignore[arg-type]
    )


def _process_table(run: Translator, node: p.ProcessTable) -> Transformation:
    made: Transformation = translate_process_table(run, node)
    return made


def _match(run: Translator, node: p.Match) -> Transformation:
    return translate_match(run, node)


_BUILDERS: Final[dict[type[p.Physical], Callable[[Translator, Any], Transformation]]] = {
    p.TableSourceScan: _scan,
    p.DataStreamScan: _stream,
    p.Values: _values,
    p.WatermarkAssigner: _watermarks,
    p.MiniBatchAssigner: _mini_batches,
    p.Calc: _calc,
    p.Expand: _expand,
    p.Correlate: _correlate,
    p.Union: _union,
    p.Exchange: _exchange,
    p.DropUpdateBefore: _drop,
    p.ChangelogNormalize: _normalize,
    p.GroupAggregate: _group_aggregate,
    p.LocalGroupAggregate: _local_group_aggregate,
    p.GlobalGroupAggregate: _global_group_aggregate,
    p.WindowTableFunction: _window_table,
    p.WindowAggregate: _window_aggregate,
    p.GroupWindowAggregate: _group_window,
    p.OverAggregate: _over,
    p.Rank: _rank,
    p.SortLimit: _sort_limit,
    p.Limit: _limit,
    p.Sort: _sort,
    p.FinalRows: _final_rows,
    p.TemporalSort: _temporal_sort,
    p.Deduplicate: _deduplicate,
    p.WindowRank: _window_rank,
    p.WindowDeduplicate: _window_deduplicate,
    p.Join: _join,
    p.IntervalJoin: _interval_join,
    p.WindowJoin: _window_join,
    p.TemporalJoin: _temporal_join,
    p.LookupJoin: _lookup_join,
    p.ProcessTable: _process_table,
    p.Match: _match,
    p.Sink: _sink,
}
