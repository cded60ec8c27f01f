"""The parallelism of a job over the API: as a real Flink with the adaptive scheduler has answered."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.datastream import RuntimeExecutionMode
from tests.jobmanager.rescale_support import running, wide_platform
from tests.jobmanager.test_rescaling import summed
from tests.rest.support import Example, as_recorded, recorded, served
from tests.runtime.support import environment
from tests.waiting import until

REQUIREMENTS = "/jobs/{jobid}/resource-requirements"


def bounds(lower: int, upper: int) -> dict[str, Any]:
    return {"parallelism": {"lowerBound": lower, "upperBound": upper}}


@pytest.mark.row("S-CTRL-16")
def test_requirements_are_put_and_the_job_follows() -> None:
    with wide_platform(), served() as (client, _):
        env = environment(2)
        summed(env, "t", splits=4)
        job_client = env.execute_async()
        job = running()
        root = f"/jobs/{job.job_id}"
        until(lambda: job.view.rescales.history)
        found = client.get(f"{root}/resource-requirements").json()
        assert as_recorded(f"GET {REQUIREMENTS}", 200, found) == []
        assert list(found.values()) == [bounds(1, 2), bounds(1, 2), bounds(1, 1)]
        first, second, last = found
        history = client.get(f"{root}/rescales/history").json()
        assert [entry["triggerCause"] for entry in history] == ["INITIAL_SCHEDULE"]

        wanted = {first: bounds(1, 4), second: bounds(3, 3), last: bounds(1, 1)}
        answer = client.put(f"{root}/resource-requirements", json=wanted)
        assert as_recorded(f"PUT {REQUIREMENTS}", answer.status_code, answer.json()) == []
        until(lambda: job.view.rescales.changes == 1)
        page = client.get(root).json()
        assert [vertex["parallelism"] for vertex in page["vertices"]] == [4, 3, 1]
        assert page["schedulerType"] == "Adaptive"
        assert [node["parallelism"] for node in page["plan"]["nodes"]] == [1, 3, 4]
        assert client.get(f"{root}/resource-requirements").json() == wanted
        assert client.get(f"{root}/metrics?get=numRescales,numRestarts").json() == [
            {"id": "numRescales", "value": "1"},
            {"id": "numRestarts", "value": "0"},
        ]

        newest = client.get(f"{root}/rescales/history").json()[0]
        assert (newest["terminalState"], newest["triggerCause"]) == ("COMPLETED", "UPDATE_REQUIREMENT")
        details = client.get(f"{root}/rescales/details/{newest['rescaleUuid']}").json()
        assert as_recorded("GET /jobs/{jobid}/rescales/details/{rescaleuuid}", 200, details) == []
        vertex = details["vertices"][second]
        assert (vertex["preRescaleParallelism"], vertex["postRescaleParallelism"]) == (2, 3)
        (slots,) = details["slots"].values()
        assert (slots["preRescaleSlots"], slots["postRescaleSlots"]) == (2, 4)
        for name in ("overview", "summary"):
            ours = client.get(f"{root}/rescales/{name}").json()
            assert as_recorded(f"GET /jobs/{{jobid}}/rescales/{name}", 200, ours) == []
            assert ours["rescalesCounts"]["completed"] == 2
        assert client.get(f"{root}/rescales/details/{'0' * 32}").status_code == 404
        job_client.cancel().result()
        assert client.put(f"{root}/resource-requirements", json=wanted).status_code == 400, "it has ended"


def test_a_request_is_refused_as_flink_refuses_it() -> None:
    with wide_platform(), served() as (client, _):
        env = environment(2)
        summed(env, "t")
        job_client = env.execute_async()
        job = running()
        path = f"/jobs/{job.job_id}/resource-requirements"
        first, second, last = (vertex.id for vertex in job.view.vertices)
        right = {first: bounds(1, 2), second: bounds(1, 2), last: bounds(1, 1)}

        def refusal(body: Any) -> str:
            answer = client.put(path, json=body)
            assert answer.status_code == 400, answer.text
            return str(answer.json()["errors"][0])

        def said(when: str) -> str:
            (example,) = recorded(f"PUT {REQUIREMENTS}", when, status=400)
            return _sentence(example)

        assert said("lower bound above the upper one").startswith("The requested lower bound [3] for job ")
        assert refusal({**right, second: bounds(3, 1)}) == (
            f"The requested lower bound [3] for job vertex [{second}] is higher than the upper bound [1]."
        )
        assert said("a vertex missing").startswith("The request is incomplete, missing job vertex [")
        assert refusal({first: bounds(1, 1)}).startswith(
            f"The request is incomplete, missing job vertex [{second}] resource requirements."
        )
        assert refusal({}) == said("without the adaptive scheduler")
        assert "Request did not match expected format" in refusal({first: {"parallelism": 3}})
        assert client.put(path, json=right).status_code == 200
        assert client.put("/jobs/" + "0" * 32 + "/resource-requirements", json=right).status_code == 404
        job_client.cancel().result()


def _sentence(example: Example) -> str:
    """Without the class of Java before it, and what was cut behind it."""
    text: str = example.body["errors"][0]
    return text.partition(": ")[2].removesuffix(" ...")


@pytest.mark.parametrize("batch", [True, False])
def test_a_job_that_stays_as_it_is_says_so(batch: bool) -> None:
    with wide_platform(), served() as (client, _):
        env = environment(1, **({} if batch else {"jobmanager.scheduler": "default"}))
        if batch:
            env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        env.from_collection([1]).map(lambda v: v).print()
        env.execute("short")
        (job,) = client.get("/jobs/overview").json()["jobs"]
        root = f"/jobs/{job['jid']}"
        page = client.get(root).json()
        assert page["schedulerType"] == job["schedulerType"] == "Default"
        for name in ("config", "history", "overview", "summary", "details/" + "0" * 32):
            assert client.get(f"{root}/rescales/{name}").status_code == 404
        assert client.get(f"{root}/resource-requirements").status_code == 404
        (vertex,) = page["vertices"]
        answer = client.put(f"{root}/resource-requirements", json={vertex["id"]: bounds(1, 1)})
        assert answer.status_code == 404
