"""Files, checkpoints and savepoints in a real HDFS, by the client that needs no Hadoop."""

from __future__ import annotations

import io
import socket
import sys
import threading
import time
from pathlib import Path
from typing import BinaryIO, cast

import msgspec
import pytest
from click.testing import CliRunner

from firesteel.cli import main
from firesteel.common import Encoder, Types, WatermarkStrategy
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConfigurationError, StateCorruptionError, StorageError
from firesteel.connectors.files.rolling import Rolling
from firesteel.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment
from firesteel.datastream.connectors import (
    DataGeneratorSource,
    FileSink,
    RateLimiterStrategy,
    RollingPolicy,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.history.archives import Archives
from firesteel.history.settings import HistorySettings
from firesteel.state.files import StateFiles
from firesteel.storage import hdfs_client
from firesteel.storage.filesystems import arrow_file_system, expand, resolve, walk
from firesteel.testing import MiniCluster
from tests.history.support import flink_archive, shown
from tests.places import free_port
from tests.servers.hadoop.cluster import Hadoop
from tests.servers.remote_files import (
    ALWAYS,
    NEVER,
    check_fencing,
    check_manifests,
    check_row_sink,
    check_sources,
    check_storage_protocol,
    content,
    objects,
    put,
    read_lines,
    run_running_maximum,
)
from tests.state.test_manifest import MANIFEST as FULL
from tests.waiting import in_time, until

MANIFEST = msgspec.structs.replace(FULL, vertices=())


@pytest.mark.row("S-DEPLOY-12", "S-CONN-09", "S-ECO-06", "S-LIB-05")
def test_the_storage_protocol(place: str) -> None:
    check_storage_protocol(place)


def test_sources_keep_the_contract(place: str, tmp_path: Path) -> None:
    check_sources(place, tmp_path)


@pytest.mark.row("S-SINK-16", "S-CONN-09")
@pytest.mark.parametrize("policy", [ALWAYS, NEVER])
def test_sinks_keep_the_contract(place: str, tmp_path: Path, policy: Rolling) -> None:
    check_row_sink(f"{place}/out", tmp_path, policy)


@pytest.mark.row("S-DEPLOY-12", "S-CONN-09", "S-LIB-05")
def test_a_job_from_hdfs_to_hdfs_with_its_checkpoints_there(place: str) -> None:
    names = [f"{i:04d}" for i in range(300)]
    put(f"{place}/in/lines", "\n".join(names).encode())
    with MiniCluster.in_process():
        run_running_maximum(place, interval_ms=500)
    assert read_lines(f"{place}/out") == names, "a running maximum of a rising sequence is the sequence"


@pytest.mark.row("S-HA-03")
def test_the_older_of_two_drivers_is_fenced(place: str) -> None:
    check_fencing(f"{place}/chk")


@pytest.mark.row("S-CKPT-17")
def test_a_manifest_is_there_whole_or_not_at_all(place: str) -> None:
    check_manifests(f"{place}/chk", MANIFEST)


# ---- what is particular to HDFS


def test_names_times_and_patterns(place: str) -> None:
    begun_ms = time.time_ns() // 1_000_000
    names = ["dt=2020-01-01/hour=12/a b.txt", "dt=2020-01-01/hour=13/50%.txt", "dt=2020-01-02/ü.txt", "x.txt"]
    for name in names:
        put(f"{place}/{name}", name.encode())
    put(f"{place}/.hidden/y.txt", b"")
    storage, base = resolve(place)
    found = list(walk(storage, base))
    assert [info.path for info in found] == [f"{place}/{name}" for name in names]
    assert [content(info).decode() for info in found] == names
    assert [info.size for info in found] == [len(name.encode()) for name in names]
    ended_ms = time.time_ns() // 1_000_000
    assert all(begun_ms <= info.modified_ms <= ended_ms for info in found)
    for pattern, expected in (("*/*/*.txt", names[:2]), ("**/*.txt", names), ("dt=*-02/?.txt", names[2:3])):
        matching = sorted(info.path for info in expand(storage, f"{place}/{pattern}"))
        assert matching == [f"{place}/{name}" for name in expected]
    directory = storage.info(f"{place}/dt=2020-01-01")
    assert directory is not None
    assert (directory.is_dir, directory.size) == (True, 0)
    assert storage.info(f"{place}/x.txt/below") is None
    assert not storage.delete_empty(f"{place}/dt=2020-01-01")


def test_a_file_is_replaced_in_one_step(place: str) -> None:
    """While it is written again and again, a reader finds one of the contents, whole."""
    storage, _ = resolve(place)
    path = put(f"{place}/one", b"0" * 1000)
    ended = threading.Event()

    def write() -> None:
        for number in range(60):
            storage.write(path, str(number % 10).encode() * 1000)
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    looks = 0
    while not ended.is_set():
        info = storage.info(path)
        assert info is not None, "there is none for a moment"
        assert info.size == 1000
        looks += 1
    writer.join()
    assert looks > 20
    with storage.open_input(path) as file:
        assert file.read() == b"9" * 1000
    assert [info.name for info in storage.list_dir(place)] == ["one"], "temporary files are left"


def test_nothing_is_left_of_a_file_that_could_not_be_written(place: str) -> None:
    class Breaks(io.RawIOBase):
        reads = 0

        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            self.reads += 1
            if self.reads == 3:
                raise ValueError("the source breaks")
            return b"x" * size

    storage, _ = resolve(place)
    put(f"{place}/kept", b"kept")
    with pytest.raises(ValueError, match="the source breaks"):
        storage.write_whole(f"{place}/kept", cast(BinaryIO, Breaks()))
    (info,) = storage.list_dir(place)
    assert content(info) == b"kept"


def test_state_files(place: str) -> None:
    files = StateFiles(place)
    assert files.list() == []
    assert files.read_new("a/none") is None
    with files.create("a") as new:
        new.write(b"0123456789")
        new.save("a/run")
    assert files.write_once("a/run", b"other") == "a/run"
    assert (files.read("a/run", 2, 3), files.read("a/run", 8)) == (b"234", b"89")
    files.write_once("b", b"")
    for content_ in (b"one", b"two"):
        files.overwrite("progress", content_)
        assert files.read_new("progress") == content_
    assert files.list() == ["a/run", "b", "progress"]
    assert files.list("a/") == ["a/run"]
    files.delete("a/run")
    files.delete("a/run")
    with pytest.raises(StateCorruptionError, match="a/run is missing"):
        files.read("a/run")


def test_two_tasks_that_write_the_same_state_file(place: str) -> None:
    """Spark has run one twice: the content is the same, and one of them renames over the other."""
    data = b"state" * 10_000
    begin = threading.Barrier(4)
    errors: list[BaseException] = []

    def write() -> None:
        try:
            begin.wait()
            StateFiles(place).write_once("shared/run", data)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert StateFiles(place).read("shared/run") == data
    storage, base = resolve(place)
    assert [info.name for info in storage.list_dir(f"{base}/shared")] == ["run"]


def test_a_user_without_rights_is_told_so(
    hadoop: Hadoop, anew: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_USER_NAME", "somebody")
    with pytest.raises(PermissionError, match=r"Permission denied: user=somebody, access=WRITE") as refused:
        put(f"{hadoop.uri}/theirs/file", b"")
    assert "\n" not in str(refused.value), "the stack of the name node is not shown"
    with pytest.raises(StorageError, match="cannot be written: Permission denied") as stated:
        StateFiles(f"{hadoop.uri}/theirs").write_once("run", b"")
    assert stated.value.hint == "let the user of this process write there, or name another directory"


# ---- what cannot be


def job_with_checkpoints_in(directory: str) -> None:
    settings = {"execution.checkpointing.dir": directory, "execution.checkpointing.interval": "10 ms"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.from_collection([1]).print()
    env.execute()


@pytest.mark.row("S-CONN-09")
def test_a_name_node_that_is_not_there(anew: None) -> None:
    address = f"hdfs://127.0.0.1:{free_port()}"
    with pytest.raises(StorageError, match=f"{address} cannot be reached: ") as error:
        put(f"{address}/file", b"")
    assert "fs.defaultFS" in str(error.value.hint)
    with (
        in_time(),
        MiniCluster.in_process(),
        pytest.raises(ConfigurationError, match="its name node cannot be reached: ") as job,
    ):
        job_with_checkpoints_in(f"{address}/checkpoints")
    assert "The checkpoint directory" in str(job.value)
    assert "fs.defaultFS" in str(job.value.hint)


def test_a_name_node_that_does_not_answer(anew: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hdfs_client, "_PATIENCE_S", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"hdfs://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(StorageError, match="cannot be reached: no answer within"):
            put(f"{address}/file", b"")


@pytest.mark.row("S-CONN-09")
def test_without_a_client_both_ways_to_one_are_named(
    hadoop: Hadoop, anew: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    with pytest.raises(ConfigurationError, match=f"{hadoop.uri} needs a client for HDFS") as error:
        put(f"{hadoop.uri}/file", b"")
    assert "load libhdfs" in str(error.value.detail)
    hint = str(error.value.hint)
    assert hint.startswith("pip install 'hdfs-native")
    assert "where Spark's workers run" in hint
    assert "ARROW_LIBHDFS_DIR" in hint
    assert "hadoop classpath --glob" in hint


def test_addresses_that_the_client_does_not_take(anew: None) -> None:
    with pytest.raises(ConfigurationError, match="takes no user") as user:
        put("hdfs://alice@127.0.0.1:1/file", b"")
    assert "HADOOP_USER_NAME" in str(user.value.hint)
    for address in ("hdfs://service/file", "hdfs:///file"):
        with pytest.raises(ConfigurationError, match="cannot be opened") as unknown:
            put(address, b"")
        assert "HADOOP_CONF_DIR" in str(unknown.value.hint)


def test_the_default_of_hadoops_settings(
    hadoop: Hadoop, place: str, anew: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = f"<property><name>fs.defaultFS</name><value>{hadoop.uri}</value></property>"
    (tmp_path / "core-site.xml").write_text(f"<configuration>{setting}</configuration>")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path))
    path = place.removeprefix(hadoop.uri)
    put(f"hdfs://{path}/file", b"found")
    assert [content(info) for info in objects(place)] == [b"found"]
    assert arrow_file_system(f"hdfs://{path}/file")[1] == f"{path}/file"


# ---- jobs


class Numbers(MapFunction):
    """Numbers the records of a key; fails once, in mid-stream."""

    def __init__(self, fails_at: int | None = None) -> None:
        self._fails_at = fails_at

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def map(self, value: int) -> str:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        if value == self._fails_at and not failed:
            failed.append(value)
            raise ValueError("once")
        return f"{value % 7} {count}"


failed: list[int] = []


def numbered(records: int) -> list[str]:
    return sorted(f"{n % 7} {n // 7 + 1}" for n in range(records))


def numbers(
    place: str,
    records: int,
    more: dict[str, str] | None = None,
    *,
    fails_at: int | None = None,
    rate: float = 100_000,
) -> StreamExecutionEnvironment:
    settings = {
        "execution.checkpointing.dir": f"{place}/checkpoints",
        "execution.checkpointing.interval": "300 ms",
        "firesteel.epoch.max-records": "200",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.delay": "1 ms",
        **(more or {}),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.set_parallelism(2)
    source = DataGeneratorSource(lambda n: n, records, RateLimiterStrategy.per_second(rate), Types.LONG())
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("source")
    lines = stream.key_by(lambda v: v % 7).map(Numbers(fails_at), Types.STRING()).uid("map")
    rows = FileSink.for_row_format(f"{place}/out", Encoder.simple_string_encoder())
    sink = rows.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build()
    lines.sink_to(sink).uid("sink")
    return env


@pytest.mark.row("S-ECO-06", "S-CONN-09", "S-FAIL-02")
def test_a_job_that_restarts_writes_each_record_once(place: str) -> None:
    failed.clear()
    with MiniCluster.in_process():
        numbers(place, 2000, fails_at=1200).execute("restarts")
    assert failed == [1200]
    assert read_lines(f"{place}/out") == numbered(2000)
    storage, base = resolve(place)
    left = [info.name for info in storage.list_dir(f"{base}/out") if info.name.startswith(".")]
    assert left == [], "staging directories and temporary files have gone"


@pytest.mark.row("S-ECO-06", "S-CONN-09", "S-SAVE-01")
def test_a_savepoint_in_hdfs_is_gone_on_from(place: str) -> None:
    with MiniCluster.in_process():
        client = numbers(place, 3000, rate=150).execute_async("first")
        until(lambda: len(read_lines(f"{place}/out")) > 200, look_s=0.2)
        path = client.stop_with_savepoint(False, f"{place}/savepoints").result()
        assert path.startswith(f"{place}/savepoints/savepoint-")
        assert 200 < len(read_lines(f"{place}/out")) < 3000
        numbers(place, 3000, {"execution.state-recovery.path": path}).execute("second")
    assert read_lines(f"{place}/out") == numbered(3000)
    inspected = CliRunner().invoke(main, ["savepoint", "inspect", path])
    assert inspected.exit_code == 0, inspected.output
    assert "map" in inspected.output
    disposed = CliRunner().invoke(main, ["savepoint", "dispose", path])
    assert disposed.exit_code == 0, disposed.output
    assert objects(f"{place}/savepoints") == []


@pytest.mark.row("S-ECO-06", "S-CONN-09")
def test_the_next_driver_goes_on_from_the_checkpoint_in_hdfs(place: str) -> None:
    retained = {"execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION"}
    with MiniCluster.in_process():
        client = numbers(place, 3000, retained, rate=150).execute_async("first")
        until(lambda: len(read_lines(f"{place}/out")) > 200, look_s=0.2)
        client.cancel().result()
    begun = read_lines(f"{place}/out")
    assert 200 < len(begun) < 3000
    with MiniCluster.in_process():
        (job,) = resolve(place)[0].list_dir(f"{place}/checkpoints")
        newest = max(
            (info for info in resolve(place)[0].list_dir(job.path) if info.name.startswith("chk-")),
            key=lambda info: int(info.name.split("-")[1]),
        )
        numbers(place, 3000, {"execution.state-recovery.path": newest.path}).execute("second")
    assert read_lines(f"{place}/out") == numbered(3000)


def test_archives_for_the_history_server(place: str, tmp_path: Path) -> None:
    job_id, archive = flink_archive("failing")
    put(f"{place}/archive/{job_id}", archive.encode())
    settings = HistorySettings((f"{place}/archive",))
    archives = Archives(settings, tmp_path)
    archives.refresh(0)
    with shown(archives, settings) as client:
        assert client.get("/jobs/overview").json()["jobs"][0]["jid"] == job_id
