from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import StateError
from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream.functions import AggregateFunction
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.state._ttl import LEAST_LOOKS, Ttl
from firesteel.state.backend import OperatorState, StateLimits, SubtaskState
from firesteel.state.lmdb_store import _environments

from .support import Driver, use

LONG = Types.LONG()
ANY = Types.PICKLED_BYTE_ARRAY()
COLD = StateLimits(warm_entries=0)


def config(
    *,
    ttl_ms: int = 10,
    on_read: bool = False,
    show_expired: bool = False,
    disabled: bool = False,
    clean: bool = True,
    looks: int = 0,
) -> StateTtlConfig:
    builder = StateTtlConfig.new_builder(Time.milliseconds(ttl_ms))
    if on_read:
        builder.update_ttl_on_read_and_write()
    if show_expired:
        builder.return_expired_if_not_cleaned_up()
    if disabled:
        builder.set_update_type(StateTtlConfig.UpdateType.Disabled)
    if not clean:
        builder.disable_cleanup_in_background()
    if looks:
        builder.cleanup_incrementally(looks, False)
    return builder.build()


def with_ttl(descriptor: Any, **options: Any) -> Any:
    descriptor.enable_time_to_live(config(**options))
    return descriptor


def value(**options: Any) -> Any:
    return with_ttl(ValueStateDescriptor("v", LONG), **options)


def read(descriptor: Any) -> Any:
    return lambda op: use(op, "a").get_state(descriptor).value()


def write(descriptor: Any, what: int) -> Any:
    return lambda op: use(op, "a").get_state(descriptor).update(what)


class Use:
    """Reads and writes a state of the key "a", each time in an epoch and a process of its own."""

    def __init__(self, how: Callable[[OperatorState, Any], Any], descriptor: Any) -> None:
        self.driver = Driver(limits=COLD)
        self.how = how
        self.descriptor = descriptor

    def at(self, now_ms: int, work: Callable[[Any], Any]) -> Any:
        process = self.driver.process()
        return self.driver.run(process, lambda op: work(self.how(use(op, "a"), self.descriptor)), now_ms)


# ---- values


@pytest.mark.parametrize("limits", [StateLimits(), COLD])
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


@pytest.mark.parametrize("clean", [True, False])
def test_what_has_expired_may_be_seen_once_when_asked_for(clean: bool) -> None:
    driver = Driver()
    state = driver.process()
    descriptor = value(show_expired=True, clean=clean)
    driver.run(state, write(descriptor, 1), now_ms=0)
    assert driver.run(state, read(descriptor), now_ms=50) == 1
    assert driver.run(state, read(descriptor), now_ms=51) is None


def test_what_may_be_seen_is_gone_in_the_end_unless_nothing_cleans_up() -> None:
    for clean, expected in ((True, None), (False, 1)):
        driver = Driver()
        descriptor = value(show_expired=True, clean=clean)
        driver.run(driver.process(), write(descriptor, 1), now_ms=0)
        assert driver.run(driver.process(), read(descriptor), now_ms=24 * 3_600_000) == expected


def test_a_disabled_time_to_live_is_none() -> None:
    driver = Driver()
    descriptor = value(disabled=True)
    driver.run(driver.process(), write(descriptor, 1), now_ms=0)
    assert driver.run(driver.process(), read(descriptor), now_ms=10**12) == 1
    assert driver.run(driver.process(), read(ValueStateDescriptor("v", LONG)), now_ms=10**12) == 1


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> str:
        return f"sum {accumulator}"

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def test_reducing_and_aggregating_state_live_on_from_each_add() -> None:
    reducing = Use(
        OperatorState.get_reducing_state, with_ttl(ReducingStateDescriptor("r", lambda a, b: a + b, LONG))
    )
    aggregating = Use(
        OperatorState.get_aggregating_state, with_ttl(AggregatingStateDescriptor("g", Sum(), LONG))
    )
    for state, result in ((reducing, int), (aggregating, "sum {}".format)):
        state.at(0, lambda s: s.add(1))
        state.at(9, lambda s: s.add(2))
        assert state.at(18, lambda s: s.get()) == result(3)
        assert state.at(19, lambda s: s.get()) is None
        state.at(20, lambda s: s.add(4))
        assert state.at(29, lambda s: s.get()) == result(4)
        state.at(30, lambda s: s.add(8))  # what has expired is not added to
        assert state.at(31, lambda s: s.get()) == result(8)


