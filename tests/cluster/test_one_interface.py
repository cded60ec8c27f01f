"""One suite of orders for both implementations of ``rest.cluster.Cluster``: jobs in this process, and a
session cluster, whose dispatcher asks other processes over HTTP."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.testing import MiniCluster
from tests.cluster.support import JOB_ID, SessionCluster
from tests.rest.jobs import live
from tests.rest.support import UNKNOWN, served, shape_of
from tests.waiting import patience, until

ENDLESS = """
endless().map(lambda n: n + 1).name("enrich").key_by(lambda n: n % 3).sum(0).print()
env.execute("orders")
"""
#: What each implementation has answered; whichever comes second is compared with the first.
_answered: dict[str, list[tuple[int, Any]]] = {}


#: From method, path and body to status and body.
Send = Callable[[str, str, Any], tuple[int, Any]]


def over_http(url: str) -> Send:
    def send(method: str, path: str, body: Any) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{url}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=patience(60)) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.load(refused)

    return send


class Asked:
    """A client that remembers the answers: their statuses and their forms."""

    def __init__(self, send: Send, job: str) -> None:
        self._send = send
        self.job = job
        self.answers: list[tuple[int, Any]] = []

    def __call__(self, method: str, path: str, body: Any = None, *, keep: bool = True) -> Any:
        status, found = self._send(method, f"/v1{path}", body)
        if keep:
            self.answers.append((status, shape_of([found])))
        return found

    def until_done(self, path: str) -> Any:
        def done() -> Any:
            found = self("GET", path, keep=False)
            return found if found["status"]["id"] == "COMPLETED" else None

        return until(done, seconds=60)["operation"]


@pytest.fixture(params=["in process", "over http"])
def asked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Asked]:
    if request.param == "in process":
        with MiniCluster.in_process() as mini, served() as (client, _):

            def send(method: str, path: str, body: Any) -> tuple[int, Any]:
                answer = client.request(method, path, json=body)
                return answer.status_code, answer.json()

            yield Asked(send, str(live(mini, tmp_path, "orders").get_job_id()))
        return
    cluster: SessionCluster = request.getfixturevalue("cluster")
    interval, directory = (
        "execution.checkpointing.interval=200 ms",
        f"execution.checkpointing.dir={tmp_path}/c",
    )
    done = cluster.run(ENDLESS, options=("-d", "-D", interval, "-D", directory))
    (job,) = JOB_ID.findall(done.stdout)
    yield Asked(over_http(cluster.url), job)


@pytest.mark.row("S-LIB-07")
def test_the_orders_of_a_job(asked: Asked, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    job = f"/jobs/{asked.job}"
    until(lambda: asked("GET", f"{job}/status", keep=False) == {"status": "RUNNING"}, seconds=60)
    assert {"id": asked.job, "status": "RUNNING"} in asked("GET", "/jobs", keep=False)["jobs"]
    assert asked("GET", job, keep=False)["name"] == "orders"
    assert asked("GET", f"/jobs/{UNKNOWN}")["errors"]
    trigger = asked("POST", f"{job}/checkpoints", {"checkpointType": "FULL"})["request-id"]
    assert asked.until_done(f"{job}/checkpoints/{trigger}")["checkpointId"] > 0
    wanted = {"target-directory": f"file://{tmp_path}/savepoints", "cancel-job": False}
    trigger = asked("POST", f"{job}/savepoints", wanted)["request-id"]
    location = asked.until_done(f"{job}/savepoints/{trigger}")["location"]
    assert Path(location.removeprefix("file:"), "_metadata").is_file()
    assert asked("GET", f"{job}/savepoints/{'12' * 16}")["errors"]
    assert asked("POST", f"{job}/savepoints", {"target-directory": 7})["errors"]
    assert asked("PATCH", job) == {}
    until(lambda: asked("GET", f"{job}/status", keep=False) == {"status": "CANCELED"}, seconds=60)
    assert asked("PATCH", f"/jobs/{UNKNOWN}")["errors"]
    asked("PATCH", job)  # it has ended
    trigger = asked("POST", f"{job}/checkpoints", {}).get("request-id")
    assert trigger is None or "failure-cause" in asked.until_done(f"{job}/checkpoints/{trigger}")
    _answered[request.node.name] = asked.answers
    assert len(set(map(repr, _answered.values()))) == 1, _answered
