"""Table connectors: one record each, with the options it has and what makes sources, targets and lookups.

Built-in ones are named in ``built_in.py``. The module of a connector of another package
(``connectors/plugins.py``) calls ``TABLE_CONNECTORS.register``; it is imported when a table names it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any, Final, Protocol

from firesteel.common.configuration import Configuration
from firesteel.connectors.plugins import is_added_connector, load_connector
from firesteel.program.registry import Registry, load
from firesteel.program.spark_tables import way_through_spark
from firesteel.program.transformations import Transformation
from firesteel.sql import physical as p
from firesteel.sql.catalog import ResolvedTable
from firesteel.sql.connectors.formats.registry import format_options
from firesteel.sql.connectors.options import Option, TableOptions, parallelism
from firesteel.sql.connectors.watermarks import WATERMARK_OPTIONS, refuse_watermark_options
from firesteel.sql.schema import ColumnKind
from firesteel.util.exceptions import TableException

__all__ = [
    "TABLE_CONNECTORS",
    "LookupSource",
    "ScanSource",
    "SinkSource",
    "TableConnector",
    "TableContext",
    "lookup_source",
    "scan_source",
    "sink_target",
]


class ScanSource(Protocol):
    """What reads a table.

    A source whose ``makes_watermarks`` is true gives watermarks by ``node.watermark``, an expression over
    ``node.row``, for each of its splits. One whose ``reads_metadata`` is true can have metadata columns,
    which plans show behind the columns that are read.
    """

    changelog_mode: frozenset[str]
    bounded: bool

    def build(self, run: Any, node: p.TableSourceScan) -> Transformation:
        """A transformation that gives the columns of ``node.row``."""


class SinkSource(Protocol):
    """What writes a table.

    One whose ``deletes_old_rows`` is true takes no UPDATE_BEFORE by its mode, but deletes the row if one
    comes: a filter may have kept back the row after it.
    """

    def changelog_mode(self, made: frozenset[str]) -> frozenset[str]:
        """Which kinds of rows it takes of a query that makes these."""

    def attach(self, environment: Any, rows: Transformation, node: p.Sink) -> Transformation:
        """The end of the plan: *rows* are columns of the sink's row."""


