"""Commands through the API: what they do to a job, what clients hear of them."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.rest.settings import RestSettings
from firesteel.testing import MiniCluster
from tests.rest.jobs import Jobs, live
from tests.rest.support import UNKNOWN, as_recorded, differences, finished, recorded, served, shape_of
from tests.waiting import until

SAVEPOINTS = "GET /jobs/{jobid}/savepoints/{triggerid}"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Jobs]:
    """One job that runs."""
    with MiniCluster.in_process() as mini, served() as (client, cluster):
        handle = live(mini, tmp_path, "orders")
        jobs = Jobs(client, cluster, {"orders": str(handle.get_job_id())})
        until(lambda: jobs.get("/jobs/{jobid}/checkpoints")["counts"]["completed"])
        yield jobs


def post(jobs: Jobs, path: str, body: Any, status: int = 202) -> Any:
    answer = jobs.client.post(path.format(jobid=jobs.ids["orders"]), json=body)
    assert answer.status_code == status, answer.text
    assert as_recorded(f"POST {path}", status, answer.json()) == []
    return answer.json()


def result(jobs: Jobs, kind: str, trigger: str) -> dict[str, Any]:
    done = finished(jobs.client, f"/v1/jobs/{jobs.ids['orders']}/{kind}/{trigger}")
    assert as_recorded(f"GET /jobs/{{jobid}}/{kind}/{{triggerid}}", 200, done) == []
    return done


@pytest.mark.row("S-REST-02")
def test_a_savepoint_and_its_removal(running: Jobs, tmp_path: Path) -> None:
    asked = {"target-directory": f"file://{tmp_path}/mine", "cancel-job": False}
    trigger = post(running, "/jobs/{jobid}/savepoints", asked)["request-id"]
    done = result(running, "savepoints", trigger)
    assert (
        differences(shape_of([done]), shape_of([recorded(SAVEPOINTS, "to a directory: done")[0].body])) == []
    )
    location = done["operation"]["location"]
    directory = Path(location.removeprefix("file:").replace("//", "/"))
    assert (directory / "_metadata").is_file()
    history = running.get("/jobs/{jobid}/checkpoints")
    assert history["latest"]["savepoint"]["external_path"] == location
    assert history["latest"]["savepoint"]["savepointFormat"] == "CANONICAL"

    trigger = post(running, "/savepoint-disposal", {"savepoint-path": location}, 200)["request-id"]
    done = finished(running.client, f"/savepoint-disposal/{trigger}")
    (theirs,) = recorded("GET /savepoint-disposal/{triggerid}", "of a savepoint: done")
    assert done == theirs.body
    assert not directory.exists()


def test_the_same_trigger_id_is_the_same_savepoint(running: Jobs) -> None:
    body = {"triggerId": "ab" * 16, "formatType": "CANONICAL"}
    for _ in range(2):
        assert post(running, "/jobs/{jobid}/savepoints", body) == {"request-id": "ab" * 16}
    first = result(running, "savepoints", "ab" * 16)
    post(running, "/jobs/{jobid}/savepoints", body)
    assert result(running, "savepoints", "ab" * 16) == first
    history = running.get("/jobs/{jobid}/checkpoints")["history"]
    assert sum(c["is_savepoint"] for c in history) == 1


def test_a_savepoint_that_cannot_be_written_says_why(running: Jobs) -> None:
    trigger = post(running, "/jobs/{jobid}/savepoints", {"target-directory": "/proc/none"})["request-id"]
    done = result(running, "savepoints", trigger)
    (theirs,) = recorded(SAVEPOINTS, "to a directory that cannot be written: done")
    assert differences(shape_of([done]), shape_of([theirs.body])) == []
    cause = done["operation"]["failure-cause"]
    assert cause["class"] == "StorageError"
    assert b"org.apache.flink.util.SerializedThrowable" in base64.b64decode(cause["serialized-throwable"])
    assert b"/proc/none" in base64.b64decode(cause["serialized-throwable"])
    assert running.get("/jobs/{jobid}/status")["status"] == "RUNNING"


def test_a_savepoint_of_an_unknown_job_is_a_failed_operation(running: Jobs) -> None:
    answer = running.client.post(f"/jobs/{UNKNOWN}/savepoints", json={})
    assert answer.status_code == 202
    done = finished(running.client, f"/jobs/{UNKNOWN}/savepoints/{answer.json()['request-id']}")
    assert f"Job {UNKNOWN} not found" in done["operation"]["failure-cause"]["stack-trace"]


def test_a_savepoint_after_which_the_job_is_cancelled(running: Jobs) -> None:
    trigger = post(running, "/jobs/{jobid}/savepoints", {"cancel-job": True})["request-id"]
    assert "location" in result(running, "savepoints", trigger)["operation"]
    until(lambda: running.get("/jobs/{jobid}/status")["status"] == "CANCELED")


def test_a_job_is_stopped_with_a_savepoint(running: Jobs) -> None:
    trigger = post(running, "/jobs/{jobid}/stop", {"drain": True})["request-id"]
    done = result(running, "savepoints", trigger)
    (theirs,) = recorded(SAVEPOINTS, "with a savepoint, drained: done")
    assert differences(shape_of([done]), shape_of([theirs.body])) == []
    until(lambda: running.get("/jobs/{jobid}/status")["status"] == "FINISHED")
    ended = running.get("/jobs/{jobid}/execution-result")["job-execution-result"]
    assert ended["application-status"] == "SUCCEEDED"
    refused = running.client.patch(f"/jobs/{running.ids['orders']}")
    assert refused.status_code == 409, "nobody is told that a job is cancelled that is not"
    assert "terminal state (FINISHED)" in refused.json()["errors"][0]
    # Stopping it again is a failure that says so.
    trigger = post(running, "/jobs/{jobid}/stop", {})["request-id"]
    done = result(running, "savepoints", trigger)
    assert "it has ended" in done["operation"]["failure-cause"]["stack-trace"]


def test_a_checkpoint_before_it_is_due(running: Jobs) -> None:
    trigger = post(running, "/jobs/{jobid}/checkpoints", {"checkpointType": "FULL"})["request-id"]
    number = result(running, "checkpoints", trigger)["operation"]["checkpointId"]
    assert running.get(f"/jobs/{{jobid}}/checkpoints/details/{number}")["status"] == "COMPLETED"


@pytest.mark.parametrize("how", ["PATCH /jobs/{jobid}?mode=cancel", "GET /jobs/{jobid}/yarn-cancel",
                                 "POST /applications/{jobid}/cancel"])  # fmt: skip
@pytest.mark.row("S-REST-05")
def test_a_job_is_cancelled(running: Jobs, how: str) -> None:
    method, _, path = how.partition(" ")
    answer = running.client.request(method, path.format(jobid=running.ids["orders"]))
    assert (answer.status_code, answer.json()) == (202, {})
    endpoint = f"{method} {path.partition('?')[0]}".replace(
        "applications/{jobid}", "applications/{applicationid}"
    )
    assert as_recorded(endpoint, 202, answer.json()) == []
    until(lambda: running.get("/jobs/{jobid}/status")["status"] == "CANCELED")
    again = running.client.patch(f"/jobs/{running.ids['orders']}")
    assert (again.status_code, again.json()) == (202, {}), "as often as one likes"


def test_a_client_that_lives_is_heard(running: Jobs) -> None:
    path = f"/jobs/{running.ids['orders']}/clientHeartbeat"
    answer = running.client.patch(path, json={"expiredTimestamp": 1 << 50})
    assert as_recorded("PATCH /jobs/{jobid}/clientHeartbeat", answer.status_code, answer.json()) == []


def test_the_whole_cluster_is_ended(running: Jobs) -> None:
    answer = running.client.delete("/cluster")
    assert as_recorded("DELETE /cluster", answer.status_code, answer.json()) == []
    until(lambda: running.get("/jobs/{jobid}/status")["status"] == "CANCELED")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("PATCH", f"/jobs/{UNKNOWN}", None, 404, "not found"),
        ("PATCH", "/jobs/{jobid}?mode=stop", None, 308, "has been removed"),
        ("PATCH", "/jobs/{jobid}?mode=pause", None, 400, "mode"),
        ("POST", "/jobs/{jobid}/savepoints", {"cancel-job": "perhaps"}, 400, "SavepointTrigger"),
        ("POST", "/jobs/{jobid}/savepoints", {"triggerId": "../.."}, 400, "triggerId"),
        ("POST", "/jobs/{jobid}/savepoints", ["no object"], 400, "SavepointTrigger"),
        ("POST", "/savepoint-disposal", {}, 400, "savepoint-path"),
        ("POST", "/jobs", {}, 400, "firesteel run"),
    ],
)
def test_commands_that_are_refused(
    jobs: Jobs, method: str, path: str, body: Any, status: int, says: str
) -> None:
    path = path.format(jobid=jobs.ids["orders"])
    answer = jobs.client.request(method, path, json=body, follow_redirects=False)
    assert answer.status_code == status
    assert says in answer.json()["errors"][0]


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe", b"[" * 100_000, b'{"drain": 1e999}'])
def test_a_body_that_is_no_json_is_refused(jobs: Jobs, body: bytes) -> None:
    answer = jobs.client.post(f"/jobs/{jobs.ids['orders']}/stop", content=body)
    assert answer.status_code == 400
    assert answer.json()["errors"]


def test_the_dashboard_may_not_cancel_where_that_is_switched_off(tmp_path: Path) -> None:
    with MiniCluster.in_process() as mini, served(RestSettings(cancel=False)) as (client, _):
        job_id = live(mini, tmp_path, "orders").get_job_id()
        assert client.get("/config").json()["features"]["web-cancel"] is False
        assert client.get(f"/jobs/{job_id}/yarn-cancel").status_code == 403
        assert client.get(f"/jobs/{job_id}/status").json() != {"status": "CANCELED"}
