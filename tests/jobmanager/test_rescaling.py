"""The parallelism of a job changes while it runs, and nobody can tell it by the results."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.jobmanager.rescale_view import RescaleStatus
from tests.jobmanager.rescale_support import RescalingEngine, expected, program
from tests.runtime.support import collect, environment, local_platform

RECORDS = 3_000


def run(engine: RescalingEngine, parallelism: int = 2, **options: str) -> list[Any]:
    with local_platform(lambda: engine):
        env = environment(parallelism, epoch_records=60, **options)
        env.set_max_parallelism(16)
        return sorted(collect(program(env, RECORDS)))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.row("S-SCHED-06")
def test_the_result_is_that_of_the_run_without(seed: int) -> None:
    begin = 3 + seed
    orders = {begin: 4, begin + 5 + seed % 3: 1, begin + 9 + seed % 3: 3}
    engine = RescalingEngine(orders, seed)
    assert run(engine) == expected(RECORDS)
    reports = [answer.result(0) for answer in engine.answers]
    assert [report.status for report in reports] == [RescaleStatus.COMPLETED] * 3
    assert sorted({max(widths) for widths in engine.widths}) == [1, 2, 3, 4]
