"""Columnar files made of blocks: row groups in Parquet, stripes in ORC.

A block belongs to the range of the file that it begins in. Several subtasks can therefore read ranges of one
file, although only the file itself knows where its blocks are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Protocol

from firesteel.common.errors import ConfigurationError, FiresteelError, TypeMismatchError
from firesteel.connectors.files.errors import naming
from firesteel.connectors.files.splits import FileRange
from firesteel.storage.filesystems import resolve

WantedSchema = Any  # a pyarrow.Schema


class ColumnarReadError(FiresteelError, ValueError):
    """Raised when a file is not in the format of its source, or its columns do not match."""


class BlockFile(Protocol):
    """An open file made of blocks."""

    def schema(self) -> Any:
        """The ``pyarrow.Schema`` of the file."""

    def block_starts(self) -> Sequence[int]:
        """Return the offset of each block in the file, in order."""

    def read(self, block: int, columns: Sequence[str]) -> Any:
        """Return a ``pyarrow.Table`` with the given columns of a block, in the order of the file."""


class _Parquet:
    def __init__(self, stream: BinaryIO, wanted: WantedSchema | None) -> None:
        import pyarrow.parquet as pq

        # INT96 timestamps as nanoseconds would end in 2262.
        precise = wanted is None or any("timestamp[ns" in str(field.type) for field in wanted)
        self._file = pq.ParquetFile(stream, coerce_int96_timestamp_unit="ns" if precise else "us")

    def schema(self) -> Any:
        return self._file.schema_arrow

    def block_starts(self) -> Sequence[int]:
        metadata, starts = self._file.metadata, []
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            first = group.column(0) if group.num_columns else None
            offsets = [] if first is None else [first.dictionary_page_offset, first.data_page_offset]
            starts.append(min((offset for offset in offsets if offset), default=0))
        return starts

    def read(self, block: int, columns: Sequence[str]) -> Any:
        return self._file.read_row_group(block, columns=list(columns), use_threads=False)


class _Orc:
    def __init__(self, stream: BinaryIO, wanted: WantedSchema | None) -> None:
        import pyarrow.orc as orc

        self._file = orc.ORCFile(stream)

    def schema(self) -> Any:
        return self._file.schema

    def block_starts(self) -> Sequence[int]:
        """Return estimated offsets: Arrow does not expose where stripes begin, and equal sizes are good
        enough."""
        count = max(1, self._file.nstripes)
        return [self._file.content_length * i // count for i in range(self._file.nstripes)]

    def read(self, block: int, columns: Sequence[str]) -> Any:
        import pyarrow as pa

        return pa.Table.from_batches([self._file.read_stripe(block, columns=list(columns))])


OPENERS: Final[dict[str, Callable[[BinaryIO, WantedSchema | None], BlockFile]]] = {
    "parquet": _Parquet,
    "orc": _Orc,
}


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns to read from each file: those of ``schema`` in its order, or all columns if it is None. A
    column that a file does not have is null in every row."""

    format: str
    schema: WantedSchema | None = None
    case_sensitive: bool = True

    def __post_init__(self) -> None:
        if self.format not in OPENERS:
            raise ConfigurationError(f"no columnar format: {self.format!r}", hint="parquet or orc")
        if self.schema is not None and not len(self.schema):
            raise ConfigurationError("a columnar format needs at least one column")


class OpenBlocks:
    """The blocks of a range of a file. The block read last is kept."""

    def __init__(self, columns: Columns, file: FileRange) -> None:
        self._columns = columns
        self._path = file.path
        with naming(file.path):
            storage, inner = resolve(file.path)
            self._stream = storage.open_input(inner)
        try:
            self._file = OPENERS[columns.format](self._stream, columns.schema)
            starts = self._file.block_starts()
            self._sources = self._match()
        except FiresteelError:
            self._stream.close()
            raise
        except Exception as error:
            self._stream.close()
            raise ColumnarReadError(
                f"{file.path} cannot be read as {columns.format}", detail=str(error)
            ) from error
        self.blocks = [i for i, start in enumerate(starts) if file.start <= start < file.end]
        self._last: tuple[int, Any] | None = None

    def close(self) -> None:
        self._last = None
        self._stream.close()

    def _match(self) -> list[str | None]:
        """Return the name in the file of each wanted column, or None where the file does not have it."""
        names = self._file.schema().names
        if self._columns.schema is None:
            return list(names)
        if self._columns.case_sensitive:
            return [name if name in names else None for name in self._columns.schema.names]
        folded: dict[str, list[str]] = {}
        for name in names:
            folded.setdefault(name.lower(), []).append(name)
        found = [folded.get(name.lower(), []) for name in self._columns.schema.names]
        for wanted, matching in zip(self._columns.schema.names, found, strict=True):
            if len(matching) > 1:
                raise ColumnarReadError(f"{self._path}: several columns are {wanted!r}: {matching}")
        return [matching[0] if matching else None for matching in found]

    def table(self, block: int) -> Any:
        """Return the wanted columns of a block, converted to the wanted types."""
        if self._last is None or self._last[0] != block:
            self._last = (block, self._read(block))
        return self._last[1]

    def _read(self, block: int) -> Any:
        import pyarrow as pa

        present = [name for name in self._sources if name is not None]
        # A table without columns does not know its number of rows.
        try:
            table = self._file.read(block, present or self._file.schema().names[:1])
        except Exception as error:
            raise ColumnarReadError(
                f"{self._path} cannot be read as {self._columns.format}", detail=f"block {block}: {error}"
            ) from error
        schema = self._columns.schema
        if schema is None:
            return table
        arrays = [
            pa.nulls(table.num_rows, field.type) if name is None else self._cast(table.column(name), field)
            for name, field in zip(self._sources, schema, strict=True)
        ]
        return pa.table(arrays, names=schema.names)

    def _cast(self, column: Any, field: Any) -> Any:
        import pyarrow as pa

        wanted, found = field.type, column.type
        if pa.types.is_dictionary(found):
            column, found = column.cast(found.value_type), found.value_type
        if not _is_alike(found, wanted):
            raise self._mismatch(field, found)
        try:
            return column.cast(wanted, safe=not pa.types.is_timestamp(wanted))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise self._mismatch(field, found, str(error)) from error

    def _mismatch(self, field: Any, found: Any, reason: str | None = None) -> TypeMismatchError:
        return TypeMismatchError(
            f"{self._path}: column {field.name!r} is {found}, expected is {field.type}",
            detail=reason,
            hint="declare the type that the file has",
        )


def _is_alike(found: Any, wanted: Any) -> bool:
    """Return true if values of one type can represent the other: not text for a number, nor a number for a
    date."""
    from pyarrow import types

    kinds = (
        types.is_integer,
        types.is_floating,
        lambda t: types.is_string(t) or types.is_large_string(t) or types.is_string_view(t),
        lambda t: types.is_binary(t) or types.is_large_binary(t) or types.is_fixed_size_binary(t),
        types.is_boolean,
        types.is_decimal,
        types.is_date,
        types.is_time,
        types.is_timestamp,
        types.is_struct,
        types.is_map,
        lambda t: types.is_list(t) or types.is_large_list(t) or types.is_fixed_size_list(t),
    )
    return types.is_null(found) or any(is_kind(found) and is_kind(wanted) for is_kind in kinds)
