"""``firesteel rescale`` against the API of a job that runs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from firesteel.cli import main
from firesteel.jobmanager.gateway import JobGateway
from firesteel.rest.local import LocalCluster
from firesteel.rest.server import RestServer
from firesteel.rest.settings import RestSettings
from tests.jobmanager.rescale_support import running, running_executor, wide_platform
from tests.jobmanager.test_rescaling import summed
from tests.runtime.support import environment
from tests.waiting import until


@pytest.fixture
def served() -> Iterator[tuple[JobGateway, str]]:
    """A job, and the address of its API."""
    with wide_platform():
        cluster = LocalCluster(running_executor())
        server = RestServer(cluster, RestSettings(ports=(0,))).start()
        env = environment(2)
        env.set_max_parallelism(8)
        summed(env, "t", splits=4)
        client = env.execute_async()
        job = running()
        until(lambda: job.view.rescales.history)
        try:
            yield job, server.url.removeprefix("http://")
        finally:
            client.cancel().result()
            server.stop()
            cluster.close()


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["rescale", *arguments], catch_exceptions=False)


def test_a_job_gets_another_parallelism(served: tuple[JobGateway, str]) -> None:
    job, address = served
    shown = run(str(job.job_id), "-m", address)
    assert shown.exit_code == 0, shown.output
    assert shown.output.splitlines()[0].split() == ["VERTEX", "PARALLELISM", "WANTED", "MAX", "NAME"]
    assert "2            1-2     4" in shown.output
    done = run(str(job.job_id), "3", "-m", address)
    assert done.exit_code == 0, done.output
    assert "Source: live -> Map -> Map 2 -> 3" in done.output
    assert [len(vertex.subtasks) for vertex in job.view.vertices] == [3, 3, 3]
    again = run(str(job.job_id), "3", "-m", address)
    assert (again.exit_code, "has that parallelism already" in again.output) == (0, True)
    last = job.view.vertices[-1].id
    one = run(str(job.job_id), "--vertex", f"{last[:8]}=1", "--json", "-m", address)
    assert json.loads(one.output)["vertices"][last]["postRescaleParallelism"] == 1
    assert [len(vertex.subtasks) for vertex in job.view.vertices] == [3, 3, 1]


def test_what_cannot_be_is_said(served: tuple[JobGateway, str]) -> None:
    job, address = served
    for arguments, code, says in (
        (("--vertex", "zz=1"), 2, "no vertex whose id begins with 'zz'"),
        (("--vertex", "=1"), 2, "3 vertices"),
        (("--vertex", "a=x"), 2, "is not ID=N"),
        (("0",), 2, "0 is not in the range"),
        (("--vertex", f"{job.view.vertices[0].id}=5"), 1, "exceeds its maximum parallelism [4]"),
    ):
        result = run(str(job.job_id), *arguments, "-m", address)
        assert (result.exit_code, says in result.output) == (code, True), result.output
    unknown = run("0" * 32, "2", "-m", address)
    assert (unknown.exit_code, "not found" in unknown.output) == (4, True), unknown.output


def test_what_gets_less_than_was_asked_for_is_named(served: tuple[JobGateway, str]) -> None:
    job, address = served
    done = run(str(job.job_id), "1000", "-m", address)
    assert done.exit_code == 0, done.output
    most = {vertex.name: vertex.info.max_parallelism for vertex in job.view.vertices}
    said = [f"{name}: {number}, which is its max parallelism" for name, number in most.items()]
    assert done.stderr.splitlines() == said
    assert [len(vertex.subtasks) for vertex in job.view.vertices] == list(most.values())
