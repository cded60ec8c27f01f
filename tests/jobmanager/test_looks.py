"""Looks at the state of a job that runs: they keep what they read, and the job goes on meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import JobExecutionError
from firesteel.jobmanager import looks
from firesteel.jobmanager.committed import CommittedCut
from firesteel.jobmanager.gateway import JobGateway
from firesteel.state_processor.running import look_at_key, look_at_states
from tests.jobmanager.checkpoint_support import env_with, submit
from tests.runtime.support import At, LiveSource, SteppedClock, feed, punctuated
from tests.waiting import patience


class Slow:
    """Looks when it may."""

    def __init__(self, look: Callable[[CommittedCut], Any] = look_at_states) -> None:
        self.begun, self.may = threading.Event(), threading.Event()
        self.cut: CommittedCut | None = None
        self._look = look

    def __call__(self, cut: CommittedCut) -> Any:
        self.cut = cut
        self.begun.set()
        assert self.may.wait(patience(60))
        return self._look(cut)

    @property
    def files(self) -> set[Path]:
        assert self.cut is not None
        refs = (ref for vertex in self.cut.vertices for line in vertex.lines for ref in line.runs)
        return {Path(ref.path) for ref in refs}


def summing(directory: Path) -> tuple[JobGateway, SteppedClock]:
    clock = SteppedClock()
    env = env_with(1, directory, clock=clock)
    live = env.from_source(LiveSource(str(directory)), punctuated(), "live").map(lambda r: r.ts)
    live.key_by(lambda v: 0).sum(0).uid("sum")
    job = submit(env)
    clock.settle()
    feed(str(directory), (At(1), 0))
    clock.tick()
    return job, clock


def begin(job: JobGateway, clock: SteppedClock, slow: Slow) -> Future[Any]:
    answer = job.look(slow)
    clock.tick()
    assert slow.begun.wait(patience(20))
    return answer


@pytest.mark.row("S-STATE-28", "S-CTRL-20")
def test_epochs_go_on_while_somebody_looks(tmp_path: Path) -> None:
    job, clock = summing(tmp_path)
    slow = Slow()
    answer = begin(job, clock, slow)
    begun = job.view.epoch
    for number in range(2, 60):
        feed(str(tmp_path), (At(number), number))
        clock.tick()
    assert job.view.epoch >= begun + 50, "the job does not wait"
    assert not answer.done()
    assert slow.files
    assert all(map(Path.exists, slow.files)), "they are kept for the look"
    slow.may.set()
    epoch, (state,) = answer.result(patience(20))
    assert (epoch, state.uid) == (begun, "sum")
    clock.tick()
    assert not any(map(Path.exists, slow.files)), "nobody needs them any more"
    job.cancel()
    assert job.wait(patience(20))


def test_a_look_sees_the_epoch_that_it_was_asked_in(tmp_path: Path) -> None:
    job, clock = summing(tmp_path)
    states = job.look(look_at_states)
    clock.tick()
    (state,) = states.result(patience(20))[1]
    slow = Slow(look_at_key("sum", state.name, "0"))
    answer = begin(job, clock, slow)
    feed(str(tmp_path), (At(100), 100))
    clock.tick()
    after = job.look(look_at_key("sum", state.name, "0"))
    clock.tick()
    assert not after.done(), "one after the other"
    slow.may.set()
    (_, before), (_, later) = answer.result(patience(20)), after.result(patience(20))
    assert (before, later) == (1, 101)
    job.cancel()


def test_a_look_at_a_job_that_has_ended_meanwhile_says_so(tmp_path: Path) -> None:
    job, clock = summing(tmp_path)
    slow, next_one = Slow(), Slow()
    answers = [begin(job, clock, slow), job.look(next_one)]
    clock.tick()
    job.cancel()
    assert job.wait(patience(20))
    slow.may.set()
    for answer in answers:
        with pytest.raises(JobExecutionError, match=r"No state of job .*: it has ended"):
            answer.result(patience(20))
    assert not next_one.begun.is_set()


def test_too_many_looks_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "_MOST", 2)
    job, clock = summing(tmp_path)
    slow = Slow()
    answers = [begin(job, clock, slow), job.look(look_at_states), job.look(look_at_states)]
    clock.tick()
    with pytest.raises(JobExecutionError, match="2 looks at the state of the job are under way"):
        answers[2].result(patience(20))
    slow.may.set()
    assert answers[1].result(patience(20))[1]
    job.cancel()
