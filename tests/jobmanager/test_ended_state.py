"""State of subtasks whose input has ended: kept only where somebody may ask for it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from firesteel.common.errors import JobExecutionError
from firesteel.common.job_status import JobStatus
from firesteel.jobmanager.requests import SavepointRequest
from firesteel.runtime.program import Ack, Answer, LevelDescriptor
from firesteel.state.line import EpochDelta
from firesteel.testing.collecting_sink import CollectingSink
from tests.jobmanager.checkpoint_support import Count, env_with, submit
from tests.runtime.skew_support import AckEngine, ack_engine
from tests.runtime.support import local_platform
from tests.waiting import patience

KEYS = 50


def last_answers(directory: Path | None) -> list[Ack]:
    """Of the subtasks that count, in the last epoch of a job."""
    with local_platform(AckEngine) as platform:
        env = env_with(2, directory)
        sink = CollectingSink()
        counted = env.from_collection(range(10 * KEYS)).key_by(lambda v: v % KEYS).process(Count())
        counted.sink_to(sink)
        env.execute()
        answers = [ack for ack in ack_engine(platform)._acks if ack.delta is not None or ack.forgets]
    assert len(sink.values) >= 10 * KEYS
    return answers[-2:]


def test_it_is_not_written_where_no_checkpoint_is_to_come() -> None:
    for ack in last_answers(None):
        assert (ack.ended, ack.forgets, ack.delta) == (True, True, None)


def test_it_is_written_for_the_last_checkpoint(tmp_path: Path) -> None:
    answers = last_answers(tmp_path)
    assert [ack.ended for ack in answers] == [True, True]
    assert not any(ack.forgets for ack in answers)
    entries = 0
    for ack in answers:
        assert isinstance(ack.delta, EpochDelta)
        entries += ack.delta.entries
    assert entries >= KEYS


class Held(AckEngine):
    """Does not come back from an epoch before it may."""

    def __init__(self, has_run: threading.Event, may: threading.Event) -> None:
        super().__init__()
        self._has_run, self._may = has_run, may

    def run(self, levels: Sequence[LevelDescriptor], parallelism: Sequence[int]) -> list[Answer]:
        answers = super().run(levels, parallelism)
        self._has_run.set()
        assert self._may.wait(patience(20))
        return answers


def test_there_is_no_savepoint_without_it(tmp_path: Path) -> None:
    """One that is asked for in the last epoch."""
    has_run, may = threading.Event(), threading.Event()
    with local_platform(partial(Held, has_run, may)):
        env = env_with(1)
        env.from_collection(range(100)).key_by(lambda v: v % KEYS).process(Count()).sink_to(CollectingSink())
        job = submit(env)
        assert has_run.wait(patience(20))
        savepoint = job.savepoint(SavepointRequest(str(tmp_path), stop=True))
        may.set()
        assert job.wait(patience(20))
        assert job.status is JobStatus.FINISHED
    with pytest.raises(JobExecutionError, match="ended"):
        savepoint.result(patience(10))
    assert not list(tmp_path.iterdir())