def test_keys_whose_values_have_expired_are_not_given() -> None:
    for limits in (StateLimits(), COLD):
        driver = Driver(limits=limits)
        state = driver.process()
        driver.run(state, lambda op: use(op, "a").get_state(value()).update(1), now_ms=0)
        driver.run(state, lambda op: use(op, "b").get_state(value()).update(1), now_ms=5)
        for process in (state, driver.process()):

            def keys(op: OperatorState) -> list[Any]:
                op.get_state(value())
                return list(op.get_keys("v"))

            assert driver.run(process, keys, now_ms=10) == ["b"]


# ---- lists and maps


def a_list(**options: Any) -> Use:
    return Use(OperatorState.get_list_state, with_ttl(ListStateDescriptor("l", ANY), **options))


def a_map(**options: Any) -> Use:
    return Use(OperatorState.get_map_state, with_ttl(MapStateDescriptor("m", ANY, ANY), **options))


def elements(state: Any) -> list[Any]:
    return list(state.get())


def test_list_elements_expire_one_by_one() -> None:
    state = a_list()
    state.at(0, lambda s: s.add(1))
    state.at(5, lambda s: s.add(2))
    assert state.at(9, elements) == [1, 2]
    assert state.at(10, elements) == [2]
    assert state.at(15, elements) == []


def test_list_elements_of_one_epoch_expire_one_by_one() -> None:
    """In real time an epoch is long."""
    driver = Driver()
    state, descriptor = driver.process(), with_ttl(ListStateDescriptor("l", ANY))

    def work(operator: OperatorState) -> None:
        numbers = use(operator, "a").get_list_state(descriptor)
        numbers.add(1)
        state.move_time(5)
        numbers.add(2)
        assert elements(numbers) == [1, 2]
        state.move_time(10)
        assert elements(numbers) == [2]
        numbers.add_all([3, 4])
        state.move_time(14)

    def left(operator: OperatorState) -> list[Any]:
        return elements(use(operator, "a").get_list_state(descriptor))

    driver.run(state, work, 0)
    assert driver.run(state, left, 14) == [2, 3, 4]
    assert driver.run(state, left, 15) == [3, 4]
    assert driver.run(driver.process(), left, 19) == [3, 4]
    assert driver.run(driver.process(), left, 20) == []


def test_updating_a_list_begins_its_life_anew() -> None:
    state = a_list()
    state.at(0, lambda s: s.add(1))
    state.at(8, lambda s: s.update([*s.get(), 2]))
    assert state.at(17, elements) == [1, 2]
    assert state.at(18, elements) == []


def test_reading_a_list_refreshes_it_when_asked_for() -> None:
    state = a_list(on_read=True)
    state.at(0, lambda s: s.add(1))
    state.at(5, lambda s: s.add(2))
    assert state.at(9, elements) == [1, 2]
    state.at(12, lambda s: s.get())  # nobody looks at what it gives
    assert state.at(18, elements) == [1, 2]
    assert state.at(28, elements) == []


def test_list_elements_that_have_expired_may_be_seen_once() -> None:
    state = a_list(show_expired=True)
    state.at(0, lambda s: s.add(1))
    state.at(5, lambda s: s.add(2))
    assert state.at(12, elements) == [1, 2]
    assert state.at(13, elements) == [2]
    assert state.at(20, elements) == [2]
    assert state.at(21, elements) == []


