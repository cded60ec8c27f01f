"""What a dispatcher keeps on disk: jobs, their ends, blobs."""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from firesteel.cluster.blobs import UNUSED_S, BlobStore
from firesteel.cluster.store import EndedJob, JobRecord, JobStore
from firesteel.cluster.views import ended_view, new_view
from firesteel.common.errors import PathNotFoundError, StateCorruptionError
from firesteel.common.job_status import JobStatus
from firesteel.rest.messages.submission import Submission


def record(number: int) -> JobRecord:
    submission = Submission(
        job_id=f"{number:032x}", name=f"job {number}", program="0" * 64, settings={"a": "b"}
    )
    return JobRecord(submission, number, 1_000 + number)


def ended(number: int, status: JobStatus = JobStatus.FINISHED) -> EndedJob:
    return EndedJob(ended_view(new_view(record(number)), status, 2_000), b"packed", {"seen": "3"}, number)


def test_jobs_come_back_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    for number in (3, 1, 2):
        store.add(record(number))
    store.cancel(record(2).job_id)
    again = JobStore(tmp_path)
    assert again.unfinished() == [record(1), record(2), record(3)]
    assert [again.is_cancelled(record(n).job_id) for n in (1, 2, 3)] == [False, True, False]


@pytest.mark.row("S-HA-07", "S-HA-08")
def test_a_job_that_is_archived_has_ended_whatever_is_left_of_it(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    store.add(record(1))
    place = store.place(record(1).job_id)
    kept = (place / "job").read_bytes()
    store.archive(ended(1))
    assert not place.exists()
    place.mkdir()  # as if the dispatcher had died before it could remove it
    (place / "job").write_bytes(kept)
    again = JobStore(tmp_path)
    assert again.unfinished() == []
    assert not place.exists()
    assert again.archived(record(1).job_id) == ended(1)
    assert list(again.archived_ids()) == [record(1).job_id]
    assert list(again.archived_ids(time.time_ns() // 1_000_000 + 10_000)) == []


def test_what_was_never_whole_is_not_there(tmp_path: Path) -> None:
    store = JobStore(tmp_path)
    store.place("0" * 32).mkdir()  # killed before the record got its name
    (store.place("0" * 32) / ".job-1234").write_bytes(b"half")
    assert store.unfinished() == []
    store.add(record(1))
    (store.place(record(1).job_id) / "job").write_bytes(b"\x81damaged")
    assert JobStore(tmp_path).unfinished() == []
    assert [path.read_bytes() for path in (tmp_path / "damaged").iterdir()] == [b"\x81damaged"]


def test_ids_of_the_archive_are_no_paths(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"")
    assert JobStore(tmp_path).archived("../secret") is None


async def parts(*content: bytes) -> AsyncIterator[bytes]:
    for part in content:
        yield part


@pytest.mark.row("S-CTRL-07")
def test_blobs_are_checked_when_they_come_and_when_they_are_read(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    digest = hashlib.sha256(b"content").hexdigest()
    assert asyncio.run(blobs.receive(parts(b"con", b"tent"), digest)) == (digest, 7)
    assert blobs.put(b"content") == digest
    assert blobs.read(digest) == b"content"
    with pytest.raises(StateCorruptionError, match="not what was announced"):
        asyncio.run(blobs.receive(parts(b"other"), digest))
    assert [path.name for path in tmp_path.iterdir()] == [digest]
    blobs.path(digest).write_bytes(b"changed")
    with pytest.raises(StateCorruptionError, match="damaged"):
        blobs.read(digest)
    for wrong in ("../secret", digest.upper(), ""):
        with pytest.raises(PathNotFoundError):
            blobs.read(wrong)


def test_a_transfer_that_is_broken_off_leaves_nothing(tmp_path: Path) -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"half"
        raise ConnectionError("gone")

    with pytest.raises(ConnectionError):
        asyncio.run(BlobStore(tmp_path).receive(broken()))
    assert list(tmp_path.iterdir()) == []


def test_unused_blobs_go_after_a_while(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    used, old, new = (blobs.put(content) for content in (b"used", b"old", b"new"))
    long_ago = time.time() - 2 * UNUSED_S
    for digest in (used, old):
        os.utime(blobs.path(digest), (long_ago, long_ago))
    assert blobs.sweep({used}) == 1
    assert (blobs.path(old).exists(), blobs.path(new).exists()) == (False, True)
    assert blobs.has(used)  # asked for: it stays for its client
    assert blobs.sweep(set()) == 0
