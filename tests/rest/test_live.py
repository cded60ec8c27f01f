"""How jobs are doing: health, freshness, rates, history, and that it is told in time for many jobs."""

from __future__ import annotations

import math

import pytest
from msgspec.structs import replace

from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.checkpoints.statistics import CheckpointReport, CheckpointStatus, CheckpointsView
from firesteel.jobmanager.job_view import (
    EpochReport,
    ExceptionView,
    JobView,
    SubtaskView,
    VertexView,
    WorkerView,
)
from firesteel.monitoring.rates import Rates
from firesteel.rest.answers.live import live_job, summary
from firesteel.rest.answers.vertices import level_of
from firesteel.rest.facts import vertex_facts
from firesteel.rest.history import FINE, MINUTES, History, Ring
from firesteel.rest.profiling import Node, add_stacks, processes_here
from firesteel.runtime.task_name import task_name
from tests.rest.jobs import Jobs
from tests.rest.test_size import calls_grow_with_jobs, calls_grow_with_subtasks, view

END = 2**63 - 1
NOW = 1_000_000


def with_subtasks(job: JobView, vertex: int, *subtasks: SubtaskView) -> JobView:
    changed = VertexView(job.vertices[vertex].info, subtasks)
    return replace(job, vertices=(*job.vertices[:vertex], changed, *job.vertices[vertex + 1 :]))


def with_watermarks(*watermarks: int | None) -> JobView:
    job = view(1, 2 * len(watermarks))
    for vertex in (0, 1):
        found = job.vertices[vertex].subtasks
        changed = [replace(s, watermark=w) for s, w in zip(found, watermarks, strict=True)]
        job = with_subtasks(job, vertex, *changed)
    return job


@pytest.mark.parametrize(
    ("watermarks", "expected"),
    [
        ((5_000, 7_000), (5_000, NOW - 5_000, False)),
        ((5_000, END), (5_000, NOW - 5_000, False)),  # one has ended
        ((END, END), (None, None, True)),
        ((None, None), (None, None, False)),
        ((-(2**63), -(2**63)), (None, None, False)),  # before the first one
        ((None, 7_000), (7_000, NOW - 7_000, False)),
    ],
)
def test_freshness_is_of_the_slowest(
    watermarks: tuple[int | None, ...], expected: tuple[int | None, int | None, bool]
) -> None:
    found = summary(with_watermarks(*watermarks), Rates(), [], NOW)
    assert (found.watermark_ms, found.freshness_ms, found.event_time_ended) == expected


def failure(time_ms: int) -> ExceptionView:
    return ExceptionView(time_ms, "ValueError", "no such order\nmore", "Traceback ...", 0)


def lagging(records: int, epoch_ended_ms: int = NOW - 1_000) -> JobView:
    report = EpochReport(1, epoch_ended_ms - 500, 500.0, 10, 1)
    return replace(view(1, 2), lag=(("a", (("s1", records), ("s2", 0))),), reports=(report,), records_read=0)


def watched(job: JobView, before: int, now: int, seconds: int = 10) -> tuple[JobView, Rates]:
    """The job when it was watched for some seconds, in which it read from ``before`` to ``now``."""
    rates = Rates()
    rates.sample([replace(job, records_read=before)], NOW - seconds * 1000)
    return replace(job, records_read=now), rates


@pytest.mark.parametrize(
    ("job", "health", "why"),
    [
        (view(1, 2), "good", ""),
        (replace(view(1, 2), exceptions=(failure(NOW - 5_000),)), "unstable", "It failed 5 s ago"),
        (replace(view(1, 2), exceptions=(failure(NOW - 700_000),)), "good", ""),
        (replace(view(1, 2), status=JobStatus.FAILED, exceptions=(failure(1),)), "failed", "no such order"),
        (replace(view(1, 2), status=JobStatus.RESTARTING), "restarting", ""),
        (replace(view(1, 2), status=JobStatus.CREATED), "starting", "first epoch"),
        (replace(view(1, 2), status=JobStatus.FINISHED, ended_ms=9_000), "finished", ""),
        (replace(view(1, 2), status=JobStatus.CANCELLING), "canceled", "being cancelled"),
        (lagging(100, NOW - 300_000), "stalled", "no epoch has ended for 5 min"),
    ],
)
def test_health_is_one_word_and_a_sentence(job: JobView, health: str, why: str) -> None:
    found = summary(job, Rates(), [], NOW)
    assert found.health == health
    assert why in found.why
    assert "\n" not in found.why


