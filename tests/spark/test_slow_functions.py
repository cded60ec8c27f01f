"""Jobs whose functions are slow, on Spark: they have checkpoints, and can be cancelled. What is asserted are
numbers of records; how long anything takes depends on the machine too, and is measured elsewhere
(``docs/design/checkpoints.md``)."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from firesteel.common.job_status import JobStatus
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.generated.sequence import SequenceSource
from firesteel.datastream import DataStream
from tests.spark.conftest import MakeEnvironment
from tests.waiting import until

pytestmark = pytest.mark.spark

INTERVAL_MS = 1_000


def beside_the_source(stream: DataStream, slow: Callable[[int], int]) -> DataStream:
    return stream.map(slow)


def behind_an_exchange(stream: DataStream, slow: Callable[[int], int]) -> DataStream:
    return stream.key_by(lambda n: n % 100).map(slow)


@pytest.mark.parametrize("place", [beside_the_source, behind_an_exchange])
@pytest.mark.parametrize("cost_s", [0.02, 0.5])
def test_a_slow_job_has_checkpoints_and_ends_when_it_is_told_to(
    environment: MakeEnvironment, place: Callable[..., DataStream], cost_s: float
) -> None:
    """A hundred thousand records that would be an hour or a day."""

    def slow(n: int) -> int:
        time.sleep(cost_s)
        return n

    env = environment()
    env.enable_checkpointing(INTERVAL_MS)
    numbers = env.from_source(SequenceSource(0, 99_999), WatermarkStrategy.no_watermarks(), "numbers")
    place(numbers, slow).print()
    client = env.execute_async("slow")
    job = client._handle.job  # type: ignore[attr-defined]

    def has_checkpoints() -> bool:
        assert not job.status.is_terminal_state(), job.error
        return job.view.checkpoints.completed >= 3

    until(has_checkpoints, "no checkpoints", 120, look_s=0.1)
    client.cancel().result()
    assert job.status is JobStatus.CANCELED
    reports = list(job.view.reports)
    assert reports[0].records > 0
    # What two subtasks can do in the time of an epoch, and the pieces that are under way when it is over.
    most = 2 * (1.5 * INTERVAL_MS / 1_000 / cost_s + 8)
    assert max(report.records for report in reports) <= most
