"""Files and checkpoints in a real HDFS, by the client that needs no Hadoop."""

from __future__ import annotations

import io
import threading
import time
from pathlib import Path
from typing import BinaryIO, cast

import msgspec
import pytest

from firesteel.common.errors import StateCorruptionError
from firesteel.connectors.files.rolling import Rolling
from firesteel.state.files import StateFiles
from firesteel.storage.filesystems import expand, resolve, walk
from firesteel.testing import MiniCluster
from tests.servers.remote_files import (
    ALWAYS,
    NEVER,
    check_fencing,
    check_manifests,
    check_row_sink,
    check_sources,
    check_storage_protocol,
    content,
    put,
    read_lines,
    run_running_maximum,
)
from tests.state.test_manifest import MANIFEST as FULL

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
