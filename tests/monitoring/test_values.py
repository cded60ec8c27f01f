"""What metrics say of a job that runs: how many records, how fast, and how far its event time is."""

from __future__ import annotations

from collections import defaultdict

import pytest

from firesteel.jobmanager.job_view import JobView
from firesteel.monitoring.rates import Rates
from firesteel.monitoring.values import JobReader
from tests.jobmanager.checkpoint_support import submit
from tests.runtime.support import At, LiveSource, SteppedClock, environment, feed, local_platform, punctuated

NONE_YET = -(2**63)


def values(view: JobView, rates: Rates, now_ms: int, vertex: int) -> dict[str, list[float]]:
    """By name, what each subtask of a vertex says; of its operators with their place before the name."""
    found = view.vertices[vertex]
    said = defaultdict(list)
    for measures in JobReader(view, rates, now_ms).of(found, list(range(len(found.subtasks)))):
        for m in measures:
            said[m.name if m.operator is None else f"{m.operator}.{m.name}"].append(m.value)
    return said  # type: ignore[return-value]


@pytest.mark.row("S-METR-06", "S-METR-07")
def test_records_their_rate_and_the_watermark() -> None:
    with local_platform():
        clock = SteppedClock()
        env = environment(2, clock=clock)
        source = env.from_source(LiveSource("measured", 2), punctuated(), "live")
        source.key_by(lambda r: r.value).map(lambda r: r.ts).name("keyed")
        job = submit(env)
        clock.settle()
        rates = Rates()
        rates.sample([job.view], 0)
        before = values(job.view, rates, 0, 1)
        assert set(before["currentInputWatermark"]) == {NONE_YET}
        for n in range(40):
            feed("measured", (At(n, n % 7, n), n), split=n % 2)
        clock.tick()
        rates.sample([job.view], 10_000)
        read, keyed = (values(job.view, rates, 10_000, vertex) for vertex in (0, 1))
        assert sum(read["numRecordsOut"]) == sum(keyed["numRecordsIn"]) == sum(keyed["0.numRecordsIn"]) == 40
        assert sum(read["numRecordsOutPerSecond"]) == pytest.approx(4.0)
        assert sum(keyed["numRecordsInPerSecond"]) == pytest.approx(4.0)
        lowest = min(read["0.currentOutputWatermark"])
        assert {38, 39} >= set(read["0.currentOutputWatermark"])
        assert keyed["currentInputWatermark"] == [lowest, lowest], "of the slowest of those before"
        assert sorted(read["0.watermarkLag"]) == sorted(10_000 - w for w in read["0.currentOutputWatermark"])
        job.cancel()
