"""A job that goes back further than the local stores of its hosts have come: epoch numbers come again, and
what a store has of the time that never was must not show."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from firesteel.common.job_status import JobStatus
from firesteel.jobmanager import executor
from firesteel.jobmanager.checkpoints.storage import stored_checkpoints
from firesteel.runtime import worker
from firesteel.state.backend import StateLimits
from firesteel.state.lmdb_store import LocalStore
from tests.jobmanager.checkpoint_support import submit
from tests.jobmanager.test_recovery import FIXED, ID, JOB, MANY, FailsAt, counting, every_epoch, expected
from tests.runtime.support import local_platform, notes
from tests.waiting import patience

WORDS = [f"w{n % 90}" for n in range(600)]


@pytest.fixture
def stores_used(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Caches so small that the local stores serve the reads, and hosts that keep them; which were used."""
    small = StateLimits(cache_entries=20, warm_entries=0, compaction_entries=40)
    monkeypatch.setattr(worker, "state_limits", lambda *_args, **_options: small)
    monkeypatch.setattr(executor.shutil, "rmtree", lambda *_args, **_options: None)
    used: list[str] = []
    catch_up = LocalStore.catch_up

    def noting(self: Any, *args: Any) -> bool:
        done = catch_up(self, *args)
        if done:
            used.append(str(self._path))
        return done

    monkeypatch.setattr(LocalStore, "catch_up", noting)
    return used


def driver(directory: Path, fails: FailsAt | None, **options: str) -> tuple[Any, list[Any]]:
    """One driver of the job, from its newest checkpoint to its end, or to where it fails for good."""
    options = {JOB: ID, "firesteel.local-dir": str(directory / "local"), **MANY, **options}
    env = every_epoch(directory / "checkpoints", **options)
    sink = counting(env, fails, WORDS)
    job = submit(env, "older")
    assert job.wait(patience(60))
    return job, sink.values


@pytest.mark.row("S-FAIL-05")
def test_drivers_that_go_back_twice(tmp_path: Path, stores_used: list[str]) -> None:
    """Each driver finds only checkpoints that are older than what the one before has put into the stores."""
    job = tmp_path / "checkpoints" / ID
    gone_on_from = []
    for _ in range(2):
        with local_platform():
            running, _ = driver(tmp_path, FailsAt("fails", 500), **{"restart-strategy.type": "none"})
            assert running.status is JobStatus.FAILED
        gone_on_from.append(running.view.checkpoints.restored_from)
        for stored in stored_checkpoints(str(job))[:4]:
            rmtree(stored.path)
    with local_platform():
        running, values = driver(tmp_path, None)
    gone_on_from.append(running.view.checkpoints.restored_from)
    assert running.status is JobStatus.FINISHED, running.error
    assert gone_on_from[0] is None
    assert None not in gone_on_from[1:]
    check(values)
    assert len(set(stores_used)) > 2, "the stores of the drivers before were there, and not used"


def test_restarts_that_go_back_twice(tmp_path: Path, stores_used: list[str]) -> None:
    """In one driver: failures with several epochs behind the last checkpoint."""
    options = {**FIXED, "execution.checkpointing.interval": "400 ms"}
    with local_platform():
        job, values = driver(tmp_path, FailsAt("fails", 500, 2), **options)
        assert len(notes["fails"]) == 2
    assert job.status is JobStatus.FINISHED, job.error
    assert job.view.checkpoints.restored == 2
    assert Counter(values) == expected(WORDS)
    assert stores_used


def check(values: list[Any]) -> None:
    """What the last driver has given is right as far as it goes, and goes to the end."""
    assert not Counter(values) - expected(WORDS)
    lasts = Counter(value for value in expected(WORDS).elements() if value[0] == "all")
    assert Counter(value for value in values if value[0] == "all") == lasts
