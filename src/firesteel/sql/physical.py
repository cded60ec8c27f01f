"""The physical plan: which operators compute a query, how rows find them, which changes each of them makes.

Plain data, made by ``planner/`` from the logical plan. A node names its inputs; ``row`` is its output. The
traits ``kinds`` and ``update`` are empty until ``changelog.py`` has filled them in; ``translate/`` then makes
transformations of the nodes. The names of the classes are those that Flink's plans show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from firesteel.sql.expressions import AggregateCall, Expression, Literal, Ordering
from firesteel.sql.hints import LookupOptions
from firesteel.sql.logical import OverCall
from firesteel.sql.types import RowType

__all__ = [
    "AFTER",
    "ALL",
    "BEFORE_AND_AFTER",
    "DELETE",
    "INSERT",
    "INSERT_ONLY",
    "UPDATE",
    "Physical",
    "WindowSpec",
]

# Which changes a node makes (Flink: ``ModifyKindSet``).
INSERT: Final = "I"
UPDATE: Final = "U"
DELETE: Final = "D"
INSERT_ONLY: Final = frozenset(INSERT)
ALL: Final = frozenset((INSERT, UPDATE, DELETE))

# How it says an update (Flink: ``UpdateKind``); None: it makes none.
AFTER: Final = "UA"  # the new row alone
BEFORE_AND_AFTER: Final = "UB,UA"  # the old row, then the new one


@dataclass(frozen=True, kw_only=True, eq=False)
class Physical:
    """:param kinds: the changes in the output. :param update: how updates are said in it."""

    row: RowType
    inputs: tuple[Physical, ...] = field(default=(), repr=False)
    hints: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    kinds: frozenset[str] = frozenset()
    update: str | None = None

    @property
    def input(self) -> Physical:
        return self.inputs[0]

    @property
    def left(self) -> Physical:
        return self.inputs[0]

    @property
    def right(self) -> Physical:
        return self.inputs[1]

    @property
    def is_insert_only(self) -> bool:
        return self.kinds == INSERT_ONLY

    @property
    def sends_old_rows(self) -> bool:
        """Whether an update in the output is the old row, then the new one."""
        return self.update == BEFORE_AND_AFTER

    @property
    def name(self) -> str:
        """As in plans."""
        return type(self).__name__


def walk(node: Physical) -> Iterator[Physical]:
    """All nodes, inputs first, each once."""
    seen: set[int] = set()

    def visit(current: Physical) -> Iterator[Physical]:
        if id(current) in seen:
            return
        seen.add(id(current))
        for child in current.inputs:
            yield from visit(child)
        yield current

    return visit(node)


def rewritten(roots: Sequence[Physical], change: Callable[[Physical], Physical]) -> list[Physical]:
    """The plans with each node replaced by what *change* makes of it, inputs first; each once, so parts that
    plans share stay shared."""
    done: dict[int, Physical] = {}

    def visit(node: Physical) -> Physical:
        found = done.get(id(node))
        if found is None:
            inputs = tuple(map(visit, node.inputs))
            same = all(a is b for a, b in zip(inputs, node.inputs, strict=True))
            found = done[id(node)] = change(node if same else replace(node, inputs=inputs))
        return found

    return list(map(visit, roots))


# ---------------------------------------------------------------- where rows come from


@dataclass(frozen=True, kw_only=True, eq=False)
class TableSourceScan(Physical):
    """A table of a connector.

    :param source: what the connector has made of it (``connectors.ScanSource``), with what was pushed into
        it.
    :param columns: of the source's row, those that are read, in order. :param predicates: over ``row``; rows
        for which
    one of them is not true may be left out. :param pushed: texts for plans. :param watermark: over ``row``;
    the source makes watermarks by it, for each of its splits.
    """

    table: Any
    source: Any
    columns: tuple[int, ...] = ()
    predicates: tuple[Expression, ...] = ()
    pushed: tuple[str, ...] = ()
    watermark: Expression | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class DataStreamScan(Physical):
    """A stream of the program, a collection or a DataFrame (``table.stream``)."""

    table: Any
    columns: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Values(Physical):
    rows: tuple[tuple[Literal, ...], ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class WatermarkAssigner(Physical):
    column: int
    expression: Expression


@dataclass(frozen=True, kw_only=True, eq=False)
class MiniBatchAssigner(Physical):
    """Marks the ends of mini-batches. :param rowtime: by watermarks, else by processing time."""

    interval_ms: int
    rowtime: bool


# ---------------------------------------------------------------- row by row


@dataclass(frozen=True, kw_only=True, eq=False)
class Calc(Physical):
    expressions: tuple[Expression, ...]
    condition: Expression | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Correlate(Physical):
    """A table function for each row. :param condition: over the joined row, for LEFT."""

    function: str
    arguments: tuple[Expression, ...]
    kind: str = "INNER"
    condition: Expression | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Expand(Physical):
    """Each row once for each grouping set. :param projects: expressions of each copy."""

    projects: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Union(Physical):
    """All rows of all inputs."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Exchange(Physical):
    """:param keys: rows of equal keys meet in one subtask; empty: all rows meet in one; None: broadcast."""

    keys: tuple[int, ...] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class DropUpdateBefore(Physical):
    """Leaves -U out."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ChangelogNormalize(Physical):
    """Makes a whole changelog of upserts, by the unique key. :param condition: pushed into it.
    :param of_upserts: its input has no old rows, and says nothing twice. :param in_time: its rows stay before
        and behind the watermarks that they came before and behind.
    """

    key: tuple[int, ...]
    condition: Expression | None = None
    of_upserts: bool = False
    in_time: bool = False
    mini_batch: bool = False
    ttl_ms: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class ProcessTable(Physical):
    """A function of whole tables: TO_CHANGELOG, FROM_CHANGELOG, those of users."""

    function: str
    arguments: tuple[tuple[str, Any], ...] = ()
    partitions: tuple[tuple[int, ...] | None, ...] = ()


# ---------------------------------------------------------------- aggregates


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupAggregate(Physical):
    """Output: the grouping columns, then the calls.

    :param mini_batch: the last result of a key and batch leaves. :param table_function: it is a table
        aggregate.
    """

    group: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    mini_batch: bool = False
    table_function: bool = False
    ttl_ms: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class LocalGroupAggregate(Physical):
    """The first phase of an aggregate in two. Output: the grouping columns, then parts of the calls."""

    group: tuple[int, ...]
    calls: tuple[AggregateCall, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class GlobalGroupAggregate(Physical):
    """The second phase, behind the exchange. Output: the grouping columns, then the calls.

    :param local: the first phase.
    """

    local: LocalGroupAggregate
    ttl_ms: int = 0


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """A window of a table-valued function.

    :param time: the time column; None where windows are ``attached``: the columns of their start and end.
    :param rowtime: whether time is event time.
    """

    kind: str
    size: int
    slide: int = 0
    offset: int = 0
    time: int | None = None
    start: int | None = None
    end: int | None = None
    rowtime: bool = True
    partition: tuple[int, ...] = ()

    @property
    def attached(self) -> bool:
        return self.time is None


@dataclass(frozen=True, kw_only=True, eq=False)
class WindowTableFunction(Physical):
    """Output: the input's columns, window_start, window_end, window_time."""

    window: WindowSpec


