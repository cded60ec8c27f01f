"""Compaction beside the task: when what it makes becomes a part of the line."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from firesteel.common.errors import StateCorruptionError
from firesteel.common.typeinfo import Types
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.state._compaction import Compactor
from firesteel.state.backend import OperatorState, StateLimits, SubtaskState
from firesteel.state.line import RETAINED_DELTAS, Compaction, StateLine

from .support import Driver, use

VALUE = ValueStateDescriptor("value", Types.LONG())
LIMITS = StateLimits(compaction_entries=500)


class Gated:
    """Holds pieces of compaction up until they may be made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.may_begin = threading.Event()
        self.begun = 0
        self.error: Exception | None = None
        step = Compactor.step

        def gated(compactor: Compactor) -> Compaction | None:
            self.begun += 1
            assert self.may_begin.wait(60)
            if self.error is not None:
                raise self.error
            return step(compactor)

        monkeypatch.setattr(Compactor, "step", gated)

    def let_through(self) -> None:
        self.may_begin.set()
        for thread in threading.enumerate():
            if thread.name == "firesteel-compaction":
                thread.join()
        self.may_begin.clear()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gated]:
    made = Gated(monkeypatch)
    yield made
    made.may_begin.set()


@pytest.fixture
def driver() -> Driver:
    return Driver(limits=LIMITS)


@pytest.fixture
def state(driver: Driver, gate: Gated) -> Iterator[SubtaskState]:
    made = driver.process()
    made.operator("op").get_state(VALUE)
    made.compact_in_background(True)
    yield made
    gate.may_begin.set()
    made.close()


def count(driver: Driver, state: SubtaskState, epochs: int) -> None:
    """In each epoch a key of its own gets the epoch's number, and key "last" does, too."""

    def work(operator: OperatorState) -> None:
        value = operator.get_state(VALUE)
        for key in (f"key-{driver.epoch}", "last"):
            use(operator, key)
            value.update(driver.epoch)

    for _ in range(epochs):
        driver.run(state, work)


def stored(driver: Driver) -> dict[str, int | None]:
    """What a process finds that knows nothing but the line."""
    process = driver.process()
    operator = process.operator("op")
    value = operator.get_state(VALUE)
    process.begin(driver.line, 0)
    found = {}
    for key in ("last", *(f"key-{n}" for n in range(driver.epoch))):
        use(operator, key)
        found[key] = value.value()
    return found


def wanted(epochs: int) -> dict[str, int | None]:
    return {"last": epochs - 1} | {f"key-{n}": n for n in range(epochs)}


def deltas(line: StateLine) -> int:
    return len(line.deltas) - line.folded


def test_epochs_end_while_a_piece_is_being_made(driver: Driver, state: SubtaskState, gate: Gated) -> None:
    count(driver, state, RETAINED_DELTAS + 10)
    assert gate.begun == 1
    assert driver.line.segments == ()
    assert deltas(driver.line) == RETAINED_DELTAS + 10, "nothing is folded before the piece is done"


def test_what_was_committed_meanwhile_lies_above_the_piece(
    driver: Driver, state: SubtaskState, gate: Gated
) -> None:
    count(driver, state, RETAINED_DELTAS + 10)
    gate.let_through()
    count(driver, state, 1)
    assert driver.line.segments != ()
    assert deltas(driver.line) == 11, "those that came after the piece was begun"
    assert stored(driver) == wanted(RETAINED_DELTAS + 11)
    count(driver, state, 3)
    assert stored(driver) == wanted(RETAINED_DELTAS + 14)


def test_pieces_follow_each_other(driver: Driver, state: SubtaskState, gate: Gated) -> None:
    for _ in range(6):
        count(driver, state, 32)
        gate.let_through()
    count(driver, state, 1)
    assert gate.begun >= 2
    assert deltas(driver.line) < 64
    assert stored(driver) == wanted(driver.epoch)


def test_what_is_under_way_when_the_process_is_not_alone_any_more_does_not_count(
    driver: Driver, state: SubtaskState, gate: Gated
) -> None:
    count(driver, state, RETAINED_DELTAS + 1)
    threading.Timer(0.05, gate.may_begin.set).start()
    state.compact_in_background(False)
    assert all(thread.name != "firesteel-compaction" for thread in threading.enumerate())
    assert driver.line.segments == ()
    count(driver, state, 1)
    assert driver.line.segments != (), "now it is made as the epoch ends"
    assert stored(driver) == wanted(driver.epoch)


def test_a_piece_that_fails_fails_the_task(driver: Driver, state: SubtaskState, gate: Gated) -> None:
    count(driver, state, RETAINED_DELTAS + 1)
    gate.error = StateCorruptionError("a block is damaged")
    gate.let_through()
    with pytest.raises(StateCorruptionError, match="a block is damaged"):
        count(driver, state, 1)
