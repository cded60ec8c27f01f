"""What is done beside the task: when a piece of compaction, or a delta, becomes a part of the line."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import pytest

from firesteel.common.errors import StateCorruptionError, StorageError
from firesteel.common.typeinfo import Types
from firesteel.datastream.state import MapStateDescriptor, ValueStateDescriptor
from firesteel.state import _value_state, backend
from firesteel.state._compaction import Compactor
from firesteel.state.backend import OperatorState, StateLimits, SubtaskState
from firesteel.state.background import PendingDelta
from firesteel.state.line import EMPTY, RETAINED_DELTAS, Compaction, EpochDelta, StateLine
from tests.waiting import patience

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
            assert self.may_begin.wait(patience(60))
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
    made.work_in_background(True)
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
    state.work_in_background(False)
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


# ---- an epoch that begins before the last one is written

MAP = MapStateDescriptor("map", Types.STRING(), Types.LONG())
SMALL = StateLimits(cache_entries=4, warm_entries=0, inline_bytes=100)


class Ahead:
    """A process that works in the background, with a cache that holds next to nothing."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.state = driver.process()
        self.operator = self.state.operator("op")
        self.value = self.operator.get_state(VALUE)
        self.map = self.operator.get_map_state(MAP)
        self.state.work_in_background(True)

    def epoch(self, numbers: Iterable[int], add: int) -> PendingDelta:
        """Sets the state of each number to the number and *add*; every third is cleared. Does not settle."""
        self.state.begin(self.driver.line, 0)
        for n in numbers:
            use(self.operator, n)
            if n % 3 == 2:
                self.value.clear()
                self.map.clear()
            else:
                self.value.update(n + add)
                self.map.put(f"{n}", add)
        pending = self.state.cut()
        assert isinstance(pending, PendingDelta)
        return pending

    def settle(self, pending: PendingDelta) -> None:
        self.driver.commit(pending.result())
        self.state.settle(self.driver.line)

    def read(self, numbers: Iterable[int]) -> dict[int, tuple[int | None, dict[str, int]]]:
        found = {}
        for n in numbers:
            use(self.operator, n)
            found[n] = self.value.value(), dict(self.map.items())
        return found

    def keys(self) -> set[Any]:
        return set(self.operator.get_keys("value"))


def meant(numbers: Iterable[int], add: int) -> dict[int, tuple[int | None, dict[str, int]]]:
    return {n: (None, {}) if n % 3 == 2 else (n + add, {f"{n}": add}) for n in numbers}


@pytest.fixture(params=["at once", "later"])
def made(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the entries of an epoch are made."""
    if request.param == "later":
        monkeypatch.setattr(backend, "_MANY", 1)


@pytest.mark.usefixtures("made")
def test_what_is_being_written_is_read() -> None:
    ahead = Ahead(Driver(limits=SMALL))
    ahead.settle(ahead.epoch(range(60), 0))
    pending = ahead.epoch(range(30), 1_000)
    ahead.state.begin(ahead.driver.line, 0)
    assert ahead.read(range(60)) == meant(range(30), 1_000) | meant(range(30, 60), 0)
    assert ahead.keys() == {n for n in range(60) if n % 3 != 2}
    ahead.settle(pending)
    assert ahead.read(range(60)) == meant(range(30), 1_000) | meant(range(30, 60), 0)
    ahead.state.close()


def test_an_epoch_begins_before_the_entries_of_many_changes_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    may_make, encode = threading.Event(), _value_state.encode_all

    def gated(values: list[Any]) -> list[bytes]:
        assert may_make.wait(patience(60))
        return encode(values)

    monkeypatch.setattr(_value_state, "encode_all", gated)
    many = backend._MANY + 10
    state = Driver().process()
    operator = state.operator("op")
    value = operator.get_state(VALUE)
    state.work_in_background(True)
    state.begin(EMPTY, 0)

    def set_all(add: int) -> None:
        for n in range(many):
            use(operator, n)
            value.update(n + add)

    set_all(0)
    pending = state.cut()
    assert isinstance(pending, PendingDelta)
    state.begin(EMPTY, 0)
    use(operator, 7)
    assert value.value() == 7
    set_all(1_000)  # belongs to the epoch that has begun
    assert not pending.is_done
    may_make.set()
    delta = pending.result()
    assert delta.entries == many + 1, "and one of the catalog"
    driver = Driver(files=state._files)
    driver.commit(delta)
    other = driver.process()
    found = other.operator("op").get_state(VALUE)
    other.begin(driver.line, 0)
    use(other.operator("op"), 7)
    assert found.value() == 7
    state.close()


def test_many_changes_that_leave_nothing_are_no_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "_MANY", 1)
    state = Driver().process()
    deadlines = state.operator("op").deadlines("d")
    state.work_in_background(True)
    state.begin(EMPTY, 0)
    deadlines.set("key", 5)
    assert deadlines.take(5) == ["key"]
    assert state.changed_entries
    assert _written(state) == EpochDelta()
    state.close()


@pytest.mark.usefixtures("made")
def test_what_is_cleared_while_it_is_being_written_does_not_come_back() -> None:
    ahead = Ahead(Driver(limits=SMALL))
    pending = ahead.epoch([0, 1, 3, 4, 6, 7, 9], 0)
    ahead.state.begin(ahead.driver.line, 0)
    assert ahead.keys() == {0, 1, 3, 4, 6, 7, 9}
    for n in (0, 1, 3):
        use(ahead.operator, n)
        ahead.value.clear()
        ahead.map.clear()
    ahead.settle(pending)
    assert ahead.keys() == {4, 6, 7, 9}
    assert ahead.read([0, 1, 3]) == dict.fromkeys([0, 1, 3], (None, {}))
    ahead.driver.commit(_written(ahead.state))
    other = Ahead(ahead.driver)
    other.state.begin(ahead.driver.line, 0)
    assert other.keys() == {4, 6, 7, 9}


@pytest.mark.usefixtures("made")
def test_an_epoch_goes_on_with_the_line_that_has_what_was_pending() -> None:
    ahead = Ahead(Driver(limits=SMALL))
    for add in range(0, 5_000, 1_000):
        pending = ahead.epoch(range(40), add)
        ahead.state.begin(ahead.driver.line, 0)
        ahead.settle(pending)
        use(ahead.operator, 0)
        ahead.value.update(-add)
        ahead.driver.commit(_written(ahead.state))
        other = Ahead(ahead.driver)
        other.state.begin(ahead.driver.line, 0)
        assert other.read(range(40)) == meant(range(40), add) | {0: (-add, {"0": add})}


@pytest.mark.usefixtures("made")
def test_what_was_being_written_does_not_count_in_another_run_of_the_task() -> None:
    ahead = Ahead(Driver(limits=SMALL))
    ahead.settle(ahead.epoch(range(20), 0))
    ahead.epoch(range(20), 1_000)
    ahead.state.work_in_background(True)
    ahead.state.begin(ahead.driver.line, 0)
    assert ahead.read(range(20)) == meant(range(20), 0)


def test_a_delta_that_cannot_be_written_fails_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(limits=SMALL)
    ahead = Ahead(driver)

    def full(directory: str) -> NoReturn:
        raise StorageError("the disk is full")

    monkeypatch.setattr(driver.files, "create", full)
    pending = ahead.epoch(range(20), 0)
    with pytest.raises(StorageError, match="the disk is full"):
        pending.result()


def _written(state: SubtaskState) -> EpochDelta:
    delta = state.cut()
    return delta.result() if isinstance(delta, PendingDelta) else delta
