"""The events of a job as a stream of server-sent events."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from firesteel.testing import MiniCluster
from tests.rest.jobs import Jobs, live
from tests.rest.support import served
from tests.waiting import patience, until


def parsed(text: str) -> list[dict[str, Any]]:
    found = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append({**fields, "data": json.loads(fields["data"])})
    return found


def stream(client: TestClient, job_id: str, **headers: str) -> list[dict[str, Any]]:
    answer = client.get(f"/firesteel/v1/jobs/{job_id}/events", headers=headers)
    assert answer.headers["content-type"].startswith("text/event-stream")
    return parsed(answer.text)


def test_the_life_of_a_job(jobs: Jobs) -> None:
    found = stream(jobs.client, jobs.ids["word count"])
    statuses = [event["data"]["status"] for event in found if event["event"] == "StatusChanged"]
    assert statuses == ["INITIALIZING", "CREATED", "RUNNING", "FINISHED"]
    assert [event["id"] for event in found[:-1]] == [str(n) for n in range(1, len(found))]
    assert (found[-1]["event"], found[-1]["data"]) == ("End", {"status": "FINISHED"})


def test_a_client_goes_on_where_it_was(jobs: Jobs) -> None:
    everything = stream(jobs.client, jobs.ids["failing"])
    later = stream(jobs.client, jobs.ids["failing"], **{"last-event-id": "3"})
    assert later == everything[3:]
    assert any(event["event"] == "ExceptionRaised" for event in later)
    answer = jobs.client.get(
        f"/firesteel/v1/jobs/{jobs.ids['failing']}/events", headers={"last-event-id": "x"}
    )
    assert answer.status_code == 400


def test_events_come_while_the_job_runs(tmp_path: Path) -> None:
    with MiniCluster.in_process() as mini, served() as (client, _):
        job_id = str(live(mini, tmp_path, "orders").get_job_id())
        found: list[dict[str, Any]] = []
        reader = threading.Thread(target=lambda: found.extend(stream(client, job_id)))
        reader.start()
        until(lambda: client.get(f"/jobs/{job_id}/checkpoints").json()["counts"]["completed"] > 1)
        client.patch(f"/jobs/{job_id}")
        reader.join(patience(20))
        kinds = [event["event"] for event in found]
        assert "CheckpointCompleted" in kinds
        assert "CommandReceived" in kinds
        assert kinds[-1] == "End"
