"""What a state of which a small part changes in each epoch costs: what is written, and how many runs a read
may have to look into."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from firesteel.common.typeinfo import Types
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.state.backend import OperatorState, StateLimits
from firesteel.state.line import EpochDelta

from .support import Driver, use

VALUE = ValueStateDescriptor("value", Types.STRING())
KEYS, VALUE_CHARACTERS = 4_000, 60
SETTLING, EPOCHS = 150, 200
SPREAD = 7_919  # keys that are touched one after the other are far apart


@dataclass
class Cost:
    """:param written: entries for each epoch, the delta and what compaction wrote. ``waiting``: deltas that
    are not folded.
    """

    written: list[int] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)

    @property
    def share(self) -> float:
        """Of the state that an epoch writes, on average."""
        return sum(self.written) / len(self.written) / KEYS


def touched(changed: int) -> Cost:
    """All keys are loaded, then ``changed`` of them change in each epoch; the first ones do not count."""
    driver = Driver(limits=StateLimits(compaction_entries=100))
    state = driver.process()
    cost = Cost()

    def work(op: OperatorState, start: int, count: int) -> None:
        handle = op.get_state(VALUE)
        for n in range(start, start + count):
            use(op, n * SPREAD % KEYS)
            handle.update(f"{n}".ljust(VALUE_CHARACTERS))

    def commit(delta: EpochDelta) -> None:
        pieces = delta.compaction.pieces if delta.compaction is not None else ()
        folded = sum(piece.run.entries for piece in pieces if piece.run is not None)
        cost.written.append(delta.entries + folded)
        Driver.commit(driver, delta)
        cost.waiting.append(len(driver.line.deltas) - driver.line.folded)

    driver.commit = commit  # type: ignore[method-assign]
    driver.run(state, lambda op: work(op, 0, KEYS))
    for epoch in range(SETTLING + EPOCHS):
        driver.run(state, lambda op, epoch=epoch: work(op, epoch * changed, changed))
    del cost.written[:-EPOCHS], cost.waiting[:-EPOCHS]
    return cost


@pytest.mark.row("S-BACK-17", "S-CKPT-25")
def test_a_hundredth_changes() -> None:
    """Sweeps to the bottom follow one another: an epoch writes what it changed and about as much of the
    bottom again, no epoch much more than another, and one sweep's worth of deltas waits."""
    changed = KEYS // 100
    cost = touched(changed)
    assert cost.share <= 0.03
    assert max(cost.written) <= 3.5 * changed
    assert max(cost.waiting) <= 140


def test_a_thousandth_changes() -> None:
    """Deltas are folded when they are many, long before they amount to much; not at once to the bottom."""
    cost = touched(KEYS // 1000)
    assert cost.share <= 0.0052
    assert max(cost.waiting) <= 80


def test_what_is_due_at_once_shares_the_budget() -> None:
    """Deltas are folded while a level that has become too large goes down: still one budget (100) in each
    epoch, but for a key group that it is exceeded by."""
    changed = KEYS // 400
    assert max(touched(changed).written) <= changed + 100 + KEYS // 100
