from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.common.errors import StateError
from firesteel.common.typeinfo import Types
from firesteel.datastream.functions import AggregateFunction
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from firesteel.state._core import StateCore
from firesteel.state.backend import OperatorState, StateLimits, SubtaskState
from firesteel.state.files import MemoryStateFiles, StateFiles
from firesteel.state.keys import key_group
from firesteel.state.line import EMPTY, advance, restored
from tests.counting import counted_calls, taken_memory

from .support import Driver, use

ANY = Types.PICKLED_BYTE_ARRAY()
VALUE = ValueStateDescriptor("value", ANY)
LIST = ListStateDescriptor("list", ANY)
MAP = MapStateDescriptor("map", ANY, ANY)


class Average(AggregateFunction):
    def create_accumulator(self) -> Any:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


def write(key: Any, value: Any) -> Callable[[OperatorState], None]:
    return lambda op: use(op, key).get_state(VALUE).update(value)


def read(key: Any) -> Callable[[OperatorState], Any]:
    return lambda op: use(op, key).get_state(VALUE).value()


def value_keys(op: OperatorState) -> list[Any]:
    op.get_state(VALUE)
    return list(op.get_keys("value"))


# ---- kinds


def test_a_value_is_none_then_set_then_cleared() -> None:
    driver = Driver()
    state = driver.process()
    assert driver.run(state, read("a")) is None
    driver.run(state, write("a", 5))
    assert driver.run(driver.process(), read("a")) == 5
    driver.run(state, write("a", None))
    assert driver.run(driver.process(), read("a")) is None


def test_reducing_and_aggregating_state() -> None:
    driver = Driver()
    total = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG())
    mean = AggregatingStateDescriptor("mean", Average(), ANY)

    def work(op: OperatorState) -> tuple[Any, Any]:
        use(op, "a")
        reducing, aggregating = op.get_reducing_state(total), op.get_aggregating_state(mean)
        before = reducing.get(), aggregating.get()
        assert before == (None, None) or before == (6, 1.5)
        for n in (1, 2, 3):
            reducing.add(n)
        for n in (1, 2):
            aggregating.add(n)
        return reducing.get(), aggregating.get()

    assert driver.run(driver.process(), work) == (6, 1.5)
    assert driver.run(driver.process(), work) == (12, 1.5)

    def clear(op: OperatorState) -> tuple[Any, Any]:
        use(op, "a").get_reducing_state(total).clear()
        op.get_aggregating_state(mean).add(None)
        return op.get_reducing_state(total).get(), op.get_aggregating_state(mean).get()

    assert driver.run(driver.process(), clear) == (None, None)


@pytest.mark.row("S-STATE-31")
def test_what_the_user_goes_on_changing_does_not_change_in_the_state() -> None:
    driver = Driver()

    def work(op: OperatorState) -> None:
        use(op, "a")
        handle, items, table = op.get_state(VALUE), op.get_list_state(LIST), op.get_map_state(MAP)
        mine = [1, [2]]
        handle.update(mine)
        items.add(mine)
        table.put("k", mine)
        mine.append(3)
        for found in (handle.value(), next(iter(items.get())), table.get("k")):
            assert found == [1, [2]]
            found[1].append(9)
        for found in (handle.value(), next(iter(items.get())), table.get("k")):
            assert found == [1, [2]]

    driver.run(driver.process(), work)


def test_one_name_is_one_kind() -> None:
    driver = Driver()
    op = driver.process().operator("op")
    op.get_state(VALUE)
    with pytest.raises(StateError, match="value state, it cannot be used as a map state"):
        op.get_map_state(MapStateDescriptor("value", ANY, ANY))
    driver.run(driver.process(), write("a", 1))
    state = driver.process()
    state.begin(driver.line, 0)
    with pytest.raises(StateError, match="stored as a value state"):
        state.operator("op").get_list_state(ListStateDescriptor("value", ANY))
    state.operator("other").get_list_state(ListStateDescriptor("value", ANY))  # another operator's name


def test_keyed_state_needs_a_key() -> None:
    op = Driver().process().operator("op")
    handle, items, table = op.get_state(VALUE), op.get_list_state(LIST), op.get_map_state(MAP)
    calls: list[Callable[[], Any]] = [
        handle.value,
        handle.clear,
        lambda: handle.update(1),
        lambda: handle.update([1]),
        lambda: items.add(1),
        items.get,
        items.clear,
        lambda: table.put(1, 1),
        lambda: table.get(1),
        lambda: table.contains(1),
        lambda: list(table.items()),
        table.clear,
    ]
    for call in calls:
        with pytest.raises(StateError, match="no current key"):
            call()


