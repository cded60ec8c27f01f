"""From plans to jobs: results that are collected, rows that are written, streams that tables become."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import pyarrow as pa

from firesteel.common.columns import Columns
from firesteel.common.job_client import JobClient
from firesteel.common.options import table as options
from firesteel.common.typeinfo import Types
from firesteel.datastream.data_stream import DataStream
from firesteel.program.call_site import call_site
from firesteel.program.execution import Arrived, Arriving, get_executor
from firesteel.program.sinks import Sink
from firesteel.program.spark_tables import refuse_unbounded
from firesteel.program.transformations import (
    OneInputTransformation,
    SinkTransformation,
    Transformation,
    is_single,
    make_single,
)
from firesteel.sql import logical as l, physical as p, types as t
from firesteel.sql.arrow import arrow_schema
from firesteel.sql.binder.inserts import sink_into
from firesteel.sql.binder.row_types import project_to
from firesteel.sql.catalog import ResolvedTable
from firesteel.sql.connectors.collecting import ColumnsCollectSink
from firesteel.sql.connectors.columns_source import columns_from_bytes
from firesteel.sql.connectors.factory import sink_target
from firesteel.sql.connectors.spark.files import ColumnsStagingSink, refuse_what_spark_has_not
from firesteel.sql.expressions import Expression, InputRef, Literal, identity
from firesteel.sql.operators import specs
from firesteel.sql.planner.errors import PlanningError
from firesteel.sql.planner.sinks import EVERY, Target
from firesteel.sql.schema import ResolvedSchema, with_attribute
from firesteel.table._conversions import type_info_of
from firesteel.table._session import Session
from firesteel.util.exceptions import TableException

__all__ = [
    "attached",
    "collected",
    "insert_node",
    "query_sink",
    "started",
    "stream_of",
    "targeted",
    "to_spark",
]


# ---- results


class Parts(Iterator[Columns]):
    """The rows of a job that runs; closing ends it. Implements ``program.execution.Arriving``: ``count`` is
    of rows, and the last of the columns that have arrived may have more."""

    def __init__(self, records: Any) -> None:
        self._records = records

    def __next__(self) -> Columns:
        return columns_from_bytes(next(self._records))

    def arrived(self, count: int, wait_s: float | None) -> Arrived:
        if not isinstance(self._records, Arriving):
            return Arrived([], True)
        until_s = None if wait_s is None else monotonic() + wait_s
        wanted = 1
        while True:
            left_s = None if until_s is None else max(until_s - monotonic(), 0.0)
            found = self._records.arrived(wanted, left_s)
            columns = [columns_from_bytes(record) for record in found.records]
            if sum(map(len, columns)) >= count or found.ended or len(columns) < wanted:
                return Arrived(columns, found.ended, found.failure)
            wanted = len(columns) + 1

    def close(self) -> None:
        close = getattr(self._records, "close", None)
        if close is not None:
            close()

    @property
    def client(self) -> Any:
        handle = getattr(self._records, "handle", None)
        return None if handle is None else JobClient(handle)


def plain_row(row: t.RowType) -> t.RowType:
    """Without time attributes: what leaves the tables has none."""
    fields = tuple(
        replace(f, data_type=with_attribute(f.data_type, t.TimeAttribute.NONE)) for f in row.fields
    )
    return replace(row, fields=fields)


def query_sink(
    session: Session, node: l.Node, name: str, mode: frozenset[str], schema: ResolvedSchema | None = None
) -> l.Sink:
    """A query with something behind it that takes its rows."""
    declared = schema is not None
    schema = schema or ResolvedSchema.of(plain_row(node.row))
    target = Target.of_mode(name, f"Table sink '{name}'", mode, schema, None, declared)
    row = schema.sink_row
    # Columns keep their time attributes down to the sink: the plan says which of them they have by then.
    types = [
        own if with_attribute(own, t.TimeAttribute.NONE) == wanted else wanted
        for own, wanted in zip(node.row.types, row.types, strict=True)
    ]
    return l.Sink(
        row=row,
        input=project_to(node, types, row.names),
        table=target,
        columns=tuple(range(len(row.fields))),
    )


def collected(session: Session, node: l.Node, statement: str = "") -> tuple[t.RowType, Parts]:
    """Run a query; its columns, and its rows as they come.

    :param statement: its text; empty: it is not from SQL.
    """
    sink = query_sink(session, node, session.anonymous("collect"), EVERY)
    end = _ended(session, session.physical(sink), "Collect table sink", ColumnsCollectSink())
    end.statement = statement or None
    env = session.environment
    program = env._take_program()
    records = get_executor().collect(env, program, env._job_name(None) or "collect", end)
    return sink.row, Parts(records)


def to_spark(session: Session, node: l.Node) -> Any:
    """Run a query and return its rows as a DataFrame of Spark.

    :raises TableException: rows change after they were given, or a column has a type that Spark has not.
    """
    sink = query_sink(session, node, session.anonymous("to_spark"), frozenset({"+I"}))
    refuse_what_spark_has_not(sink.row)
    try:
        plan = session.physical(sink)
    except PlanningError as error:
        error.hint = (
            error.hint or "run it in batch mode, or take the rows that are left in the end by to_arrow()"
        )
        raise

    def attach(directory: str) -> pa.Schema:
        with session.environment._all_or_nothing():
            refuse_unbounded(_ended(session, plan, "To Spark", ColumnsStagingSink(directory, sink.row)))
        return arrow_schema(sink.row)

    return get_executor().to_spark(session.environment, attach)


def _ended(session: Session, plan: p.Physical, name: str, writes: Sink) -> SinkTransformation:
    """Add the plan of a query to the program, and what takes its rows."""
    env = session.environment
    with env._all_or_nothing():
        rows = session.translator(plan).translate(plan)
        end = SinkTransformation(name=name, input=rows, sink=writes, created_at=call_site())
        if is_single(rows):
            make_single(end)
        env._add(end)
    return end


# ---- INSERT


def insert_node(session: Session, node: l.Node, table: ResolvedTable, **more: Any) -> l.Sink:
    """INSERT of a query. :param more: what ``sink_into`` takes."""
    return targeted(session, sink_into(table, node, **more))


def targeted(session: Session, sink: l.Sink) -> l.Sink:
    """The INSERT as the planner takes it: columns in the order of the sink, a ``Target`` for its table."""
    table: ResolvedTable = sink.table
    writer = sink_target(
        table, session.configuration, session.batch, sink.overwrite, dict(sink.static_partition)
    )
    row = sink.row
    types = sink.input.row.types
    expressions: list[Expression] = []
    for place, data_type in zip(sink.columns, row.types, strict=True):
        found = Literal(None, data_type) if place is None else InputRef(place, types[place])
        expressions.append(found)
    plan = sink.input
    if tuple(expressions) != identity(plan.row):
        named = t.RowType.of(row.names, [e.type for e in expressions])
        plan = l.Project(row=named, input=plan, expressions=tuple(expressions))
    target = Target.of_mode(
        table.name, f"Table sink '{table.name}'", EVERY, table.schema, writer, table=table
    )
    return replace(sink, input=plan, table=target, columns=tuple(range(len(row.fields))))


def attached(session: Session, sinks: Sequence[l.Sink]) -> None:
    """Add the plans of all sinks to the program of the environment."""
    plans = session.physical_of(sinks)
    translator = session.translator(*plans)
    with session.environment._all_or_nothing():
        for sink, plan in zip(sinks, plans, strict=True):
            assert isinstance(plan, p.Sink)
            made = plan.target.writer.attach(session.environment, translator.translate(plan), plan)
            translator.give_uid(made, plan, "sink")
            made.statement = sink.statement or None


def started(session: Session, sinks: Sequence[l.Sink], job_name: str) -> Any:
    """Start one job for all sinks; the client of it."""
    attached(session, sinks)
    env = session.environment
    program = env._take_program()
    return get_executor().execute_async(env, program, env._job_name(None) or job_name)


# ---- streams


def stream_of(
    session: Session,
    node: l.Node,
    mode: frozenset[str],
    schema: ResolvedSchema | None = None,
    name: str = "",
    stamp: int | None = None,
) -> DataStream:
    """The rows of a query as records of the program.

    :param mode: the kinds of rows that the stream may have.
    :param stamp: the column that is the timestamp of the records, and no field of them.
    """
    sink = query_sink(session, node, name or session.anonymous("datastream_sink"), mode, schema)
    plan = session.physical(sink)
    env = session.environment
    with env._all_or_nothing():
        rows = session.translator(plan).translate(plan)
        made = to_rows(session, rows, plan.input.row, sink.row, mode != {"+I"}, stamp)
    return DataStream(env, made)


def to_rows(
    session: Session,
    rows: Transformation,
    query: t.RowType,
    row: t.RowType,
    kinds: bool,
    stamp: int | None = None,
) -> Transformation:
    """:param query: the row of the plan: which of its columns are still rowtimes. :param row: that of the
    records, with the same columns in their types. :param stamp: as ``stream_of`` has it."""
    rowtimes = [i for i, d in enumerate(query.types) if t.is_rowtime(d)]
    inserter = session.configuration.get(options.ROWTIME_INSERTER) == "ENABLED"
    stamps = stamp if stamp is not None else rowtimes[0] if inserter and rowtimes else None
    records = t.RowType(fields=tuple(f for i, f in enumerate(row.fields) if i != stamp))
    if stamp is None and inserter and len(rowtimes) > 1:
        raise TableException(
            "The query contains more than one rowtime attribute column "
            f"[{', '.join(query.names[i] for i in rowtimes)}] for writing into a stream.",
            hint="cast all but one of them to TIMESTAMP",
        )
    env = session.environment
    made = OneInputTransformation(
        name="TableToDataStream",
        created_at=call_site(),
        input=rows,
        operator=specs.ToRows(input=row, kinds=kinds, rowtime=stamps, keeps_rowtime=stamp is None),
        output_type=type_info_of(records) if records.fields else Types.ROW([]),
        parallelism=1 if is_single(rows) else None,  # the order of rows stays
    )
    made.uid = f"{rows.uid}-rows" if rows.uid is not None else None
    if made.uid is not None:
        env._register_uid(made.uid, made)
    env._add(made)
    return made
