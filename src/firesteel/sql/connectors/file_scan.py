"""Reads files as columns of a table: those in the file, those in its path, and what is known about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote

import pyarrow as pa

from firesteel.common.columns import as_values, columns_in
from firesteel.connectors.files.errors import naming
from firesteel.connectors.files.source import FilesSource
from firesteel.connectors.files.splits import FileRange
from firesteel.program.sources import Chunk, ReadRange, SourceReader
from firesteel.sql import types as t
from firesteel.sql.arrow import arrow_type
from firesteel.sql.cast import cast_column
from firesteel.sql.connectors.formats.registry import FileFormat
from firesteel.storage.filesystems import resolve

__all__ = ["FILE_METADATA", "FileColumn", "TableFilesSource", "partition_of"]

_TEXT: Final = t.VarCharType(t.MAX_LENGTH)
_HOST: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/]*")
_KEY: Final = re.compile(r"(?:^|/)([^/=]+)=([^/]*)(?=/)")

#: Metadata key -> type.
FILE_METADATA: Final[dict[str, t.DataType]] = {
    "file.path": t.VarCharType(t.MAX_LENGTH, nullable=False),
    "file.name": t.VarCharType(t.MAX_LENGTH, nullable=False),
    "file.size": t.BigIntType(nullable=False),
    "file.modification-time": t.LocalZonedTimestampType(3, nullable=False),
}


def partition_of(path: str) -> dict[str, str]:
    """The keys and values in the path of a file: ``dt=2020-01-01``."""
    return {unquote(key): unquote(value) for key, value in _KEY.findall(path)}


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A wanted column. :param kind: ``data`` of the file, ``partition`` or ``metadata``. :param name: of the
    partition key, or the key of the metadata."""

    kind: str
    name: str
    data_type: t.DataType


@dataclass(frozen=True, slots=True)
class TableFilesSource(FilesSource):
    """:param row: the columns in a file. :param columns: those that are wanted, in order.
    :param default_partition: what stands in a path for NULL and an empty text.
    :param pattern: a regular expression for the whole paths, without scheme and host, of what is read."""

    paths: tuple[str, ...]
    format: FileFormat
    row: t.RowType
    columns: tuple[FileColumn, ...]
    default_partition: str
    discovery_interval_ms: int | None = None
    split_bytes: int | None = None
    pattern: str | None = None

    @property
    def description(self) -> str:
        return ", ".join(self.paths)

    @property
    def is_cheap(self) -> bool:
        return True

    def create_reader(self) -> SourceReader:
        names = self.row.names
        in_file = tuple(names.index(c.name) for c in self.columns if c.kind == "data")
        inner = self.format.reader(self.row, in_file)
        if len(in_file) == len(self.columns):
            return inner
        return _Reader(inner, self.columns, self.default_partition)

    def is_wanted(self, path: str) -> bool:
        return self.pattern is None or re.fullmatch(self.pattern, _HOST.sub("", path)) is not None


class _Reader(SourceReader):
    """Adds the columns that the file does not have."""

    def __init__(self, inner: SourceReader, columns: tuple[FileColumn, ...], default: str) -> None:
        self._inner = inner
        self._columns = columns
        self._default = default
        self._constants: tuple[str, list[pa.Scalar | None]] = ("", [])

    def open(self) -> None:
        self._inner.open()

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        constants = self._constants_of(range_.split.payload)
        for chunk in self._inner.read(range_):
            if not len(chunk.values):
                yield chunk
                continue
            found = columns_in(chunk.values)
            of_file = iter(found.arrays)
            arrays = [next(of_file) if c is None else pa.repeat(c, len(found)) for c in constants]
            yield chunk._replace(values=as_values(found.with_arrays(arrays)))

    def _constants_of(self, file: FileRange) -> list[pa.Scalar | None]:
        path, found = self._constants
        if path != file.path:
            found = [None if c.kind == "data" else self._constant(c, file) for c in self._columns]
            self._constants = (file.path, found)
        return found

    def _constant(self, column: FileColumn, file: FileRange) -> pa.Scalar:
        kind = arrow_type(column.data_type)
        if column.kind == "metadata":
            return pa.scalar(_metadata(column.name, file), kind)
        text = partition_of(file.path).get(column.name)
        if text is None or text == self._default:
            return pa.scalar(None, kind)
        return cast_column(pa.array([text], pa.string()), _TEXT, column.data_type, "UTC")[0]

    def close(self) -> None:
        self._inner.close()


def _metadata(key: str, file: FileRange) -> Any:
    if key == "file.path":
        return file.path
    if key == "file.name":
        return file.path.rpartition("/")[2]
    if key == "file.size":
        return file.size
    storage, path = resolve(file.path)
    with naming(file.path):
        info = storage.info(path)
    return None if info is None else info.modified_ms
