"""What tests of S3 and of HDFS share: files there, and what every remote store must do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from firesteel.common import Encoder, Types, WatermarkStrategy
from firesteel.common.configuration import Configuration
from firesteel.common.errors import PathNotFoundError
from firesteel.connectors.files.avro_files import AvroFileSource
from firesteel.connectors.files.columnar_files import Columns
from firesteel.connectors.files.columnar_source import ColumnarFileSource
from firesteel.connectors.files.json_source import JsonFileSource, JsonFormat
from firesteel.connectors.files.partition_commit import PartitionCommit
from firesteel.connectors.files.rolling import BasePathBuckets, Rolling
from firesteel.connectors.files.sink import RowFileSink
from firesteel.connectors.files.text_source import TextFileSource
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors import FileSink, FileSource, StreamFormat
from firesteel.jobmanager.checkpoints.storage import (
    CheckpointDirectory,
    SupersededError,
    read_manifest,
    stored_checkpoints,
)
from firesteel.state.manifest import Manifest
from firesteel.storage.filesystems import FileInfo, resolve, walk
from firesteel.testing.connectors import SinkRun, check_sink, check_source
from tests.connectors.files.test_avro_files import orders, write as write_avro

ALWAYS = Rolling(on_every_commit=True)
NEVER = Rolling(1 << 40, 1 << 40, 1 << 40)


def put(uri: str, data: bytes) -> str:
    storage, path = resolve(uri)
    storage.write(path, data)
    return uri


def objects(uri: str) -> list[FileInfo]:
    storage, path = resolve(uri)
    return list(walk(storage, path))


def content(info: FileInfo) -> bytes:
    storage, path = resolve(info.path)
    with storage.open_input(path) as stream:
        return stream.read()


def read_lines(base: str) -> list[str]:
    return sorted(line for info in objects(base) for line in content(info).decode().splitlines())


def check_storage_protocol(uri: str) -> None:
    storage, base = resolve(uri)
    path = put(f"{base}/a/b.txt", b"one")
    assert storage.info(f"{base}/none") is None
    info = storage.info(path)
    assert info is not None
    assert (info.size, info.is_dir, info.name) == (3, False, "b.txt")
    put(path, b"two!")
    assert content(info) == b"two!"
    put(f"{base}/a/.hidden", b"")
    assert [entry.path for entry in storage.list_dir(f"{base}/a")] == [f"{base}/a/.hidden", path]
    assert storage.list_dir(path) == storage.list_dir(f"{base}/none") == []
    storage.delete(path)
    storage.delete(path)
    storage.delete_tree(f"{base}/a")
    assert objects(uri) == []
    with storage.open_output(f"{base}/streamed") as out:
        for _ in range(3):
            out.write(b"x" * (6 << 20))  # more than one part of an upload
    (info,) = objects(uri)
    assert info.size == 18 << 20


def check_sources(base: str, tmp_path: Path) -> None:
    put(f"{base}/in/t.txt", b"a\nb\nc\n")
    assert check_source(TextFileSource((f"{base}/in/*.txt",)), tmp_path) == [["a", "b", "c"]]
    put(f"{base}/in/t.json", b'{"n": 1}\n{"n": 2}\n')
    lines = JsonFormat(Types.ROW_NAMED(["n"], [Types.LONG()]))
    (rows,) = check_source(JsonFileSource((f"{base}/in/t.json",), lines), tmp_path)
    assert [row.n for row in rows] == [1, 2]
    pq.write_table(pa.table({"n": [1, 2, 3]}), tmp_path / "t")
    put(f"{base}/p/t.parquet", (tmp_path / "t").read_bytes())
    (rows,) = check_source(ColumnarFileSource((f"{base}/p",), Columns("parquet")), tmp_path)
    assert [row.n for row in rows] == [1, 2, 3]
    local = write_avro(tmp_path / "t.avro", orders(5))
    put(f"{base}/t.avro", Path(local).read_bytes())
    assert check_source(AvroFileSource((f"{base}/t.avro",)), tmp_path) == [orders(5)]
    with pytest.raises(PathNotFoundError):
        TextFileSource((f"{base}/nowhere",)).validate()


def check_row_sink(base: str, tmp_path: Path, policy: Rolling) -> None:
    sink = RowFileSink(
        base,
        Encoder.simple_string_encoder(),
        Types.STRING(),
        rolling_policy=policy,
        bucket_assigner=BasePathBuckets(),
        partition_commit=PartitionCommit(success_file="_DONE"),
    )

    def visible() -> list[Any]:
        return read_lines(base)

    check_sink(SinkRun(sink, tmp_path), visible, list("abcdef"))
    storage, path = resolve(base)
    assert "_DONE" in [info.name for info in storage.list_dir(path)]


def run_running_maximum(base: str, interval_ms: int = 10) -> None:
    """Lines from ``in`` to ``out``, with state and checkpoints there, too."""
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", f"{base}/checkpoints")
    configuration.set_string("firesteel.epoch.max-records", "40")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    env.enable_checkpointing(interval_ms)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{base}/in").build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    sink = FileSink.for_row_format(f"{base}/out", Encoder.simple_string_encoder()).build()
    stream.key_by(lambda line: line[-1]).reduce(max).sink_to(sink)
    env.execute()


def check_fencing(directory: str) -> None:
    first = CheckpointDirectory(directory, "job")
    first.check()
    second = CheckpointDirectory(directory, "job")
    second.check()
    assert first.claim != second.claim
    with pytest.raises(SupersededError, match="taken this job over"):
        first.check()
    assert first.state_root != second.state_root
    second.record_end(b"done")
    second.dispose()
    with pytest.raises(SupersededError):
        second.check()


def check_manifests(base: str, manifest: Manifest) -> None:
    directory = CheckpointDirectory(base, "job")
    path, size = directory.publish(manifest)
    assert size > 0
    (stored,) = stored_checkpoints(directory.root)
    assert stored.path == path
    assert read_manifest(path).id == manifest.id
    directory.discard(path)
    assert stored_checkpoints(directory.root) == []
