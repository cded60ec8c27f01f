"""Sessions of keys against a plain dictionary, over random epochs in random processes."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from firesteel.state.backend import OperatorState, StateLimits
from firesteel.state.keys import canonical, encode_key
from firesteel.state.sessions import Session, SessionColumn, copied

from .machine import LIMITS, ColumnMachine, as_test
from .support import Driver
from .test_model import COLD

KEYS = st.sampled_from(["a", "b", 1, 2, ("t", None), b"k"])
VALUES = st.sampled_from(
    [None, 0, 2**70, 1.5, "text", "\ud800", b"bytes", True, (1, None), [1, [2]], {"k": (1,)}, ()]
)
Sessions = list[tuple[int, int, Any]]


class SessionMachine(ColumnMachine):
    """Works as the operator does: each change of a key is put, each key that is due is put again."""

    @initialize(limits=LIMITS, local=st.booleans())
    def start(self, limits: StateLimits, local: bool) -> None:
        self.start_at(0, limits, local)

    def take_column(self, operator: OperatorState) -> None:
        self.column: SessionColumn = operator.session_state("sessions")

    @rule(key=KEYS)
    def look(self, key: Any) -> None:
        found = [(s.start, s.end, s.value) for s in self.column.of(canonical(key))]
        assert found == self.model.get(encode_key(key), [])

    @rule(key=KEYS, delay=st.integers(0, 20), value=VALUES)
    def begin_session(self, key: Any, delay: int, value: Any) -> None:
        value = copy.deepcopy(value)
        sessions = self.column.of(canonical(key))
        end = self.now + 1 + delay
        sessions.append(Session(self.now, end, value))
        self.column.put(canonical(key), sessions, end)
        self.model.setdefault(encode_key(key), []).append((self.now, end, copy.deepcopy(value)))

    @rule(key=KEYS, by=st.integers(0, 20), value=VALUES)
    def grow(self, key: Any, by: int, value: Any) -> None:
        """A session that grows does not touch its deadline, nor that of the key."""
        sessions = self.column.of(canonical(key))
        if not sessions:
            return
        session = sessions[-1]
        session.end += by
        session.value = copy.deepcopy(value)
        self.column.changed_keys.add(canonical(key))
        model = self.model[encode_key(key)]
        model[-1] = (model[-1][0], model[-1][1] + by, copy.deepcopy(value))

    @rule(step=st.sampled_from([1, 2, 5, 12, 40]))
    def move_on(self, step: int) -> None:
        self.now += step
        gone: dict[bytes, Sessions] = {}
        for key, sessions in self.column.take_due(self.now).items():
            gone[encode_key_of(key)] = [(s.start, s.end, s.value) for s in sessions if s.end <= self.now]
            kept = [s for s in sessions if s.end > self.now]
            self.column.put(key, kept, min((s.end for s in kept), default=0))
        expected = {k: [s for s in sessions if s[1] <= self.now] for k, sessions in self.model.items()}
        assert {k: s for k, s in gone.items() if s} == {k: s for k, s in expected.items() if s}
        kept_sessions = {k: [s for s in sessions if s[1] > self.now] for k, sessions in self.model.items()}
        self.model = {k: s for k, s in kept_sessions.items() if s}


def encode_key_of(key: Any) -> bytes:
    """The typed bytes of a canonical key."""
    return key if type(key) is bytes else encode_key(key)


TestSessionModel = as_test(SessionMachine)


def test_what_begins_and_ends_in_one_epoch_leaves_no_trace() -> None:
    driver = Driver()

    def work(op: OperatorState) -> None:
        column = op.session_state("sessions")
        column.put("a", [Session(0, 10, 1)], 9)
        assert list(column.take_due(9)) == ["a"]
        column.put("a", [], 0)

    driver.run(driver.process(), work)
    assert driver.line.entries == 0


def test_a_key_without_sessions_is_never_read() -> None:
    driver = Driver(limits=COLD)
    driver.run(driver.process(), lambda op: op.session_state("sessions").put("a", [Session(0, 10, 1)], 9))
    process = driver.process()
    process.begin(driver.line, 0)
    column = process.operator("op").session_state("sessions")
    core = process._core
    assert column.of("b") == []
    assert core.misses == 0
    assert [(s.start, s.end, s.value) for s in column.of("a")] == [(0, 10, 1)]
    assert core.misses == 1


@pytest.mark.parametrize("value", [[1, [2]], {"a": []}, bytearray(b"x")])
def test_a_copy_is_nobody_elses(value: Any) -> None:
    assert copied(value) == value
    assert copied(value) is not value


@pytest.mark.parametrize("value", [None, 1, "a", (1, "a"), b"bytes"])
def test_what_cannot_change_is_not_copied_into_something_else(value: Any) -> None:
    assert copied(value) == value
