from __future__ import annotations

from typing import Any

import pytest

from firesteel.common.errors import StateError
from firesteel.state.backend import OperatorState, SubtaskState
from firesteel.state.keys import encode_key

from .support import Driver, use


def started() -> tuple[Driver, SubtaskState, OperatorState]:
    driver = Driver()
    state = driver.process()
    state.begin(driver.line, 0)
    return driver, state, state.operator("op")


def pop_all(operator: OperatorState, until_ms: int) -> list[tuple[int, Any]]:
    found = []
    while (timer := operator.event_timers.pop(until_ms)) is not None:
        found.append(timer[:2])
    return found


def test_timers_are_a_set_for_each_key_and_time_domain() -> None:
    _, _, op = started()
    timers = op.event_timers
    use(op, "a")
    for instant in (10, 10, 20):
        timers.register(instant)
    op.processing_timers.register(10)
    use(op, "b")
    timers.register(10)
    timers.delete(999)
    use(op, "a")
    timers.delete(20)
    assert pop_all(op, 30) == [(10, "a"), (10, "b")]
    use(op, "a")
    timers.register(5)  # in the past: it waits for the next advance
    assert timers.next_ms() == 5
    assert pop_all(op, 31) == [(5, "a")]
    assert op.processing_timers.pop(10) == (10, "a", "a", None)
    assert timers.next_ms() is None


def test_a_timer_set_meanwhile_fires_in_the_same_run() -> None:
    _, _, op = started()
    use(op, "a")
    op.event_timers.register(10)
    op.event_timers.register(30)
    assert op.event_timers.pop(100) == (10, "a", "a", None)
    op.event_timers.register(20)
    op.event_timers.register(101)
    assert pop_all(op, 100) == [(20, "a"), (30, "a")]
    assert op.event_timers.next_ms() == 101


def test_timers_of_one_instant_fire_by_key_bytes_whatever_the_order_of_setting() -> None:
    keys = ["b", "a", 3, (1, 2), None, "aa", 300, -1]
    runs = []
    for order in (keys, keys[::-1]):
        _, _, op = started()
        for key in order:
            use(op, key)
            op.event_timers.register(7)
        runs.append([key for _, key in pop_all(op, 7)])
    assert runs[0] == runs[1] == sorted(keys, key=encode_key)


def test_one_set_for_the_instant_that_is_popped_comes_after_the_rest() -> None:
    _, _, op = started()
    for key in ("b", "c"):
        use(op, key)
        op.event_timers.register(7)
    assert op.event_timers.pop(7) == (7, "b", "b", None)
    use(op, "a")
    op.event_timers.register(7)
    use(op, "c")
    op.event_timers.register(7)  # is set already
    op.event_timers.register(3)
    assert pop_all(op, 7) == [(3, "c"), (7, "c"), (7, "a")]


def test_deleting_a_timer_while_its_instant_is_popped() -> None:
    _, _, op = started()
    for key in ("a", "b", "c"):
        use(op, key)
        op.event_timers.register(7)
    op.event_timers.pop(7)
    use(op, "b")
    op.event_timers.delete(7)
    assert pop_all(op, 7) == [(7, "c")]


@pytest.mark.row("S-TIMER-03")
def test_namespaces_are_timers_of_their_own() -> None:
    _, _, op = started()
    use(op, (1, 2))
    op.event_timers.register(7, b"w2")
    op.event_timers.register(7, b"w1")
    op.event_timers.register(7)
    found = [op.event_timers.pop(7) for _ in range(3)]
    assert [timer[1:] for timer in found if timer] == [
        ((1, 2), encode_key((1, 2)), None),
        ((1, 2), encode_key((1, 2)), b"w1"),
        ((1, 2), encode_key((1, 2)), b"w2"),
    ]


@pytest.mark.row("S-STATE-30")
def test_only_the_net_change_of_an_epoch_is_written() -> None:
    driver, state, op = started()
    use(op, "a")
    op.event_timers.register(10)
    op.event_timers.pop(10)
    op.event_timers.register(11)
    op.event_timers.delete(11)
    assert state.finish().entries == 0
    driver.run(state, lambda op: use(op, "a").event_timers.register(50))

    state.begin(driver.line, 0)
    op.event_timers.delete(50)
    op.event_timers.register(50)
    op.event_timers.register(50)
    assert state.finish().entries == 0


def test_timers_survive_with_negative_and_huge_instants() -> None:
    driver = Driver()
    instants = [-(2**63), -5, 0, 5, 2**63 - 1]

    def work(op: OperatorState) -> None:
        for instant in instants:
            use(op, "a").event_timers.register(instant)
            op.event_timers.register(instant, b"")

    driver.run(driver.process(), work)
    found = driver.run(driver.process(), lambda op: pop_all(op, 2**63 - 1))
    assert [instant for instant, _ in found] == sorted(instants * 2)
    assert driver.run(driver.process(), lambda op: op.event_timers.next_ms()) is None


def test_timers_need_a_key() -> None:
    _, _, op = started()
    for call in (op.event_timers.register, op.event_timers.delete):
        with pytest.raises(StateError, match="no current key"):
            call(5)
    assert op.event_timers.next_ms() is None