def test_map_entries_expire_one_by_one() -> None:
    state = a_map()
    state.at(0, lambda s: s.put(1, None))
    state.at(5, lambda s: s.put(2, [3]))
    assert state.at(9, lambda s: dict(s.items())) == {1: None, 2: [3]}
    assert state.at(12, lambda s: [s.get(1), s.get(2), s.contains(1), s.contains(2), s.is_empty()]) == [
        None, [3], False, True, False,
    ]  # fmt: skip
    assert state.at(14, lambda s: dict(s.items())) == {2: [3]}
    assert state.at(15, lambda s: [s.contains(1), s.contains(2), s.is_empty()]) == [False, False, True]


def test_a_map_entry_that_is_put_again_lives_on_alone() -> None:
    state = a_map()
    state.at(0, lambda s: s.put_all({"a": 1, "b": 1}))
    state.at(5, lambda s: s.put("a", 2))
    assert state.at(10, lambda s: list(s.items())) == [("a", 2)]


@pytest.mark.parametrize(
    ("touch", "left"),
    [
        (lambda s: s.get("a"), ["a"]),
        (lambda s: s.contains("b"), ["b"]),
        (lambda s: list(s.keys()), ["a", "b", "c"]),
        (lambda s: list(s.values()), ["a", "b", "c"]),
        (lambda s: list(s.items()), ["a", "b", "c"]),
        (lambda s: next(s.keys()), ["a"]),
        (lambda s: s.is_empty(), []),
    ],
)
def test_what_is_read_of_a_map_is_refreshed_when_asked_for(touch: Any, left: list[str]) -> None:
    state = a_map(on_read=True)
    state.at(0, lambda s: s.put_all(dict.fromkeys("abc", 1)))
    state.at(9, touch)
    assert state.at(18, lambda s: list(s.keys())) == left


def test_what_was_changed_in_a_loop_is_not_refreshed_back() -> None:
    """The loop still sees what it began with; that must not be written again."""
    for limits in (StateLimits(), COLD):
        state = a_map(on_read=True)
        state.driver.limits = limits
        state.at(0, lambda s: s.put_all(dict.fromkeys(range(3_000), 1)))

        def change(s: Any) -> None:
            for name in s.keys():  # noqa: SIM118
                if name == 5:
                    s.remove(6)
                    s.put(7, 2)
                if name == 2_000:
                    s.clear()
                    s.put("last", 3)

        state.at(5, change)
        assert state.at(6, lambda s: list(s.items())) == [("last", 3)]


def test_map_entries_that_have_expired_may_be_seen_once() -> None:
    state = a_map(show_expired=True)
    state.at(0, lambda s: s.put_all(dict.fromkeys("abc", 1)))
    assert not state.at(10, lambda s: s.is_empty())
    assert state.at(10, lambda s: [s.get("a"), s.get("a"), s.contains("b"), s.contains("b")]) == [
        1, None, True, False,
    ]  # fmt: skip
    assert state.at(11, lambda s: list(s.items())) == [("c", 1)]
    assert state.at(12, lambda s: [list(s.items()), s.is_empty()]) == [[], True]


# ---- clean-up


def fill(kind: str, keys: range, **options: Any) -> Callable[[OperatorState], None]:
    """Write one entry for each key."""

    def work(op: OperatorState) -> None:
        state = handle(op, kind, **options)
        for n in keys:
            use(op, f"key-{n}" if kind != "large map" else "key")
            match kind:
                case "value":
                    state.update(n)
                case "list":
                    state.add([n])
                case _:
                    state.put(n, n)

    return work


def handle(op: OperatorState, kind: str, **options: Any) -> Any:
    match kind:
        case "value":
            return op.get_state(with_ttl(ValueStateDescriptor("s", ANY), **options))
        case "list":
            return op.get_list_state(with_ttl(ListStateDescriptor("s", ANY), **options))
        case _:
            return op.get_map_state(with_ttl(MapStateDescriptor("s", ANY, ANY), **options))


