"""A session cluster to which a standalone Spark adds executors, and from which it takes them away again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.spark_cluster import SparkCluster
from tests.cluster.support import until
from tests.spark.standalone import SMALL, StandaloneSpark

pytestmark = pytest.mark.spark

MOST = 3
IDLE_S = 1
SETTINGS = {
    **SMALL,
    "spark.cores.max": str(MOST),
    "spark.executor.cores": "1",
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.executorIdleTimeout": f"{IDLE_S}s",
    "spark.dynamicAllocation.shuffleTracking.timeout": f"{IDLE_S}s",
    "slot.enforce": "true",
    "slot.request.timeout": "2 s",  # of a job for which there will never be enough
}
# No subtask ends before all have begun: with fewer executors than subtasks the job does not end.
MEETING = """
from firesteel.datastream import MapFunction
place, width = Path(sys.argv[1]), int(sys.argv[2])
class Meet(MapFunction):
    def open(self, context):
        (place / f"subtask-{context.get_index_of_this_subtask()}").touch()
    def map(self, value):
        while len(list(place.glob("subtask-*"))) < width or not (place / "end").exists():
            time.sleep(0.05)
        return value
env.set_parallelism(width)
env.from_collection(list(range(30))).rebalance().map(Meet()).print()
env.execute("meeting")
"""


@pytest.fixture(scope="module")
def cluster(spark: StandaloneSpark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    directory = tmp_path_factory.mktemp("growing")
    settings = {**SETTINGS, "firesteel.state.dir": str(directory / "state")}
    found = SparkCluster(directory, spark.url, **settings).start()
    yield found
    found.ours("stop")


def task_managers(cluster: SparkCluster) -> set[str]:
    return {str(found["id"]) for found in cluster.client.get("/v1/taskmanagers")["taskmanagers"]}


def await_task_managers(cluster: SparkCluster, count: int) -> set[str]:
    def as_many() -> set[str] | None:
        found = task_managers(cluster)
        return found if len(found) == count else None

    return set(until(as_many, 60))


def await_rest(cluster: SparkCluster) -> set[str]:
    """All task managers that were there until one has been alone for longer than an idle one stays.

    One that was asked for with others may come late, when there is nothing to do, and another one goes then.
    """
    seen: set[str] = set()
    alone: set[str] = set()
    since_s = time.monotonic()

    def is_settled() -> bool:
        nonlocal alone, since_s
        found = task_managers(cluster)
        seen.update(found)
        if len(found) != 1 or found != alone:
            alone, since_s = found, time.monotonic()
        return len(found) == 1 and time.monotonic() - since_s > 2 * IDLE_S

    until(is_settled, 60)
    return seen


def await_files(place: Path, count: int) -> None:
    until(lambda: len(list(place.glob("subtask-*"))) == count)


@pytest.mark.row("S-CTRL-13", "S-CTRL-14")
def test_executors_come_with_tasks_that_wait_and_go_when_idle(
    cluster: SparkCluster, spark: StandaloneSpark, tmp_path: Path
) -> None:
    seen = await_rest(cluster)
    for turn in range(2):
        place = tmp_path / f"meeting-{turn}"
        place.mkdir()
        (job,) = cluster.submit(MEETING, str(place), str(MOST))
        grown = await_task_managers(cluster, MOST)
        assert len(spark.executors()) == MOST
        assert cluster.client.get("/v1/overview")["slots-total"] == MOST
        await_files(place, MOST)
        (place / "end").touch()
        cluster.await_status(job, "FINISHED")
        lines = cluster.log_of(job, "out").splitlines()  # "SUBTASK> VALUE"
        assert sorted(int(line.rpartition(" ")[2]) for line in lines) == list(range(30))
        assert len(grown - seen) == MOST - 1, "those that have come have ids that none had before"
        seen |= grown | await_rest(cluster)
        until(lambda: len(spark.executors()) == 1)


@pytest.mark.row("S-CTRL-13", "S-CTRL-11")
def test_a_job_waits_in_vain_for_more_than_there_can_be(cluster: SparkCluster, tmp_path: Path) -> None:
    (job,) = cluster.submit(MEETING, str(tmp_path), str(MOST + 1))
    cluster.await_status(job, "FAILED")
    assert f"the job needs {MOST + 1} slots, the cluster can have {MOST}" in cluster.failure_of(job)
