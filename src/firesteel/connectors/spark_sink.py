"""Parquet files that Spark can read back as a DataFrame (``ds.to_spark()``)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final

from firesteel.common._types_to_arrow import to_arrow_schema
from firesteel.common.errors import ProgramError, TypeMismatchError
from firesteel.common.typeinfo import ExternalTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from firesteel.connectors._arrow_values import to_arrow_converter
from firesteel.connectors._storage import join, resolve
from firesteel.connectors.base import (
    Committable,
    Sink,
    SinkCommitter,
    SinkWriter,
    WriterContext,
)

Consumer = Callable[[list[str]], None]

_BATCH_ROWS: Final = 16_384
_consumers: dict[str, Consumer] = {}  # of this process, by the id of their sink


@dataclass(frozen=True, slots=True)
class ParquetStagingSink(Sink):
    """Writes records of a declared type to Parquet files under ``directory``.

    A consumer on the driver is told the paths of those files whose epoch was committed, never any other.

    A Row gives the columns of its field names, a tuple ``f0``, ``f1`` ..., any other type ``value``.
    """

    directory: str
    type_info: TypeInformation
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        if not isinstance(self.type_info, TypeInformation):
            raise ProgramError(
                "a stream without a declared type cannot become a DataFrame",
                hint="give the last operation an output_type",
            )
        to_arrow_schema(self.type_info)  # refuses what Arrow cannot hold

    @property
    def description(self) -> str:
        return "To Spark"

    def attach(self, consumer: Consumer) -> None:
        """``consumer`` is called with paths, once for each epoch that has some."""
        _consumers[self.id] = consumer

    def detach(self) -> None:
        _consumers.pop(self.id, None)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _ParquetWriter(self, context)

    def create_committer(self) -> SinkCommitter:
        consumer = _consumers.get(self.id)
        if consumer is None:
            raise ProgramError(
                "a Parquet staging sink has nobody to tell its files to",
                hint="call attach() on it in the process that runs the job",
            )
        return _ParquetCommitter(consumer)


def _column_types(type_info: TypeInformation) -> list[TypeInformation]:
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return type_info.get_field_types()
    return [type_info]


class _ParquetWriter(SinkWriter):
    def __init__(self, sink: ParquetStagingSink, context: WriterContext) -> None:
        name = f"{context.attempt_token.replace('/', '_')}-{uuid.uuid4().hex[:12]}.parquet"
        self._storage, base = resolve(sink.directory)
        self._path = join(base, name)
        type_info = sink.type_info
        while isinstance(type_info, ExternalTypeInfo):
            type_info = type_info._type_info
        self._schema = to_arrow_schema(type_info)
        self._is_record = isinstance(type_info, (RowTypeInfo, TupleTypeInfo))
        self._types = _column_types(type_info)
        self._converters = [to_arrow_converter(type_) for type_ in self._types]
        self._rows: list[Any] = []
        self._stream: BinaryIO | None = None
        self._writer: Any = None

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        self._rows.extend(values)
        if len(self._rows) >= _BATCH_ROWS:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not self._rows:
            return
        if self._writer is None:
            self._stream = self._storage.open_output(self._path)
            self._writer = pq.ParquetWriter(self._stream, self._schema, compression="zstd")
        columns = zip(*self._rows, strict=True) if self._is_record else iter((self._rows,))
        arrays = []
        for type_, convert, values, column in zip(
            self._types, self._converters, columns, self._schema, strict=True
        ):
            items = values if convert is None else [None if v is None else convert(v) for v in values]
            try:
                arrays.append(pa.array(items, column.type))
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError) as error:
                raise TypeMismatchError(
                    f"a value of column {column.name!r} does not fit its declared type {type_}",
                    detail=str(error),
                ) from error
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))
        self._rows = []

    def prepare_commit(self) -> list[Any]:
        self._flush()
        if self._writer is None:
            return []
        self._close()
        return [self._path]

    def _close(self) -> None:
        if self._writer is not None and self._stream is not None:
            self._writer.close()
            self._stream.close()
            self._writer = self._stream = None

    def abort(self) -> None:
        if self._writer is not None:
            self._close()
            self._storage.delete(self._path)


class _ParquetCommitter(SinkCommitter):
    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._told: set[str] = set()

    def commit(self, committables: list[Committable], now_ms: int) -> None:
        paths = [c.payload for c in committables if c.payload not in self._told]
        if paths:
            self._consumer(paths)
            self._told.update(paths)
