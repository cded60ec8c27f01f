"""Sinks for Spark: Parquet files for a DataFrame (``to_spark()``), or for writing to a Spark table
(``ds.write_spark()``)."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Protocol

from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors._staging import StagedFiles, settle
from firesteel.formats.arrow_batches import BatchBuilder
from firesteel.formats.types_to_arrow import to_arrow_schema
from firesteel.program.execution import get_executor
from firesteel.program.promises import SinkPromise
from firesteel.program.sinks import Committer, CommitterContext, Sink, SinkWriter, WriterContext
from firesteel.program.spark_tables import SparkTarget
from firesteel.storage.filesystems import join, resolve

_BATCH_ROWS: Final = 16_384
_COPY_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ParquetStagingSink(Sink):
    """Writes records of a declared type to Parquet files in ``directory``.

    Until its epoch is committed the name of a file begins with a dot, so that Spark ignores it.

    The columns are the fields of a Row, ``f0``, ``f1`` ... for a tuple, or ``value`` for any other type.
    """

    directory: str
    type_info: TypeInformation

    def __post_init__(self) -> None:
        check_columns(self.type_info)

    @property
    def description(self) -> str:
        return "To Spark"

    def schema(self) -> Any:
        """Return the ``pyarrow.Schema`` of the files."""
        return to_arrow_schema(self.type_info)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return ParquetWriter(_Records(self.type_info), self.directory, ".", context)

    def create_committer(self, context: CommitterContext) -> Committer:
        return StagedFiles(self.directory)


def check_columns(type_info: TypeInformation | None) -> None:
    if not isinstance(type_info, TypeInformation):
        raise ProgramError(
            "a stream without a declared type cannot become a DataFrame",
            hint="give the last operation an output_type",
        )
    to_arrow_schema(type_info)  # rejects what Arrow cannot represent


@dataclass(frozen=True, slots=True)
class SparkTableSink(Sink):
    """Writes records of a declared type with a batch writer of Spark, one batch per checkpoint."""

    target: SparkTarget
    type_info: TypeInformation

    def __post_init__(self) -> None:
        check_columns(self.type_info)

    @property
    def description(self) -> str:
        kind = self.target.format
        return f"Spark table ({kind if isinstance(kind, str) else 'function'})"

    @property
    def promise(self) -> SinkPromise:
        free = self.target.at_least_once or not isinstance(self.target.format, str)
        return SinkPromise.AT_LEAST_ONCE if free else SinkPromise.EXACTLY_ONCE

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return ParquetWriter(_Records(self.type_info), context.epoch_dir, "", context)

    def create_committer(self, context: CommitterContext) -> Committer:
        return get_executor().table_committer(self.target, context)


class Batches(Protocol):
    """Makes batches of Arrow of what comes to a sink."""

    schema: Any

    def batch(self, parts: Sequence[Sequence[Any]]) -> Any:
        """Return a ``pyarrow.RecordBatch`` of all *parts*, in order.

        :raises TypeMismatchError: a value does not fit its column.
        """


class _Records(Batches):
    def __init__(self, type_info: TypeInformation) -> None:
        self._builder = BatchBuilder(type_info)
        self.schema = self._builder.schema

    def batch(self, parts: Sequence[Sequence[Any]]) -> Any:
        return self._builder.batch([record for part in parts for record in part])


class ParquetWriter(SinkWriter):
    """Writes one file; its committable is the path. ``prefix`` is the prefix of its name."""

    def __init__(self, batches: Batches, directory: str, prefix: str, context: WriterContext) -> None:
        name = f"{prefix}{context.attempt_token.replace('/', '_')}-{uuid.uuid4().hex[:12]}.parquet"
        self._storage, self._base = resolve(directory)
        self._context = context
        self._prefix = prefix
        self._path = join(self._base, name)
        self._batches = batches
        self._parts: list[Sequence[Any]] = []
        self._rows = 0
        self._stream: BinaryIO | None = None
        self._writer: Any = None

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        self._parts.append(values[:])  # the list is the caller's
        self._rows += len(values)
        if self._rows >= _BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow.parquet as pq

        if not self._rows:
            return
        if self._writer is None:
            self._stream = self._storage.open_output(self._path)
            self._writer = pq.ParquetWriter(self._stream, self._batches.schema, compression="zstd")
        self._writer.write_batch(self._batches.batch(self._parts))
        self._parts = []
        self._rows = 0

    def prepare_commit(self) -> list[Any]:
        self._flush()
        if self._writer is None:
            return []
        self._close()
        name = settle(self._storage, self._path, self._context, 0, ".parquet")
        return [join(self._base, self._prefix + name.removeprefix("."))]

    def _close(self) -> None:
        if self._writer is not None and self._stream is not None:
            self._writer.close()
            self._stream.close()
            self._writer = self._stream = None

    def abort(self) -> None:
        if self._writer is not None:
            self._close()
            self._storage.delete(self._path)
