"""A checkpoint that an earlier release wrote is gone on from as if nothing had changed: the progress of
files, output that waited for its commit, and accumulators."""

from __future__ import annotations

from collections import Counter

import pytest

from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.checkpoints.storage import read_manifest
from tests.jobmanager.programs.kept_files import (
    ACCUMULATORS,
    DATA,
    LINES,
    at_home,
    newest,
    outcome,
    prepare,
    run,
)
from tests.waiting import patience

KEPT = sorted(path.name for path in DATA.glob("checkpoint-*"))


def check_the_end(begin: str) -> None:
    job = run(begin)
    assert job.status is JobStatus.FINISHED, job.error
    assert outcome() == (Counter(LINES), Counter(LINES))
    values = job.accumulators().result(patience(10))
    assert sorted(values.pop("all")) == LINES
    assert values == ACCUMULATORS


@pytest.mark.parametrize("name", KEPT)
def test_a_job_goes_on_from_a_checkpoint_of_an_earlier_release(name: str) -> None:
    with at_home(DATA / name):
        check_the_end(newest())


def test_a_job_goes_on_from_a_checkpoint_of_this_release() -> None:
    """Else the kept ones would prove nothing."""
    with at_home():
        prepare()
        assert run(fails_at=LINES[30]).status is JobStatus.FAILED
        assert sum(outcome()[1].values()) < len(LINES)
        manifest = read_manifest(newest())
        check_the_end(newest())
    subtasks = [subtask for vertex in manifest.vertices for subtask in vertex.subtasks]
    stored = [*manifest.sources.values(), *manifest.sinks.values(), manifest.accumulators]
    stored += [subtask.carry for subtask in subtasks if subtask.carry]
    assert len(stored) > 4
    assert not [part for part in stored if b"firesteel." in part], "a class of ours, by its module"
