from __future__ import annotations

from typing import Any

import pytest

from firesteel.common.errors import StateError
from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.state.backend import OperatorState, StateLimits

from .support import Driver, use

LONG = Types.LONG()


def with_ttl(descriptor: Any, *, on_read: bool = False, show_expired: bool = False) -> Any:
    builder = StateTtlConfig.new_builder(Time.milliseconds(10))
    if on_read:
        builder.update_ttl_on_read_and_write()
    if show_expired:
        builder.return_expired_if_not_cleaned_up()
    descriptor.enable_time_to_live(builder.build())
    return descriptor


def value(**options: bool) -> Any:
    return with_ttl(ValueStateDescriptor("v", LONG), **options)


def read(descriptor: Any) -> Any:
    return lambda op: use(op, "a").get_state(descriptor).value()


def write(descriptor: Any, what: int) -> Any:
    return lambda op: use(op, "a").get_state(descriptor).update(what)


@pytest.mark.parametrize("limits", [StateLimits(), StateLimits(warm_entries=0)])
@pytest.mark.parametrize("same_process", [True, False])
def test_a_value_expires_ttl_after_it_was_written(limits: StateLimits, same_process: bool) -> None:
    driver = Driver(limits=limits)
    process = driver.process()
    driver.run(process, write(value(), 1), now_ms=0)
    if not same_process:
        process = driver.process()
    assert driver.run(process, read(value()), now_ms=9) == 1
    assert driver.run(process, read(value()), now_ms=10) is None
    assert driver.run(process, read(value()), now_ms=9) is None  # it was deleted when it was read
    driver.run(process, write(value(), 2), now_ms=11)
    assert driver.run(driver.process(), read(value()), now_ms=20) == 2
    assert driver.run(driver.process(), read(value()), now_ms=21) is None


def test_reading_refreshes_when_asked_for() -> None:
    driver = Driver()
    state = driver.process()
    descriptor = value(on_read=True)
    driver.run(state, write(descriptor, 1), now_ms=0)
    assert driver.run(state, read(descriptor), now_ms=9) == 1
    assert driver.run(driver.process(), read(descriptor), now_ms=18) == 1
    assert driver.run(driver.process(), read(descriptor), now_ms=28) is None


def test_what_has_expired_may_be_seen_once_when_asked_for() -> None:
    driver = Driver()
    state = driver.process()
    descriptor = value(show_expired=True)
    driver.run(state, write(descriptor, 1), now_ms=0)
    assert driver.run(state, read(descriptor), now_ms=50) == 1
    assert driver.run(state, read(descriptor), now_ms=51) is None


def test_list_elements_expire_one_by_one() -> None:
    driver = Driver()
    descriptor = with_ttl(ListStateDescriptor("l", LONG))

    def add(what: int) -> Any:
        return lambda op: use(op, "a").get_list_state(descriptor).add(what)

    def get(op: OperatorState) -> list[int]:
        return list(use(op, "a").get_list_state(descriptor).get())

    driver.run(driver.process(), add(1), now_ms=0)
    driver.run(driver.process(), add(2), now_ms=5)
    assert driver.run(driver.process(), get, now_ms=9) == [1, 2]
    assert driver.run(driver.process(), get, now_ms=10) == [2]
    assert driver.run(driver.process(), get, now_ms=15) == []


def test_map_entries_expire_one_by_one() -> None:
    driver = Driver()
    descriptor = with_ttl(MapStateDescriptor("m", LONG, LONG))

    def put(key: int, what: Any) -> Any:
        return lambda op: use(op, "a").get_map_state(descriptor).put(key, what)

    def items(op: OperatorState) -> dict[int, Any]:
        return dict(use(op, "a").get_map_state(descriptor).items())

    def contains(op: OperatorState) -> list[bool]:
        state = use(op, "a").get_map_state(descriptor)
        return [state.contains(1), state.contains(2), state.is_empty()]

    driver.run(driver.process(), put(1, None), now_ms=0)
    driver.run(driver.process(), put(2, [3]), now_ms=5)
    assert driver.run(driver.process(), items, now_ms=9) == {1: None, 2: [3]}
    assert driver.run(driver.process(), contains, now_ms=12) == [False, True, False]
    assert driver.run(driver.process(), items, now_ms=14) == {2: [3]}
    assert driver.run(driver.process(), contains, now_ms=15) == [False, False, True]


def test_compaction_drops_what_has_expired() -> None:
    driver = Driver()
    state = driver.process()

    def work(epoch: int) -> Any:
        def run(op: OperatorState) -> None:
            handle = op.get_state(value())
            for n in range(50):
                use(op, f"{epoch}-{n}")
                handle.update(n)

        return run

    for epoch in range(60):
        driver.run(state, work(epoch), now_ms=epoch * 5)
    assert driver.line.entries < 50 * 25  # 3,000 were written, 100 live


def test_a_stored_state_cannot_gain_a_time_to_live() -> None:
    driver = Driver()
    driver.run(driver.process(), write(ValueStateDescriptor("v", LONG), 1))
    with pytest.raises(StateError, match="time-to-live"):
        driver.run(driver.process(), read(value()))