def test_a_job_is_behind_when_it_takes_a_minute_to_catch_up() -> None:
    job, rates = watched(lagging(10_000), 0, 1_000)
    found = summary(job, rates, [], NOW)
    assert (found.records_per_second, found.lag, found.catch_up_ms) == (100.0, 10_000, 100_000)
    assert (found.health, found.why) == ("behind", "10,000 records wait: 2 min at this rate.")
    job, rates = watched(lagging(1_000), 0, 1_000)
    assert summary(job, rates, [], NOW).health == "good"
    job, rates = watched(lagging(0), 0, 1_000)
    assert summary(job, rates, [], NOW).catch_up_ms == 0


def test_a_checkpoint_that_failed_last() -> None:
    failed = CheckpointReport(7, CheckpointStatus.FAILED, False, 1, failure="disk full\nTraceback")
    done = CheckpointReport(6, CheckpointStatus.COMPLETED, False, 1)
    known = CheckpointsView(latest_failed=failed, latest_completed=done, failed=1)
    job = replace(view(1, 2), checkpoints=known)
    found = summary(job, Rates(), [], NOW)
    assert (found.health, found.why) == ("unstable", "The last checkpoint failed: disk full")
    newer = replace(known, latest_completed=replace(done, id=8))
    assert summary(replace(job, checkpoints=newer), Rates(), [], NOW).health == "good"


@pytest.mark.row("S-REST-04", "S-NET-17", "S-PERF-01")
def test_the_bottleneck_is_the_busiest_vertex_that_has_no_time_left() -> None:
    job = view(1, 4)
    rates = Rates()
    rates.sample([job], NOW - 10_000)
    assert live_job(job, rates, [], NOW).bottleneck is None, "nobody worked"
    idle, hot = job.vertices[1].subtasks
    busy = with_subtasks(job, 1, replace(idle, busy_ms=2_000.0), replace(hot, busy_ms=9_500.0))
    found = live_job(busy, rates, [], NOW)
    assert found.vertices[1].busy == 0.95
    assert found.bottleneck is not None
    assert (found.bottleneck.vertex, "95%" in found.bottleneck.why) == (job.vertices[1].id, True)


def test_skew_is_how_much_more_than_the_average() -> None:
    job = view(1, 4)
    one, other = job.vertices[1].subtasks
    skewed = with_subtasks(job, 1, replace(one, records_in=300), replace(other, records_in=100))
    assert live_job(skewed, Rates(), [], NOW).vertices[1].skew == 50.0
    assert live_job(job, Rates(), [], NOW).vertices[1].skew is None, "too few records"


@pytest.mark.row("S-METR-14", "S-PART-08", "S-PERF-01")
def test_a_hot_key_shows_in_the_skew() -> None:
    """Nine records of ten go to one of four subtasks: 3.6 times the average."""
    job = view(1, 8)
    counts = (900, 40, 30, 30)
    subtasks = (replace(s, records_in=n) for s, n in zip(job.vertices[1].subtasks, counts, strict=True))
    assert live_job(with_subtasks(job, 1, *subtasks), Rates(), [], NOW).vertices[1].skew == pytest.approx(260)


@pytest.mark.row("S-METR-04")
@pytest.mark.parametrize(
    ("ratio", "level"),
    [(0.0, "ok"), (0.10, "ok"), (0.1001, "low"), (0.50, "low"), (0.5001, "high"), (1.0, "high")],
)
def test_what_a_share_of_back_pressure_is_called(ratio: float, level: str) -> None:
    assert level_of(ratio) == level


def test_lag_is_of_the_vertex_whose_source_it_is() -> None:
    job = replace(view(1, 2), lag=(("a", (("s", 5),)), ("elsewhere", (("s", 7),))))
    assert vertex_facts(job)[0].lag == 5
    assert summary(job, Rates(), [], NOW).lag == 12


# ---- history


def test_a_ring_keeps_the_newest() -> None:
    ring = Ring(2, 3)
    for n in range(5):
        ring.add((float(n), n * 10.0))
        assert ring.newest(0, 2) == [float(i) for i in range(max(0, n - 1), n + 1)]
    assert ring.columns() == [[2.0, 3.0, 4.0], [20.0, 30.0, 40.0]]
    assert ring.newest(1, 100) == [20.0, 30.0, 40.0]


