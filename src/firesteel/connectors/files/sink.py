"""The file sink: part files that are complete or absent, exactly once (Flink: ``FileSink``)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, BinaryIO, Final

from firesteel.common.errors import ConfigurationError
from firesteel.common.serialization import BulkWriter, BulkWriterFactory, Encoder
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors._staging import settle
from firesteel.connectors.files.part_files import FileChunks, PartFileCommitter, PartNaming
from firesteel.connectors.files.part_store import ChunkInfo
from firesteel.connectors.files.partition_commit import PartitionCommit
from firesteel.connectors.files.rolling import (
    BasePathBuckets,
    BucketContext,
    Buckets,
    CustomBuckets,
    DateTimeBuckets,
    Rolling,
    check_bucket,
)
from firesteel.formats.encoders import batch_encoder
from firesteel.program.pickling import Shipped
from firesteel.program.sinks import Committer, CommitterContext, Sink, SinkWriter, WriterContext
from firesteel.storage.filesystems import join, resolve

_FLUSH_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class PartNames:
    """Names part files ``prefix-<uid of the subtask>-<counter>suffix``."""

    part_prefix: str = "part"
    part_suffix: str = ""

    def __post_init__(self) -> None:
        for text in (self.part_prefix, self.part_suffix):
            if "/" in text:
                raise ConfigurationError(f"part of a file name contains a slash: {text!r}")
        if not self.part_prefix or self.part_prefix.startswith((".", "_")):
            raise ConfigurationError(
                f"readers would not see part files with the prefix {self.part_prefix!r}",
                hint="a prefix is not empty and does not begin with . or _",
            )


@dataclass(frozen=True, slots=True)
class RowFileSink(Sink):
    """Appends each record to a part file of its bucket and subtask.

    A part file is published under its final name by one rename, once it is complete and the epoch of its last
    record is committed. It never contains data of an uncommitted epoch. Until then the data is in files whose
    names begin with a dot. ``encoder`` is an ``Encoder``, or a ``BulkWriterFactory`` for formats that cannot
    be appended to; those need a rolling policy with ``on_every_commit``.

    ``id`` separates the hidden files of this sink from those of other sinks under the same path. A sink
    object is for one place in one program; ``dataclasses.replace(sink, id=...)`` makes another.
    """

    base_path: str
    encoder: Encoder | BulkWriterFactory
    type_info: TypeInformation | None = None
    file_config: PartNames = field(default_factory=PartNames)
    rolling_policy: Rolling = field(default_factory=Rolling)
    bucket_assigner: Buckets = field(default_factory=DateTimeBuckets)
    partition_commit: PartitionCommit | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        if not isinstance(self.base_path, str) or not self.base_path:
            raise ConfigurationError(f"the base path of a file sink is not a text: {self.base_path!r}")
        if isinstance(self.encoder, BulkWriterFactory) and not self.rolling_policy.on_every_commit:
            raise ConfigurationError(
                "a bulk format cannot go on in a file of an earlier epoch",
                hint="use the on-checkpoint rolling policy",
            )
        assigner = self.bucket_assigner
        if isinstance(assigner, CustomBuckets) and not isinstance(assigner.function, Shipped):
            object.__setattr__(self, "bucket_assigner", CustomBuckets(Shipped(assigner.function)))
        commit = self.partition_commit
        if commit is not None and commit.callback is not None and not isinstance(commit.callback, Shipped):
            shipped = replace(commit, callback=Shipped(commit.callback))
            object.__setattr__(self, "partition_commit", shipped)

    @property
    def _staging(self) -> str:
        return join(resolve(self.base_path)[1], f".firesteel-{self.id}")

    def validate(self) -> None:
        storage, base = resolve(self.base_path)
        info = storage.info(base)
        if info is not None and not info.is_dir:
            raise ConfigurationError(f"the base path of a file sink is a file: {self.base_path}")

    @property
    def writes_every_epoch(self) -> bool:
        """Return true if subtasks without records must report their watermark too."""
        return self.partition_commit is not None and self.partition_commit.trigger == "partition-time"

    def create_writer(self, context: WriterContext) -> SinkWriter:
        kind = _WatermarkWriter if self.writes_every_epoch else _FileWriter
        return kind(self, self._staging, context)

    def create_committer(self, context: CommitterContext) -> Committer:
        buckets = self.bucket_assigner
        # A chunk of a bulk format has a header and a footer: it is a complete file and cannot be appended to.
        size_limit = 0 if isinstance(self.encoder, BulkWriterFactory) else self.rolling_policy.size_limit
        naming = PartNaming(self.id, self.file_config.part_prefix, self.file_config.part_suffix)
        return PartFileCommitter(
            resolve(self.base_path)[1],
            self._staging,
            naming,
            self.rolling_policy,
            buckets if isinstance(buckets, DateTimeBuckets) else None,
            context.now_ms,
            size_limit,
            self.partition_commit,
        )


class _FileWriter(SinkWriter):
    """Writes hidden files for each bucket, and starts a new one when one is full. The committer learns their
    names from the committable."""

    def __init__(self, sink: RowFileSink, staging: str, context: WriterContext) -> None:
        self._staging = staging
        self._context = context
        self._name = f"{context.attempt_token.replace('/', '_')}-{uuid.uuid4().hex[:12]}"
        self._open: dict[str | None, _ChunkFile] = {}
        self._all: list[tuple[str | None, _ChunkFile]] = []
        self._new_chunk = _chunk_maker(sink)
        self._size_limit = sink.rolling_policy.size_limit
        assigner = sink.bucket_assigner
        self._bucket_context = BucketContext(context.now_ms)
        self._bucket_of: Callable[[Any, BucketContext], str] | None = None
        self._only_bucket: str | None = None  # None: the committer chooses
        self._watermark: int | None = None
        if isinstance(assigner, BasePathBuckets):
            self._only_bucket = ""
        elif not isinstance(assigner, DateTimeBuckets):
            self._bucket_of = assigner.bucket_of

    def write_batch(self, values: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:  # hot
        if not values:
            return
        bucket_of = self._bucket_of
        if bucket_of is None:
            self._add(self._only_bucket, values)
            return
        context = self._bucket_context
        groups: dict[str, list[Any]] = {}
        for i, value in enumerate(values):
            if timestamps is not None:
                context._timestamp = timestamps[i]
            groups.setdefault(bucket_of(value, context), []).append(value)
        for bucket, group in groups.items():
            self._add(check_bucket(bucket), group)

    def _add(self, bucket: str | None, values: Sequence[Any]) -> None:
        chunk = self._open.get(bucket)
        if chunk is None:
            name = f"{self._name}-{len(self._all)}.chunk"
            chunk = self._open[bucket] = self._new_chunk(join(self._staging, name), name)
            self._all.append((bucket, chunk))
        chunk.add(values)
        if chunk.length >= self._size_limit:
            self._open.pop(bucket).close()

    def prepare_commit(self) -> list[Any]:
        for chunk in self._open.values():
            chunk.close()
        infos = tuple(
            ChunkInfo(bucket, chunk.settle(self._context, number), chunk.length)
            for number, (bucket, chunk) in enumerate(self._all)
        )
        self._open, self._all = {}, []
        context = self._context
        return [FileChunks(self._staging, infos, context.now_ms, context.parallelism, self._watermark)]

    def abort(self) -> None:
        for _, chunk in self._all:
            chunk.abort()


class _WatermarkWriter(_FileWriter):
    """Also reports the watermark to the committer."""

    def write_watermark(self, watermark: int) -> None:
        self._watermark = watermark


class _ChunkFile:
    """A hidden file that is being written. ``length`` is its known length in bytes."""

    def __init__(self, path: str, name: str) -> None:
        self.name = name
        self.length = 0
        self._path = path
        self._storage = resolve(path)[0]
        self._stream: BinaryIO | None = None

    def _open(self) -> BinaryIO:
        if self._stream is None:
            self._stream = self._storage.open_output(self._path)
        return self._stream

    def add(self, values: Sequence[Any]) -> None:
        raise TypeError("a chunk is of rows or of a bulk format")

    def close(self) -> None:
        """Complete the file."""
        stream = self._open()
        self.length = stream.tell()
        stream.close()

    def settle(self, context: WriterContext, number: int) -> str:
        """Return the name of the finished file. It is derived from the content, so it is the same for all
        attempts."""
        return settle(self._storage, self._path, context, number, ".chunk")

    def abort(self) -> None:
        if self._stream is not None:
            self._stream.close()
            self._storage.delete(self._path)


class _RowChunk(_ChunkFile):
    def __init__(self, path: str, name: str, encode: Callable[[Sequence[Any]], bytes]) -> None:
        super().__init__(path, name)
        self._encode = encode
        self._buffer: list[bytes] = []
        self._buffered = 0

    def add(self, values: Sequence[Any]) -> None:  # hot
        data = self._encode(values)
        self._buffer.append(data)
        self._buffered += len(data)
        self.length += len(data)
        if self._buffered >= _FLUSH_BYTES:
            self._flush()

    def _flush(self) -> None:
        self._open().write(b"".join(self._buffer))
        self._buffer, self._buffered = [], 0

    def close(self) -> None:
        self._flush()
        super().close()


class _BulkChunk(_ChunkFile):
    def __init__(self, path: str, name: str, factory: BulkWriterFactory) -> None:
        super().__init__(path, name)
        self._writer: BulkWriter = factory.create(self._open())

    def add(self, values: Sequence[Any]) -> None:
        self._writer.add_elements(values)

    def close(self) -> None:
        self._writer.flush()
        self._writer.finish()
        super().close()

    def abort(self) -> None:
        self._writer.abort()
        super().abort()


def _chunk_maker(sink: RowFileSink) -> Callable[[str, str], _ChunkFile]:
    encoder = sink.encoder
    if isinstance(encoder, BulkWriterFactory):
        return lambda path, name: _BulkChunk(path, name, encoder)
    encode = batch_encoder(encoder, sink.type_info)
    return lambda path, name: _RowChunk(path, name, encode)
