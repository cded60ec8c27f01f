"""Files and checkpoints in S3: the same contracts as on a local disk, through HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
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
from firesteel.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.connectors import FileSink, FileSource, StreamFormat
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.jobmanager.checkpoints.storage import (
    CheckpointDirectory,
    SupersededError,
    read_manifest,
    stored_checkpoints,
)
from firesteel.state.files import StateFiles
from firesteel.storage.filesystems import FileInfo, resolve, walk
from firesteel.testing import MiniCluster
from firesteel.testing.connectors import SinkRun, check_sink, check_source
from tests.connectors.files.test_avro_files import orders, write as write_avro
from tests.state.test_manifest import MANIFEST as FULL

MANIFEST = msgspec.structs.replace(FULL, vertices=())

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


@pytest.mark.row("S-DEPLOY-12", "S-CONN-09")
def test_the_storage_protocol(bucket: str) -> None:
    storage, base = resolve(bucket)
    path = put(f"{base}/a/b.txt", b"one")
    assert storage.info(f"{base}/none") is None
    info = storage.info(path)
    assert info is not None
    assert (info.size, info.is_dir, info.name) == (3, False, "b.txt")
    put(path, b"two!")
    assert content(info) == b"two!"
    put(f"{base}/a/.hidden", b"")
    assert [entry.path for entry in storage.list_dir(f"{base}/a")] == [f"{base}/a/.hidden", path]
    storage.delete(path)
    storage.delete(path)
    storage.delete_tree(f"{base}/a")
    assert objects(bucket) == []
    with storage.open_output(f"{base}/streamed") as out:
        for _ in range(3):
            out.write(b"x" * (6 << 20))  # more than one part of an upload
    (info,) = objects(bucket)
    assert info.size == 18 << 20


def test_sources_keep_the_contract(bucket: str, tmp_path: Path) -> None:
    put(f"{bucket}/in/t.txt", b"a\nb\nc\n")
    assert check_source(TextFileSource((f"{bucket}/in/*.txt",)), tmp_path) == [["a", "b", "c"]]
    put(f"{bucket}/in/t.json", b'{"n": 1}\n{"n": 2}\n')
    lines = JsonFormat(Types.ROW_NAMED(["n"], [Types.LONG()]))
    (rows,) = check_source(JsonFileSource((f"{bucket}/in/t.json",), lines), tmp_path)
    assert [row.n for row in rows] == [1, 2]
    pq.write_table(pa.table({"n": [1, 2, 3]}), tmp_path / "t")
    put(f"{bucket}/p/t.parquet", (tmp_path / "t").read_bytes())
    (rows,) = check_source(ColumnarFileSource((f"{bucket}/p",), Columns("parquet")), tmp_path)
    assert [row.n for row in rows] == [1, 2, 3]
    local = write_avro(tmp_path / "t.avro", orders(5))
    put(f"{bucket}/t.avro", Path(local).read_bytes())
    assert check_source(AvroFileSource((f"{bucket}/t.avro",)), tmp_path) == [orders(5)]
    with pytest.raises(PathNotFoundError):
        TextFileSource((f"{bucket}/nowhere",)).validate()


@pytest.mark.parametrize("policy", [ALWAYS, NEVER])
def test_sinks_keep_the_contract(bucket: str, tmp_path: Path, policy: Rolling) -> None:
    base = f"{bucket}/out"
    sink = RowFileSink(
        base,
        Encoder.simple_string_encoder(),
        Types.STRING(),
        rolling_policy=policy,
        bucket_assigner=BasePathBuckets(),
        partition_commit=PartitionCommit(success_file="_DONE"),
    )

    def visible() -> list[Any]:
        return sorted(line for info in objects(base) for line in content(info).decode().splitlines())

    check_sink(SinkRun(sink, tmp_path), visible, list("abcdef"))
    storage, path = resolve(base)
    assert "_DONE" in [info.name for info in storage.list_dir(path)]


def read_lines(base: str) -> list[str]:
    return sorted(line for info in objects(base) for line in content(info).decode().splitlines())


def program(bucket: str) -> None:
    """Lines from S3 to S3, with state and checkpoints there too."""
    configuration = Configuration()
    configuration.set_string("execution.checkpointing.dir", f"{bucket}/checkpoints")
    configuration.set_string("firesteel.epoch.max-records", "40")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    env.enable_checkpointing(10)
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{bucket}/in").build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    sink = FileSink.for_row_format(f"{bucket}/out", Encoder.simple_string_encoder()).build()
    stream.key_by(lambda line: line[-1]).reduce(max).sink_to(sink)
    env.execute()


@pytest.mark.row("S-DEPLOY-12", "S-CONN-09")
def test_a_job_from_s3_to_s3_with_its_checkpoints_there(bucket: str) -> None:
    names = [f"{i:04d}" for i in range(300)]
    put(f"{bucket}/in/lines", "\n".join(names).encode())
    with MiniCluster.in_process():
        program(bucket)
    assert read_lines(f"{bucket}/out") == names, "a running maximum of a rising sequence is the sequence"


@pytest.mark.row("S-HA-03")
def test_the_older_of_two_drivers_is_fenced(bucket: str) -> None:
    first = CheckpointDirectory(f"{bucket}/chk", "job")
    first.check()
    second = CheckpointDirectory(f"{bucket}/chk", "job")
    second.check()
    assert first.claim != second.claim
    with pytest.raises(SupersededError, match="taken this job over"):
        first.check()
    assert first.state_root != second.state_root
    second.dispose(b"done")
    with pytest.raises(SupersededError):
        second.check()


@pytest.mark.row("S-CKPT-17")
def test_a_manifest_is_there_whole_or_not_at_all(bucket: str) -> None:
    directory = CheckpointDirectory(f"{bucket}/chk", "job")
    path, size = directory.publish(MANIFEST)
    assert size > 0
    (stored,) = stored_checkpoints(directory.root)
    assert stored.path == path
    assert read_manifest(path).id == MANIFEST.id
    directory.discard(path)
    assert stored_checkpoints(directory.root) == []


class Grows(MapFunction):
    """Keeps a kilobyte for each key; fails once, late."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.text = runtime_context.get_state(ValueStateDescriptor("text", Types.STRING()))

    def map(self, value: int) -> int:
        self.text.update(f"{self.text.value() or ''}{value} " * 100)
        if value == 1000 and not failed:
            failed.append(value)
            raise ValueError("once")
        return len(str(self.text.value()))


