"""Our answers look as those of a real Flink 2.3 to a job of the same kind: the same fields, the same types,
and the same values where they do not depend on the machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pytest

from firesteel.rest.handlers.table import FLINK
from tests.rest.jobs import Jobs
from tests.rest.support import UNKNOWN, differences, examples, recorded, recorded_endpoints, shape_of

V = "/jobs/{jobid}/vertices/{vertexid}"
S = f"{V}/subtasks/{{subtaskindex}}"
#: Fields that Flink has values for, and we have none.
MAY = frozenset(
    {f"$.memoryConfiguration.{name}" for name in (
        "frameworkHeap", "taskHeap", "frameworkOffHeap", "taskOffHeap", "networkMemory", "managedMemory",
        "jvmMetaspace", "jvmOverhead", "totalFlinkMemory", "totalProcessMemory",
    )}
)  # fmt: skip
ADDED = {"/jobmanager/environment": "$.python", "/jobs/{jobid}/jobmanager/environment": "$.python"}


def ids(jobs: Jobs, job: str, vertex: str) -> dict[str, str]:
    found = {"subtaskindex": "0", "attempt": "0", "taskmanagerid": "in-process", "filename": "firesteel.log"}
    found["vertexid"] = jobs.vertex(vertex, job)
    history = jobs.get("/jobs/{jobid}/checkpoints", job)["history"]
    found["checkpointid"] = str(next((c["id"] for c in history if c["status"] == "COMPLETED"), 0))
    return found


CASES = [
    # path, our job, its vertex, the situations that were recorded
    ("/overview", "orders", "enrich", ()),
    ("/config", "orders", "enrich", ("jobs running, finished and failed",)),
    ("/jobmanager/config", "orders", "enrich", ()),
    ("/jobmanager/environment", "orders", "enrich", ()),
    ("/jobmanager/logs", "orders", "enrich", ()),
    ("/jobmanager/thread-dump", "orders", "enrich", ()),
    ("/jobmanager/profiler", "orders", "enrich", ("none made",)),
    ("/datasets", "orders", "enrich", ()),
    ("/jobs", "orders", "enrich", ()),
    ("/jobs/overview", "orders", "enrich", ()),
    ("/applications/overview", "orders", "enrich", ()),
    ("/applications/{applicationid}", "orders", "enrich", ("one job",)),
    ("/applications/{applicationid}", "to cancel", "enrich", ("cancelled",)),
    ("/applications/{applicationid}/exceptions", "failing", "pick", ("failed",)),
    ("/applications/{applicationid}/exceptions", "orders", "enrich", ("running",)),
    ("/applications/{applicationid}/jobmanager/config", "orders", "enrich", ()),
    ("/jobs/{jobid}", "orders", "enrich", ("running",)),
    ("/jobs/{jobid}", "failing", "pick", ("failed",)),
    ("/jobs/{jobid}", "word count", "count", ("finished",)),
    ("/jobs/{jobid}", "word count, batch", "count", ("finished, batch",)),
    ("/jobs/{jobid}", "to cancel", "enrich", ("cancelled",)),
    ("/jobs/{jobid}/status", "orders", "enrich", ()),
    ("/jobs/{jobid}/plan", "orders", "enrich", ("running",)),
    ("/jobs/{jobid}/plan", "word count, batch", "count", ("finished, batch",)),
    ("/jobs/{jobid}/config", "orders", "enrich", ("running",)),
    ("/jobs/{jobid}/exceptions", "orders", "enrich", ("running",)),
    ("/jobs/{jobid}/exceptions", "failing", "pick", ("failed",)),
    ("/jobs/{jobid}/accumulators", "word count", "count", ()),
    ("/jobs/{jobid}/execution-result", "orders", "enrich", ("running",)),
    ("/jobs/{jobid}/execution-result", "failing", "pick", ("failed",)),
    ("/jobs/{jobid}/execution-result", "word count", "count", ("finished",)),
    ("/jobs/{jobid}/execution-result", "to cancel", "enrich", ("cancelled",)),
    ("/jobs/{jobid}/jobmanager/config", "orders", "enrich", ()),
    ("/jobs/{jobid}/jobmanager/environment", "orders", "enrich", ()),
    ("/jobs/{jobid}/jobmanager/log-url", "orders", "enrich", ()),
    ("/jobs/{jobid}/taskmanagers/{taskmanagerid}/log-url", "orders", "enrich", ()),
    ("/jobs/{jobid}/checkpoints", "orders", "enrich", ("running",)),
    ("/jobs/{jobid}/checkpoints/config", "orders", "enrich", ()),
    ("/jobs/{jobid}/checkpoints/details/{checkpointid}", "orders", "enrich", ()),
    ("/jobs/{jobid}/checkpoints/details/{checkpointid}/subtasks/{vertexid}", "orders", "running total", ()),
    ("/jobs/{jobid}/resource-requirements", "orders", "enrich", ()),
    ("/jobs/{jobid}/rescales/config", "orders", "enrich", ()),
    ("/jobs/{jobid}/rescales/overview", "orders", "enrich", ()),
    ("/jobs/{jobid}/rescales/history", "orders", "enrich", ()),
    ("/jobs/{jobid}/rescales/summary", "orders", "enrich", ()),
    (V, "orders", "running total", ("a keyed vertex",)),
    (V, "failing", "pick", ("failed",)),
    (f"{V}/subtasktimes", "orders", "running total", ()),
    (f"{V}/taskmanagers", "orders", "running total", ("a keyed vertex",)),
    (f"{V}/accumulators", "orders", "running total", ()),
    (f"{V}/subtasks/accumulators", "orders", "running total", ()),
    (f"{V}/watermarks", "orders", "running total", ()),
    (f"{V}/metrics", "orders", "running total", ()),
    (f"{V}/metrics?get=0.numRecordsIn", "orders", "running total", ()),
    (f"{V}/jm-operator-metrics", "orders", "enrich", ()),
    (f"{V}/subtasks/metrics", "orders", "running total", ()),
    (f"{V}/subtasks/metrics?get=numRecordsIn", "orders", "running total", ()),
    (S, "orders", "running total", ("running",)),
    (f"{S}/attempts/{{attempt}}", "orders", "running total", ("running",)),
    (f"{S}/attempts/{{attempt}}", "failing", "pick", ("an earlier attempt, failed",)),
    (f"{S}/attempts/{{attempt}}/accumulators", "orders", "running total", ()),
    (f"{S}/metrics", "orders", "running total", ()),
    ("/jobmanager/metrics", "orders", "enrich", ()),
    ("/jobs/metrics", "orders", "enrich", ()),
    ("/jobs/{jobid}/metrics", "orders", "enrich", ("metric names", "values")),
    ("/taskmanagers/metrics", "orders", "enrich", ()),
    ("/taskmanagers", "orders", "enrich", ()),
    ("/taskmanagers/{taskmanagerid}", "orders", "enrich", ()),
    ("/taskmanagers/{taskmanagerid}/metrics", "orders", "enrich", ()),
    ("/taskmanagers/{taskmanagerid}/logs", "orders", "enrich", ()),
    ("/taskmanagers/{taskmanagerid}/profiler", "orders", "enrich", ()),
]  # fmt: skip


#: Endpoints whose answers are compared where they are about something: commands, programs, what takes time.
ELSEWHERE: Final[Mapping[str, str]] = {
    "DELETE /cluster": "test_commands.py",
    "PATCH /jobs/{jobid}": "test_commands.py",
    "PATCH /jobs/{jobid}/clientHeartbeat": "test_commands.py",
    "GET /jobs/{jobid}/yarn-cancel": "test_commands.py",
    "POST /applications/{applicationid}/cancel": "test_commands.py",
    "POST /jobs/{jobid}/checkpoints": "test_commands.py",
    "GET /jobs/{jobid}/checkpoints/{triggerid}": "test_commands.py",
    "POST /jobs/{jobid}/savepoints": "test_commands.py",
    "GET /jobs/{jobid}/savepoints/{triggerid}": "test_commands.py",
    "POST /jobs/{jobid}/stop": "test_commands.py",
    "POST /savepoint-disposal": "test_commands.py",
    "GET /savepoint-disposal/{triggerid}": "test_commands.py",
    "DELETE /datasets/{datasetid}": "test_values.py",
    "GET /datasets/delete/{triggerid}": "test_values.py",
    "GET /jobs/{jobid}/vertices/{vertexid}/backpressure": "test_values.py",
    "GET /jobs/{jobid}/vertices/{vertexid}/flamegraph": "test_live.py",
    "PUT /jobs/{jobid}/resource-requirements": "test_rescales.py",
    "GET /jobs/{jobid}/rescales/details/{rescaleuuid}": "test_rescales.py",
    "POST /jobmanager/profiler": "test_profiler.py",
    "DELETE /jars/{jarid}": "../cluster/test_programs.py",
    "GET /jars": "../cluster/test_programs.py",
    "GET /jars/{jarid}/plan": "../cluster/test_programs.py",
    "POST /jars/{jarid}/plan": "../cluster/test_programs.py",
    "POST /jars/{jarid}/run": "../cluster/test_programs.py",
    "POST /jars/{jarid}/run-application": "../cluster/test_programs.py",
    "POST /jars/upload": "../cluster/test_programs.py",
}
#: Files of text: nothing of their content is Flink's.
TEXTS = (
    "/jobmanager/log",
    "/jobmanager/logs/{filename}",
)
#: What is known of the logs of a task manager depends on where it runs: test_worker_logs.py.
LOGS_OF_WORKERS = {
    f"GET /taskmanagers/{{taskmanagerid}}/{name}" for name in ("log", "logs/{filename}", "stdout")
}
REFUSED = {f"{route.method} {route.path}" for route in FLINK if route.doc.startswith("Refused")}


def test_each_endpoint_that_was_recorded_is_compared() -> None:
    compared = {f"GET {path.partition('?')[0]}" for path, *_ in CASES} | {f"GET {path}" for path in TEXTS}
    assert recorded_endpoints() - compared - REFUSED - LOGS_OF_WORKERS == ELSEWHERE.keys()


@pytest.mark.parametrize("path", TEXTS)
def test_a_text_is_a_text(jobs: Jobs, path: str) -> None:
    answer = jobs.client.get(path.format(filename="firesteel.log"))
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("endpoint", sorted(REFUSED))
def test_what_nobody_can_answer_is_refused_with_a_sentence(jobs: Jobs, endpoint: str) -> None:
    method, path = endpoint.split()
    path = path.format(taskmanagerid="in-process", jobid=jobs.ids["orders"], triggerid=UNKNOWN)
    answer = jobs.client.request(method, path, params={"parallelism": 2})
    (text,) = answer.json()["errors"]
    assert text.endswith(".")
    for theirs in (example for example in examples() if example.endpoint == endpoint):
        if theirs.status == 503:  # what Flink itself refuses
            assert answer.status_code == theirs.status
            assert theirs.body["errors"][0].removesuffix(" ...").split(": ")[1] in text
            return
    assert answer.status_code in (400, 404)


def test_the_parallelism_of_a_rescaling_has_to_be_named(jobs: Jobs) -> None:
    answer = jobs.client.patch(f"/jobs/{jobs.ids['orders']}/rescaling")
    assert answer.status_code == 400
    assert "parallelism" in answer.json()["errors"][0]


@pytest.mark.parametrize(("path", "job", "vertex", "whens"), CASES)
@pytest.mark.row("S-REST-01", "S-LIFE-11")
def test_an_answer_looks_as_it_was_recorded(
    jobs: Jobs, path: str, job: str, vertex: str, whens: tuple[str, ...]
) -> None:
    ours = jobs.get(path, job, **ids(jobs, job, vertex))
    endpoint = path.partition("?")[0]
    theirs = [example.body for example in recorded(f"GET {endpoint}", *whens)]
    may = {place.replace("$.", f"{root}.", 1) for place in MAY for root in ("$", "$.taskmanagers[]")}
    found = differences(shape_of([ours]), shape_of(theirs), may=frozenset({*may, "$.stream-graph"}))
    expected = [f"{ADDED[endpoint]}: Flink has no such field"] if endpoint in ADDED else []
    assert found == expected


@pytest.mark.parametrize(
    ("path", "job", "when"),
    [
        ("/jobs/{jobid}/status", "orders", "running"),
        ("/jobs/{jobid}/status", "failing", "failed"),
        ("/jobs/{jobid}/status", "word count", "finished"),
        ("/jobs/{jobid}/execution-result", "orders", "running"),
        ("/jobs/{jobid}/exceptions", "orders", "running"),
        ("/jobs/{jobid}/config", "orders", "running"),
        ("/applications/{applicationid}/exceptions", "orders", "running"),
        ("/jobmanager/profiler", "orders", "none made"),
    ],
)
def test_an_answer_is_as_it_was_recorded(jobs: Jobs, path: str, job: str, when: str) -> None:
    (theirs,) = recorded(f"GET {path}", when)
    assert jobs.get(path, job) == _with_id(theirs.body, jobs.ids[job])


def _with_id(body: Any, job_id: str) -> Any:
    return {**body, "jid": job_id} if "jid" in body else body


def test_values_of_a_job_that_do_not_depend_on_the_machine(jobs: Jobs) -> None:
    (theirs,) = recorded("GET /jobs/{jobid}", "adaptive scheduler")
    ours = jobs.get("/jobs/{jobid}")
    for name in ("name", "isStoppable", "state", "job-type", "schedulerType", "end-time", "maxParallelism"):
        assert ours[name] == theirs.body[name], name
    assert ours["pending-operators"] == 0
    assert ours["jid"] == ours["application-id"] == ours["plan"]["jid"] == jobs.ids["orders"]
    assert ours["timestamps"].keys() == theirs.body["timestamps"].keys()
    assert ours["status-counts"].keys() == theirs.body["status-counts"].keys()
    assert sum(ours["status-counts"].values()) == len(ours["vertices"])
    vertex = ours["vertices"][0]
    assert vertex["tasks"]["RUNNING"] == vertex["parallelism"] == 2
    assert (vertex["maxParallelism"], vertex["status"]) == (128, "RUNNING")
    assert vertex["metrics"]["read-bytes"] == 0, "a source has no input"


@pytest.mark.row("S-REST-07", "S-CKPT-21")
def test_values_of_checkpoint_settings(jobs: Jobs) -> None:
    """Of a job whose program does not set a mode."""
    (theirs,) = recorded("GET /jobs/{jobid}/checkpoints/config", "running")
    ours = jobs.get("/jobs/{jobid}/checkpoints/config")
    assert {**ours, "interval": 3000} == theirs.body


def test_the_overview_counts_jobs(jobs: Jobs) -> None:
    ours = jobs.get("/overview")
    assert (ours["jobs-running"], ours["jobs-finished"]) == (1, 2)
    assert (ours["jobs-cancelled"], ours["jobs-failed"]) == (1, 1)
    assert (ours["taskmanagers"], ours["slots-total"], ours["slots-available"]) == (1, 4, 2)
    (theirs,) = recorded("GET /overview")
    assert ours["flink-version"] == theirs.body["flink-version"]


def test_jobs_are_listed_the_youngest_first(jobs: Jobs) -> None:
    names = [job["name"] for job in jobs.get("/jobs/overview")["jobs"]]
    assert names == ["to cancel", "word count, batch", "word count", "orders", "failing"]
    by_name = {job["name"]: job for job in jobs.get("/jobs/overview")["jobs"]}
    assert by_name["word count, batch"]["jobType"] == "BATCH"
    assert by_name["to cancel"]["tasks"]["canceled"] == by_name["to cancel"]["tasks"]["total"]
    assert by_name["failing"]["end-time"] >= by_name["failing"]["start-time"]


UNKNOWN_JOB = [
    "/jobs/{id}", "/jobs/{id}/plan", "/jobs/{id}/config", "/jobs/{id}/exceptions", "/jobs/{id}/accumulators",
    "/jobs/{id}/checkpoints", "/jobs/{id}/checkpoints/config", "/jobs/{id}/execution-result",
    "/jobs/{id}/status", "/jobs/{id}/rescales/config",
]  # fmt: skip


@pytest.mark.parametrize("path", UNKNOWN_JOB)
def test_an_unknown_job_is_said_to_be_unknown(jobs: Jobs, path: str) -> None:
    answer = jobs.client.get(path.format(id=UNKNOWN))
    assert answer.status_code == 404
    assert answer.json().keys() == {"errors"}
    assert f"Job {UNKNOWN} not found" in answer.json()["errors"][0]


def test_an_unknown_job_has_no_metrics(jobs: Jobs) -> None:
    (theirs,) = recorded("GET /jobs/{jobid}/metrics", "unknown job")
    assert jobs.client.get(f"/jobs/{UNKNOWN}/metrics").json() == theirs.body == []


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/jobs/abc", 400, "32 hexadecimal digits"),
        ("/jobs/{jobid}/vertices/" + UNKNOWN, 404, f"Vertex {UNKNOWN} not found"),
        ("/jobs/{jobid}/checkpoints/details/999999", 404, "checkpoint 999999"),
        ("/jobs/{jobid}/checkpoints/details/x", 400, "a number"),
        ("/jobs/{jobid}/savepoints/" + UNKNOWN, 404, f"no savepoint operation with triggerId={UNKNOWN}"),
        ("/savepoint-disposal/" + UNKNOWN, 404, "disposal"),
        ("/taskmanagers/nobody", 404, "no task manager nobody"),
        ("/nothing", 404, "Not found: /nothing"),
        ("/jobmanager/logs/..%2f..%2fetc%2fpasswd", 404, ""),
        ("/jobs/{jobid}/exceptions?maxExceptions=many", 400, "maxExceptions"),
    ],
)
def test_a_refusal_is_a_sentence(jobs: Jobs, path: str, status: int, says: str) -> None:
    for prefix in ("", "/v1"):
        answer = jobs.client.get(prefix + path.format(jobid=jobs.ids["orders"]))
        assert answer.status_code == status
        assert answer.json().keys() == {"errors"}
        assert says.replace("Not found: ", f"Not found: {prefix}") in answer.json()["errors"][0]
        assert "Traceback" not in answer.text


def test_a_verb_that_a_path_does_not_know_is_not_found(jobs: Jobs) -> None:
    assert jobs.client.put("/jobs/overview").status_code == 404
    assert jobs.client.put("/jobs/overview").json() == {"errors": ["Not found: /jobs/overview"]}