@dataclass(frozen=True, kw_only=True, eq=False)
class WindowAggregate(Physical):
    """Output: the grouping columns, the calls, then ``properties`` (start, end, time)."""

    window: WindowSpec
    group: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    properties: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupWindowAggregate(Physical):
    """The old windows. :param window: ``logical.GroupWindow``."""

    window: Any
    group: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    properties: tuple[str, ...]
    rowtime: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class OverAggregate(Physical):
    """Output: the input's columns, then the calls, which share one partition and order.

    :param time: the ordering is "rowtime", "proctime" or, by other columns, None.
    """

    calls: tuple[OverCall, ...]
    time: str | None
    ttl_ms: int = 0


# ---------------------------------------------------------------- ranks and order


@dataclass(frozen=True, kw_only=True, eq=False)
class Rank(Physical):
    """Rows ``start`` to ``end`` of each partition by ``order``. Output: the input's columns, and the number
    when it is shown.

    :param strategy: AppendFast, UpdateFast or Retract. :param end: a number, or for a variable rank end None
        with its column in ``end_column``. :param key: for UpdateFast, the upsert key of the input.
    """

    function: str
    partition: tuple[int, ...]
    order: tuple[Ordering, ...]
    start: int
    end: int | None
    end_column: int | None = None
    show_number: bool = True
    strategy: str = "AppendFast"
    key: tuple[int, ...] = ()
    ttl_ms: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Deduplicate(Physical):
    """The first or the last row of each key by time."""

    key: tuple[int, ...]
    time: int
    rowtime: bool
    keep_last: bool
    insert_only: bool
    mini_batch: bool = False
    ttl_ms: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class WindowRank(Physical):
    window: WindowSpec
    partition: tuple[int, ...]
    order: tuple[Ordering, ...]
    start: int
    end: int
    show_number: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class WindowDeduplicate(Physical):
    window: WindowSpec
    partition: tuple[int, ...]
    time: int
    keep_last: bool
    rowtime: bool = True


