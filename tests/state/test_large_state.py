"""Collections of one key that are too large to be read whole: what is read of them is counted."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.errors import StateError
from firesteel.common.typeinfo import Types
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.state import _cells, _list_state, _map_state
from firesteel.state._list_state import CHUNK_ELEMENTS
from firesteel.state.backend import OperatorState, StateLimits, SubtaskState
from firesteel.state.line import RETAINED_DELTAS
from firesteel.state.runs import BLOCK_ENTRIES, Run

from .support import Driver, use

ANY = Types.PICKLED_BYTE_ARRAY()
LIST = ListStateDescriptor("list", ANY)
MAP = MapStateDescriptor("map", ANY, ANY)
#: A process has nothing at first and keeps little.
COLD = StateLimits(warm_entries=0, cache_entries=2_000)
ENTRIES = 30_000


def a_map(op: OperatorState) -> Any:
    return use(op, "key").get_map_state(MAP)


def a_list(op: OperatorState) -> Any:
    return use(op, "key").get_list_state(LIST)


def fill_map(entries: int, value: Callable[[int], Any] = lambda n: n) -> Callable[[OperatorState], None]:
    def work(op: OperatorState) -> None:
        for n in range(entries):
            a_map(op).put(n, value(n))

    return work


def filled(driver: Driver, *works: Callable[[OperatorState], Any]) -> None:
    """Write, and go on until all of it lies in segments."""
    state = driver.process()
    for work in works:
        driver.run(state, work)
    for n in range(3 * RETAINED_DELTAS):
        driver.run(state, lambda op, n=n: use(op, "another").get_map_state(MAP).put(n, n))  # type: ignore[misc]
    assert driver.line.segments


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """How many blocks are read, and how many values and chunks are decoded."""
    counted = {"blocks": 0, "values": 0, "chunks": 0}

    def counting(name: str, function: Any) -> Any:
        def call(*args: Any) -> Any:
            counted[name] += 1
            return function(*args)

        return call

    monkeypatch.setattr(Run, "block", counting("blocks", Run.block))
    monkeypatch.setattr(_map_state, "decode_value", counting("values", _map_state.decode_value))
    monkeypatch.setattr(_list_state, "decode_chunk", counting("chunks", _list_state.decode_chunk))
    return counted


@pytest.fixture(params=[False, True], ids=["runs", "local store"])
def driver(request: pytest.FixtureRequest, tmp_path: Path) -> Driver:
    return Driver(limits=COLD, local_dir=str(tmp_path) if request.param else None)


class Epoch:
    """An epoch that a cold process has begun."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.state: SubtaskState = driver.process()
        self.state.begin(driver.line, 0)
        self.op = self.state.operator("op")

    def commit(self) -> None:
        self.driver.commit(self.state.finish())


# ---- maps


@pytest.mark.row("S-STATE-07")
def test_a_large_map_is_read_as_far_as_it_is_iterated_over(driver: Driver, counts: dict[str, int]) -> None:
    filled(driver, fill_map(ENTRIES))
    epoch = Epoch(driver)
    counts["blocks"] = 0
    assert list(islice(a_map(epoch.op).items(), 5)) == [(n, n) for n in range(5)]
    assert counts["values"] == 5
    # ``filled`` leaves so many small deltas, and each is looked into
    assert counts["blocks"] <= _cells.WHOLE_PARTS // BLOCK_ENTRIES + 3 * RETAINED_DELTAS + 5 < 40
    assert list(a_map(epoch.op).keys()) == list(range(ENTRIES))
    assert counts["values"] == 5  # nothing of the values is decoded for the keys
    assert sum(a_map(epoch.op).values()) == sum(range(ENTRIES))
    assert epoch.state._caches.size <= 2  # and nothing is kept


def test_whether_a_large_map_is_empty_is_asked_for_next_to_nothing(
    driver: Driver, counts: dict[str, int]
) -> None:
    filled(driver, fill_map(ENTRIES))
    epoch = Epoch(driver)
    assert not a_map(epoch.op).is_empty()
    counts["blocks"] = 0
    for _ in range(10):
        assert not a_map(epoch.op).is_empty()
    assert counts["values"] == 0
    assert counts["blocks"] <= 20