def test_a_key_of_another_subtask_is_refused() -> None:
    driver = Driver(key_groups=range(64))
    assert key_group("a", 128) == 81
    with pytest.raises(StateError, match="key group 81"):
        driver.run(driver.process(), write("a", 1))


def test_values_that_cannot_be_stored_are_refused() -> None:
    import threading

    with pytest.raises(StateError, match=r"list cannot be stored[^$]*lock"):
        Driver().run(Driver().process(), write("a", [threading.Lock()]))


def test_get_keys_is_in_an_order_of_the_keys_alone() -> None:
    keys = ["b", 3, "a", (1, 2)]
    found = []
    for order in (keys, keys[::-1]):
        for limits in (StateLimits(), StateLimits(warm_entries=0)):
            driver = Driver(limits=limits)
            for key in order:
                driver.run(driver.process(), write(key, 1))
            driver.run(driver.process(), write("gone", 1))
            driver.run(driver.process(), write("gone", None))
            found.append(
                driver.run(driver.process(), lambda op: (op.get_state(VALUE), op.get_keys("value"))[1])
            )
    assert all(order == found[0] for order in found)
    assert sorted(map(str, found[0])) == sorted(map(str, keys))


def test_map_iteration_does_not_depend_on_history() -> None:
    orders = []
    for names in (["b", "a", "c"], ["c", "b", "a"]):
        driver = Driver()
        for name in names:
            driver.run(driver.process(), lambda op, name=name: use(op, "k").get_map_state(MAP).put(name, 1))
        orders.append(driver.run(driver.process(), lambda op: list(use(op, "k").get_map_state(MAP).keys())))
    assert orders[0] == orders[1]


# ---- epochs and processes


def test_the_process_that_made_the_delta_reads_nothing() -> None:
    driver = Driver()
    assert isinstance(driver.files, MemoryStateFiles)
    state = driver.process()
    for n in range(5):
        driver.run(state, write("a", n))
    assert driver.files.bytes_read == 0
    assert driver.run(state, read("a")) == 4
    other = driver.process()
    assert driver.run(other, read("a")) == 4
    assert driver.files.bytes_read > 0


@pytest.mark.row("S-CKPT-31")
def test_an_epoch_that_was_not_committed_leaves_no_trace() -> None:
    driver = Driver()
    state = driver.process()
    driver.run(state, write("a", 1))
    for end in ("finish", "abandon", "nothing"):
        state.begin(driver.line, 0)
        write("a", 99)(state.operator("op"))
        use(state.operator("op"), "a").event_timers.register(5)
        if end != "nothing":
            getattr(state, end)()
        assert driver.run(state, read("a")) == 1
        assert state.operator("op").event_timers.next_ms() is None


def test_a_second_attempt_with_the_same_result_counts_for_the_first() -> None:
    driver = Driver()
    one, other = driver.process(), driver.process()
    for state in (one, other):
        state.begin(driver.line, 0)
        write("a", 7)(state.operator("op"))
    first, second = one.finish(), other.finish()
    assert first.digest == second.digest
    driver.commit(first)
    assert isinstance(driver.files, MemoryStateFiles)
    before = driver.files.bytes_read
    assert driver.run(other, read("a")) == 7
    assert driver.files.bytes_read == before


@pytest.mark.row("S-STATE-26", "S-CKPT-31")
def test_a_second_attempt_with_another_result_is_forgotten() -> None:
    driver = Driver()
    one, other = driver.process(), driver.process()
    for value, state in enumerate((one, other)):
        state.begin(driver.line, 0)
        write("a", value)(state.operator("op"))
        write(f"only-{value}", value)(state.operator("op"))
    first = one.finish()
    other.finish()
    driver.commit(first)
    assert driver.run(other, lambda op: (read("a")(op), read("only-0")(op), read("only-1")(op))) == (
        0,
        0,
        None,
    )


def test_the_same_epoch_number_after_a_restore_is_another_state() -> None:
    driver = Driver()
    state, late = driver.process(), driver.process()
    driver.run(state, write("a", 1))
    checkpoint = driver.line
    driver.run(late, write("a", 2))
    driver.line = checkpoint  # restore: what came after it never happened
    state.begin(checkpoint, 0)
    write("a", 3)(state.operator("op"))
    delta = state.finish()
    assert delta.payload is not None
    path = driver.files.write_once("other-manifest", delta.payload)
    driver.line, _ = advance(checkpoint, "m2-again", delta.ref(path, 0), None)
    assert driver.run(late, read("a")) == 3
    assert driver.run(state, read("a")) == 3