class LookupSource(Protocol):
    """What is asked for rows by key, in tasks.

    One that has ``lookup_async``, a coroutine function from a key to its rows, is asked by that.
    """

    def open(self) -> None: ...

    def lookup(self, keys: list[tuple[Any, ...]]) -> list[list[tuple[Any, ...]]]:
        """For each key the rows of the table."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class TableContext:
    """What a factory knows. ``options`` are checked and typed.

    :param overwrite: INSERT OVERWRITE. :param partition: of PARTITION (...) in it, with constants.
    """

    table: ResolvedTable
    options: TableOptions
    configuration: Configuration
    batch: bool = False
    overwrite: bool = False
    partition: Mapping[str, str] = field(default_factory=dict)

    @property
    def schema(self) -> Any:
        return self.table.schema

    def refuse_metadata(self, connector: str) -> None:
        """:raises TableException: the table has a column of metadata, and the connector has none."""
        for column in self.schema.columns:
            if column.kind is ColumnKind.METADATA:
                raise TableException(
                    f"Invalid metadata key '{column.key}' in column '{column.name}' of table "
                    f"'{self.table.name}'.",
                    hint=f"the connector '{connector}' has no metadata",
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class TableConnector:
    """:param options: all that it has. :param formats: the options that name formats, such as ``format``.
    :param default_format: the value of the option ``format`` where it is not given.
    :param wildcards: options that begin so are its own, too. :param scan: ``TableContext -> ScanSource``, or
        its place as
    ``"module:name"``; None: it cannot be read. ``sink`` and ``lookup`` likewise; lookup gets the columns
        asked and those wanted, too.
    :param overwrites: whether INSERT OVERWRITE is possible. :param watermarks: whether its source makes
        watermarks for its splits, so that it has the options ``scan.watermark.*``.
    """

    name: str
    options: tuple[Option, ...] = ()
    formats: tuple[str, ...] = ()
    default_format: str | None = None
    wildcards: tuple[str, ...] = ()
    scan: str | Callable[[TableContext], Any] | None = None
    sink: str | Callable[[TableContext], Any] | None = None
    lookup: str | Callable[[TableContext, tuple[int, ...], tuple[int, ...]], Any] | None = None
    overwrites: bool = False
    watermarks: bool = False
    checks: tuple[Callable[[TableOptions, ResolvedTable], None], ...] = field(default=(), compare=False)

    @property
    def every_option(self) -> tuple[Option, ...]:
        """All options but those of formats."""
        made = list(self.options)
        if self.scan is not None:
            made.append(parallelism("scan.parallelism"))
        if self.sink is not None:
            made.append(parallelism("sink.parallelism"))
        return (*made, *WATERMARK_OPTIONS) if self.watermarks else tuple(made)


TABLE_CONNECTORS: Final = Registry("table connector", TableConnector)


def _maker(place: Any) -> Any:
    return load(place) if isinstance(place, str) else place


def connector_of(table: ResolvedTable) -> TableConnector:
    """The connector that the options of a table name.

    :raises TableException: they name none, or one that is not there.
    """
    name = table.options.get("connector")
    load_all(name)
    known = sorted(record.name for record in TABLE_CONNECTORS.all())
    if name is None:
        raise TableException(
            "Table options do not contain an option key 'connector' for discovering a connector: "
            f"{table.name}.",
            hint=f"one of {', '.join(known)}",
        )
    found = TABLE_CONNECTORS.find(name)
    if found is None:
        near = get_close_matches(name, known, 1, 0.6)
        raise TableException(
            f"Could not find any factory for identifier '{name}'.",
            detail=f"the connector of table {table.name}",
            hint=way_through_spark(name)
            or (f"did you mean {near[0]}? " if near else "") + f"available are {', '.join(known)}",
        )
    return found


def load_all(name: str | None = None) -> None:
    """Have the connectors of this package in the registry, and that of another package called *name*."""
    from firesteel.sql.connectors import built_in

    built_in.register()
    if name is None or (name, tuple(sys.path)) in _looked_for:
        return
    if is_added_connector(name):
        load_connector(name)
    if TABLE_CONNECTORS.find(name) is not None:
        _looked_for.add((name, tuple(sys.path)))


#: Names that were asked for among the packages of a path, and are there: to look through all installed
#: packages takes longer than to plan a query.
_looked_for: Final[set[tuple[str, tuple[str, ...]]]] = set()


def _context(
    table: ResolvedTable, connector: TableConnector, configuration: Configuration, batch: bool
) -> TableContext:
    every, wildcards = [*connector.every_option], connector.wildcards
    given = {k: v for k, v in table.options.items() if k != "connector"}
    if connector.default_format is not None:
        given.setdefault("format", connector.default_format)
    for key in connector.formats:
        found, more = format_options(key, given)
        every += found
        wildcards += more
    if not connector.watermarks:
        refuse_watermark_options(connector.name, table.name, list(given))
    options = TableOptions.checked(connector.name, table.name, given, every, wildcards)
    for check in connector.checks:
        check(options, table)
    return TableContext(table, options, configuration, batch)


def scan_source(table: ResolvedTable, configuration: Configuration, batch: bool = False) -> ScanSource:
    """What reads the table.

    :raises TableException: its options are wrong, or it cannot be read.
    """
    connector = connector_of(table)
    if connector.scan is None:
        raise _refused(connector, table, "source", "read")
    made: ScanSource = _maker(connector.scan)(_context(table, connector, configuration, batch))
    if batch and not made.bounded:
        raise TableException(
            f"Querying an unbounded table '{table.name}' in batch mode is not allowed. The table "
            "source is unbounded.",
            hint="read it in streaming mode, or bound it by its options",
        )
    return made


def sink_target(
    table: ResolvedTable,
    configuration: Configuration,
    batch: bool = False,
    overwrite: bool = False,
    partition: Mapping[str, str] | None = None,
) -> SinkSource:
    """What writes the table."""
    connector = connector_of(table)
    if connector.sink is None:
        raise _refused(connector, table, "sink", "written")
    if overwrite and not connector.overwrites:
        raise TableException(
            f"INSERT OVERWRITE requires that the underlying DynamicTableSink of table '{table.name}' "
            "supports overwriting.",
            hint=f"the connector '{connector.name}' adds rows only",
        )
    context = replace(
        _context(table, connector, configuration, batch), overwrite=overwrite, partition=partition or {}
    )
    made: SinkSource = _maker(connector.sink)(context)
    return made


def lookup_source(
    table: ResolvedTable, keys: tuple[int, ...], columns: tuple[int, ...], configuration: Configuration
) -> LookupSource | None:
    """Return what looks rows of the table up, None if its connector cannot.

    :param keys: columns of its source row that are asked by. :param columns: those that are wanted, in order.
    """
    connector = connector_of(table)
    if connector.lookup is None:
        return None
    context = _context(table, connector, configuration, False)
    made: LookupSource = _maker(connector.lookup)(context, keys, columns)
    return made


def _refused(connector: TableConnector, table: ResolvedTable, what: str, done: str) -> TableException:
    able = sorted(
        record.name
        for record in TABLE_CONNECTORS.all()
        if (record.scan if what == "source" else record.sink) is not None
    )
    return TableException(
        f"Connector '{connector.name}' can only be used as a {'sink' if what == 'source' else 'source'}. "
        f"It cannot be used as a {what}.",
        detail=f"table {table.name} is to be {done}",
        hint=f"connectors that can are {', '.join(able)}",
    )
