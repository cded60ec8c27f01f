"""``firesteel logs``: of an executor, and followed byte by byte."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from firesteel.cli import _jobs, main

EXECUTORS = ("10.0.0.1:4000-aaaaaa", "10.0.0.2:4000-bbbbbb")
JOB = "0" * 32
LOG = "line é\nlast line\n".encode()


class Cluster:
    """Answers as a cluster whose log grows by two bytes with each question."""

    def __init__(self) -> None:
        self.there = 0
        self.asked: list[str] = []

    def get(self, path: str) -> Any:
        if path == "/v1/taskmanagers":
            return {"taskmanagers": [{"id": executor} for executor in EXECUTORS]}
        if path.endswith("/status"):
            return {"status": "FINISHED" if self.there >= len(LOG) else "RUNNING"}
        return {"logs": [{"name": f"job-{JOB}.log", "size": self.there}]}

    def content(self, path: str, offset: int = 0, tail: int | None = None) -> bytes:
        self.asked.append(path)
        self.there += 2
        return LOG[:9][-tail:] if tail is not None else LOG[offset : self.there]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    found = Cluster()
    monkeypatch.setattr(_jobs, "client_of", lambda jobmanager: found)
    monkeypatch.setattr(_jobs.time, "sleep", lambda seconds: None)
    return found


def test_a_log_is_followed_though_a_read_cuts_a_character(cluster: Cluster) -> None:
    """Broken by hand: what is read as text counts three bytes for half of a character."""
    done = CliRunner().invoke(main, ["logs", "-f", JOB])
    assert (done.exit_code, done.stdout_bytes) == (0, LOG)


def test_the_last_bytes_and_what_follows(cluster: Cluster) -> None:
    cluster.there = 10
    done = CliRunner().invoke(main, ["logs", "-f", "-n", "3", JOB])
    assert done.stdout_bytes == LOG[7:]


@pytest.mark.parametrize(
    ("words", "path"),
    [
        (["--executor", "10.0.0.2"], f"/v1/taskmanagers/{EXECUTORS[1]}/logs/stderr"),
        (["--executor", EXECUTORS[0], "--out"], f"/v1/taskmanagers/{EXECUTORS[0]}/logs/stdout"),
        ([JOB, "--out"], f"/v1/jobmanager/logs/job-{JOB}.out"),
        ([], "/v1/jobmanager/logs/firesteel.log"),
    ],
)
def test_whose_log_it_is(cluster: Cluster, words: list[str], path: str) -> None:
    assert CliRunner().invoke(main, ["logs", *words]).exit_code == 0
    assert cluster.asked == [path]


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (
            ["--executor", "nowhere"],
            4,
            "No executor has an id that begins with nowhere. There are:\n  10.0.0.1",
        ),
        (["--executor", "10."], 4, "2 executors have an id that begins with 10."),
        (["--executor", "10.0.0.1", JOB], 2, "name one of them"),
    ],
)
def test_what_is_not_clear_is_refused(cluster: Cluster, words: list[str], code: int, says: str) -> None:
    done = CliRunner().invoke(main, ["logs", *words])
    assert done.exit_code == code
    assert says in done.output
    assert cluster.asked == []
