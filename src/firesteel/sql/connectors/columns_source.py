"""A bounded source of columns that are there when the job starts: VALUES, collections, DataFrames, Arrow
tables."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns, as_values
from firesteel.connectors._splits import FixedSplits
from firesteel.program.sources import (
    Boundedness,
    Chunk,
    EnumeratorContext,
    ReadRange,
    Source,
    SourceReader,
    Split,
    SplitEnumerator,
)
from firesteel.storage.filesystems import join, resolve
from firesteel.storage.records import record

__all__ = ["ColumnsSource", "columns_from_bytes", "columns_to_bytes"]

BLOCK_ROWS: Final = 16_384
INLINE_BYTES: Final = 64 << 10


def columns_to_bytes(columns: Columns) -> bytes:
    """Columns as an Arrow file, in blocks of equal size; the kinds of rows are a column of their own."""
    arrays = list(columns.arrays)
    names = [f"c{i}" for i in range(len(arrays))]
    arrays.append(pa.array(columns.kinds_or_inserts(), pa.int8()))
    names.append("kind")
    table = pa.Table.from_arrays(arrays, names=names)
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=BLOCK_ROWS)
    return sink.getvalue()


def columns_from_bytes(data: bytes) -> Columns:
    """All rows of ``columns_to_bytes``."""
    file = pa.ipc.open_file(data)
    batches = [_columns(file.get_batch(i)) for i in range(file.num_record_batches)]
    if not batches:
        return Columns([pa.array([], f.type) for f in list(file.schema)[:-1]], 0)
    return Columns.concat(batches)


def _columns(batch: pa.RecordBatch) -> Columns:
    kinds = np.asarray(batch.column(batch.num_columns - 1))
    arrays = [batch.column(i) for i in range(batch.num_columns - 1)]
    return Columns(arrays, batch.num_rows, kinds if kinds.any() else None)


@record("columns")
@dataclass(frozen=True, slots=True)
class _Stored:
    """:param data: the file itself where it is small; else ``path`` has it."""

    count: int
    data: bytes | None
    path: str | None


@dataclass(frozen=True, slots=True)
class ColumnsSource(Source):
    """:param data: ``columns_to_bytes`` of the rows. :param count: how many they are.
    :param columns: those that are read; None: all."""

    data: bytes
    count: int
    name: str = "Values"
    columns: tuple[int, ...] | None = None

    @classmethod
    def of(cls, columns: Columns, name: str = "Values") -> ColumnsSource:
        return cls(columns_to_bytes(columns), len(columns), name)

    def first(self, count: int) -> Columns:
        """The first rows, at most *count*."""
        file = pa.ipc.open_file(self.data)
        return (
            _columns(file.get_batch(0))[:count] if file.num_record_batches else columns_from_bytes(self.data)
        )

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    @property
    def max_parallelism(self) -> int | None:
        return 1

    @property
    def description(self) -> str:
        return self.name

    @property
    def is_cheap(self) -> bool:
        return True

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        if len(self.data) <= INLINE_BYTES:
            return FixedSplits([Split("columns", _Stored(self.count, self.data, None))])
        storage, base = resolve(context.work_dir)
        path = join(base, f"columns-{hashlib.sha256(self.data).hexdigest()[:32]}.arrow")
        if storage.info(path) is None:
            storage.write(path, self.data)
        return FixedSplits([Split("columns", _Stored(self.count, None, path))])

    def create_reader(self) -> SourceReader:
        return _ColumnsReader(self.columns)


class _ColumnsReader(SourceReader):
    """A position is the number of rows that were read."""

    def __init__(self, columns: tuple[int, ...] | None) -> None:
        self._chosen = columns
        self._open: tuple[Any, Any] | None = None

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        stored: _Stored = range_.split.payload
        position = range_.position or 0
        stop = min(stored.count, position + range_.max_records)
        if position >= stored.count:
            yield Chunk([], None, stored.count, True)
            return
        file = self._file(stored)
        while position < stop:
            number, skip = divmod(position, BLOCK_ROWS)
            columns = _columns(file.get_batch(number))
            if self._chosen is not None:
                columns = columns.with_arrays([columns.arrays[c] for c in self._chosen])
            taken = columns[skip : skip + stop - position]
            position += len(taken)
            yield Chunk(as_values(taken), None, position, position == stored.count)

    def _file(self, stored: _Stored) -> Any:
        if stored.data is not None:
            return pa.ipc.open_file(stored.data)
        if self._open is None or self._open[0] != stored.path:
            assert stored.path is not None
            storage, path = resolve(stored.path)
            with storage.open_input(path) as file:
                self._open = (stored.path, pa.ipc.open_file(file.read()))
        return self._open[1]