def idle(driver: Driver, state: SubtaskState, kind: str, epochs: int, now_ms: int, **options: Any) -> None:
    """Epochs that touch one key of another state."""

    def work(op: OperatorState) -> None:
        handle(op, kind, **options)
        use(op, "busy").get_state(ValueStateDescriptor("other", ANY)).update(1)

    for n in range(epochs):
        driver.run(state, work, now_ms + n)


def stored_in(local: str) -> int:
    """How many entries the local stores of a directory hold."""
    return sum(e.stat()["entries"] for path, e in _environments.items() if path.startswith(local))


KINDS = pytest.mark.parametrize("kind", ["value", "list", "map", "large map"])
SMALL = {"compaction_entries": 2_000, "inline_bytes": 400}


@KINDS
@pytest.mark.parametrize("strategy", ["default", "incremental", "snapshot", "compaction"])
def test_state_of_keys_that_are_never_touched_again_is_freed(kind: str, strategy: str) -> None:
    """From memory and from disk, though nobody reads it."""
    options = {"ttl_ms": 1_000, "looks": 3 if strategy == "incremental" else 0}
    limits = StateLimits(compaction_entries=500, inline_bytes=400, warm_entries=100_000)
    driver = Driver(limits=limits)
    state = driver.process()
    for n in range(10):
        driver.run(state, fill(kind, range(n * 500, (n + 1) * 500), **options), now_ms=n)
    idle(driver, state, kind, 60, 100, **options)
    assert driver.line.entries >= 5_000  # it is all there, in segments
    assert state._caches.size >= 5_000
    idle(driver, state, kind, 60, 2_000, **options)
    assert driver.line.entries < 20
    assert state._caches.size < 20
    assert sum(ref.length for ref in driver.line.runs) < 10_000
    assert driver.run(state, fill(kind, range(3), **options), now_ms=3_000) is None
    idle(driver, state, kind, 1, 3_001, **options)
    assert driver.line.entries >= 4


@pytest.mark.parametrize("kind", ["value", "map"])
def test_nothing_is_freed_when_it_shall_not_be(kind: str) -> None:
    options = {"ttl_ms": 1_000, "clean": False}
    driver = Driver(limits=StateLimits(**SMALL))  # type: ignore[arg-type]
    state = driver.process()
    driver.run(state, fill(kind, range(3_000), **options), now_ms=0)
    idle(driver, state, kind, 100, 10_000, **options)
    assert state._caches.size >= 3_000
    assert driver.line.entries >= 3_000


@KINDS
def test_the_local_store_is_freed_too(kind: str, tmp_path: Path) -> None:
    options = {"ttl_ms": 1_000}
    limits = StateLimits(**SMALL, warm_entries=0, cache_entries=10)  # type: ignore[arg-type]
    driver = Driver(limits=limits, local_dir=str(tmp_path))
    state = driver.process()

    def read_one(op: OperatorState) -> None:
        use(op, f"nobody-{driver.epoch}")
        held = handle(op, kind, **options)
        held.value() if kind == "value" else held.get(*(() if kind == "list" else (1,)))

    for n in range(10):
        driver.run(state, fill(kind, range(n * 500, (n + 1) * 500), **options), now_ms=n)
        driver.run(state, read_one, now_ms=n)
    assert stored_in(str(tmp_path)) >= 5_000
    for n in range(60):
        idle(driver, state, kind, 1, 2_000 + n, **options)
        driver.run(state, read_one, now_ms=2_000 + n)
    assert stored_in(str(tmp_path)) < 50
    assert driver.line.entries < 20
    state.close()


def test_an_epoch_looks_at_a_bounded_number_of_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = [0]
    gone = Ttl.gone

    def counting(self: Ttl, stored: bytes, now_ms: int) -> bool:
        looked[0] += 1
        return gone(self, stored, now_ms)

    driver = Driver(limits=StateLimits(compaction_entries=100))
    state = driver.process()
    options = {"ttl_ms": 1_000, "looks": 7}
    driver.run(state, fill("value", range(15_000), **options), now_ms=0)
    monkeypatch.setattr(Ttl, "gone", counting)
    idle(driver, state, "value", 1, 5_000, **options)
    assert looked[0] == LEAST_LOOKS
    assert state._caches.size == 15_001 - LEAST_LOOKS
    looked[0] = 0
    driver.run(state, fill("value", range(20_000, 20_500), **options), now_ms=5_001)
    assert looked[0] == 7 * 500


