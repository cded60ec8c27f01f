"""What the operators of table programs are to do, as data: frozen, picklable, one class for each kind.

All of them take and give ``Columns``; only ``ToColumns`` takes objects, and only ``ToRows`` gives them.
``input`` (``left``, ``right``) and ``output`` are the row types of what comes and goes; *columns* named by
number are those of the input. ``functions`` has the user's functions that expressions and aggregates name
(``Call.function``).

A keyed spec has ``keys`` (``left_keys``, ``right_keys``): the columns that its input is keyed by, the same
that the ``ColumnKeys`` of the exchange and of the transformation name. An empty one means that all rows have
one key: such an operator has the parallelism 1. ``ttl_ms`` is how long state lives that is not touched; 0:
for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from firesteel.program.operator_kinds import KINDS, OperatorKind
from firesteel.program.operators import OperatorSpec
from firesteel.sql.expressions import AggregateCall, Expression, Ordering
from firesteel.sql.hints import LookupOptions
from firesteel.sql.types import RowType

Functions = Mapping[str, Any]  # name -> sql.functions.registry.FunctionDefinition


def _none() -> Functions:
    return {}


class ColumnsSpec(OperatorSpec):
    """Of an operator that works on columns."""

    __slots__ = ()

    @property
    def is_cheap(self) -> bool:
        return not getattr(self, "functions", None)


# ---- borders


@dataclass(frozen=True, slots=True, kw_only=True)
class ToColumns(ColumnsSpec):
    """Objects to columns: Row, tuple, list, dict, named tuple, object; of one column also the bare value. A
    value that is a DataFrame, an Arrow table or batch, or ``Columns`` stands for all of its rows.

    :param rowtime: the column that takes the timestamp of the record (its field is not read); None: none
        does.
    :param kinds: the kind of a Row is that of the row; False: all are INSERT.
    """

    output: RowType
    rowtime: int | None = None
    kinds: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToRows(ColumnsSpec):
    """Columns to Row objects with the names of *input*.

    :param kinds: rows have their kind; False: a row that is not an INSERT fails the job.
    :param rowtime: the column that becomes the timestamp of the record. None: records have none.
    :param keeps_rowtime: whether that column is a field of the Row, too.
    """

    input: RowType
    kinds: bool = True
    rowtime: int | None = None
    keeps_rowtime: bool = True


# ---- one row to rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Calc(ColumnsSpec):
    """Filter, then project. ``condition`` None: all rows."""

    input: RowType
    output: RowType
    projection: tuple[Expression, ...]
    condition: Expression | None = None
    functions: Functions = field(default_factory=_none)


@dataclass(frozen=True, slots=True, kw_only=True)
class Expand(ColumnsSpec):
    """Each row once for each of *projections* (GROUPING SETS, distinct split)."""

    input: RowType
    output: RowType
    projections: tuple[tuple[Expression, ...], ...]
    functions: Functions = field(default_factory=_none)


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlate(ColumnsSpec):
    """Each row with each row that a table function (UNNEST too) gives for it: input columns, then the
    function's.

    :param arguments: over the input. :param outer: a row without any has nulls beside it (LEFT JOIN).
    :param condition: over all columns of *output*; with ``outer``, a row none of whose pairs fulfils it has
        nulls.
    """

    input: RowType
    output: RowType
    function: str
    arguments: tuple[Expression, ...]
    outer: bool = False
    condition: Expression | None = None
    functions: Functions = field(default_factory=_none)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkAssigner(ColumnsSpec):
    """``expression`` over each row is a watermark of the stream; those of the input are dropped, but for the
    end.

    :param idle_timeout_ms: the stream is idle when nothing has come for so long; 0: never.
    """

    input: RowType
    column: int
    expression: Expression
    idle_timeout_ms: int = 0
    functions: Functions = field(default_factory=_none)


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniBatchAssigner(ColumnsSpec):
    """Lets a watermark pass in each interval: by processing time (*event_time* False: the watermark is the
    time itself), or those of the input, thinned out."""

    interval_ms: int
    event_time: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropUpdateBefore(ColumnsSpec):
    input: RowType


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintEnforcer(ColumnsSpec):
    """What a sink demands of rows.

    :param not_null: columns that must not be null; types within columns count too (NOT NULL fields and
        elements).
    :param null: "error" fails the job, "drop" leaves the row out.
    :param nested: whether fields of rows ("rows"), and elements of collections too ("collections"), are
        looked at (table.exec.sink.nested-constraint-enforcer).
    :param length: "ignore", "trim_pad" or "error": for CHAR(n), VARCHAR(n), BINARY(n), VARBINARY(n) of
        *input*.
    :param table: the name of the sink, for errors.
    """

    input: RowType
    table: str = ""
    not_null: tuple[int, ...] = ()
    null: Literal["error", "drop"] = "error"
    nested: Literal["ignore", "rows", "collections"] = "ignore"
    length: Literal["ignore", "trim_pad", "error"] = "ignore"


# ---- changelogs


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogNormalize(ColumnsSpec):
    """An upsert stream (or one with repeated rows) becomes a full changelog by key; keyed by ``keys``.

    :param condition: rows that do not fulfil it are as if they were deleted. :param in_time: rows stay before
        and behind the watermarks that they came before and behind.
    """

    input: RowType
    keys: tuple[int, ...]
    in_time: bool = False
    generate_update_before: bool = True
    condition: Expression | None = None
    mini_batch: bool = False
    bundle: int = 0
    ttl_ms: int = 0
    functions: Functions = field(default_factory=_none)


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkUpsertMaterialize(ColumnsSpec):
    """Keyed by the primary key of a sink: of several rows of a key the last one counts, and its retraction
    brings the one before back.

    :param upsert_key: the columns by which the query's rows are told apart; None: by all.
    """

    input: RowType
    keys: tuple[int, ...]
    upsert_key: tuple[int, ...] | None = None
    ttl_ms: int = 0


# ---- aggregates


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAggregate(ColumnsSpec):
    """GROUP BY without windows; keyed by ``keys``. Output: the key columns, then one for each call.

    :param retracts: the input has rows other than INSERT and UPDATE_AFTER of an upsert.
    :param generate_update_before: updates are -U, +U; False: +U alone.
    :param mini_batch: only the last value of a key in each bundle of rows leaves.
    :param bundle: the most rows of a bundle; it ends with each watermark, too.
    """

    input: RowType
    output: RowType
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    retracts: bool = False
    generate_update_before: bool = True
    mini_batch: bool = False
    bundle: int = 0
    ttl_ms: int = 0
    functions: Functions = field(default_factory=_none)

    @property
    def rows(self) -> RowType:
        """Of what is aggregated."""
        return self.input

    @property
    def row_keys(self) -> tuple[int, ...]:
        """The key columns of ``rows``."""
        return self.keys


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalGroupAggregate(ColumnsSpec):
    """The first phase of a GROUP BY in two, before the exchange. Output: the key columns, then the parts of
    the calls (``operators/partials.py``), a row for each key and bundle."""

    input: RowType
    output: RowType
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    retracts: bool = False
    bundle: int = 0
    functions: Functions = field(default_factory=_none)

    @property
    def mini_batch(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalGroupAggregate(ColumnsSpec):
    """The second phase, behind the exchange. Output: the key columns, then one for each call.

    :param keys: key columns of the input, which is the output of the first phase.
    :param rows: the input of the first phase, which the calls are of. :param row_keys: its key columns.
    """

    input: RowType
    output: RowType
    keys: tuple[int, ...]
    rows: RowType
    row_keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    retracts: bool = False
    generate_update_before: bool = True
    bundle: int = 0
    ttl_ms: int = 0
    functions: Functions = field(default_factory=_none)

    @property
    def mini_batch(self) -> bool:
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupTableAggregate(ColumnsSpec):
    """A table aggregate function of the user; keyed by ``keys``. Output: key columns, then the function's
    rows.

    :param function: an AggregateCall whose function is of ``functions``.
    """

    input: RowType
    output: RowType
    keys: tuple[int, ...]
    call: AggregateCall
    retracts: bool = False
    generate_update_before: bool = True
    ttl_ms: int = 0
    functions: Functions = field(default_factory=_none)


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """Windows of a TVF. ``kind``: TUMBLE, HOP, CUMULATE, SESSION; ms. ``slide`` is the step of CUMULATE,
    ``size`` the gap of SESSION.

    :param time: the column of the time attribute. None: the windows are attached: the input has them as the
        columns ``start`` and ``end`` (or ``end`` alone).
    :param zone: the session's time zone, for columns of TIMESTAMP_LTZ: days begin there.
    """

    kind: str
    size: int
    slide: int = 0
    offset: int = 0
    time: int | None = None
    start: int | None = None
    end: int | None = None
    event_time: bool = True
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTableFunction(ColumnsSpec):
    """TUMBLE, HOP or CUMULATE without an aggregate: input columns, window_start, window_end, window_time."""

    input: RowType
    output: RowType
    window: TimeWindow


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTableFunction(ColumnsSpec):
    """The same of SESSION; keyed by ``keys``, the columns of PARTITION BY."""

    input: RowType
    output: RowType
    window: TimeWindow
    keys: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowAggregate(ColumnsSpec):
    """GROUP BY of a windowing TVF, or of an old window; keyed by ``keys``. Output: key columns, calls, then
    ``properties``: some of "start", "end", "time", "rowtime", "proctime" in the order asked for.

    :param newest_first: in which order the slices of a window are put together: what depends on the order of
        rows, as LISTAGG does, shows it.
    """

    input: RowType
    output: RowType
    window: TimeWindow
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    properties: tuple[str, ...] = ()
    retracts: bool = False
    newest_first: bool = False
    functions: Functions = field(default_factory=_none)


# ---- order


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort(ColumnsSpec):
    """ORDER BY of a bounded input, at its end; parallelism 1."""

    input: RowType
    order: tuple[Ordering, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalRows(ColumnsSpec):
    """The rows of a bounded input that are left when all changes are over, at its end."""

    input: RowType


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalSort(ColumnsSpec):
    """ORDER BY a time attribute first: rows leave when the watermark has passed them, or at the end of the
    millisecond of processing time; parallelism 1. ``order`` is what follows the time attribute."""

    input: RowType
    time: int
    order: tuple[Ordering, ...] = ()
    event_time: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank(ColumnsSpec):
    """ROW_NUMBER (or, in batch, RANK, DENSE_RANK) of rows of a key between ``start`` and ``end``, both
    inclusive; keyed by ``keys``. ORDER BY ... LIMIT is one without keys. Output: input columns, then the
    number if asked for.

    :param order: empty: in the order of arrival (LIMIT).
    :param end: a number, or a column of the input (``end_column``).
    :param strategy: "append" (only inserts), "retract", or "update_fast" with ``upsert_key``.
    """

    input: RowType
    output: RowType
    keys: tuple[int, ...]
    order: tuple[Ordering, ...]
    start: int = 1
    end: int | None = None
    end_column: int | None = None
    function: str = "ROW_NUMBER"
    output_number: bool = False
    strategy: str = "append"
    upsert_key: tuple[int, ...] = ()
    generate_update_before: bool = True
    ttl_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit(ColumnsSpec):
    """LIMIT of a bounded input in batch mode."""

    input: RowType
    offset: int = 0
    fetch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduplicate(ColumnsSpec):
    """The first or last row of a key by its time attribute; keyed by ``keys``.

    :param time: the rowtime column; None: processing time, so the order of arrival.
    :param output_time: the output keeps its rowtime, so the first row leaves when the watermark has passed
        it.
    """

    input: RowType
    keys: tuple[int, ...]
    last: bool
    time: int | None = None
    insert_only: bool = True
    generate_update_before: bool = True
    generate_insert: bool = True
    mini_batch: bool = False
    bundle: int = 0
    ttl_ms: int = 0


# ---- OVER


@dataclass(frozen=True, slots=True, kw_only=True)
class OverAggregate(ColumnsSpec):
    """Calls over a frame; keyed by ``keys``. Output: input columns, then one for each call.

    :param time: the time attribute that orders rows; None: ``order`` does (non-time OVER).
    :param rows: the frame counts rows; else it is a range of the time, in ms.
    :param preceding: None: UNBOUNDED.
    """

    input: RowType
    output: RowType
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    order: tuple[Ordering, ...] = ()
    time: int | None = None
    event_time: bool = True
    rows: bool = False
    preceding: int | None = None
    following: int | None = 0
    retracts: bool = False
    generate_update_before: bool = True
    ttl_ms: int = 0
    functions: Functions = field(default_factory=_none)


# ---- joins: two inputs, both keyed


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(ColumnsSpec):
    """A regular join. Output: left columns, then right ones (SEMI, ANTI: left ones).

    :param kind: INNER, LEFT, RIGHT, FULL, SEMI, ANTI.
    :param condition: beside the equality of the keys, over left, then right columns.
    :param null_safe: for each key column whether null equals null (IS NOT DISTINCT FROM).
    :param left_unique: columns of the left input that make its rows unique, within a key or alone; None: rows
        may repeat.
    :param left_appends: whether the left input has no retractions.
    :param states: what the states of the left and the right side are called: a join whose inputs have changed
        places finds those of each input.
    """

    left: RowType
    right: RowType
    output: RowType
    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    condition: Expression | None = None
    null_safe: tuple[bool, ...] = ()
    left_unique: tuple[int, ...] | None = None
    right_unique: tuple[int, ...] | None = None
    left_appends: bool = False
    right_appends: bool = False
    left_ttl_ms: int = 0
    right_ttl_ms: int = 0
    states: tuple[str, str] = ("left", "right")
    functions: Functions = field(default_factory=_none)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeIntervalJoin(ColumnsSpec):
    """An interval join: ``lower_ms <= left time - right time <= upper_ms``."""

    left: RowType
    right: RowType
    output: RowType
    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    left_time: int
    right_time: int
    lower_ms: int
    upper_ms: int
    condition: Expression | None = None
    null_safe: tuple[bool, ...] = ()
    event_time: bool = True
    functions: Functions = field(default_factory=_none)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowJoin(ColumnsSpec):
    """Rows of the same window and key. ``left_end``, ``right_end``: the columns of window_end."""

    left: RowType
    right: RowType
    output: RowType
    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    left_end: int
    right_end: int
    condition: Expression | None = None
    null_safe: tuple[bool, ...] = ()
    zone: str = "UTC"
    functions: Functions = field(default_factory=_none)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRank(ColumnsSpec):
    """ROW_NUMBER within each window; keyed by ``keys``. ``end_column``: the column of window_end.
    Deduplication is one with end 1. ``latest_first``: of rows that are equal in order, the one that came last
    is the first."""

    input: RowType
    output: RowType
    keys: tuple[int, ...]
    order: tuple[Ordering, ...]
    end_column: int
    start: int = 1
    end: int = 1
    latest_first: bool = False
    output_number: bool = False
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalJoin(ColumnsSpec):
    """Left rows with the version of the right one at their time.

    :param left_time: None: processing time; else the rowtime, as ``right_time``.
    :param kind: INNER or LEFT.
    """

    left: RowType
    right: RowType
    output: RowType
    kind: str
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    left_time: int | None = None
    right_time: int | None = None
    condition: Expression | None = None
    ttl_ms: int = 0
    functions: Functions = field(default_factory=_none)


@dataclass(frozen=True, slots=True, kw_only=True)
class LookupJoin(ColumnsSpec):
    """Left rows with what a connector finds for them; one input, not keyed.

    :param lookup: an object of the connector: ``open()``, ``lookup(list of keys) -> list of lists of row
        tuples``, ``close()``; or ``lookup_async``.
    :param keys: for each lookup key an expression over the left row (a column or a constant).
    :param right: what it finds. :param right_condition: over *right*: of the rows found, those that count.
    :param right_projection: over *right*: what is joined of them, the last columns of *output*.
    :param condition: over the columns of left, then what is joined.
    """

    left: RowType
    right: RowType
    output: RowType
    kind: str
    lookup: Any
    keys: tuple[Expression, ...]
    condition: Expression | None = None
    right_condition: Expression | None = None
    right_projection: tuple[Expression, ...] | None = None
    options: LookupOptions = field(default_factory=LookupOptions)
    functions: Functions = field(default_factory=_none)

    @property
    def is_cheap(self) -> bool:
        return False


# ---- the table of kinds

_OWN = "firesteel.sql.operators."


def _kind(spec: type[OperatorSpec], place: str, **traits: Any) -> None:
    KINDS.register(OperatorKind(spec=spec, operator=_OWN + place, **traits))


_kind(ToColumns, "convert:ToColumnsOperator")
_kind(ToRows, "convert:ToRowsOperator")
_kind(Calc, "calc:CalcOperator")
_kind(Expand, "calc:ExpandOperator")
_kind(Correlate, "correlate:CorrelateOperator")
_kind(WatermarkAssigner, "watermarks:WatermarkAssignerOperator")
_kind(MiniBatchAssigner, "watermarks:MiniBatchAssignerOperator")
_kind(DropUpdateBefore, "calc:DropUpdateBeforeOperator")
_kind(ConstraintEnforcer, "constraints:ConstraintEnforcerOperator")
_kind(ChangelogNormalize, "changelogs:ChangelogNormalizeOperator", keyed=True)
_kind(SinkUpsertMaterialize, "changelogs:SinkUpsertMaterializeOperator", keyed=True)
_kind(GroupAggregate, "group_aggregate:GroupAggregateOperator", keyed=True)
_kind(LocalGroupAggregate, "two_phases:LocalGroupAggregateOperator")
_kind(GlobalGroupAggregate, "two_phases:GlobalGroupAggregateOperator", keyed=True)
_kind(GroupTableAggregate, "table_aggregate:GroupTableAggregateOperator", keyed=True)
_kind(WindowTableFunction, "window_table:WindowTableOperator")
_kind(SessionTableFunction, "session_table:SessionTableOperator", keyed=True, operator_state=True)
_kind(WindowAggregate, "window_aggregate:window_aggregate", keyed=True, operator_state=True)
_kind(Sort, "sort:SortOperator", keyed=True)
_kind(FinalRows, "sort:FinalRowsOperator")
_kind(TemporalSort, "sort:TemporalSortOperator", keyed=True)
_kind(Rank, "rank:RankOperator", keyed=True)
_kind(Limit, "sort:LimitOperator")
_kind(Deduplicate, "deduplicate:DeduplicateOperator", keyed=True)
_kind(OverAggregate, "over:over_operator", keyed=True, operator_state=True)
_kind(Join, "join:join_operator", inputs=2, keyed=True)
_kind(TimeIntervalJoin, "interval_join:TimeIntervalJoinOperator", inputs=2, keyed=True)
_kind(WindowJoin, "window_join:WindowJoinOperator", inputs=2, keyed=True, operator_state=True)
_kind(WindowRank, "window_rank:WindowRankOperator", keyed=True, operator_state=True)
_kind(TemporalJoin, "temporal_join:TemporalJoinOperator", inputs=2, keyed=True)
_kind(LookupJoin, "lookup_join:LookupJoinOperator")
