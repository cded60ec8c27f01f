"""Every query of the dashboard for Grafana finds series in what a real job on Spark gives Prometheus."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Duration, WatermarkStrategy
from firesteel.common.configuration import Configuration
from firesteel.connectors.generated.datagen import GeneratedSource
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.jobmanager.executor import Executor
from firesteel.monitoring import application
from firesteel.program.execution import get_executor
from firesteel.program.sources import EnumeratorContext, SplitEnumerator
from tests.monitoring.queries import dashboard, missing, queries
from tests.monitoring.test_reporters import reporter, scraped
from tests.spark.conftest import MakeEnvironment
from tests.waiting import until

pytestmark = pytest.mark.spark


@dataclass(frozen=True, slots=True)
class Waiting(GeneratedSource):
    """Says how many records wait, as a source of Kafka does."""

    def create_enumerator(self, context: EnumeratorContext) -> SplitEnumerator:
        enumerator: Any = GeneratedSource.create_enumerator(self, context)
        ids: list[str] = []
        discover = enumerator.discover

        def discovered(now_ms: int) -> Any:
            found = discover(now_ms)
            ids.extend(split.id for split in found)
            return found

        enumerator.discover = discovered
        enumerator.pending_records = lambda: dict.fromkeys(ids, 3)
        return enumerator  # type: ignore[no-any-return]


def made_at(index: int) -> int:
    return time.time_ns() // 1_000_000


@pytest.mark.row("S-METR-01", "S-METR-09", "S-METR-13")
def test_every_query_of_the_dashboard_finds_series(environment: MakeEnvironment, tmp_path: Path) -> None:
    options = reporter("prom", "prometheus", port="0") | {
        "execution.checkpointing.interval": "500 ms",
        "execution.checkpointing.dir": f"file://{tmp_path}",
    }
    env = environment(2, **options)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(50))
    stamped = strategy.with_timestamp_assigner(lambda value, _: int(value))
    stream = env.from_source(Waiting(made_at, None, 400.0), stamped, "numbers")
    windows = stream.key_by(lambda v: v % 5).window(TumblingEventTimeWindows.of(Duration.of_millis(200)))
    windows.reduce(lambda a, b: a + b).filter(lambda v: False).print()
    client = env.execute_async("shop")
    executor = get_executor()
    assert isinstance(executor, Executor)
    (prom,) = application.report(executor, Configuration()).reporters
    port = prom.port  # type: ignore[attr-defined]

    def complete() -> bool:
        time.sleep(0.5)  # the machine has other things to do
        found = scraped(port)
        last = found.get("flink_jobmanager_job_lastCheckpointDuration", [({}, -1.0)])
        return "flink_taskmanager_job_task_busyTimeMsPerSecond" in found and last[0][1] >= 0

    until(complete, seconds=120)
    found = scraped(port)
    client.cancel().result()
    application.stop(executor)
    unanswered = [what for query in queries(dashboard()) for what in missing(query, found)]
    assert unanswered == []
    assert_times(found)


def assert_times(found: Any) -> None:
    """Busy, idle and back pressured are a whole second together, in each subtask."""
    name = "flink_taskmanager_job_task_{}TimeMsPerSecond"
    parts = [found[name.format(kind)] for kind in ("busy", "idle", "backPressured")]
    together: dict[tuple[str, str], float] = {}
    for part in parts:
        for labels, value in part:
            key = labels["task_id"], labels["subtask_index"]
            together[key] = together.get(key, 0.0) + value
    assert len(together) == 4
    assert all(950 <= total <= 1_050 for total in together.values()), together
