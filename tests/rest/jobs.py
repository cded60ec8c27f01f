"""Jobs of the kinds that were recorded: running, failed, finished, cancelled."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from firesteel.common.accumulators import IntCounter
from firesteel.common.configuration import Configuration
from firesteel.common.job_client import JobClient
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import MapFunction, RuntimeContext, RuntimeExecutionMode
from firesteel.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
from firesteel.program.execution import get_executor
from firesteel.rest.local import LocalCluster
from firesteel.testing import MiniCluster
from tests.rest.support import served
from tests.waiting import patience, until


class Counts(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = IntCounter()
        runtime_context.add_accumulator("seen", self.seen)

    def map(self, value: Any) -> Any:
        self.seen.add(1)
        return value


class Fails(MapFunction):
    def map(self, value: Any) -> Any:
        raise ValueError("no such order")


@dataclass(frozen=True)
class Jobs:
    """The ids of the jobs, and a client."""

    client: TestClient
    cluster: LocalCluster
    ids: dict[str, str]

    def get(self, path: str, job: str = "orders", status: int = 200, **ids: str) -> Any:
        """The answer to a path with ``{jobid}`` and others in it."""
        answer = self.client.get(path.format(jobid=self.ids[job], applicationid=self.ids[job], **ids))
        assert answer.status_code == status, answer.text
        return answer.json()

    def vertex(self, name: str, job: str = "orders") -> str:
        vertices = self.get("/jobs/{jobid}", job)["vertices"]
        return next(v["id"] for v in vertices if name in v["name"])  # type: ignore[no-any-return]


def settings(directory: Path, **more: str) -> Configuration:
    found = Configuration()
    for key, value in {
        "execution.checkpointing.interval": "200 ms",
        "execution.checkpointing.dir": f"file://{directory}/checkpoints",
        "execution.checkpointing.savepoint-dir": f"file://{directory}/savepoints",
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        **more,
    }.items():
        found.set_string(key, value)
    return found


def live(cluster: MiniCluster, directory: Path, name: str) -> JobClient:
    """A job that goes on until it is told to end."""
    env = cluster.environment(settings(directory))
    source = DataGeneratorSource(lambda index: int(index), None, RateLimiterStrategy.per_second(500))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    totals = numbers.map(lambda n: (n % 3, 1)).name("enrich").key_by(lambda v: v[0]).sum(1)
    quiet = totals.name("running total").map(Counts()).name("count").filter(lambda v: False)
    quiet.print().name("out")
    return env.execute_async(name)


def word_count(cluster: MiniCluster, name: str, *, batch: bool = False) -> str:
    env = cluster.environment()
    if batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    words = env.from_collection(["a", "b", "a"] * 20).map(lambda w: (w, 1)).name("pair")
    words.key_by(lambda v: v[0]).sum(1).name("count").map(Counts()).print()
    return str(env.execute(name).get_job_id())


def failing(cluster: MiniCluster, directory: Path) -> str:
    restarts = {
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "1",
        "restart-strategy.fixed-delay.delay": "0 ms",
    }
    env = cluster.environment(settings(directory, **restarts), parallelism=1)
    env.from_collection(range(10)).map(Fails()).name("pick").uid("pick-uid").print().name("out")
    handle = env.execute_async("failing")
    until(lambda: handle.get_job_status().result().is_terminal_state())
    return str(handle.get_job_id())


@contextmanager
def recorded_jobs(directory: Path) -> Iterator[Jobs]:
    """All of them, on a cluster of their own."""
    with MiniCluster.in_process() as mini, served() as (client, cluster):
        ids = {"failing": failing(mini, directory)}
        ids["orders"] = str(live(mini, directory, "orders").get_job_id())
        ids["word count"] = word_count(mini, "word count")
        ids["word count, batch"] = word_count(mini, "word count, batch", batch=True)
        cancelled = live(mini, directory, "to cancel")
        ids["to cancel"] = str(cancelled.get_job_id())
        jobs = Jobs(client, cluster, ids)
        until(lambda: jobs.get("/jobs/{jobid}/checkpoints")["counts"]["completed"] > 2)
        assert client.patch(f"/jobs/{ids['to cancel']}").status_code == 202
        until(lambda: jobs.get("/jobs/{jobid}/status", "to cancel")["status"] == "CANCELED")
        yield jobs
        for job in get_executor().running_jobs:  # type: ignore[attr-defined]
            job.cancel().result(patience(20))
