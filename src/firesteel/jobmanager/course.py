"""Where a job is in its life, for all that move it: only the job's own thread changes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from firesteel.jobmanager.accumulated import Accumulated
from firesteel.jobmanager.run import JobRun


@dataclass(slots=True)
class Course:
    """How far a job has come.

    :param run: its sources and its committed state, since the last restart.
    :param accumulated: the accumulators of the program, since the same time.
    :param now_ms: its processing time.
    :param epoch: the newest that was begun.
    :param fresh: nothing was run since the job began or was restarted.
    """

    run: JobRun
    accumulated: Accumulated
    now_ms: int
    attempt: int = 0
    epoch: int = 0
    fresh: bool = True

    def look_at(self, clock_ms: int) -> int:
        """Move processing time on: it never goes back, and the clock may."""
        self.now_ms = max(self.now_ms, clock_ms)
        return self.now_ms


class Mover(Protocol):
    """What gets a job on: epochs that are Spark jobs of their own, or tasks that go on."""

    @property
    def least_step_ms(self) -> float:
        """How long the shortest step lasts that moves the job; no checkpoint can be taken within it."""

    def step(self) -> None:
        """Get on by one epoch at most, or wait for something to happen.

        :raises FiresteelError: the attempt has failed; ``stop`` comes next.
        """

    def settle(self, instant_ms: int, stop: bool) -> None:
        """Commit what the job has done up to an instant, which has passed, as far as that is under way: a
        snapshot is taken of what is committed.

        :param stop: nothing is to be done after it, for the time being.
        """

    def stop(self) -> None:
        """The attempt is over: leave nothing running. What is not committed does not count."""
