"""Caches records for a later job (``ds.cache()``): any Python objects, with their timestamps.

A file holds the records of one subtask in one epoch, in blocks of about a thousand, each preceded by its
length. All files of a subtask form one split, in the order in which they were written. A job that reads them
with the same parallelism therefore gets each record in the same subtask.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from firesteel.connectors._splits import FixedSplits
from firesteel.connectors._staging import StagedFiles, settle
from firesteel.program.pickling import dumps_block, loads_block
from firesteel.program.sinks import Committer, CommitterContext, Sink, SinkWriter, WriterContext
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

_BLOCK_RECORDS: Final = 1000
_LENGTH_BYTES: Final = 8
_SUFFIX: Final = ".records"
_NO_TIMESTAMP: Final = -(2**63)  # as in chunks


@dataclass(frozen=True, slots=True)
class KeepSink(Sink):
    """Writes all records to ``directory``; names of uncommitted files begin with a dot."""

    directory: str

    @property
    def description(self) -> str:
        return "Cache"

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return _KeepingWriter(self.directory, context)

    def create_committer(self, context: CommitterContext) -> Committer:
        return StagedFiles(self.directory)


class _KeepingWriter(SinkWriter):
    def __init__(self, directory: str, context: WriterContext) -> None:
        self._storage, base = resolve(directory)
        self._context = context
        # Epoch and subtask come first in the name, as in its final name.
        token = context.attempt_token.replace("/", "_")
        name = f"{context.epoch}-{context.subtask_index}-{token}-{uuid.uuid4().hex[:12]}"
        self._path = join(base, f".{name}{_SUFFIX}")
        self._stream: BinaryIO | None = None
        self._values: list[Any] = []
        self._stamps: list[int | None] = []

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        self._values += values
        self._stamps += timestamps or [_NO_TIMESTAMP] * len(values)
        if len(self._values) >= _BLOCK_RECORDS:
            self._flush()

    def _flush(self) -> None:
        if not self._values:
            return
        if self._stream is None:
            self._stream = self._storage.open_output(self._path)
        block = dumps_block([self._values, self._stamps])
        self._stream.write(len(block).to_bytes(_LENGTH_BYTES, "big") + block)
        self._values, self._stamps = [], []

    def prepare_commit(self) -> list[Any]:
        self._flush()
        if self._stream is None:
            return []
        self._close()
        return [settle(self._storage, self._path, self._context, 0, _SUFFIX).removeprefix(".")]

    def _close(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def abort(self) -> None:
        if self._stream is not None:
            self._close()
            self._storage.delete(self._path)


@dataclass(frozen=True, slots=True)
class KeptRecords(Source):
    """Reads cached records. ``files`` are those of each subtask, in order."""

    files: tuple[tuple[str, ...], ...]

    @staticmethod
    def in_directory(directory: str) -> KeptRecords:
        """Return everything that was committed to the directory."""
        storage, base = resolve(directory)
        of_subtask: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for info in storage.list_dir(base):
            if info.name.endswith(_SUFFIX) and not info.name.startswith("."):
                epoch, subtask, *_ = info.name.split("-")
                of_subtask[int(subtask)].append((int(epoch), info.path))
        width = max(of_subtask, default=-1) + 1
        return KeptRecords(tuple(tuple(path for _, path in sorted(of_subtask[i])) for i in range(width)))

    @property
    def boundedness(self) -> Boundedness:
        return Boundedness.BOUNDED

    def are_there(self) -> bool:
        """Return true if no file is missing."""
        found = (resolve(path) for files in self.files for path in files)
        return all(storage.info(inner) is not None for storage, inner in found)

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        return FixedSplits([Split(str(i), files) for i, files in enumerate(self.files)])

    def create_reader(self) -> SourceReader:
        return _KeptReader()


class _KeptReader(SourceReader):
    """A position is (index of the file, offset of the block, number of its records read)."""

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        files: tuple[str, ...] = range_.split.payload
        number, offset, row = range_.position or (0, 0, 0)
        records, room = range_.max_records, range_.max_bytes
        while number < len(files) and records > 0 and room > 0:
            storage, inner = resolve(files[number])
            with storage.open_input(inner) as file:
                file.seek(offset)
                while records > 0 and room > 0 and (head := file.read(_LENGTH_BYTES)):
                    data = file.read(int.from_bytes(head, "big"))
                    values, stamps = loads_block(data)
                    part = slice(row, row + records)
                    taken = values[part]
                    row += len(taken)
                    if row == len(values):
                        offset, row = offset + _LENGTH_BYTES + len(data), 0
                    records, room = records - len(taken), room - len(data)
                    yield Chunk(taken, stamps[part], (number, offset, row))
                ended = row == 0 and not file.read(1)
            if not ended:
                return
            number, offset = number + 1, 0
        if number >= len(files):
            yield Chunk([], None, (number, 0, 0), end=True)