def test_an_epoch_without_changes_has_no_run() -> None:
    driver = Driver()
    state = driver.process()
    driver.run(state, write("a", 1))
    state.begin(driver.line, 0)
    delta = state.finish()
    assert (delta.payload, delta.run, delta.entries, delta.digest) == (None, None, 0, "")
    driver.commit(delta)
    assert driver.run(driver.process(), read("a")) == 1


@pytest.mark.row("S-SLOT-29")
def test_large_deltas_are_files_of_the_task(tmp_path: Path) -> None:
    driver = Driver(files=StateFiles(tmp_path))
    state = driver.process()
    driver.run(state, write("a", "small"))
    state.begin(driver.line, 0)
    write("b", "x" * 70_000)(state.operator("op"))
    delta = state.finish()
    assert delta.payload is None
    assert delta.run is not None
    assert (tmp_path / delta.run.path).stat().st_size == delta.run.length
    driver.commit(delta)
    assert driver.run(driver.process(), lambda op: (read("a")(op), len(read("b")(op)))) == ("small", 70_000)
    assert not list(tmp_path.rglob("*.tmp"))


@pytest.mark.row("S-BACK-16")
def test_a_state_file_is_never_changed(tmp_path: Path) -> None:
    """Compaction makes new ones and removes those that they replace."""
    driver = Driver(StateFiles(tmp_path))
    state = driver.process()
    content: dict[Path, bytes] = {}
    for epoch in range(60):
        for n in range(40):
            driver_key = f"{epoch % 7}-{n}"
            state.begin(driver.line, 0) if n == 0 else None
            use(state.operator("op"), driver_key).get_state(VALUE).update("x" * 200 + str(epoch))
        driver.commit(state.finish())
        for path in tmp_path.rglob("*"):
            if path.is_file():
                assert content.setdefault(path, path.read_bytes()) == path.read_bytes()
    left = {path for path in content if path.exists()}
    assert len(content) > 60, "one for each epoch, and those of compaction"
    assert len(left) < len(content) / 2
    assert driver.line.segments


def test_rescaling_moves_key_groups() -> None:
    keys = [f"key-{n}" for n in range(200)]
    drivers = [Driver(MemoryStateFiles(), key_groups=groups) for groups in (range(64), range(64, 128))]
    drivers[1].files = drivers[0].files
    for number, driver in enumerate(drivers):
        driver.epoch = 1000 * number  # the two share a directory
        state = driver.process()
        for epoch in range(12):
            for key in keys:
                if key_group(key, 128) in driver.key_groups:
                    driver.run(state, write(key, (key, epoch))) if epoch in (0, 11) else None
    for groups in (range(43), range(43, 86), range(86, 128)):
        new = Driver(drivers[0].files, key_groups=groups)
        new.line = restored([driver.line for driver in drivers], groups, "savepoint-1")
        mine = [key for key in keys if key_group(key, 128) in groups]
        found = new.run(new.process(), lambda op, mine=mine: [read(key)(op) for key in mine])
        assert found == [(key, 11) for key in mine]
        assert sorted(
            new.run(new.process(), lambda op: (op.get_state(VALUE), op.get_keys("value"))[1])
        ) == sorted(mine)


# ---- sizes


def test_adding_to_a_long_list_costs_the_same_as_to_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Driver(files=MemoryStateFiles())
    state = driver.process()

    def add(count: int) -> Callable[[OperatorState], None]:
        def work(op: OperatorState) -> None:
            items = use(op, "a").get_list_state(LIST)
            for n in range(count):
                items.add(n)

        return work

    def cost(op: OperatorState) -> tuple[int, int]:
        """How many calls it takes, and how much memory: a list is copied in one call."""
        with counted_calls() as calls, taken_memory() as memory:
            add(10_000)(op)
        return calls.count, memory.most_bytes

    calls, taken = driver.run(state, cost)
    for _ in range(20):
        driver.run(state, add(50_000))
    more_calls, more_taken = driver.run(state, cost)
    assert more_calls <= calls + 100
    assert more_taken <= 2 * taken
    driver.limits = StateLimits(warm_entries=0)
    cold = driver.process()
    monkeypatch.setattr(StateCore, "entries", None)  # nothing stored is read to add
    driver.run(cold, add(10))
    found = driver.run(state, lambda op: list(use(op, "a").get_list_state(LIST).get()))
    assert len(found) == 2 * 10_000 + 20 * 50_000 + 10
    assert found[-10:] == list(range(10))


