"""Whatever fails in whatever order: the target shows each record once, nothing is dropped that a checkpoint
holds."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.clock import ManualClock
from firesteel.common.errors import CommitError
from firesteel.connectors import CommitRequest, Committable, Committer
from firesteel.jobmanager.commits import Patience, SinkCommits


class Hurried(ManualClock):
    """Nobody waits for it."""

    def wait_until(self, instant_ms: int, interrupt: threading.Event | None = None) -> bool:
        self.advance_to(instant_ms)
        return True


@dataclass
class Target:
    """What a database has. A transaction is a tuple of its number and its records."""

    staged: set[tuple[int, ...]] = field(default_factory=set)
    visible: list[int] = field(default_factory=list)
    numbers: int = 0
    done: set[tuple[int, ...]] = field(default_factory=set)
    trouble: list[str] = field(default_factory=list)  # what the next commits meet

    def stage(self, record: int) -> tuple[int, ...]:
        self.numbers += 1
        self.staged.add((self.numbers, record))
        return self.numbers, record


class TargetCommitter(Committer):
    def __init__(self, target: Target) -> None:
        self.target = target

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            trouble = self.target.trouble.pop() if self.target.trouble else ""
            if trouble == "raise":
                raise OSError("out of order")
            if trouble == "retry":
                request.retry_later()
            elif trouble == "fail":
                request.signal_failed_with_unknown_reason(OSError("out of order"))
            else:
                self._commit(request.get_committable())

    def _commit(self, transaction: tuple[int, ...]) -> None:
        if transaction not in self.target.done:
            self.target.staged.remove(transaction)  # it is there: nobody has dropped it
            self.target.done.add(transaction)
            self.target.visible += transaction[1:]

    def recover(self, kept: Sequence[Committable], dropped: Sequence[Committable]) -> None:
        for committable in dropped:
            assert committable not in kept
            self.target.staged.remove(committable.payload)
        handled = {committable.payload for committable in kept}
        assert handled <= self.target.staged | self.target.done
        self.target.staged &= handled


class Driver:
    """The part of a job that its two committers see: the source gives 0, 1, 2 ... to both sinks; an epoch
    reads one record. When the first sink cannot commit, the second is not asked to."""

    def __init__(self, *targets: Target) -> None:
        self.targets = targets
        self.position = 0
        self.epoch = 0
        self.checkpoint: tuple[list[bytes | None], int] = ([None] * len(targets), 0)
        self.sinks = self._new()
        for sink in self.sinks:
            sink.open()

    def _new(self) -> list[SinkCommits]:
        patience = Patience(Hurried(), threading.Event(), 2)
        return [SinkCommits("sink", "uid", TargetCommitter(target), patience) for target in self.targets]

    def run_epoch(self) -> None:
        self.epoch += 1
        for sink, target in zip(self.sinks, self.targets, strict=True):
            sink.add([Committable(0, self.epoch, target.stage(self.position))])
        self.position += 1

    def run_epoch_again(self) -> None:
        """Its tasks have staged something when they were lost, and Spark runs them once more."""
        for target in self.targets:
            target.stage(self.position)
        self.run_epoch()
        for sink in self.sinks:
            sink.look_for_leftovers()
        pending = self.position - self.checkpoint[1]
        assert [len(t.staged - t.done) for t in self.targets] == [pending] * len(self.targets)

    def finish(self) -> None:
        """A copy of a task was late: what it staged belongs to nobody."""
        for sink, target in zip(self.sinks, self.targets, strict=True):
            target.stage(-1)
            sink.finish()

    def take_checkpoint(self) -> None:
        self._complete_checkpoint()
        self._until_it_works(self.sinks)

    def take_checkpoint_uncommitted(self) -> None:
        """It is complete, but what follows it fails before any sink commits."""
        self._complete_checkpoint()
        self.restart()

    def _complete_checkpoint(self) -> None:
        self.checkpoint = ([sink.snapshot() for sink in self.sinks], self.position)

    def fail_checkpoint(self) -> None:
        for sink in self.sinks:
            sink.snapshot()  # its manifest is never written

    def restart(self) -> None:
        snapshots, self.position = self.checkpoint
        for sink, snapshot in zip(self.sinks, snapshots, strict=True):
            sink.roll_back(snapshot)
        self._commit_pending()

    def die(self) -> None:
        """Another driver goes on."""
        snapshots, self.position = self.checkpoint
        self.sinks = self._new()
        for sink, snapshot in zip(self.sinks, snapshots, strict=True):
            if snapshot is not None:
                sink.resume(snapshot)
            sink.open()
        self._commit_pending()

    def _commit_pending(self) -> None:
        self._until_it_works([sink for sink in self.sinks if not sink.is_empty])

    def _until_it_works(self, sinks: Sequence[SinkCommits]) -> None:
        try:
            for sink in sinks:
                sink.commit()
        except CommitError:
            self.restart()


STEPS = {
    "epoch": Driver.run_epoch,
    "epoch that runs again": Driver.run_epoch_again,
    "checkpoint": Driver.take_checkpoint,
    "checkpoint without its commit": Driver.take_checkpoint_uncommitted,
    "checkpoint that fails": Driver.fail_checkpoint,
    "restart": Driver.restart,
    "death": Driver.die,
}
TROUBLE = st.lists(st.sampled_from(["", "", "raise", "retry", "fail"]), max_size=6)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(sorted(STEPS)), TROUBLE), max_size=30))
@pytest.mark.row("T24")
def test_each_record_is_visible_once(steps: list[tuple[str, list[str]]]) -> None:
    targets = Target(), Target()
    driver = Driver(*targets)
    for step, trouble in steps:
        targets[0].trouble, targets[1].trouble = trouble[::2], trouble[1::2]
        STEPS[step](driver)
        for target in targets:
            assert sorted(target.visible) == list(range(driver.checkpoint[1]))
    for target in targets:
        target.trouble = []
    driver.take_checkpoint()
    driver.finish()
    for target in targets:
        assert sorted(target.visible) == list(range(driver.position))
        assert target.staged == set()


def test_patience_is_counted_for_each_commit() -> None:
    target = Target(trouble=["retry"] * 3)
    driver = Driver(target)
    driver.run_epoch()
    with pytest.raises(CommitError, match="tried 3 times"):
        driver.sinks[0].commit()
    assert target.visible == []
    driver.sinks[0].commit()
    assert target.visible == [0]