def test_a_large_map_is_cleared_unread(driver: Driver, counts: dict[str, int]) -> None:
    filled(driver, fill_map(ENTRIES))
    epoch = Epoch(driver)
    counts["blocks"] = 0
    a_map(epoch.op).put("before", 1)
    a_map(epoch.op).clear()
    assert a_map(epoch.op).is_empty()
    assert counts["blocks"] == 0
    a_map(epoch.op).put(7, "after")
    a_map(epoch.op).put("new", None)
    epoch.commit()
    assert counts["values"] == 0
    for _ in range(2):
        epoch = Epoch(driver)
        assert list(a_map(epoch.op).items()) == [(7, "after"), ("new", None)]
        epoch.commit()


def test_clearing_twice_in_an_epoch(driver: Driver) -> None:
    driver.run(driver.process(), fill_map(3_000))
    epoch = Epoch(driver)
    for n in (1, 5_000):
        a_map(epoch.op).clear()
        a_map(epoch.op).put(n, n)
    epoch.commit()
    assert list(a_map(Epoch(driver).op).keys()) == [5_000]


def test_changes_of_the_epoch_are_seen_in_a_large_map(driver: Driver) -> None:
    filled(driver, fill_map(ENTRIES))
    epoch = Epoch(driver)
    table = a_map(epoch.op)
    expected = {n: n for n in range(ENTRIES)}
    for n in range(0, ENTRIES, 777):
        table.remove(n)
        del expected[n]
    for n in range(5, ENTRIES + 2_000, 333):
        table.put(n, -n)
        expected[n] = -n
    table.put(-1, "first")
    expected[-1] = "first"
    assert list(table.items()) == sorted(expected.items())
    assert list(table.values()) == [expected[n] for n in sorted(expected)]
    epoch.commit()
    assert list(a_map(Epoch(driver).op).items()) == sorted(expected.items())


@pytest.mark.parametrize("entries", [50, ENTRIES])
@pytest.mark.parametrize("limits", [COLD, StateLimits()], ids=["cold", "warm"])
def test_a_map_may_be_changed_while_it_is_iterated_over(entries: int, limits: StateLimits) -> None:
    driver = Driver(limits=limits)
    driver.run(driver.process(), fill_map(entries))
    epoch = Epoch(driver)
    table = a_map(epoch.op)
    seen = []
    for name, value in table.items():
        seen.append((name, value))
        if name == 3:
            table.put(4, "changed")
            table.put(entries + 1, "new")
            table.remove(5)
        if name == 10:
            table.clear()
            table.put(11, "only")
    assert seen == [(n, n) for n in range(entries)]
    assert list(table.items()) == [(11, "only")]
    epoch.commit()
    assert list(a_map(Epoch(driver).op).items()) == [(11, "only")]


@pytest.mark.parametrize("entries", [50, ENTRIES])
def test_an_iterator_removes_what_it_gave(entries: int) -> None:
    driver = Driver(limits=COLD)
    driver.run(driver.process(), fill_map(entries))
    epoch = Epoch(driver)
    steps = a_map(epoch.op).keys()
    with pytest.raises(StateError, match="nothing to remove"):
        steps.remove()
    for name in steps:
        if name % 2:
            steps.remove()
    with pytest.raises(StateError, match="nothing to remove"):
        steps.remove()
    epoch.commit()
    assert list(a_map(Epoch(driver).op).keys()) == list(range(0, entries, 2))


def test_several_iterators_do_not_disturb_each_other() -> None:
    driver = Driver()
    driver.run(driver.process(), fill_map(100))
    epoch = Epoch(driver)
    table = a_map(epoch.op)
    one = table.keys()
    assert next(one) == 0
    table.remove(1)
    two = table.keys()
    assert [next(two), next(two)] == [0, 2]
    table.put(-5, 0)
    assert next(table.keys()) == -5
    assert [next(one), next(one)] == [1, 2]
    assert next(two) == 3


