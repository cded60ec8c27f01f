"""Parquet files that Spark can read back as a DataFrame (``ds.to_spark()``)."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, cast

from firesteel.common._types_to_arrow import to_arrow_schema
from firesteel.common.errors import FiresteelError, ProgramError, TypeMismatchError
from firesteel.common.typeinfo import ExternalTypeInfo, RowTypeInfo, TupleTypeInfo, TypeInformation
from firesteel.connectors._arrow_values import to_arrow_converter
from firesteel.connectors._staging import settle
from firesteel.connectors._storage import join, resolve
from firesteel.connectors.base import (
    Committable,
    Sink,
    SinkCommitter,
    SinkWriter,
    WriterContext,
)

_BATCH_ROWS: Final = 16_384
_COPY_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ParquetStagingSink(Sink):
    """Writes records of a declared type to Parquet files in ``directory``.

    Until its epoch is committed the name of a file begins with a dot, which Spark does not read.

    A Row gives the columns of its field names, a tuple ``f0``, ``f1`` ..., any other type ``value``.
    """

    directory: str
    type_info: TypeInformation

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

    def schema(self) -> Any:
        """The ``pyarrow.Schema`` of the files."""
        return to_arrow_schema(self.type_info)

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _ParquetWriter(self, context)

    def create_committer(self) -> SinkCommitter:
        return _ParquetCommitter(self.directory)


def _column_types(type_info: TypeInformation) -> list[TypeInformation]:
    if isinstance(type_info, (RowTypeInfo, TupleTypeInfo)):
        return type_info.get_field_types()
    return [type_info]


class _ParquetWriter(SinkWriter):
    def __init__(self, sink: ParquetStagingSink, context: WriterContext) -> None:
        name = f"{context.attempt_token.replace('/', '_')}-{uuid.uuid4().hex[:12]}.parquet"
        self._storage, base = resolve(sink.directory)
        self._context = context
        self._path = join(base, f".{name}")
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
        name = settle(self._storage, self._path, self._context, 0, ".parquet")
        return [name.removeprefix(".")]

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
    """A committable is the name that a file is to have."""

    def __init__(self, directory: str) -> None:
        self._storage, self._base = resolve(directory)

    def commit(self, committables: list[Committable], now_ms: int) -> None:
        for committable in committables:
            hidden = join(self._base, f".{committable.payload}")
            if self._storage.info(hidden) is not None:
                self._show(hidden, join(self._base, committable.payload))
            elif self._storage.info(join(self._base, committable.payload)) is None:
                raise FiresteelError(f"a staged Parquet file is gone: {hidden}")

    def _show(self, hidden: str, final: str) -> None:
        if self._storage.is_local:
            os.replace(hidden, final)
            return
        if self._storage.info(final) is None:
            with tempfile.TemporaryFile() as copy, self._storage.open_input(hidden) as source:
                shutil.copyfileobj(source, copy, _COPY_BYTES)
                copy.seek(0)
                self._storage.write_whole(final, cast(BinaryIO, copy))
        self._storage.delete(hidden)
