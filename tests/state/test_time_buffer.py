"""Time buffers against a plain list of elements, over random epochs in random processes."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from firesteel.state.backend import OperatorState, StateLimits, SubtaskState
from firesteel.state.keys import canonical, encode_key
from firesteel.state.reader import StateReader
from firesteel.state.time_buffer import TimeBufferColumn

from .machine import LIMITS, ColumnMachine, as_test
from .support import GROUPS, Driver
from .test_model import LARGE, TINY

KEYS = st.sampled_from(["a", "a", "a", 1, ("t", None)])
MAX = 2**63 - 1


class TimeBufferMachine(ColumnMachine):
    @initialize(limits=LIMITS, reach=st.sampled_from([-4, 0, 1, 6, 20]), local=st.booleans())
    def start(self, limits: StateLimits, reach: int, local: bool) -> None:
        self.reach = reach
        self.number = 0
        self.start_at(-1000, limits, local)

    def take_column(self, operator: OperatorState) -> None:
        self.buffer = operator.time_buffer("buffer", self.reach)
        self.buffer.reset_watermark(self.now)

    @rule(
        key=KEYS,
        after=st.lists(st.sampled_from([0, 0, 1, 2, 5, 12]), min_size=1, max_size=5),
        mutable=st.booleans(),
    )
    def add(self, key: Any, after: list[int], mutable: bool) -> None:
        for delay in after:
            self.number += 1
            element = [self.number] if mutable else (self.number, "v")
            stamp = self.now + delay
            self.buffer.add(canonical(key), stamp, element)
            self.model.setdefault(encode_key(key), []).append((stamp, copy.deepcopy(element)))
            if mutable:
                element.append("changed behind our back")  # type: ignore[attr-defined]

    @rule(key=KEYS, first=st.sampled_from([-30, -30, -5, 0, 1]), length=st.sampled_from([60, 60, 0, 1, 7]))
    def find(self, key: Any, first: int, length: int) -> None:
        first += self.now
        expected = [e for e in self.model.get(encode_key(key), []) if first <= e[0] <= first + length]
        expected.sort(key=lambda e: e[0])
        found = self.buffer.between(canonical(key), first, first + length)
        assert (list(zip(*found, strict=True)) if found else []) == expected

    @rule(step=st.sampled_from([1, 1, 2, 5, 12]))
    def move_on(self, step: int) -> None:
        self.now += step
        self.buffer.advance(self.now)
        reach = max(0, self.reach)
        for key, elements in self.model.items():
            self.model[key] = [e for e in elements if e[0] + reach > self.now]


TestTimeBufferModel = as_test(TimeBufferMachine)


def filled(limits: StateLimits, keys: int, elements: int) -> Driver:
    """A committed buffer with a reach of 1,000,000 and elements at 0, 1, 2 ..."""
    driver = Driver(limits=limits)

    def work(op: OperatorState) -> None:
        buffer = op.time_buffer("buffer", 1_000_000)
        buffer.reset_watermark(-1)
        for i in range(elements):
            for key in range(keys):
                buffer.add(key, i, (key, i))

    driver.run(driver.process(), work)
    return driver


def buffer_of(driver: Driver, state: SubtaskState, watermark: int) -> TimeBufferColumn:
    state.begin(driver.line, 0)
    buffer = state.operator("op").time_buffer("buffer", 1_000_000)
    buffer.reset_watermark(watermark)
    return buffer


def test_an_epoch_writes_what_it_adds_and_nothing_of_what_was_there() -> None:
    driver = filled(StateLimits(), 1, 50_000)
    state = driver.process()
    buffer = buffer_of(driver, state, -1)
    buffer.add(0, 10, "new")
    buffer.add(0, 49_999, "new")
    assert buffer.between(0, 10, 10) == ([10, 10], [(0, 10), "new"])
    delta = state.finish()
    assert delta.entries <= 2
    assert len(delta.payload or b"") < 1_000


def test_cutting_off_a_part_of_what_is_stored_writes_no_more_than_the_chunks_that_are_gone() -> None:
    driver = filled(StateLimits(), 1, 50_000)
    state = driver.process()
    buffer = buffer_of(driver, state, -1)
    buffer.advance(1_020_000)
    assert buffer.between(0, 0, 20_001) == ([20_001], [(0, 20_001)])
    delta = state.finish()
    assert 15 <= delta.entries <= 25, "deletions of 20 chunks of about a thousand elements"
    assert len(delta.payload or b"") < 3_000
    driver.commit(delta)
    other = driver.process()
    assert buffer_of(driver, other, 1_020_000).between(0, 0, 20_001) == ([20_001], [(0, 20_001)])


def test_what_a_lost_epoch_cut_off_is_found_again_though_it_wrote_nothing() -> None:
    driver = Driver(limits=TINY)
    state = driver.process()
    state.begin(driver.line, 0)
    buffer = state.operator("op").time_buffer("buffer", 1)
    buffer.reset_watermark(0)
    for stamp in (0, 1, 2):
        buffer.add("k", stamp, stamp)
    buffer.advance(1)
    driver.commit(state.finish())

    state.begin(driver.line, 0)
    buffer.reset_watermark(1)
    buffer.advance(2)
    assert buffer.between("k", 0, 9) == ([2], [2])
    assert not state.finish().entries, "this epoch is lost, and the next one begins where it began"

    state.begin(driver.line, 0)
    buffer.reset_watermark(1)
    assert buffer.between("k", 0, 9) == ([1, 2], [1, 2])


def test_a_key_that_is_used_needs_no_more_than_one_deadline_for_each_reach_of_time() -> None:
    driver = Driver()
    state = driver.process()
    state.begin(driver.line, 0)
    buffer = state.operator("op").time_buffer("buffer", 100)
    looked_after = 0
    look_after = buffer._look_after

    def counting(key: Any) -> None:
        nonlocal looked_after
        looked_after += 1
        look_after(key)

    buffer._look_after = counting  # type: ignore[method-assign]
    for stamp in range(10_000):
        buffer.advance(stamp - 1)
        buffer.add("k", stamp, stamp)
        found = buffer.between("k", stamp - 100, stamp)
        assert found is not None
        assert found[0][0] == max(0, stamp - 100)
    assert looked_after <= 101
    assert buffer.cached() == 1, "nothing is counted before the epoch ends"
    state.finish()
    assert buffer.cached() <= 2 * 102 + 1


@pytest.mark.parametrize("limits", [LARGE, TINY])
def test_end_of_time_takes_what_would_end_after_it(limits: StateLimits) -> None:
    driver = Driver(limits=limits)
    state = driver.process()
    state.begin(driver.line, 0)
    buffer = state.operator("op").time_buffer("buffer", MAX)
    buffer.add("k", 5, "v")
    buffer.advance(MAX - 1)
    assert buffer.between("k", 0, 10) == ([5], ["v"])
    driver.commit(state.finish())
    state.begin(driver.line, 0)
    buffer.reset_watermark(MAX - 1)
    buffer.advance(MAX)
    driver.commit(state.finish())
    assert driver.line.entries >= 0
    reader = StateReader(driver.line, driver.files, max_parallelism=128, key_groups=GROUPS)
    assert reader.count_entries() == 0