@dataclass(frozen=True, kw_only=True, eq=False)
class Sort(Physical):
    """The rows in order, at the end of the input (batch mode)."""

    order: tuple[Ordering, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class FinalRows(Physical):
    """The rows that are left when all changes are over, at the end of the input (batch mode)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class TemporalSort(Physical):
    """By time first, as time goes on."""

    order: tuple[Ordering, ...]
    rowtime: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class SortLimit(Physical):
    order: tuple[Ordering, ...]
    offset: int
    fetch: int
    strategy: str = "AppendFast"
    key: tuple[int, ...] = ()
    ttl_ms: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class Limit(Physical):
    offset: int
    fetch: int | None


# ---------------------------------------------------------------- joins


@dataclass(frozen=True, slots=True)
class KeySpec:
    """What the rows of one side of a join have for a unique key (Flink: ``JoinInputSpec``).

    :param unique: its columns; None: there is none. :param contained: the join key has all of them.
    """

    unique: tuple[int, ...] | None = None
    contained: bool = False

    def __str__(self) -> str:
        if self.unique is None:
            return "NoUniqueKey"
        return "JoinKeyContainsUniqueKey" if self.contained else "HasUniqueKey"


@dataclass(frozen=True, slots=True)
class JoinKeys:
    """Columns of equal keys of both sides, and whether two nulls are equal, for each pair."""

    left: tuple[int, ...] = ()
    right: tuple[int, ...] = ()
    null_safe: tuple[bool, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Join(Physical):
    """:param condition: all of it. :param rest: what the keys do not say, over left and right columns."""

    kind: str
    keys: JoinKeys
    condition: Expression | None
    rest: Expression | None
    left_spec: KeySpec = KeySpec()
    right_spec: KeySpec = KeySpec()
    mini_batch: bool = False
    left_ttl_ms: int = 0
    right_ttl_ms: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class IntervalJoin(Physical):
    """``lower <= left time - right time <= upper``, in milliseconds."""

    kind: str
    keys: JoinKeys
    condition: Expression | None
    rest: Expression | None
    lower: int
    upper: int
    left_time: int
    right_time: int
    rowtime: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class TemporalJoin(Physical):
    """:param right_time: the rowtime of the versions; None: processing time."""

    kind: str
    keys: JoinKeys
    condition: Expression | None
    rest: Expression | None
    left_time: int
    right_time: int | None
    primary_key: tuple[int, ...]
    ttl_ms: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class LookupJoin(Physical):
    """Each row asks a table outside.

    :param source: ``connectors.LookupSource``.
    :param lookup: column of *right_row* -> left column or constant.
    :param right_row: what the source gives. :param right_calc: what is joined of it, and which rows.
    :param rest: over the left columns, then what is joined.
    """

    kind: str
    table: Any
    source: Any
    lookup: tuple[tuple[int, Expression], ...]
    condition: Expression | None
    rest: Expression | None
    right_row: RowType
    right_calc: tuple[tuple[Expression, ...], Expression | None] | None = None
    options: LookupOptions = field(default_factory=LookupOptions)


@dataclass(frozen=True, kw_only=True, eq=False)
class WindowJoin(Physical):
    kind: str
    keys: JoinKeys
    condition: Expression | None
    rest: Expression | None
    left_window: WindowSpec
    right_window: WindowSpec


@dataclass(frozen=True, kw_only=True, eq=False)
class Match(Physical):
    """MATCH_RECOGNIZE."""

    specification: Any
    partition: tuple[int, ...] = ()


# ---------------------------------------------------------------- where rows go


@dataclass(frozen=True, kw_only=True, eq=False)
class Sink(Physical):
    """:param target: what takes the rows (``sinks.Target``). :param materialize: upserts are made unambiguous
    first, by the sink's primary key; ``input_key``: the upsert key of the input.
    :param conflict: what ON CONFLICT says. :param require_on_conflict: whether it has to say something where
        keys differ.
    :param materialize_mode: NONE, AUTO or FORCE."""

    target: Any
    materialize: bool = False
    primary_key: tuple[int, ...] = ()
    input_key: tuple[int, ...] = ()
    conflict: str | None = None
    require_on_conflict: bool = False
    materialize_mode: str = "AUTO"
    not_null: str = "ERROR"
    type_length: str = "IGNORE"
    nested: str = "IGNORE"
    ttl_ms: int = 0
