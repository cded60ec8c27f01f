"""Name nodes that stand still or are gone while a client is open: every access ends, and later ones work."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from firesteel.common.configuration import Configuration
from firesteel.common.errors import StorageUnavailableError
from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.checkpoints.storage import CheckpointDirectory
from firesteel.storage import hdfs, hdfs_client
from firesteel.storage.bounded_calls import bound_calls
from firesteel.storage.filesystems import resolve
from firesteel.testing import MiniCluster
from tests.jobmanager.checkpoint_support import submit
from tests.pausing import pause, resume
from tests.servers.hadoop.cluster import Hadoop
from tests.servers.hadoop.test_hdfs import numbered, numbers
from tests.servers.remote_files import put, read_lines
from tests.waiting import in_time, patience, until

LIMIT = {"firesteel.hdfs.timeout": "1 s"}
NO_ANSWER = "cannot be reached: no answer within 1 s"


pytestmark = pytest.mark.usefixtures("anew")


@contextmanager
def limited() -> Iterator[None]:
    bound_calls(Configuration.from_dict(LIMIT))
    try:
        yield
    finally:
        bound_calls(Configuration())


@contextmanager
def standing_still(hadoop: Hadoop) -> Iterator[None]:
    with limited():
        pause(hadoop.pid)
        try:
            yield
        finally:
            resume(hadoop.pid)


def read(path: str) -> bytes:
    with resolve(path)[0].open_input(path) as file:
        return file.read()


def until_it_works(path: str) -> None:
    """A name node that was away has to find its data nodes again."""

    def written() -> bool:
        try:
            put(path, b"later")
        except OSError:
            return False
        return True

    until(written, "it does not work again", 60, look_s=0.2)
    assert read(path) == b"later"


@pytest.mark.row("S-CONN-09", "S-DEPLOY-12")
def test_a_name_node_that_stands_still(hadoop: Hadoop, place: str) -> None:
    path = put(f"{place}/before", b"before")
    storage, _ = resolve(place)
    with standing_still(hadoop):
        with in_time(3), pytest.raises(StorageUnavailableError, match=f"{path} {NO_ANSWER}") as error:
            storage.info(path)
        assert "firesteel.hdfs.timeout" in str(error.value.hint)
        with (
            in_time(3),
            pytest.raises(StorageUnavailableError, match=r"The name node of .* no answer within"),
        ):
            storage.list_dir(place)
        with in_time(9), pytest.raises(StorageUnavailableError) as unwritten:
            put(f"{place}/after", b"")
        assert unwritten.value.undone
    until_it_works(f"{place}/after")
    assert read(path) == b"before"


def test_it_is_connected_anew_once(hadoop: Hadoop, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a name node stands still each try would leave threads behind."""
    put(f"{place}/file", b"")
    storage, _ = resolve(place)
    with standing_still(hadoop):
        for _ in range(2):
            with pytest.raises(StorageUnavailableError):
                storage.info(place)
        before = threading.active_count()
        monkeypatch.setattr(hdfs_client, "_PATIENCE_S", 2)
        bound_calls(Configuration.from_dict({"firesteel.hdfs.timeout": "20 s"}))
        with pytest.raises(StorageUnavailableError, match="no answer within 2 s"):
            storage.info(place)
        assert threading.active_count() <= before
    assert storage.info(place) is not None


def test_open_files_of_a_name_node_that_stands_still(hadoop: Hadoop, place: str) -> None:
    storage, _ = resolve(put(f"{place}/read", b"x" * (3 << 20)))
    file, out = storage.open_input(f"{place}/read"), storage.open_output(f"{place}/written")
    assert file.read(1) == b"x"
    out.write(b"y")
    with standing_still(hadoop):
        with in_time(3), pytest.raises(StorageUnavailableError, match=f"{place}/read {NO_ANSWER}"):
            file.read()
        for ask in (file.tell, file.read, lambda: file.seek(0), out.close):
            with in_time(0.5), pytest.raises(StorageUnavailableError, match=NO_ANSWER):
                ask()  # at once: the client is given up
        with in_time(0.5):
            del out, ask  # Python closes files that are dropped
            gc.collect()
    until_it_works(f"{place}/written")


@pytest.mark.row("S-CONN-09", "S-DEPLOY-12")
def test_a_name_node_that_dies_and_comes_back(hadoop: Hadoop, place: str) -> None:
    path = put(f"{place}/before", b"before")
    storage, _ = resolve(place)
    with hadoop.without_name_node(), limited():
        for _ in range(2):
            with in_time(4), pytest.raises(StorageUnavailableError, match="cannot be reached"):
                storage.info(path)
        with in_time(9), pytest.raises(StorageUnavailableError, match="cannot be reached"):
            put(f"{place}/after", b"")
    until_it_works(f"{place}/after")
    assert read(path) == b"before"


def test_large_reads_writes_and_listings_are_done_in_pieces(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hdfs, "_PIECE_BYTES", 1000)
    monkeypatch.setattr(hdfs, "_PIECE_ENTRIES", 3)
    data = bytes(range(256)) * 40
    storage, _ = resolve(place)
    with storage.open_output(f"{place}/0") as out:
        assert out.write(data) == len(data)
    with storage.open_input(f"{place}/0") as file:
        assert file.read(10) == data[:10]
        assert file.read(5000) == data[10:5010]
        assert file.read() == data[5010:]
        assert (file.read(), file.read(7), file.tell()) == (b"", b"", len(data))
        file.seek(9000)
        assert file.read(5000) == data[9000:]
    names = [str(number) for number in range(7)]
    for name in names[1:]:
        put(f"{place}/{name}", b"")
    assert [info.name for info in storage.list_dir(place)] == names


@pytest.mark.row("S-CONN-09", "S-CKPT-18", "S-FAIL-02")
def test_a_job_whose_checkpoint_finds_no_name_node(
    hadoop: Hadoop, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checkpoint fails, more than are tolerated; the job is tried again until there is one, and no record
    is lost or doubled."""
    restarts = {
        "restart-strategy.fixed-delay.delay": "200 ms",
        "restart-strategy.fixed-delay.attempts": "1000",
        "restart-strategy.type": "fixed-delay",
    }
    publish = CheckpointDirectory.publish
    published: list[str] = []

    def publishing(self: CheckpointDirectory, manifest: Any) -> Any:
        published.append(self.path_of(manifest.id))
        if len(published) == 2:
            pause(hadoop.pid)
        return publish(self, manifest)

    monkeypatch.setattr(CheckpointDirectory, "publish", publishing)
    with MiniCluster.in_process():
        job = submit(numbers(place, 2000, {**LIMIT, **restarts}, rate=600))
        try:
            until(lambda: job.view.checkpoints.failed, seconds=60)
            until(lambda: job.view.restarts > 1, seconds=60)
        finally:
            resume(hadoop.pid)
        assert job.wait(patience(60))
    assert job.status is JobStatus.FINISHED, job.error
    failed = job.view.checkpoints.latest_failed
    assert failed is not None
    assert "cannot be reached: no answer within 1 s" in str(failed.failure)
    assert read_lines(f"{place}/out") == numbered(2000)
