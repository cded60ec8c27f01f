"""The logical algebra: what a query means, before it is decided how it runs. Plain data.

Each node has ``row``: names and types of its output columns, where time attributes are part of the types. The
binder (from SQL text) and the Table API make these nodes; rules rewrite them; the planner makes physical
nodes of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from firesteel.sql.expressions import AggregateCall, Expression, Literal, Ordering, SubQuery
from firesteel.sql.parser.errors import Place
from firesteel.sql.types import RowType

__all__ = [
    "Aggregate",
    "Correlate",
    "Filter",
    "Join",
    "Match",
    "Node",
    "Over",
    "OverCall",
    "ProcessTable",
    "Project",
    "Scan",
    "SetOperation",
    "Sink",
    "Snapshot",
    "Sort",
    "SubQuery",
    "TableCall",
    "Values",
    "WatermarkAssigner",
    "WindowTable",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """:param place: of what the planner may have to refuse in this node; None: no text says it."""

    row: RowType
    hints: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    place: Place | None = field(default=None, compare=False, repr=False)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OneInput(Node):
    input: Node = field(repr=False)

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan(Node):
    """A table of the catalog, or a stream. Computed columns and watermarks are nodes above it.

    :param table: a ``catalog.ResolvedTable``.
    :param columns: which of its physical and metadata columns (``schema.source_columns``) are read; None:
        all of them.
    :param predicates: conditions over ``row`` that are applied again above: a source that reads nothing but
        inserts may leave out rows for which one of them is not TRUE.
    """

    table: Any
    columns: tuple[int, ...] | None = None
    predicates: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Values(Node):
    rows: tuple[tuple[Literal, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Project(OneInput):
    expressions: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter(OneInput):
    condition: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class WatermarkAssigner(OneInput):
    """``column`` is a rowtime from here on; its watermark is ``expression`` of each row."""

    column: int
    expression: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate(OneInput):
    """GROUP BY. Output: the grouping columns, then the calls.

    :param sets: grouping sets as indices into ``group``; one with all of them where there are no GROUPING
        SETS.
    :param grouping_ids: calls of GROUPING/GROUPING_ID are AggregateCalls whose arguments are group positions.
    """

    group: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    sets: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupWindow:
    """The old form of windows: TUMBLE(ts, INTERVAL ..) in GROUP BY, and the Table API's ``window``.

    :param kind: TUMBLE, HOP, SESSION, or COUNT_TUMBLE / COUNT_HOP of the Table API (``size`` is a row count).
    """

    kind: str
    time: int
    size: int
    slide: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupWindowAggregate(OneInput):
    """Output: grouping columns, calls, then ``properties``: start, end, rowtime, proctime as asked."""

    window: GroupWindow
    group: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    properties: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowTable(OneInput):
    """A windowing table-valued function. Output: input columns, window_start, window_end, window_time.

    :param kind: TUMBLE, HOP, CUMULATE or SESSION; sizes in milliseconds.
    :param partition: columns of PARTITION BY, for SESSION.
    """

    kind: str
    time: int
    size: int
    slide: int = 0
    offset: int = 0
    partition: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Join(Node):
    """:param kind: INNER, LEFT, RIGHT, FULL, SEMI or ANTI (the last two give left columns only)."""

    left: Node = field(repr=False)
    right: Node = field(repr=False)
    kind: str
    condition: Expression

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot(OneInput):
    """``FOR SYSTEM_TIME AS OF``: always the right side of a Join itself, under no other node:
    ``period`` is over the columns of the left side."""

    period: Expression


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCall(Node):
    """A table function of scalar arguments, on the right of a Correlate (arguments over the left columns), or
    alone. ``function`` as in ``Call``; UNNEST is one."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Correlate(Node):
    """For each row of the left input the rows of ``right``. :param kind: INNER or LEFT.

    :param right: a TableCall, its arguments over the left columns, perhaps under Projects. From the binder
        of LATERAL queries: any plan in which ``Outer`` of level 1 is the left row; rules make joins of those.
    """

    left: Node = field(repr=False)
    right: Node
    kind: str = "INNER"
    condition: Expression | None = None

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left,)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessTable(Node):
    """A function that takes whole tables: TO_CHANGELOG, FROM_CHANGELOG, process table functions.

    :param partitions: for each input table its PARTITION BY columns, or None.
    """

    tables: tuple[Node, ...] = field(repr=False)
    function: str
    arguments: tuple[tuple[str, Any], ...] = ()
    partitions: tuple[tuple[int, ...] | None, ...] = ()

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.tables


@dataclass(frozen=True, slots=True)
class OverCall:
    """An aggregate or a window function (ROW_NUMBER, RANK, LAG ...) over a frame.

    :param rows: the frame counts rows; else it is a range of the ordering column (milliseconds).
    :param preceding: None: UNBOUNDED; 0: CURRENT ROW. :param place: of its order in the query.
    """

    call: AggregateCall
    partition: tuple[int, ...]
    order: tuple[Ordering, ...]
    rows: bool = False
    preceding: int | None = None
    following: int | None = 0
    place: Place | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Over(OneInput):
    """Output: input columns, then one for each call."""

    calls: tuple[OverCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOperation(Node):
    """:param kind: UNION, INTERSECT or EXCEPT; with ``all`` duplicates count."""

    operands: tuple[Node, ...] = field(repr=False)
    kind: str
    all: bool

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.operands


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort(OneInput):
    """ORDER BY, LIMIT and OFFSET, each optional."""

    order: tuple[Ordering, ...] = ()
    offset: int = 0
    fetch: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Match(OneInput):
    """MATCH_RECOGNIZE. ``pattern``, ``define`` and ``measures`` are what the binder of row patterns makes
    (``match_recognize.py``)."""

    specification: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink(OneInput):
    """INSERT INTO. ``table``: a ``catalog.ResolvedTable``; ``row`` is that of the sink.

    :param columns: for each column of the sink the input column, or None: NULL.
    :param statement: the text that it was written in; empty: it is not from SQL.
    """

    table: Any
    columns: tuple[int | None, ...]
    overwrite: bool = False
    static_partition: tuple[tuple[str, str], ...] = ()
    on_conflict: str | None = None
    statement: str = ""
