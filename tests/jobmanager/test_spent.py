"""How tasks spend their time: what is made of what they report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.jobmanager.job_view import JobView
from firesteel.jobmanager.spent import Spent, spent, work_in
from firesteel.monitoring.rates import Rates
from firesteel.monitoring.values import JobReader
from firesteel.runtime.program import Answer, LevelDescriptor
from firesteel.runtime.stopwatch import Stopwatch
from firesteel.runtime.task_report import ProcessReport, TaskReport
from firesteel.testing.collecting_sink import CollectingSink
from firesteel.testing.local_platform import LocalEngine
from tests.jobmanager.rescale_support import running, wide_platform
from tests.runtime.support import LiveSource, collect, environment, feed, in_both_modes, local_platform
from tests.waiting import until

PROCESS = ProcessReport("h", 1, 1, 1.0)
SLEEP_S = 0.002


def report(level: int, begun: float, ended: float, busy: float, held: float | None = None) -> TaskReport:
    return TaskReport(1, level, 0, begun, ended, {f"v{level}": busy}, held, PROCESS, stage=level + 10)


def test_in_an_epoch_who_is_done_waits_for_the_levels_behind() -> None:
    reports = [report(0, 0, 100, 90), report(1, 110, 500, 380), report(2, 510, 600, 50)]
    behind = spent(reports, 650, is_behind=True)
    assert behind == {("v0", 0): Spent(90, 500), ("v1", 0): Spent(380, 100), ("v2", 0): Spent(50, 0)}
    calm = spent(reports, 650, is_behind=False)
    assert [one.back_pressured for one in calm.values()] == [0, 0, 0], "there was nothing more to read"
    assert work_in(reports, 650, is_behind=False).stages == (10, 11, 12)


@pytest.mark.parametrize("instant", [0, -5_000])
def test_a_clock_may_say_anything(instant: int) -> None:
    """That of a machine that was never set, or of a program that has put its own in the place of ``time``."""
    reports = [report(0, instant, instant, 90), report(1, instant, instant + 300, 380)]
    behind = spent(reports, 650, is_behind=True)
    assert behind == {("v0", 0): Spent(90, 300), ("v1", 0): Spent(380, 0)}


def test_nobody_is_busy_for_longer_than_the_epoch() -> None:
    (one,) = spent([report(0, 0, 100, 90, held=80)], 100, is_behind=True).values()
    assert one == Spent(90, 10)
    (none,) = spent([report(0, 0, 100, 300)], 100, is_behind=True).values()
    assert none == Spent(100, 0)


class Clock:
    def __init__(self) -> None:
        self.now = self.cpu = 0.0


def test_a_stopwatch_shares_time_among_vertices() -> None:
    clock = Clock()
    watch = Stopwatch(lambda: clock.now, lambda: clock.cpu)

    def passes(seconds: float, computing: bool = True) -> None:
        clock.now += seconds
        clock.cpu += seconds if computing else 0

    watch.switch("a")
    passes(1)
    with watch.on("b"):
        passes(2)
        with watch.held_back():
            passes(4, computing=False)
            passes(0.5)
    passes(3)
    for _ in watch.waiting(["row"]):
        passes(1)
    watch.rest()
    passes(100)
    found = watch.take()
    assert found.busy == pytest.approx({"a": 5000, "b": 2500})
    assert found.held_back == pytest.approx(4000)
    assert watch.take() == ({}, 0.0)


def test_what_computing_for_input_takes_belongs_to_all() -> None:
    clock = Clock()
    watch = Stopwatch(lambda: clock.now, lambda: clock.cpu)

    def rows() -> Any:
        for _ in range(2):
            clock.now += 3
            clock.cpu += 1
            yield "row"

    watch.switch("a")
    for _ in watch.waiting(rows()):
        clock.now += 5
    assert watch.take().busy == pytest.approx({"a": 12_000}), "ten of its own, and two to read the rows"


def slowly(value: Any) -> Any:
    time.sleep(SLEEP_S)
    return value


@in_both_modes
@pytest.mark.row("S-METR-01", "S-METR-02", "S-METR-05", "S-NET-16")
def test_the_slow_one_is_busy_and_those_before_it_wait(mode: str) -> None:
    """Three vertices, the second slow: it is the one that is busy and not held back."""
    with wide_platform():
        options = {"execution.mode": mode, "firesteel.epoch.max-records": "40"}
        env = environment(1, **options)
        stream = env.from_source(LiveSource("slow", 1), WatermarkStrategy.no_watermarks(), "live")
        slow = stream.key_by(lambda v: v % 3).map(slowly).name("slow")
        slow.rebalance().map(lambda v: v).name("last").disable_chaining()
        feed("slow", *((n, 0) for n in range(600)))
        client = env.execute_async()
        job = running()
        rates = Rates()
        until(lambda: job.view.epoch)
        first = job.view
        rates.sample([first], 0)
        until(lambda: sum(s.records_in for s in job.view.vertices[1].subtasks) >= 560)
        view = job.view
        client.cancel().result()
    lasted = sum(r.elapsed_ms for r in view.reports if r.epoch > first.epoch)
    source, middle, last = (share(view, rates, i, int(lasted)) for i in range(3))
    # The share of the time in which it slept for sure: how quick all else was is for the machine to say.
    (before,), (after,) = first.vertices[1].subtasks, view.vertices[1].subtasks
    slept = 0.7 * (after.records_in - before.records_in) * SLEEP_S * 1000 / max(1_000, lasted) * 1000
    assert slept > 100
    assert middle["busyTimeMsPerSecond"] >= slept
    assert middle["busyTimeMsPerSecond"] > max(source["busyTimeMsPerSecond"], last["busyTimeMsPerSecond"])
    assert middle["backPressuredTimeMsPerSecond"] <= 1_000 - slept
    if mode == "epochs":
        assert source["backPressuredTimeMsPerSecond"] >= slept, "it has more to read, and may not"
        assert last["idleTimeMsPerSecond"] >= slept
    assert last["idleTimeMsPerSecond"] > last["backPressuredTimeMsPerSecond"]
    for shares in (source, middle, last):
        assert sum(shares.values()) == pytest.approx(1_000, rel=0.05)


def share(view: JobView, rates: Rates, vertex: int, now_ms: int) -> dict[str, float]:
    found = view.vertices[vertex]
    names = {f"{kind}TimeMsPerSecond" for kind in ("busy", "idle", "backPressured")}
    (measures,) = JobReader(view, rates, max(1_000, now_ms)).of(found, [0])
    return {m.name: float(m.value) for m in measures if m.name in names}  # type: ignore[arg-type]


class LosesReports(LocalEngine):
    """As Spark might, should a task's report not come."""

    def run(self, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]) -> list[Answer]:
        return [a for a in super().run(levels, parallelism) if not isinstance(a, TaskReport)]


def test_a_job_is_as_right_without_reports() -> None:
    with local_platform(LosesReports):
        env = environment(2)
        assert sorted(collect(env.from_collection(range(5)).key_by(lambda v: v % 2).map(lambda v: v))) == [
            0, 1, 2, 3, 4,
        ]  # fmt: skip


@in_both_modes
@pytest.mark.row("S-NET-08", "S-NET-09")
def test_a_slow_sink_slows_the_source_down_and_nothing_is_lost(mode: str) -> None:
    with wide_platform():
        env = environment(1, **{"execution.mode": mode})
        numbers = env.from_source(LiveSource("many", 1), WatermarkStrategy.no_watermarks(), "live")
        sink = CollectingSink()
        numbers.rebalance().map(slowly).sink_to(sink)
        feed("many", *((n, 0) for n in range(20_000)))  # more than half a minute of work
        client = env.execute_async()
        job = running()
        until(lambda: job.view.epoch >= 2 and len(sink.values) > 100)
        client.cancel().result()
    assert sink.values == list(range(len(sink.values)))
    assert len(sink.values) <= job.view.records_read < 10_000, "the rest waits where it comes from"
