"""Panes of windows against a plain dictionary, over random epochs in random processes."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from firesteel.state.backend import OperatorState, StateLimits
from firesteel.state.keys import canonical, encode_key
from firesteel.state.panes import PaneColumn, decode_value, pane_entry, to_cached

from .machine import LIMITS, ColumnMachine, as_test
from .support import Driver
from .test_model import COLD, LARGE
from .test_sessions import VALUES, encode_key_of

KEYS = st.sampled_from(["a", "a", ("t", None)])
#: From the end of a pane to the end of its lateness.
KEPT = 20
SIZE = 5


class PaneMachine(ColumnMachine):
    """Works as the operator does: panes of 5, which fire and are kept for 20 more. The model has for a start
    and a key the values that were added, and whether the last of them has fired."""

    @initialize(limits=LIMITS, local=st.booleans())
    def start(self, limits: StateLimits, local: bool) -> None:
        self.start_at(0, limits, local)

    def take_column(self, operator: OperatorState) -> None:
        self.column: PaneColumn = operator.pane_state("panes", SIZE)

    @rule(key=KEYS, start=st.sampled_from([0, 0, 5]), value=VALUES)
    def add(self, key: Any, start: int, value: Any) -> None:
        """To an open pane, or to one that has fired, as of the watermark ``now``."""
        if start + SIZE + KEPT <= self.now:
            return
        is_open = start + SIZE > self.now
        pane = self.column.pane(start) if is_open else self.column.fired_pane(start)
        name = canonical(key)
        held = pane.values.get(name)
        if type(held) is bytes:
            held = decode_value(held)
        elif held is None and not pane.whole:
            held = self.column.missed(start, pane, name)
        values, _ = self.model.get((start, encode_key(key)), ([], False))
        assert (held or []) == values
        held = [*(held or []), copy.deepcopy(value)]
        pane.values[name] = held if is_open else to_cached(held)
        pane.dirty.add(name)
        self.model[start, encode_key(key)] = [*values, value], not is_open

    @rule(number=st.integers(0, 2))
    def restore(self, number: int) -> None:
        """The watermark begins anew: of what it has passed, only what is open fires when it comes again."""
        self.now = 0
        self.commit(number, False)

    @rule(step=st.sampled_from([1, 5, 5, 5, 10, 40]))
    def move_on(self, step: int) -> None:
        self.now += step
        column = self.column
        fired = {
            (start, encode_key_of(key)): value
            for start in sorted(start for start in column.open if start + SIZE <= self.now)
            for key, value in column.fire(start)
        }
        due = {k: v for k, (v, has_fired) in self.model.items() if k[0] + SIZE <= self.now and not has_fired}
        assert fired == due
        for value in fired.values():
            value.append("nobody else has it")
        self.model = {k: (v, has_fired or k in due) for k, (v, has_fired) in self.model.items()}
        for start in [start for start in column.fired if start + SIZE + KEPT <= self.now]:
            gone = {(start, encode_key_of(key)) for key in column.drop_fired(start)}
            assert gone == {k for k in self.model if k[0] == start}
        self.model = {k: v for k, v in self.model.items() if k[0] + SIZE + KEPT > self.now}


TestPaneModel = as_test(PaneMachine)


def test_what_opens_fires_and_goes_in_one_epoch_leaves_no_trace() -> None:
    driver = Driver()

    def work(op: OperatorState) -> None:
        column = op.pane_state("panes")
        column.put(0, "a", b"\x01", fired=False)
        assert column.fire(0) == [("a", 1)]
        assert column.drop_fired(0) == {"a"}

    driver.run(driver.process(), work)
    assert driver.line.entries == 0


def test_what_has_fired_stays_in_the_files_until_it_is_asked_for() -> None:
    driver = Driver(limits=COLD)

    def work(op: OperatorState) -> None:
        column = op.pane_state("panes")
        column.put(0, "a", b"\x01", fired=True)
        column.put(0, "b", b"\x02", fired=True)

    driver.run(driver.process(), work)
    process = driver.process()
    process.begin(driver.line, 0)
    column = process.operator("op").pane_state("panes")
    assert column.cached() == 0
    assert column.missed(0, column.fired[0], "b") == 2
    assert column.drop_fired(0) == {"a", "b"}


@pytest.mark.parametrize("limits", [LARGE, COLD])
def test_what_is_taken_back_fires_again_and_goes_in_one_epoch(limits: StateLimits) -> None:
    """Each key of a delta stands in it once, and nothing stays."""
    driver = Driver(limits=limits)

    def fill(op: OperatorState) -> None:
        column = op.pane_state("panes")
        column.put(0, "a", b"\x01", fired=True)
        column.put(0, "b", b"\x02", fired=False)
        column.put(5, "a", b"\x03", fired=True)

    def take_back(op: OperatorState) -> None:
        column = op.pane_state("panes")
        for start in (0, 5):
            pane = column.pane(start)
            pane.values["a"] = column.missed(start, pane, "a") + 10
            pane.dirty.add("a")
        assert column.fire(0) == [("a", 11), ("b", 2)]
        assert column.fire(5) == [("a", 13)]
        assert column.drop_fired(5) == {"a"}

    driver.run(driver.process(), fill)
    driver.run(driver.process(), take_back)
    assert driver.line.deltas[-1].run.entries == 4  # type: ignore[union-attr]
    column = driver.run(driver.process(), lambda op: op.pane_state("panes"))
    assert (column.open, column.drop_fired(0)) == ({}, {"a", "b"})
    assert not column.fired


def test_a_pane_that_is_read_leaves_what_has_fired_alone() -> None:
    driver = Driver(limits=COLD)

    def fill(op: OperatorState) -> None:
        column = op.pane_state("panes")
        column.put(0, "a", b"\x01", fired=True)
        column.put(0, "b", b"\x02", fired=False)

    def work(op: OperatorState) -> Any:
        column = op.pane_state("panes")
        column.evict(1)
        return column.close(0), column.drop_fired(0)

    driver.run(driver.process(), fill)
    assert driver.run(driver.process(), work) == ([("b", 2)], {"a"})


def test_the_key_of_an_entry() -> None:
    """docs/state-format.md: group, 0, column, start, length, typed key, and f for what has fired."""
    driver = Driver()

    def work(op: OperatorState) -> list[bytes]:
        column = op.pane_state("panes")
        column.put(-1, "a", b"\x01", fired=True)
        column.put(10, "a", b"\x01", fired=False)
        keys: list[bytes] = []
        column.collect(keys, [])
        assert [pane_entry(key) for key in keys] == [(10, "a", False), (-1, "a", True)]
        return [key.replace(column.id, b"-column-") for key in keys]

    assert driver.run(driver.process(), work) == [
        b"\0\x51\0-column-\x80\0\0\0\0\0\0\x0a\x02sa",
        b"\0\x51\0-column-\x7f\xff\xff\xff\xff\xff\xff\xff\x02saf",
    ]