def test_a_touched_key_of_a_large_state_reads_little() -> None:
    driver = Driver(limits=StateLimits(compaction_entries=10**6))
    state = driver.process()

    def fill(op: OperatorState) -> None:
        handle = op.get_state(VALUE)
        for n in range(60_000):
            use(op, f"key-{n}")
            handle.update(n)

    driver.run(state, fill)
    for n in range(30):
        driver.run(state, write(f"key-{n}", -n))
    cold = driver.process()
    assert isinstance(driver.files, MemoryStateFiles)
    cold.begin(driver.line, 0)
    before = driver.files.bytes_read
    assert read("key-59999")(cold.operator("op")) == 59_999
    assert read("key-7")(cold.operator("op")) == -7
    assert read("no such key")(cold.operator("op")) is None
    assert not cold.complete
    total = sum(ref.length for ref in driver.line.live_runs)
    assert driver.files.bytes_read - before < max(total, 10**6) * 1.1  # memory files are opened whole
    write("key-3", "new")(cold.operator("op"))
    driver.commit(cold.finish())
    assert driver.run(state, read("key-3")) == "new"


def test_a_cold_cache_becomes_complete_when_most_keys_are_read() -> None:
    driver = Driver(limits=StateLimits(warm_entries=100))
    keys = [f"key-{n}" for n in range(3_000)]

    def fill(op: OperatorState) -> None:
        for key in keys:
            use(op, key).get_state(VALUE).update(key)
            op.get_map_state(MAP).put(key, 1)
            op.get_list_state(LIST).add(key)

    driver.run(driver.process(), fill)
    cold = driver.process()

    def touch(op: OperatorState) -> None:
        for key in keys[:1500]:
            use(op, key)
            assert op.get_state(VALUE).value() == key
            op.get_list_state(LIST).add("more")
            op.get_map_state(MAP).put("more", 2)
            op.get_map_state(MAP).remove(key)
        use(op, keys[0]).get_state(VALUE).clear()

    driver.run(cold, touch)
    assert cold.complete
    for state in (cold, driver.process()):

        def check(op: OperatorState) -> None:
            for number, key in enumerate(keys):
                use(op, key)
                touched = number < 1500
                assert op.get_state(VALUE).value() == (key if number else None)
                assert list(op.get_list_state(LIST).get()) == ([key, "more"] if touched else [key])
                assert dict(op.get_map_state(MAP).items()) == ({"more": 2} if touched else {key: 1})

        driver.run(state, check)


@pytest.mark.row("S-SLOT-18", "S-BACK-06", "S-BACK-07", "S-BACK-11")
def test_the_cache_stays_within_its_limit() -> None:
    driver = Driver(limits=StateLimits(cache_entries=1000))
    state = driver.process()
    for epoch in range(10):

        def work(op: OperatorState, epoch: int = epoch) -> None:
            for n in range(500):
                use(op, f"{epoch}-{n}").get_state(VALUE).update(n)

        driver.run(state, work)
        assert state._caches.size <= 1000
    assert not state.complete
    assert driver.run(state, read("0-7")) == 7
    assert driver.run(state, read("9-7")) == 7


# ---- batch


def test_batch_state_is_dropped_key_by_key() -> None:
    state = SubtaskState(
        job_id="job",
        attempt=1,
        vertex_id="v",
        subtask=0,
        max_parallelism=128,
        key_groups=range(128),
        files=MemoryStateFiles(),
        limits=StateLimits(batch=True),
    )
    state.begin(EMPTY, 0)
    op = state.operator("op")
    for key in ("a", "b"):
        use(op, key).get_state(VALUE).update(1)
        op.get_list_state(LIST).add(1)
        op.get_map_state(MAP).put(1, 1)
        op.event_timers.register(5)
        op.processing_timers.register(5)
        state.drop_key(op.key)
    assert state.changed_entries == 0
    assert state._caches.size == 0
    assert op.event_timers.next_ms() is None
    assert use(op, "a").get_state(VALUE).value() is None


def test_an_epoch_that_changed_nothing_costs_the_cache_nothing() -> None:
    driver = Driver()
    one, other = driver.process(), driver.process()
    driver.run(one, write("a", 1))
    driver.run(other, read("a"))
    for state, work in ((other, read("a")), (one, write("a", 2))):  # the epoch runs twice, once in vain
        state.begin(driver.line, 0)
        work(state.operator("op"))
        delta = state.finish()
    driver.commit(delta)
    assert isinstance(driver.files, MemoryStateFiles)
    before = driver.files.bytes_read
    assert driver.run(other, read("a")) == 2
    assert driver.files.bytes_read - before < 2 * len(driver.files.content[driver.line.deltas[-2].run.path])  # type: ignore[union-attr]
