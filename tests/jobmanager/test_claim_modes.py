"""Whose a snapshot is that a job begins with (Flink: ``RecoveryClaimMode``)."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import ConfigurationError, StateCorruptionError
from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.checkpoints.storage import copy_into, read_manifest, stored_checkpoints
from firesteel.state.files import StateFiles
from tests.jobmanager.checkpoint_support import RECOVERY, files_below, submit
from tests.jobmanager.test_recovery import (
    MANY,
    FailsAt,
    cancelled_half_way,
    counting,
    every_epoch,
    expected,
    the_job,
)
from tests.jobmanager.test_savepoints import Job, counts
from tests.runtime.support import At
from tests.waiting import patience

CLAIM = "execution.state-recovery.claim-mode"
OLD_CLAIM = "execution.savepoint-restore-mode"


def a_checkpoint(directory: Path) -> str:
    """The newest one of a job that has failed half-way."""
    cancelled_half_way(directory)
    return stored_checkpoints(str(the_job(directory)))[0].path


def a_savepoint(directory: Path) -> str:
    job = Job(counts)
    job.give("s", *(At(n, f"w{n}", n) for n in range(30)))
    return job.stop(directory)


def fails_later(directory: Path, path: str, **options: str) -> Any:
    """A job that begins there, takes some checkpoints, and fails for good."""
    env = every_epoch(directory, **{RECOVERY: path, "restart-strategy.type": "none", **MANY, **options})
    counting(env, FailsAt("later", 350))
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is JobStatus.FAILED
    return job


def goes_on(directory: Path) -> None:
    """The next driver of the job in ``directory`` ends it with the right result."""
    env = every_epoch(directory, **{RECOVERY: "latest"})
    sink = counting(env)
    job = submit(env)
    assert job.wait(patience(30))
    assert job.status is JobStatus.FINISHED, job.error
    wanted = Counter(value for value in expected().elements() if value[0] == "all")
    assert Counter(value for value in sink.values if value[0] == "all") == wanted


@pytest.mark.parametrize("options", [{}, {CLAIM: "NO_CLAIM"}, {OLD_CLAIM: "NO_CLAIM"}])
def test_by_default_the_snapshot_may_go_after_the_first_checkpoint(
    tmp_path: Path, options: dict[str, str]
) -> None:
    path = a_checkpoint(tmp_path / "old")
    before = files_below(tmp_path / "old")
    fails_later(tmp_path / "new", path, **options)
    assert files_below(tmp_path / "old") == before, "it is the user's"
    shutil.rmtree(tmp_path / "old")
    for stored in stored_checkpoints(str(the_job(tmp_path / "new"))):
        read_manifest(stored.path)
    goes_on(tmp_path / "new")


def test_legacy_needs_it_for_an_unknown_time(tmp_path: Path) -> None:
    path = a_checkpoint(tmp_path / "old")
    fails_later(tmp_path / "new", path, **{CLAIM: "LEGACY", "execution.checkpointing.num-retained": "100"})
    shutil.rmtree(tmp_path / "old")
    with pytest.raises(StateCorruptionError, match="is missing"):
        read_manifest(stored_checkpoints(str(the_job(tmp_path / "new")))[-1].path)


@pytest.mark.parametrize("drivers", [1, 2])
def test_a_claimed_checkpoint_goes_with_the_job(tmp_path: Path, drivers: int) -> None:
    """It is subsumed as those of the job itself, its files go when nobody needs them any more; also by
    the next driver."""
    path = a_checkpoint(tmp_path / "old")
    files = read_manifest(path).files
    if drivers == 2:
        fails_later(tmp_path / "new", path, **{CLAIM: "CLAIM", "execution.checkpointing.num-retained": "1"})
        assert not Path(path).exists(), "subsumed"
        goes_on(tmp_path / "new")
    else:
        env = every_epoch(tmp_path / "new", **{RECOVERY: path, CLAIM: "CLAIM"})
        counting(env)
        job = submit(env)
        assert job.wait(patience(30))
        assert job.status is JobStatus.FINISHED, job.error
    assert not Path(path).exists()
    assert not [file for file in files if Path(file).exists()]
    assert files_below(tmp_path / "new") == []


def test_a_claimed_savepoint_counts_as_the_first_checkpoint(tmp_path: Path) -> None:
    path = a_savepoint(tmp_path / "saved")
    options = {
        "execution.checkpointing.interval": "10 s",
        "execution.checkpointing.dir": str(tmp_path / "job"),
    }
    job = Job(counts, begin=path, **{CLAIM: "CLAIM", **options})
    assert job.running.view.checkpoints.retained == (path,)
    job.give("s", At(40, "w1", 40))
    job.clock.tick(10_000)
    assert not (Path(path) / "_metadata").exists(), "subsumed"
    assert job.sink.values == [("w1", 2)]
    job.end()
    assert files_below(tmp_path / "saved") == []


def test_who_keeps_no_checkpoints_cannot_claim(tmp_path: Path) -> None:
    path = a_checkpoint(tmp_path / "old")
    env = every_epoch(None, **{RECOVERY: path, CLAIM: "CLAIM"})
    counting(env)
    with pytest.raises(ConfigurationError, match="claim"):
        submit(env)
    read_manifest(path)


def test_files_on_another_file_system_are_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise OSError(18, "Invalid cross-device link")

    source = tmp_path / "a.run"
    source.write_bytes(b"state" * 1000)
    linked = copy_into(StateFiles(tmp_path / "linked"), str(source))
    assert (tmp_path / "linked" / linked).samefile(source)
    monkeypatch.setattr("os.link", refuse)
    files = StateFiles(tmp_path / "copied")
    copied = copy_into(files, str(source))
    assert not (tmp_path / "copied" / copied).samefile(source)
    assert files.read(copied) == files.read(str(source))
    assert copy_into(files, str(source)) == copied, "once"