def test_history_is_bounded_and_ends_with_its_job() -> None:
    history = History()
    job = view(1, 2)
    for n in range(FINE + 50):
        grown = replace(job, records_read=n * 500)
        history.sample([grown], job.started_ms + (n + 1) * 5_000)
    found = history.of(job.job_id)
    assert found is not None
    times, rates, *_ = found.fine.columns()
    assert len(times) == FINE
    assert set(rates) == {100.0}
    minutes = found.minutes.columns()
    assert len(minutes[0]) == math.ceil((FINE + 50) / 12)
    assert minutes[1][1:] == [100.0] * (len(minutes[0]) - 1)
    assert MINUTES == 24 * 60
    ended = replace(grown, records_read=grown.records_read + 700, ended_ms=int(times[-1]) + 7_000)
    for later in (8_000, 9_000):
        history.sample([ended], int(times[-1]) + later)
    assert found.fine.columns()[0][-2:] == [times[-1], float(ended.ended_ms or 0)], "once, when it ended"
    assert found.fine.columns()[1][-1] == 100.0
    history.sample([], NOW)
    assert history.of(job.job_id) is None


# ---- flame graphs


def test_stacks_of_one_task_are_added_up() -> None:
    name, root = task_name("j", 1), Node("root")
    lines = [
        f"main (a.py:1);{name} (task_name.py:9);run (b.py:2);f (c.py:3) 5",
        f"main (a.py:1);{name} (task_name.py:9);run (b.py:2);g (c.py:4) 3",
        f"main (a.py:1);{task_name('j', 11)} (task_name.py:9);run (b.py:2) 100",
        "main (a.py:1);wait (b.py:2) 100",
        "",
    ]
    add_stacks(root, "\n".join(lines), name)
    (run,) = root.children.values()
    assert (root.count, run.name, run.count) == (8, "run (b.py:2)", 8)
    assert {child.name: child.count for child in run.children.values()} == {"f (c.py:3)": 5, "g (c.py:4)": 3}


def test_only_processes_of_this_machine_are_looked_at() -> None:
    import socket

    here = socket.gethostname()
    workers = [
        WorkerView("elsewhere", 1, 0, 0.0, 5),
        *(WorkerView(here, pid, 0, 0.0, pid) for pid in range(2, 30)),
    ]
    found = processes_here(workers)
    assert found[:2] == [29, 28]
    assert len(found) == 16


def test_why_there_is_no_flame_graph(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("firesteel.rest.profiling.py_spy", lambda: None)
    vertex = jobs.vertex("enrich")
    path = f"/firesteel/v1/jobs/{{jobid}}/vertices/{vertex}/flamegraph"
    refused = jobs.get(path, status=404)["errors"][0]
    assert "py-spy, which is not installed" in refused
    assert "pip install" in refused
    flinks = jobs.get(f"/jobs/{{jobid}}/vertices/{vertex}/flamegraph")
    assert flinks == {"endTimestamp": -2, "data": None}


# ---- answers


def test_answers_of_jobs_that_run(jobs: Jobs) -> None:
    summaries = {job["name"]: job for job in jobs.get("/firesteel/v1/jobs")["jobs"]}
    assert {name: summaries[name]["health"] for name in ("failing", "to cancel", "word count")} == {
        "failing": "failed",
        "to cancel": "canceled",
        "word count": "finished",
    }
    live = jobs.get("/firesteel/v1/jobs/{jobid}")
    assert [vertex["level"] for vertex in live["vertices"]] == sorted(v["level"] for v in live["vertices"])
    vertex = live["vertices"][1]["id"]
    assert len(jobs.get(f"/firesteel/v1/jobs/{{jobid}}/vertices/{vertex}/subtasks")["subtasks"]) > 0
    (failed, *_) = jobs.get("/firesteel/v1/jobs/{jobid}/failures", "failing")["failures"]
    assert (failed["name"], failed["operator"], failed["uid"]) == ("ValueError", "pick", "pick-uid")
    assert "no such order" in failed["traceback"]
    settings = {row["key"] for row in jobs.get("/firesteel/v1/jobs/{jobid}/settings")}
    assert "execution.checkpointing.interval" in settings
    assert jobs.get("/firesteel/v1/jobs/{jobid}/charts")["fine"]["columns"][0] == "time_ms"


def test_a_thousand_jobs_are_summed_up_in_some_calls_for_each() -> None:
    calls_grow_with_jobs("/firesteel/v1/jobs")


@pytest.mark.parametrize("path", ["", "/vertices/{v}/subtasks", "/charts"])
def test_a_large_job_is_shown_in_some_calls_for_each_subtask(path: str) -> None:
    calls_grow_with_subtasks(f"/firesteel/v1/jobs/{1:032x}{path.format(v=f'{1:032x}')}")
