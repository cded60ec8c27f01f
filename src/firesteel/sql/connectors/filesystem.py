"""``filesystem``: tables whose rows are in files."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from firesteel.common.serialization import BulkWriterFactory, Encoder
from firesteel.connectors.files.partition_commit import PartitionCommit
from firesteel.connectors.files.rolling import BasePathBuckets, Rolling
from firesteel.program.sources import Boundedness
from firesteel.program.transformations import SinkTransformation, SourceTransformation
from firesteel.sql import physical as p, types as t
from firesteel.sql.connectors.factory import TableConnector, TableContext
from firesteel.sql.connectors.file_scan import FILE_METADATA, FileColumn, TableFilesSource
from firesteel.sql.connectors.file_sink import TableFileSink, partition_path
from firesteel.sql.connectors.formats.registry import INSERTS, FileFormat, format_of
from firesteel.sql.connectors.options import TableOptions, duration, memory, refused, text, word
from firesteel.sql.connectors.sinks import sink_transformation
from firesteel.sql.operators.borders import columns_type
from firesteel.sql.schema import ColumnKind
from firesteel.storage.filesystems import resolve, walk
from firesteel.util.exceptions import TableException

__all__ = ["CONNECTOR"]

_MINUTE_MS: Final = 60_000

_REGEX: Final = "source.path.regex-pattern"
_PATTERN: Final = "partition.time-extractor.timestamp-pattern says which columns make the time"
_SUCCESS: Final = "'sink.partition-commit.policy.kind' = 'success-file'"
_COMPACTION: Final = "part files are not put together afterwards"
_BIGGER: Final = "a longer sink.rolling-policy.rollover-interval, or checkpoint interval, makes larger files"
_OPTIONS: Final = (
    text("path", required=True),
    text("partition.default-name", "__DEFAULT_PARTITION__"),
    duration("source.monitor-interval"),
    memory("sink.rolling-policy.file-size", 128 << 20),
    duration("sink.rolling-policy.rollover-interval", 30 * _MINUTE_MS),
    duration("sink.rolling-policy.inactivity-interval", 30 * _MINUTE_MS),
    refused(
        "sink.rolling-policy.check-interval",
        "whether a part file is complete is looked at with each checkpoint, not by a timer of its own",
        "leave it out; execution.checkpointing.interval says how often that is",
    ),
    word("sink.partition-commit.trigger", ("process-time", "partition-time"), "process-time"),
    duration("sink.partition-commit.delay", 0),
    text("sink.partition-commit.watermark-time-zone", "UTC"),
    text("sink.partition-commit.policy.kind"),
    text("sink.partition-commit.success-file.name", "_SUCCESS"),
    refused(
        "partition.time-extractor.kind", "another extractor is a Java class", _PATTERN, unless=("default",)
    ),
    text("partition.time-extractor.timestamp-pattern"),
    text("partition.time-extractor.timestamp-formatter", "yyyy-MM-dd HH:mm:ss"),
    refused("partition.time-extractor.class", "it names a Java class", _PATTERN),
    refused("sink.partition-commit.policy.class", "it names a Java class", _SUCCESS),
    refused("sink.partition-commit.policy.class.parameters", "it is for a Java class", _SUCCESS),
    text(_REGEX),
    refused("source.report-statistics", "statistics are those of ANALYZE TABLE", unless=("NONE",)),
    refused("auto-compaction", _COMPACTION, _BIGGER, unless=("false",)),
    refused("compaction.file-size", _COMPACTION, _BIGGER),
    refused("compaction.parallelism", _COMPACTION, _BIGGER),
    refused(
        "sink.shuffle-by-partition.enable", "rows stay in the subtask that they come to", unless=("false",)
    ),
)


def _path(options: TableOptions) -> str:
    found: str = options["path"]
    return found.removeprefix("file://") if found.startswith("file:///") else found.removeprefix("file:")


def _pattern(options: TableOptions) -> str | None:
    """The pattern of the paths that are read.

    :raises TableException: it is not a regular expression.
    """
    found: str | None = options[_REGEX]
    try:
        re.compile(found or "")
    except re.error as error:
        raise options.error(_REGEX, f"{found!r} is not a regular expression: {error}") from error
    return found


def _in_file(context: TableContext) -> t.RowType:
    """The columns that a file has."""
    keys = set(context.table.partition_keys)
    row = context.schema.physical_row
    fields = [f for f in row.fields if f.name not in keys]
    missing = [key for key in context.table.partition_keys if key not in row.names]
    if missing:
        raise TableException(
            f"Partition column '{missing[0]}' is not a physical column of table '{context.table.name}'.",
            hint=f"its physical columns are {', '.join(row.names)}",
        )
    if not fields:
        raise TableException(
            f"Table '{context.table.name}' has no columns but those of its partitions.",
            hint="its files need at least one column of their own",
        )
    return t.RowType.of([f.name for f in fields], [f.data_type for f in fields])


@dataclass(frozen=True, slots=True)
class _Scan:
    reads_metadata: ClassVar[bool] = True
    source: TableFilesSource
    parallelism: int | None
    changelog_mode: frozenset[str]

    @property
    def bounded(self) -> bool:
        return self.source.boundedness is Boundedness.BOUNDED

    def build(self, run: Any, node: p.TableSourceScan) -> Any:
        every = self.source
        chosen = tuple(every.columns[c] for c in node.columns)
        source = replace(every, columns=chosen)
        made = SourceTransformation(
            name=f"Source: {node.table.name.rpartition('.')[2]}",
            source=source,
            output_type=columns_type(node.row),
            parallelism=self.parallelism,
        )
        return run.add(made, node)


def scan(context: TableContext) -> _Scan:
    """The source of a table of files."""
    options = context.options
    row = _in_file(context)
    keys = set(context.table.partition_keys)
    columns = []
    for column in context.schema.source_columns:
        kind, name = "partition" if column.name in keys else "data", column.name
        if column.kind is ColumnKind.METADATA:
            kind, name = "metadata", column.key
            if name not in FILE_METADATA:
                raise TableException(
                    f"Invalid metadata key '{name}' in column '{column.name}' of table "
                    f"'{context.table.name}'.",
                    hint=f"the connector 'filesystem' has {', '.join(FILE_METADATA)}",
                )
        columns.append(FileColumn(kind, name, column.data_type))
    format_ = format_of(options)
    source = TableFilesSource(
        (_path(options),),
        format_,
        row,
        tuple(columns),
        options["partition.default-name"],
        options["source.monitor-interval"],
        pattern=_pattern(options),
    )
    return _Scan(source, options["scan.parallelism"], _kinds(format_))


def _kinds(format_: FileFormat) -> frozenset[str]:
    """Of the rows that files have: but for formats of changes they are inserted ones."""
    found: frozenset[str] = getattr(format_, "kinds", INSERTS)
    return found


@dataclass(frozen=True, slots=True)
class _Target:
    context: TableContext
    format: BulkWriterFactory | Encoder
    row: t.RowType
    kinds: frozenset[str]

    def changelog_mode(self, made: frozenset[str]) -> frozenset[str]:
        return self.kinds

    def attach(self, environment: Any, rows: Any, node: p.Sink) -> SinkTransformation:
        context, options = self.context, self.context.options
        base = _path(options)
        names = node.row.names
        sink = TableFileSink(
            base_path=base,
            encoder=self.format,
            rolling_policy=Rolling(
                options["sink.rolling-policy.file-size"],
                options["sink.rolling-policy.rollover-interval"],
                options["sink.rolling-policy.inactivity-interval"],
                on_every_commit=isinstance(self.format, BulkWriterFactory),
            ),
            bucket_assigner=BasePathBuckets(),
            partition_commit=_commit(options) if context.table.partition_keys else None,
            row=node.row,
            keys=tuple(names.index(k) for k in context.table.partition_keys),
            default_partition=options["partition.default-name"],
            overwritten=self._overwritten(base) if context.overwrite else (),
            overwrite_all=not context.table.partition_keys or bool(context.partition),
        )
        return sink_transformation(environment, rows, node, sink, options["sink.parallelism"])

    def _overwritten(self, base: str) -> tuple[str, ...]:
        context = self.context
        storage, path = resolve(base)
        below = ""
        if context.partition:
            leading = [k for k in context.table.partition_keys if k in context.partition]
            default = context.options["partition.default-name"]
            below = partition_path(leading, [context.partition[k] for k in leading], default) + "/"
        if storage.info(path) is None:
            return ()
        return tuple(
            info.path
            for info in walk(storage, path)
            if info.path.removeprefix(path).lstrip("/").startswith(below)
        )


def _commit(options: TableOptions) -> PartitionCommit | None:
    kinds = [k.strip() for k in (options["sink.partition-commit.policy.kind"] or "").split(",") if k.strip()]
    unknown = sorted(set(kinds) - {"success-file"})
    if unknown:
        raise options.error(
            "sink.partition-commit.policy.kind",
            f"there is no policy {', '.join(unknown)}",
            "success-file writes an empty file into a partition that is complete",
        )
    if not kinds:
        return None
    return PartitionCommit(
        options["sink.partition-commit.trigger"],
        options["sink.partition-commit.delay"],
        options["sink.partition-commit.success-file.name"],
        None,
        options["partition.time-extractor.timestamp-pattern"],
        options["partition.time-extractor.timestamp-formatter"],
        options["sink.partition-commit.watermark-time-zone"],
    )


def target(context: TableContext) -> _Target:
    """The sink of a table of files."""
    if context.overwrite and not context.batch:
        raise TableException(
            "Streaming mode not support overwrite.",
            detail=f"INSERT OVERWRITE of table {context.table.name}",
            hint="run it in batch mode",
        )
    keys = set(context.table.partition_keys)
    fields = [f for f in context.schema.sink_row.fields if f.name not in keys]
    row = t.RowType.of([f.name for f in fields], [f.data_type for f in fields])
    _in_file(context)
    format_ = format_of(context.options)
    return _Target(context, format_.writer(row), row, _kinds(format_))


CONNECTOR: Final = TableConnector(
    name="filesystem", options=_OPTIONS, formats=("format",), scan=scan, sink=target, overwrites=True
)
