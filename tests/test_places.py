"""Tests begin while jars of servers are still being fetched."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.places import FETCHER, fetched

_FETCHING_S = 1.0

Fetch = Callable[[str], None]


@pytest.fixture
def fetch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fetch]:
    """Starts a command of the shell as the process that fetches."""
    started: list[subprocess.Popen[bytes]] = []

    def start(command: str) -> None:
        started.append(subprocess.Popen(["sh", "-c", command]))
        monkeypatch.setenv(FETCHER, str(started[-1].pid))

    yield start
    for process in started:
        process.kill()
        process.wait()


def test_what_is_being_fetched_is_waited_for(tmp_path: Path, fetch: Fetch) -> None:
    begun = time.monotonic()
    fetch(f"sleep {_FETCHING_S}; touch {tmp_path}/.complete; exec sleep 100")
    assert fetched(tmp_path) == tmp_path
    assert time.monotonic() - begun >= _FETCHING_S


def test_what_a_fetch_has_not_brought_is_said_to_be_missing(tmp_path: Path, fetch: Fetch) -> None:
    """Its process has ended, and is a zombie as long as nobody has asked for its end."""
    fetch(f"exec sleep {_FETCHING_S}")
    with pytest.raises(AssertionError, match="run scripts/test-servers"):
        fetched(tmp_path)


def test_what_nobody_fetches_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FETCHER, raising=False)
    with pytest.raises(AssertionError, match="run scripts/test-servers"):
        fetched(tmp_path)
    (tmp_path / ".complete").touch()
    assert fetched(tmp_path) == tmp_path