@pytest.mark.parametrize("entries", [50, ENTRIES])
@pytest.mark.parametrize("limits", [COLD, StateLimits()], ids=["cold", "warm"])
def test_an_iterator_ends_with_its_epoch(entries: int, limits: StateLimits) -> None:
    driver = Driver(limits=limits)
    driver.run(driver.process(), fill_map(entries))
    epoch = Epoch(driver)
    begun, not_begun = a_map(epoch.op).items(), a_map(epoch.op).values()
    elements = a_list(epoch.op)
    elements.add_all(range(10 * CHUNK_ELEMENTS))
    next(begun)
    epoch.commit()
    epoch.state.begin(driver.line, 0)
    kept = a_list(epoch.op).get()
    epoch.state.abandon()
    epoch.state.begin(driver.line, 0)
    for late in (begun, not_begun, iter(kept)):
        with pytest.raises(StateError, match="beyond its epoch"):
            list(late)


KEYS = st.one_of(
    st.integers(),
    st.integers(-300, 300),
    st.text(max_size=4),
    st.floats(allow_nan=False),
    st.tuples(st.integers(), st.text(max_size=2)),
    st.booleans(),
    st.none(),
    st.binary(max_size=3),
    st.sampled_from([2**2000, -(2**2000), 2**1007, "x" * 700, "x" * 700 + "y", "x" * 699]),
)


@given(st.lists(KEYS, max_size=30), st.integers(0, 30), st.booleans())
@settings(deadline=None)
def test_the_order_is_the_same_however_a_map_is_read(names: list[Any], split: int, remove: bool) -> None:
    """Cached whole, streamed from runs, and merged with the changes of the epoch: the same result."""

    def put(some: list[Any]) -> Callable[[OperatorState], None]:
        def work(op: OperatorState) -> None:
            for name in some:
                a_map(op).put(name, repr(name))

        return work

    def read(state: SubtaskState) -> list[Any]:
        state.begin(driver.line, 0)
        put(names[split:])(state.operator("op"))
        if remove and names:
            a_map(state.operator("op")).remove(names[0])
        return [(name, repr(name), value) for name, value in a_map(state.operator("op")).items()]

    driver = Driver()
    driver.run(driver.process(), put(names[:split]))
    cached = read(driver.process())
    driver.limits = StateLimits(warm_entries=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_cells, "WHOLE_PARTS", 0)
        assert read(driver.process()) == cached
    patterns = {type(name) for name, _, _ in cached}
    if patterns <= {int} or patterns <= {str}:
        assert [name for name, _, _ in cached] == sorted(name for name, _, _ in cached)


def test_a_miss_that_completes_the_cache_leaves_no_trace_of_what_is_not_there() -> None:
    driver = Driver(limits=StateLimits(warm_entries=0))
    driver.run(driver.process(), fill_map(2))
    driver.run(driver.process(), lambda op: use(op, "other").get_map_state(MAP).put("x", 1))
    epoch = Epoch(driver)
    table = a_map(epoch.op)
    table.remove(0)
    table.remove(1)
    epoch.state._core.miss_limit = 0
    assert table.get("not there") is None
    assert epoch.state.complete
    assert table.is_empty()
    assert list(table.items()) == []


# ---- lists


def fill_list(elements: int) -> Callable[[OperatorState], None]:
    return lambda op: a_list(op).add_all(range(elements))


@pytest.mark.row("S-STATE-06")
def test_a_list_of_a_million_costs_what_is_added(driver: Driver, counts: dict[str, int]) -> None:
    filled(driver, fill_list(1_000_000))
    epoch = Epoch(driver)
    counts["blocks"] = 0
    for n in range(10):
        a_list(epoch.op).add(-n)
    delta = epoch.state.finish()
    assert delta.entries == 1
    assert delta.payload is not None
    assert len(delta.payload) < 300
    assert counts["chunks"] == 0
    driver.commit(delta)
    elements = a_list(Epoch(driver).op).get()
    assert list(islice(elements, 3)) == [0, 1, 2]
    assert counts["chunks"] == 1
    assert sum(elements) == sum(range(1_000_000)) - sum(range(10))
    assert list(islice(elements, 2)) == [0, 1]  # again and again


def test_a_long_list_is_cleared_unread(driver: Driver, counts: dict[str, int]) -> None:
    filled(driver, fill_list(1_000_000))
    epoch = Epoch(driver)
    counts["blocks"] = 0
    a_list(epoch.op).add(1)
    a_list(epoch.op).update(["all"])
    a_list(epoch.op).add("there is")
    assert list(a_list(epoch.op).get()) == ["all", "there is"]
    assert counts["blocks"] == 0
    epoch.commit()
    assert counts["chunks"] == 0
    for _ in range(2):
        epoch = Epoch(driver)
        assert list(a_list(epoch.op).get()) == ["all", "there is"]
        epoch.commit()


