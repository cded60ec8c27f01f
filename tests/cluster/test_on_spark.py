"""A session cluster on Spark: one application, in which each job has its own process and its own workers."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.cluster.spark_cluster import SparkCluster
from tests.cluster.support import JOB_ID, until
from tests.waiting import patience

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    found = SparkCluster(tmp_path_factory.mktemp("spark")).start()
    yield found
    said = found.ours("stop")
    assert said.startswith("The cluster is stopped"), said
    assert found.ours("status") == "No cluster is running.\n"


def listening(processes: list[psutil.Process]) -> set[tuple[str, int]]:
    found = set()
    for process in processes:
        for connection in process.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN:
                found.add((connection.laddr.ip.removeprefix("::ffff:"), connection.laddr.port))
    return found


def test_jobs_with_code_of_their_own(cluster: SparkCluster, tmp_path: Path) -> None:
    assert "2 of 2 slots are free" in cluster.ours("status")
    (tmp_path / "words.txt").write_text("from the archive")
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, "words.txt")
    program = cluster.program("""
import utils
def look(value):
    return utils.word(), open("data/words.txt").read(), os.environ["FIRESTEEL_JOB"]
print(list(env.from_collection([1]).key_by(lambda v: v).map(look).execute_and_collect("looks")))
""")
    (program.parent / "utils.py").write_text("def word():\n    return 'mine'\n")
    (endless,) = cluster.submit(
        "endless().key_by(lambda v: v % 3).reduce(lambda a, b: a + b).print()\nenv.execute('on')\n"
    )
    client = cluster.start_client(program, options=("--archives", f"{archive}#data"))
    out, err = client.communicate(timeout=patience(120))
    assert client.returncode == 0, err
    (job,) = JOB_ID.findall(err)
    assert out == f"[('mine', 'from the archive', '{job}')]\n"
    until(lambda: not cluster.workers_of(job))
    # Segmentation fault in the process of a job, as its program is loaded.
    (bad,) = cluster.submit("""
class Bomb:
    def __setstate__(self, state):
        if "PYSPARK_GATEWAY_PORT" in os.environ:
            import ctypes
            ctypes.string_at(0)
    def __getstate__(self):
        return {1: 1}
bomb = Bomb()
endless().map(lambda v: (bomb, v)[1]).print()
env.execute("dies")
""")
    cluster.await_status(bad, "FAILED")
    assert "was killed by SIGSEGV" in cluster.failure_of(bad)
    cluster.await_epoch(endless)
    assert cluster.status(endless) == "RUNNING"
    # Nothing listens but the REST API, and Spark's own on this machine alone.
    asked = {("127.0.0.1", cluster.port)}
    jobs = [child for child in cluster.dispatcher.children() if child.name() != "java"]
    assert listening([cluster.dispatcher, *jobs]) == asked
    assert {ip for ip, _ in listening([cluster.jvm])} <= {"127.0.0.1"}
    cluster.command("cancel", endless)
    cluster.await_status(endless, "CANCELED")
    until(lambda: not cluster.workers_of(endless))


@pytest.mark.row("S-ARCH-02")
def test_jobs_go_on_in_another_jvm(cluster: SparkCluster, tmp_path: Path) -> None:
    options = (
        *("-d", "-D", "execution.checkpointing.interval=500 ms"),
        *("-D", f"execution.checkpointing.dir={tmp_path}/checkpoints"),
    )
    done = cluster.run(
        "ones = endless().map(lambda v: (v, 1)).key_by(lambda v: 0)\n"
        "totals = ones.reduce(lambda a, b: (b[0], a[1] + b[1]))\n"
        "totals.map(lambda v: f'{v[0]} {v[1]}').print()\nenv.execute('goes on')\n",
        options=options,
    )
    (job,) = JOB_ID.findall(done.stdout)
    until(lambda: cluster.client.get(f"/v1/jobs/{job}/checkpoints")["counts"]["completed"] > 1, 90)
    before = cluster.jvm.pid
    os.kill(before, signal.SIGKILL)
    until(lambda: [c for c in cluster.dispatcher.children() if c.name() == "java" and c.pid != before], 60)

    def is_restored() -> bool:
        assert cluster.status(job) not in ("FAILED", "FINISHED"), cluster.log_of(job)[-4000:]
        return bool(cluster.client.get(f"/v1/jobs/{job}/checkpoints")["counts"]["restored"])

    until(is_restored, 120)
    seen = cluster.client.get(f"/firesteel/v1/jobs/{job}/epochs")["epoch"]
    until(lambda: cluster.client.get(f"/firesteel/v1/jobs/{job}/epochs")["epoch"] > seen + 1, 60)
    assert cluster.status(job) == "RUNNING"
    cluster.command("cancel", job)
    cluster.await_status(job, "CANCELED")
    time.sleep(0.5)
    lines = [line.split() for line in cluster.log_of(job, "out").splitlines()]
    numbers = [int(number) for number, _ in lines]
    assert set(range(numbers[-1] + 1)) == set(numbers)  # none is missing
    assert [int(count) for _, count in lines] == [n + 1 for n in numbers], "and the state has each once"
