"""Avro container files as a source and as files of a sink (Flink: ``AvroInputFormat``, ``AvroWriters``)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from firesteel.common.errors import ConfigurationError
from firesteel.common.extras import extra
from firesteel.common.serialization import BulkWriter, BulkWriterFactory
from firesteel.connectors._open_files import OpenFiles
from firesteel.connectors.files.avro_blocks import OpenAvro
from firesteel.connectors.files.source import FilesSource
from firesteel.formats.avro_codec import AvroError
from firesteel.formats.avro_schema import parse_avro
from firesteel.program.sources import (
    Chunk,
    Chunks,
    ReadRange,
    SourceReader,
    Split,
)

AVRO_CODECS: Final = ("null", "deflate", "bzip2", "xz", "snappy", "zstandard")
_CHUNK: Final = 4096


@dataclass(frozen=True, slots=True)
class AvroFileSource(FilesSource):
    """Reads the records of Avro files as dicts. ``schema`` is the reader's schema, by Avro's resolution
    rules; None is the schema they were written with. Paths, watching and compression of whole files are as in
    ``TextFileSource``. ``split_bytes`` cuts files between blocks."""

    paths: tuple[str, ...]
    schema: str | None = None
    discovery_interval_ms: int | None = None
    split_bytes: int | None = None

    def __post_init__(self) -> None:
        super(AvroFileSource, self).__post_init__()
        if self.schema is not None:
            parse_avro(self.schema)

    def create_reader(self) -> SourceReader:
        return _AvroReader(self.schema)


class _AvroReader(SourceReader):
    """Positions are (offset of a block, number of records read since)."""

    def __init__(self, schema: str | None) -> None:
        self._schema = schema
        self._files = OpenFiles(self._open)

    def _open(self, split: Split) -> OpenAvro:
        return OpenAvro(split.payload, None if self._schema is None else parse_avro(self._schema))

    def read(self, range_: ReadRange) -> Iterator[Chunk]:
        return self._files.read(range_, self._read)

    def _read(self, file: OpenAvro, range_: ReadRange) -> Chunks:
        at, done = range_.position or (file.start, 0)
        count, room = range_.max_records, range_.max_bytes
        while not file.is_end(at):
            records, after = file.records(at)
            record_bytes = max(1, (after - at) // max(1, len(records)))
            while done < len(records):
                if count <= 0 or room <= 0:
                    return
                take = min(_CHUNK, len(records) - done, count, max(1, room // record_bytes))
                values = records[done : done + take]
                done += take
                count -= take
                room -= take * record_bytes
                yield Chunk(values, None, (at, done))
            at, done = after, 0
        yield Chunk([], None, (at, 0), True)

    def close(self) -> None:
        self._files.close()


@dataclass(frozen=True)
class AvroWriterFactory(BulkWriterFactory):
    """Writes dicts that match ``schema`` to Avro files, with blocks compressed by ``codec``."""

    schema: str
    codec: str = "null"

    def __post_init__(self) -> None:
        parse_avro(self.schema)
        if self.codec not in AVRO_CODECS:
            raise ConfigurationError(
                f"Avro files have no codec {self.codec!r}", hint=f"one of {', '.join(AVRO_CODECS)}"
            )

    def create(self, stream: BinaryIO) -> BulkWriter:
        return _AvroWriter(self.schema, self.codec, stream)


class _AvroWriter(BulkWriter):
    def __init__(self, schema: str, codec: str, stream: BinaryIO) -> None:
        library = extra("fastavro.write", "Avro", "avro")
        # Not a random marker: all attempts of a task must write the same bytes.
        marker = hashlib.blake2b(schema.encode(), digest_size=16).digest()
        try:
            self._writer = library.Writer(stream, parse_avro(schema), codec, sync_marker=marker)
        except ValueError as error:
            raise ConfigurationError(f"the codec {codec} cannot be used", detail=str(error)) from error

    def add_element(self, element: Any) -> None:
        self.add_elements((element,))

    def add_elements(self, elements: Sequence[Any]) -> None:  # hot
        write = self._writer.write
        element: Any = None
        try:
            for element in elements:
                write(element)
        except Exception as error:  # the library has no common base class for its errors
            raise AvroError(
                "the record does not fit its Avro schema",
                detail=f"{type(error).__name__}: {error}: {element!r}"[:500],
            ) from error

    def flush(self) -> None:
        """Do nothing: a block is written when it is full, and the last one when the file ends."""

    def finish(self) -> None:
        self._writer.flush()