def test_what_lives_is_not_removed_with_what_has_gone() -> None:
    """Segments that hold states with and without a time to live, and several of them."""
    driver = Driver(limits=StateLimits(**SMALL))  # type: ignore[arg-type]
    state = driver.process()
    lasting = ValueStateDescriptor("lasting", ANY)
    short, long = value(ttl_ms=100), with_ttl(ValueStateDescriptor("long", ANY), ttl_ms=100_000)

    def work(op: OperatorState) -> None:
        for n in range(2_000):
            use(op, n)
            for descriptor in (lasting, short, long):
                op.get_state(descriptor).update(n)

    def count(op: OperatorState) -> list[int]:
        found = []
        for descriptor in (lasting, short, long):
            held = op.get_state(descriptor)
            found.append(sum(held.value() is not None for n in range(2_000) if use(op, n)))
        return found

    def touch(op: OperatorState) -> None:
        for descriptor in (lasting, short, long):
            use(op, "busy").get_state(descriptor).update(0)

    driver.run(state, work, now_ms=0)
    for n in range(100):
        driver.run(state, touch, now_ms=1_000 + n)
    assert 4_000 <= driver.line.entries <= 4_100
    for process in (state, driver.process()):
        assert driver.run(process, count, now_ms=2_000) == [2_000, 0, 2_000]
    for n in range(100):
        driver.run(state, touch, now_ms=200_000 + n)
    assert 2_000 <= driver.line.entries <= 2_100
    for process in (state, driver.process()):
        assert driver.run(process, count, now_ms=200_100) == [2_000, 0, 0]


def test_compaction_drops_what_has_expired() -> None:
    driver = Driver()
    state = driver.process()
    for epoch in range(60):
        driver.run(state, fill("value", range(epoch * 50, epoch * 50 + 50)), now_ms=epoch * 5)
    assert driver.line.entries < 50 * 25  # 3,000 were written, 100 live


def test_a_stored_state_may_gain_and_lose_a_time_to_live() -> None:
    """As since Flink 2.1: what had none lives from the restore on."""
    without = ValueStateDescriptor("v", LONG)
    driver = Driver()
    driver.run(driver.process(), write(without, 1), now_ms=0)
    with_ttl = driver.process()
    assert driver.run(with_ttl, read(value(ttl_ms=10)), now_ms=100) == 1
    assert driver.run(driver.process(), read(value(ttl_ms=10)), now_ms=109) == 1
    assert driver.run(driver.process(), read(without), now_ms=109) == 1, "and again without"
    assert driver.run(driver.process(), read(value(ttl_ms=10)), now_ms=109) == 1
    assert driver.run(driver.process(), read(value(ttl_ms=10)), now_ms=118) == 1
    assert driver.run(driver.process(), read(value(ttl_ms=10)), now_ms=119) is None


def test_a_time_to_live_may_be_changed() -> None:
    """Flink counts with the setting of the program that runs, whatever it was when a value was written."""
    driver = Driver()
    driver.run(driver.process(), write(value(ttl_ms=10), 1), now_ms=0)
    assert driver.run(driver.process(), read(value(ttl_ms=100)), now_ms=50) == 1
    assert driver.run(driver.process(), read(value(ttl_ms=20)), now_ms=51) is None


def test_a_descriptor_that_gets_a_time_to_live_once_it_was_used_is_refused() -> None:
    descriptor = ValueStateDescriptor("value", ANY)
    driver = Driver()
    state = driver.process()

    def ask_again(op: OperatorState) -> None:
        op.get_state(descriptor)
        descriptor.enable_time_to_live(config())
        op.get_state(descriptor)

    with pytest.raises(StateError, match="asked for twice with two settings"):
        driver.run(state, ask_again)
