"""Many jobs and large ones: the work for an answer grows with what is in it, and is done once for all."""

from __future__ import annotations

import tracemalloc

import pytest
from msgspec.structs import replace

from firesteel.common.job_status import JobStatus
from firesteel.graph.execution_graph import ExecutionState as S
from firesteel.jobmanager.checkpoints.options import CheckpointOptions
from firesteel.jobmanager.checkpoints.statistics import CheckpointsView
from firesteel.jobmanager.events import Journal
from firesteel.jobmanager.job_view import (
    AttemptView,
    EdgeInfo,
    JobInfo,
    JobView,
    MetricView,
    OperatorInfo,
    SubtaskView,
    VertexInfo,
    VertexView,
)
from firesteel.metrics.machines import Machines
from firesteel.monitoring.rates import Rates
from firesteel.rest.cached import Answers
from firesteel.rest.history import History
from firesteel.rest.messages.base import Empty
from tests.counting import counted_calls
from tests.rest.support import api

#: Twice as many as they need. A look at all jobs for each of them would be thousands.
CALLS_FOR_A_JOB = 140
CALLS_FOR_A_SUBTASK = 110
TIMES = tuple((state, 1_000 + n) for n, state in enumerate((S.CREATED, S.SCHEDULED, S.DEPLOYING, S.RUNNING)))


def view(number: int, subtasks: int, vertices: int = 2) -> JobView:
    job_id = f"{number:032x}"
    infos = [
        VertexInfo(
            f"{n:032x}", f"vertex {n}", subtasks // vertices, 1024, "default", n,
            (OperatorInfo("a", "map", "map", None),),
            (EdgeInfo(f"{n - 1:032x}", 0, "HASH", "pipelined_bounded"),) if n else (),
        )
        for n in range(vertices)
    ]  # fmt: skip
    attempt = AttemptView(0, "attempt", S.RUNNING, TIMES)
    views = tuple(
        VertexView(
            info,
            tuple(SubtaskView(i, attempt, (), 7, 7, 70, 70, ((7, 7),), i) for i in range(info.parallelism)),
        )
        for info in infos
    )
    return JobView(
        version=1,
        published_ms=5_000,
        info=JobInfo(job_id, f"job {number}", False, tuple(infos), (), CheckpointOptions(), "/tmp"),
        status=JobStatus.RUNNING,
        timestamps=((JobStatus.RUNNING, 1_000),),
        started_ms=1_000,
        ended_ms=None,
        attempt=0,
        restarts=0,
        vertices=views,
        checkpoints=CheckpointsView(),
        journal=Journal(),
    )


class Views:
    """As much of a cluster as reading needs."""

    takes_programs = False
    configuration = ()

    def __init__(self, views: list[JobView]) -> None:
        self.by_id = {view.job_id: view for view in views}

    def jobs(self) -> list[JobView]:
        return list(self.by_id.values())

    def job(self, job_id: str) -> JobView | None:
        return self.by_id.get(job_id)

    async def machines(self) -> Machines:
        return Machines()


def calls_for(path: str, jobs: list[JobView]) -> int:
    """How many functions are called for an answer, in all threads.

    The second answer counts, after all jobs have changed: nothing of it is there already.
    """
    cluster = Views(jobs)
    with counted_calls() as calls, api(cluster) as client:  # type: ignore[arg-type]
        assert client.get(path).status_code == 200
        cluster.by_id = {k: replace(v, version=v.version + 1) for k, v in cluster.by_id.items()}
        before = calls.count
        assert client.get(path).status_code == 200
        return calls.count - before


def calls_grow_with_jobs(path: str) -> None:
    few, many = (calls_for(path, [view(n, 10) for n in range(count)]) for count in (100, 1_000))
    assert many - few < 900 * CALLS_FOR_A_JOB


def calls_grow_with_subtasks(path: str) -> None:
    few, many = (calls_for(path, [view(1, count)]) for count in (100, 1_000))
    assert many - few < 900 * CALLS_FOR_A_SUBTASK


def test_listing_a_thousand_jobs_takes_some_calls_for_each() -> None:
    calls_grow_with_jobs("/jobs/overview")


@pytest.mark.parametrize(
    "path", ["", "/vertices/{v}", "/vertices/{v}/subtasktimes", "/vertices/{v}/metrics", "/checkpoints"]
)
def test_showing_a_job_of_a_thousand_subtasks_takes_some_calls_for_each(path: str) -> None:
    calls_grow_with_subtasks(f"/jobs/{1:032x}{path.format(v=f'{1:032x}')}")


def grown(job: JobView, step: int) -> JobView:
    """All subtasks have done something since: nothing of them is shared with the view before."""

    def subtask(before: SubtaskView) -> SubtaskView:
        count = step * 100_000 + before.index * 10
        metrics = tuple(MetricView("a", (), f"metric {n}", "counter", count + n) for n in range(5))
        return replace(
            before, records_in=count, operators=((count, count),), busy_ms=count / 7, metrics=metrics
        )

    vertices = tuple(VertexView(v.info, tuple(map(subtask, v.subtasks))) for v in job.vertices)
    return replace(job, version=step, vertices=vertices)


def test_the_views_of_a_job_of_a_thousand_subtasks_take_less_than_50_mb() -> None:
    """With those of the last minute, which rates are made of, and its history."""
    job, rates, history = view(1, 1_000, vertices=10), Rates(), History()
    tracemalloc.start()
    try:
        for step in range(1, 14):  # as many samples as there are of a minute
            job = grown(job, step)
            rates.sample([job], step * 5_000)
            history.sample([job], job.started_ms + step * 5_000)
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert rates.of(job, job.vertices[1], 70_000) is not None
    assert taken < 50e6


def test_an_answer_is_made_once_for_a_view_and_a_second() -> None:
    now_s = 0.0
    made = []
    answers = Answers(lambda: now_s)
    job = view(1, 2)

    def make() -> Empty:
        made.append(1)
        return Empty()

    for _ in range(3):
        assert answers.of(job, ("/x",), make) == b"{}"
    assert len(made) == 1
    answers.of(job, ("/y",), make)
    answers.of(replace(job, version=2), ("/x",), make)
    assert len(made) == 3, "another path, another view"
    now_s = 1.0
    answers.of(replace(job, version=2), ("/x",), make)
    assert len(made) == 4, "durations in it have grown"


def test_kept_answers_are_bounded() -> None:
    answers = Answers()
    large = view(1, 2)
    for n in range(200):
        answers.of(large, (str(n),), lambda: replace_text(1 << 20))
    assert sum(len(body) for _, _, body in answers._kept.values()) <= 32 << 20
    assert answers._bytes == sum(len(body) for _, _, body in answers._kept.values())


def replace_text(size: int) -> OperatorInfo:
    return OperatorInfo("a", "b" * size, "", None)


def test_rates_are_differences_over_a_minute() -> None:
    rates = Rates()
    job = view(1, 2)
    vertex = job.vertices[1]
    subtask = vertex.subtasks[0]
    rates.sample([job], 0)
    assert rates.of(job, vertex, 500) is None, "too soon to say"
    later = replace(subtask, records_in=607, operators=((107, 7),))
    found = rates.of(job, vertex, 10_000)
    assert found is not None
    rate = found.of(later)
    assert (rate.records_in, rate.records_out, rate.operators) == (60.0, 0.0, ((10.0, 0.0),))
    for second in range(5, 200, 5):
        rates.sample([job], second * 1000)
    assert len(rates._samples[job.job_id]) <= 14
    rates.sample([], 200_000)
    assert rates.of(job, vertex, 210_000) is None, "the job has ended"
