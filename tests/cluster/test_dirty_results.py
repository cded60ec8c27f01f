"""A dispatcher that dies after a job has ended, and before it could say so: the next one finishes that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from firesteel.cluster.store import CANCELLED, END, JOB, JobStore
from tests.cluster.support import SessionCluster, until

PROGRAM = """
path = sys.argv[1]

def note(n):
    with open(path, "a") as file:
        file.write("x")
    return n

env.from_collection([1, 2, 3]).map(note).print()
env.execute("noted")
"""


@pytest.mark.row("S-HA-04", "S-HA-07", "S-HA-08")
def test_a_job_that_had_ended_is_not_run_again_and_its_cleanup_is_completed(tmp_path: Path) -> None:
    """The files are put back to where they were between the end that its process wrote and the archive.
    Broken by hand: ``Dispatcher`` asks for no end before it starts a process."""
    noted = tmp_path / "noted"
    cluster = SessionCluster(tmp_path / "session").start()
    try:
        program = PROGRAM.replace("sys.argv[1]", repr(str(noted)))
        (job_id,) = cluster.submit(program)
        store = tmp_path / "session" / "cluster"
        place, archived = store / "jobs" / job_id, store / "archive" / job_id
        record = until(lambda: place.is_dir() and (place / JOB).is_file() and (place / JOB).read_bytes())
        cluster.await_status(job_id, "FINISHED")
        until(archived.is_file)
        before = cluster.client.get(f"/v1/jobs/{job_id}")
        cluster.kill()
        place.mkdir()
        (place / JOB).write_bytes(record)
        os.replace(archived, place / END)
        assert [left.job_id for left in JobStore(store).unfinished()] == [job_id]
        cluster.start()
        cluster.await_status(job_id, "FINISHED")
        until(lambda: archived.is_file() and not place.exists())
        after = cluster.client.get(f"/v1/jobs/{job_id}")
        assert {name: after[name] for name in ("start-time", "end-time", "state")} == {
            name: before[name] for name in ("start-time", "end-time", "state")
        }
        assert noted.read_text() == "xxx", "each record was seen once"
        listed = cluster.client.get("/v1/jobs/overview")["jobs"]
        assert [job["jid"] for job in listed] == [job_id]
        assert not (place / CANCELLED).exists()
    finally:
        cluster.stop()
