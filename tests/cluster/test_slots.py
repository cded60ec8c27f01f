"""Jobs that wait for slots, if they must."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from firesteel.cluster.slots import MESSAGE, expired, may_start
from tests.cluster.dispatcher import SLOTS
from tests.cluster.support import JOB_ID, SessionCluster

WIDE = """
stream = endless() if "endless" in sys.argv else env.from_collection(["short"])
env.set_parallelism(int(sys.argv[1]))
stream.rebalance().map(lambda v: v).print()
env.execute("wide")
"""
waiting = st.lists(st.integers(0, 6), max_size=8).map(lambda ns: [(str(i), n) for i, n in enumerate(ns)])


@given(st.integers(0, 8), st.integers(0, 8), waiting)
@pytest.mark.row("S-CTRL-10", "S-SCHED-08")
def test_who_may_start(total: int, taken: int, jobs: list[tuple[str, int]]) -> None:
    started = may_start(total, taken, jobs)
    needs = dict(jobs)
    assert sum(needs[job] for job in started) <= max(0, total - taken) or not started
    assert started == sorted(started, key=int)
    left = total - taken
    for job, needed in jobs:  # nobody waits who fits beside those that came before
        assert (job in started) == (needed <= left)
        left -= needed if job in started else 0


def test_who_has_waited_for_too_long() -> None:
    assert expired({"a": 0, "b": 501}, 500, 1_000) == ["a"]


@contextmanager
def enforced(directory: Path, **settings: str) -> Iterator[SessionCluster]:
    cluster = SessionCluster(directory, **{"slot.enforce": "true", **settings}).start()
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.mark.row("S-CTRL-11", "S-LIFE-03", "S-CTRL-13", "S-SCHED-08")
def test_a_job_waits_until_there_is_room(tmp_path: Path) -> None:
    with enforced(tmp_path / "waits") as cluster:
        (first,) = JOB_ID.findall(cluster.run(WIDE, "3", "endless", options=("-d",)).stdout)
        cluster.await_epoch(first)
        (second,) = JOB_ID.findall(cluster.run(WIDE, "2", options=("-d",)).stdout)
        assert cluster.status(second) == "CREATED"
        assert cluster.client.get(f"/v1/jobs/{second}")["vertices"][0]["status"] == "CREATED"
        overview = cluster.client.get("/v1/overview")
        assert overview["slots-total"] == SLOTS
        cluster.client.send("PATCH", f"/v1/jobs/{first}")
        cluster.await_status(second, "FINISHED")


@pytest.mark.row("S-CTRL-11", "S-LIFE-03", "S-CTRL-13", "S-SCHED-08")
def test_a_job_that_has_waited_for_too_long_fails(tmp_path: Path) -> None:
    with enforced(tmp_path / "fails", **{"slot.request.timeout": "1 s"}) as cluster:
        (never,) = JOB_ID.findall(cluster.run(WIDE, str(SLOTS + 1), options=("-d",)).stdout)
        cluster.await_status(never, "FAILED")
        assert MESSAGE in cluster.failure_of(never)
        assert "NoResourceAvailableException" in cluster.failure_of(never)
