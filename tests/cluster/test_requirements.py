"""Which parallelism a job is to have is kept by the cluster, not by the process that runs the job."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.support import SessionCluster, until

PROGRAM = """
numbers = endless().map(lambda n: (n % 7, 1), Types.TUPLE([Types.LONG(), Types.LONG()]))
numbers.set_parallelism(2).key_by(lambda v: v[0]).sum(1).set_parallelism(2).filter(lambda v: False).print()
env.execute("wide")
"""


@pytest.mark.row("S-SCHED-06", "S-HA-04")
def test_requirements_survive_the_dispatcher(tmp_path: Path) -> None:
    settings = {
        "execution.checkpointing.interval": "200 ms",
        "execution.checkpointing.dir": str(tmp_path / "checkpoints"),
    }
    cluster = SessionCluster(tmp_path / "session", **settings).start()
    try:
        (job_id,) = cluster.submit(PROGRAM)
        path = f"/v1/jobs/{job_id}/resource-requirements"
        cluster.await_epoch(job_id)
        wanted = until(lambda: cluster.client.get(path))
        for bounds in wanted.values():
            if bounds["parallelism"]["upperBound"] == 2:
                bounds["parallelism"] = {"lowerBound": 1, "upperBound": 3}
        cluster.client.send("PUT", path, wanted)
        until(lambda: _widest(cluster, job_id) == 3, 60)
        cluster.kill()
        cluster.start()
        until(lambda: _is_as(cluster, path, wanted), 60)
        until(lambda: _widest(cluster, job_id) == 3, 60)
        cluster.client.send("PATCH", f"/v1/jobs/{job_id}?mode=cancel")
        cluster.await_status(job_id, "CANCELED")
    finally:
        cluster.stop()


def _widest(cluster: SessionCluster, job_id: str) -> int:
    return max(v["parallelism"] for v in cluster.client.get(f"/v1/jobs/{job_id}")["vertices"])


def _is_as(cluster: SessionCluster, path: str, wanted: object) -> bool:
    return bool(cluster.client.get(path) == wanted)
