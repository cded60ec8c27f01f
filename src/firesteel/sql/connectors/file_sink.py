"""Writes columns of a table to files, those of a partition into its directory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from firesteel.common.columns import Columns, as_values, columns_in
from firesteel.connectors.files.sink import RowFileSink, _FileWriter
from firesteel.program.sinks import CommitRequest, Committer, CommitterContext, SinkWriter, WriterContext
from firesteel.sql import types as t
from firesteel.sql.cast import cast_column
from firesteel.storage.filesystems import join, resolve

__all__ = ["TableFileSink", "partition_path"]

_TEXT: Final = t.VarCharType(t.MAX_LENGTH)
_SAFE: Final = " !$&()+,-.;<>@_`|~"  # what Hive leaves in names


def partition_path(keys: Sequence[str], values: Sequence[str | None], default: str) -> str:
    """The directory of a partition."""
    return "/".join(
        f"{quote(k, _SAFE)}={quote(v, _SAFE) if v else default}" for k, v in zip(keys, values, strict=True)
    )


@dataclass(frozen=True, slots=True)
class TableFileSink(RowFileSink):
    """:param row: what comes. :param keys: the places of the partition's columns in it.
    :param overwritten: the files there were before; those of a partition go when it is written.
    :param overwrite_all: they go in any case."""

    row: t.RowType = field(default_factory=t.RowType)
    keys: tuple[int, ...] = ()
    default_partition: str = ""
    overwritten: tuple[str, ...] = ()
    overwrite_all: bool = False

    @property
    def description(self) -> str:
        return self.base_path

    @property
    def is_cheap(self) -> bool:
        return True

    def create_writer(self, context: WriterContext) -> SinkWriter:
        inner: Any = super(TableFileSink, self).create_writer(context)
        return _PartitionWriter(self, inner) if self.keys else inner

    def create_committer(self, context: CommitterContext) -> Committer:
        inner = super(TableFileSink, self).create_committer(context)
        if not self.overwritten:
            return inner
        return _Overwriting(inner, self)


class _PartitionWriter(SinkWriter):
    """Gives the rows of each partition to the writer of files, without the partition's columns."""

    def __init__(self, sink: TableFileSink, inner: _FileWriter) -> None:
        self._sink = sink
        self._inner = inner
        self._names = [sink.row.names[k] for k in sink.keys]
        self._kept = [i for i in range(len(sink.row.fields)) if i not in sink.keys]

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        if not len(values):
            return
        columns = columns_in(values)
        data = columns.with_arrays([columns.arrays[i] for i in self._kept])
        texts = [
            cast_column(columns.arrays[k], self._sink.row.fields[k].data_type, _TEXT, "UTC")
            for k in self._sink.keys
        ]
        for path, rows in self._groups(texts, len(columns)):
            part: Columns = data if len(rows) == len(columns) else data.take(rows)
            self._inner._add(path, as_values(part))

    def _groups(self, texts: list[pa.Array], length: int) -> list[tuple[str, Any]]:
        codes = np.zeros(length, np.int64)
        for column in texts:
            encoded = column.dictionary_encode(null_encoding="encode")
            indices = encoded.indices.to_numpy(zero_copy_only=False)
            codes = np.unique(codes * len(encoded.dictionary) + indices, return_inverse=True)[1]
        found = []
        for code in range(int(codes.max()) + 1):
            rows = np.flatnonzero(codes == code)
            values = [column[int(rows[0])].as_py() for column in texts]
            found.append((partition_path(self._names, values, self._sink.default_partition), rows))
        return found

    def write_watermark(self, watermark: int) -> None:
        self._inner.write_watermark(watermark)

    def prepare_commit(self) -> list[Any]:
        return self._inner.prepare_commit()

    def abort(self) -> None:
        self._inner.abort()


class _Overwriting(Committer):
    """Removes the files of before when the first new ones are there to be shown."""

    def __init__(self, inner: Committer, sink: TableFileSink) -> None:
        self._inner = inner
        self._sink = sink
        self._left = list(sink.overwritten)

    def snapshot(self) -> Any:
        return self._inner.snapshot()

    def restore(self, state: Any) -> None:
        self._inner.restore(state)

    def open(self) -> None:
        self._inner.open()

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            for chunk in request.get_committable().chunks:
                self._remove(chunk.bucket or "")
        self._inner.commit(requests)

    def _remove(self, bucket: str) -> None:
        storage, base = resolve(self._sink.base_path)
        below = join(base, bucket) + "/" if bucket else base
        gone = [path for path in self._left if path.startswith(below)]
        for path in gone:
            storage.delete(path)
        self._left = [path for path in self._left if path not in set(gone)]

    def finish(self) -> None:
        if self._sink.overwrite_all:
            self._remove("")
        self._inner.finish()

    def clean_up(self) -> None:
        self._inner.clean_up()