failed: list[int] = []


@pytest.mark.row("S-SLOT-20", "S-BACK-22")
@pytest.mark.parametrize("copies", [False, True])
def test_a_job_that_restarts_reads_its_copies(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copies: bool
) -> None:
    fetched: list[str] = []

    def read(self: StateFiles, name: str, offset: int = 0, length: int | None = None) -> bytes:
        of_a_worker = self._copies is not None or not copies  # the driver looks which states there are
        if failed and name.endswith(".run") and of_a_worker:
            fetched.append(name)
        return inner(self, name, offset, length)

    inner = StateFiles.read
    monkeypatch.setattr(StateFiles, "read", read)
    failed.clear()
    settings = {
        "execution.checkpointing.dir": f"{bucket}/checkpoints",
        "execution.checkpointing.local-backup.enabled": str(copies).lower(),
        "execution.checkpointing.local-backup.dirs": str(tmp_path),
        "firesteel.epoch.max-records": "200",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "1 ms",
    }
    with MiniCluster.in_process():
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
        env.set_parallelism(1)
        env.enable_checkpointing(10)
        lengths = env.from_collection(range(1200)).key_by(lambda value: value).map(Grows())
        assert len(list(lengths.execute_and_collect("grows"))) == 1200
    assert failed == [1000]
    assert bool(fetched) is not copies