def test_a_list_of_many_small_chunks_keeps_its_order(driver: Driver) -> None:
    state = driver.process()
    for n in range(300):
        driver.run(state, lambda op, n=n: a_list(op).add_all([n, str(n)]))  # type: ignore[misc]
    expected = [e for n in range(300) for e in (n, str(n))]
    for process in (state, driver.process()):
        assert driver.run(process, lambda op: list(a_list(op).get())) == expected


@pytest.mark.parametrize("length", [3, 20 * CHUNK_ELEMENTS])
@pytest.mark.parametrize("limits", [COLD, StateLimits()], ids=["cold", "warm"])
def test_what_was_read_of_a_list_stays_as_it_was(length: int, limits: StateLimits) -> None:
    driver = Driver(limits=limits)
    driver.run(driver.process(), lambda op: a_list(op).add_all([n] for n in range(length)))
    epoch = Epoch(driver)
    items = a_list(epoch.op)
    found = items.get()
    items.add("added")
    for element in found:
        element.append("changed")
    assert [e[0] for e in found] == list(range(length))
    assert list(items.get()) == [*([n] for n in range(length)), "added"]
    items.update(items.get())
    items.clear()
    assert len(list(found)) == length
    assert bool(found)
    assert not items.get()
    assert list(items.get()) == []


def test_adding_while_iterating_ends() -> None:
    epoch = Epoch(Driver())
    items = a_list(epoch.op)
    items.add_all([1, 2, 3])
    for element in items.get():
        items.add(element + 10)
    assert list(items) == [1, 2, 3, 11, 12, 13]


def test_what_get_gives_may_be_emitted() -> None:
    driver = Driver()
    driver.run(driver.process(), fill_list(5_000))
    elements = a_list(Epoch(driver).op).get()
    assert pickle.loads(pickle.dumps(elements)) == list(range(5_000))
    with pytest.raises(TypeError):
        len(elements)  # as in PyFlink


# ---- memory


def peak_of(work: Callable[[], Any]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def exhaust(iterable: Iterator[Any]) -> int:
    return sum(1 for _ in iterable)


@pytest.mark.row("S-STATE-25")
def test_memory_does_not_grow_with_the_collection(driver: Driver) -> None:
    """20 MB of map and 8 MB of list are read in the memory of a few blocks."""

    def work(op: OperatorState) -> None:
        fill_map(20_000, lambda n: "x" * 1_000)(op)
        a_list(op).add_all("y" * 1_000 for _ in range(8_000))

    filled(driver, work)
    epoch = Epoch(driver)
    exhaust(islice(a_map(epoch.op).items(), 1))  # files are open, the local store is there
    assert peak_of(lambda: exhaust(a_map(epoch.op).items())) < 2_500_000
    assert peak_of(lambda: exhaust(iter(a_list(epoch.op).get()))) < 6_000_000
    assert peak_of(lambda: a_map(epoch.op).is_empty()) < 2_500_000
    assert peak_of(lambda: a_map(epoch.op).clear()) < 100_000


def test_a_process_that_is_behind_holds_no_more_than_its_limit() -> None:
    driver = Driver(limits=StateLimits(warm_entries=100, cache_entries=3_000))
    ahead, behind = driver.process(), driver.process()
    number = ValueStateDescriptor("number", Types.LONG())

    def write(first: int, last: int) -> Callable[[OperatorState], None]:
        def work(operator: OperatorState) -> None:
            for key in range(first, last):
                use(operator, key).get_state(number).update(key)

        return work

    driver.run(behind, write(0, 2_500))
    for epoch in range(4):
        driver.run(ahead, write(2_500 + 1_000 * epoch, 3_500 + 1_000 * epoch))
    behind.begin(driver.line, 0)
    assert behind._caches.size <= 3_000
    operator = behind.operator("op")
    for key in range(0, 6_500, 250):
        assert use(operator, key).get_state(number).value() == key
