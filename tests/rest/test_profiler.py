"""Profiles of the server's process and of Python workers, taken by a real py-spy."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.testclient import TestClient

from firesteel.rest.flame_page import flame_page
from firesteel.rest.profiling import Node
from firesteel.rest.settings import RestSettings
from firesteel.testing import MiniCluster
from tests.rest.support import as_recorded, served
from tests.waiting import until

DRIVER = "/jobmanager/profiler"
WORKER = "/taskmanagers/in-process/profiler"
SHORT = {"mode": "CPU", "duration": 1}


def run_a_job(mini: MiniCluster) -> None:
    """So that there is an executor."""
    env = mini.environment()
    env.from_collection([1]).print()
    env.execute()


@contextmanager
def busy() -> Iterator[None]:
    """A thread of this process computes."""
    over = threading.Event()

    def spin_for_the_profile() -> None:
        while not over.is_set():
            sum(range(1000))

    thread = threading.Thread(target=spin_for_the_profile)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.fixture
def client() -> Iterator[TestClient]:
    settings = RestSettings(profiling=True, profiling_longest_s=2, profiles_kept=2)
    with MiniCluster.in_process() as mini, served(settings) as (found, _):
        run_a_job(mini)
        yield found


def newest(client: TestClient, path: str) -> Any:
    """The newest profile when it was taken."""

    def ended() -> Any:
        (first, *_) = client.get(path).json()["profilingList"]
        return first["status"] != "RUNNING" and first

    return until(ended)


def test_a_profile_of_the_server(client: TestClient) -> None:
    assert client.get(DRIVER).json() == {"profilingList": []}
    with busy():
        answer = client.post(DRIVER, json={"mode": "CPU", "duration": 2})
        refused = client.post(DRIVER, json=SHORT)
        assert as_recorded("POST /jobmanager/profiler", answer.status_code, answer.json()) == []
        assert (answer.json()["status"], answer.json()["outputFile"]) == ("RUNNING", None)
        assert refused.status_code == 409
        assert refused.json()["errors"] == ["JobManager is still under profiling."]
        profile = newest(client, DRIVER)
    assert profile["status"] == "FINISHED", profile["message"]
    assert profile["message"] == "Profiling Successful"
    assert profile["outputFile"].startswith("JobManager_CPU_20")
    assert profile["finishedTime"] >= profile["triggerTime"] + 900
    taken = client.get(DRIVER)
    assert as_recorded("GET /jobmanager/profiler", taken.status_code, taken.json(), "one asked for") == []
    page = client.get(f"{DRIVER}/{profile['outputFile']}")
    assert page.headers["content-type"].startswith("text/html")
    assert page.headers["content-disposition"].startswith("attachment")
    assert "spin_for_the_profile" in page.text
    assert "<script" not in page.text
    assert client.get(f"{DRIVER}/no-such.html").status_code == 404
    assert client.get(f"{DRIVER}/..%2f..%2fetc%2fpasswd").status_code == 404


@pytest.mark.parametrize("duration", [0, -1, 3])
def test_how_long_a_profile_may_take(client: TestClient, duration: int) -> None:
    answer = client.post(DRIVER, json={"mode": "CPU", "duration": duration})
    assert answer.status_code == 400
    assert answer.json()["errors"] == ["`duration` must be set between (0s, 2s]."]


def test_what_cannot_be_told_is_a_profile_that_failed(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for mode, said in (("ALLOC", "allocates memory"), ("LOCK", "waits for locks")):
        answer = client.post(DRIVER, json={"mode": mode, "duration": 1}).json()
        assert answer["status"] == "FAILED"
        assert said in answer["message"]
    assert client.post(DRIVER, json={"mode": "SPY", "duration": 1}).status_code == 400
    monkeypatch.setattr("firesteel.rest.profiler.py_spy", lambda: None)
    assert "pip install" in client.post(DRIVER, json=SHORT).json()["message"]
    kept = client.get(DRIVER).json()["profilingList"]
    assert [profile["mode"] for profile in kept] == ["CPU", "LOCK"], "two are kept, the newest first"


def test_profiles_of_python_workers(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = client.post(WORKER, json=SHORT).json()
    assert answer["status"] == "FAILED"
    assert "no Python worker of this machine" in answer["message"]
    assert client.post("/taskmanagers/other/profiler", json=SHORT).status_code == 404
    monkeypatch.setattr("firesteel.rest.handlers.profiler.processes_here", lambda workers: [os.getpid()])
    with busy():
        assert client.post(WORKER, json={"mode": "WALL", "duration": 1}).json()["status"] == "RUNNING"
        profile = newest(client, WORKER)
    assert profile["status"] == "FINISHED", profile["message"]
    assert profile["outputFile"].startswith("TaskManager_in_process_WALL_")
    page = client.get(f"{WORKER}/{profile['outputFile']}").text
    assert f"process {os.getpid()}" in page
    assert client.get(f"{DRIVER}/{profile['outputFile']}").status_code == 404, "it is of another process"


def test_nobody_takes_profiles_unless_it_is_allowed() -> None:
    with MiniCluster.in_process() as mini, served() as (client, _):
        run_a_job(mini)
        answer = client.post(DRIVER, json=SHORT)
        assert answer.status_code == 404
        assert "rest.profiling.enabled" in answer.json()["errors"][0]
        assert client.get(DRIVER).json() == {"profilingList": []}
        assert client.get(WORKER).json() == {"profilingList": []}


def test_a_page_shows_shares_and_leaves_out_what_is_too_narrow() -> None:
    root = Node("all")
    root.add_stacks("a <x> (m.py:1);b (m.py:2) 600\na <x> (m.py:1);c 399\nrare 1\nno number\n")
    page = flame_page("A & B", root)
    assert "<title>A &amp; B</title>" in page
    assert "a &lt;x&gt; (m.py:1): 999 samples, 99.9 %" in page
    assert "b (m.py:2): 600 samples, 60.0 %" in page
    assert "rare: 1 samples" in page
    deep = Node("all")
    deep.add([f"f{n}" for n in range(5000)], 1)
    assert flame_page("deep", deep).count("<rect") == 401
