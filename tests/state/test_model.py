"""The state of a subtask against plain dictionaries, over random epochs in random processes."""

from __future__ import annotations

import copy
import shutil
import tempfile
import threading
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from firesteel.common.typeinfo import Types
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.state import _cells, _list_state
from firesteel.state.backend import StateLimits, SubtaskState
from firesteel.state.background import PendingDelta
from firesteel.state.files import MemoryStateFiles
from firesteel.state.keys import encode_key, with_namespace
from tests.budget import examples

from .support import Driver, use

ANY = Types.PICKLED_BYTE_ARRAY()
VALUE = ValueStateDescriptor("value", ANY)
LIST = ListStateDescriptor("list", ANY)
MAP = MapStateDescriptor("map", ANY, ANY)

KEYS = st.sampled_from(["a", "a", "a", "ü", 1, 1, 1.0, True, None, ("a", 1), b"a", "x" * 600, 10**30])
#: The keys of the collections: few, so that what happens to one adds up.
OWNERS = st.sampled_from(["a", "a", "a", 1, "x" * 600])
ATOMS = st.one_of(
    st.integers(-(2**70), 2**70), st.text(max_size=3), st.booleans(), st.floats(allow_nan=False), st.binary()
)
VALUES = st.one_of(ATOMS, st.lists(ATOMS, max_size=3), st.tuples(ATOMS, ATOMS), st.tuples(st.lists(ATOMS)))
MAP_KEYS = st.sampled_from(["k", "l", -300, -1, 0, 1, 2, 300, 2.5, (1, "z"), None])

TINY = StateLimits(cache_entries=4, warm_entries=0, inline_bytes=400, compaction_entries=500)
SMALL = StateLimits(cache_entries=6, warm_entries=8, inline_bytes=400, compaction_entries=20)
LARGE = StateLimits()
COLD = StateLimits(cache_entries=10**6, warm_entries=0, inline_bytes=10**6, compaction_entries=10)


class StateMachine(RuleBasedStateMachine):
    @initialize(
        limits=st.sampled_from([TINY, SMALL, LARGE, COLD]),
        local=st.booleans(),
        whole=st.sampled_from([0, 2, _cells.WHOLE_PARTS]),
        background=st.booleans(),
    )
    def start(self, limits: StateLimits, local: bool, whole: int, background: bool) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(_cells, "WHOLE_PARTS", whole)
        self.patch.setattr(_list_state, "CHUNK_ELEMENTS", 3)
        self.local = tempfile.mkdtemp() if local else None
        if background:  # nearly all changes are written to a file
            limits = replace(limits, inline_bytes=60)
        self.driver = Driver(MemoryStateFiles(), limits, self.local)
        self.processes = [self.driver.process() for _ in range(3)]
        self.committed: dict[str, Any] = {"value": {}, "list": {}, "map": {}, "timers": set()}
        self.background = background
        self.compacting: SubtaskState | None = None
        self.pending: PendingDelta | None = None
        self.begin(0)

    def teardown(self) -> None:
        self.patch.undo()
        for process in getattr(self, "processes", ()):
            process.work_in_background(False)
        if getattr(self, "local", None):
            for process in self.processes:
                process.close()
            shutil.rmtree(self.local, ignore_errors=True)

    def begin(self, number: int) -> None:
        if self.processes[number] is not getattr(self, "state", None):
            self.settle()
        self.state: SubtaskState = self.processes[number]
        if self.background and self.state is not self.compacting:
            if self.compacting is not None:
                self.compacting.work_in_background(False)
            self.state.work_in_background(True)
            self.compacting = self.state
        self.state.begin(self.driver.line, 0)
        self.model = copy.deepcopy(self.committed)
        self.op = self.state.operator("op")
        self.value = self.op.get_state(VALUE)
        self.list = self.op.get_list_state(LIST)
        self.map = self.op.get_map_state(MAP)

    # ---- epochs

    def finish(self) -> None:
        """End the epoch, and commit it unless it is still being written."""
        self.settle()
        delta = self.state.cut()
        if isinstance(delta, PendingDelta):
            self.pending = delta
        else:
            self.driver.commit(delta)
        self.committed = self.model

    @rule()
    def settle(self) -> None:
        """The running epoch may have begun before the last one was written."""
        if self.pending is not None:
            self.driver.commit(self.pending.result())
            self.pending = None
            self.state.settle(self.driver.line)

    @rule()
    def await_compaction(self) -> None:
        for thread in threading.enumerate():
            if thread.name == "firesteel-compaction":
                thread.join()

    @rule(number=st.integers(0, 2))
    def commit(self, number: int) -> None:
        self.finish()
        self.begin(self.processes.index(self.state) if self.pending else number)

    @rule(number=st.integers(0, 2), how=st.sampled_from(["left", "finished", "abandoned"]))
    def lose_epoch(self, number: int, how: str) -> None:
        self.settle()
        if self.background:
            self.state.work_in_background(False)  # who works in the background never runs an epoch again
            self.compacting = None
        if how == "finished":
            self.state.finish()
        elif how == "abandoned":
            self.state.abandon()
        self.begin(number)

    @rule(number=st.integers(0, 2))
    def replace_process(self, number: int) -> None:
        self.finish()
        self.settle()
        self.processes[number].close()
        self.processes[number] = self.driver.process()
        self.begin(number)

    @rule()
    def commit_and_start_anew(self) -> None:
        self.finish()
        self.settle()
        for process in self.processes:
            process.close()
        self.processes = [self.driver.process() for _ in range(3)]
        self.begin(0)

    @rule(number=st.integers(0, 2))
    def lose_local_store(self, number: int) -> None:
        if self.local:
            shutil.rmtree(self.local, ignore_errors=True)

    @rule(count=st.integers(1, 30), number=st.integers(0, 2))
    def many_epochs(self, count: int, number: int) -> None:
        for n in range(count):
            use(self.op, n % 5)
            self.value.update(n)
            self.model["value"][encode_key(n % 5)] = n
            self.commit(number)

    # ---- state

    @rule(key=KEYS, value=VALUES)
    def update(self, key: Any, value: Any) -> None:
        use(self.op, key)
        self.value.update(value)
        self.model["value"][encode_key(key)] = copy.deepcopy(value)
        if type(value) is list:
            value.append("changed behind our back")

    @rule(key=KEYS)
    def clear_value(self, key: Any) -> None:
        use(self.op, key)
        self.value.clear()
        self.model["value"].pop(encode_key(key), None)
        assert self.value.value() is None

    @rule(key=KEYS)
    def read_value(self, key: Any) -> None:
        use(self.op, key)
        assert_same(self.value.value(), self.model["value"].get(encode_key(key)))

    @rule(key=OWNERS, values=st.lists(st.none() | VALUES, max_size=4), at_once=st.booleans())
    def add(self, key: Any, values: list[Any], at_once: bool) -> None:
        use(self.op, key)
        if at_once:
            self.list.add_all(values)
        else:
            for value in values:
                self.list.add(value)
        self.model["list"].setdefault(encode_key(key), []).extend(copy.deepcopy(values))

    @rule(key=OWNERS, values=st.lists(VALUES, max_size=3))
    def replace_list(self, key: Any, values: list[Any]) -> None:
        use(self.op, key)
        self.list.update(values)
        self.model["list"][encode_key(key)] = values

    @rule(key=OWNERS, value=VALUES)
    def extend_list_by_itself(self, key: Any, value: Any) -> None:
        use(self.op, key)
        self.list.update([value, *self.list.get()])
        self.model["list"].setdefault(encode_key(key), []).insert(0, value)

    @rule(key=OWNERS)
    def read_list(self, key: Any) -> None:
        use(self.op, key)
        expected = self.model["list"].get(encode_key(key), [])
        found = self.list.get()
        assert_same(list(found), expected)
        assert bool(found) == bool(expected)
        self.list.add(None)
        self.list.clear()
        assert_same(list(found), expected)
        self.list.update(found)

    @rule(key=OWNERS, name=MAP_KEYS, value=st.one_of(st.none(), VALUES))
    def put(self, key: Any, name: Any, value: Any) -> None:
        use(self.op, key)
        self.map.put(name, value)
        self.model["map"].setdefault(encode_key(key), {})[encode_key(name)] = (name, value)

    @rule(key=OWNERS, names=st.lists(MAP_KEYS, max_size=6), value=VALUES)
    def put_all(self, key: Any, names: list[Any], value: Any) -> None:
        use(self.op, key)
        self.map.put_all((name, value) for name in names)
        self.model["map"].setdefault(encode_key(key), {}).update(
            (encode_key(name), (name, copy.deepcopy(value))) for name in names
        )

    @rule(key=OWNERS, name=MAP_KEYS)
    def remove(self, key: Any, name: Any) -> None:
        use(self.op, key)
        self.map.remove(name)
        assert not self.map.contains(name)
        self.model["map"].get(encode_key(key), {}).pop(encode_key(name), None)

    @rule(key=OWNERS)
    def clear_map(self, key: Any) -> None:
        use(self.op, key)
        self.map.clear()
        self.model["map"].pop(encode_key(key), None)
        assert self.map.is_empty()

    @rule(key=OWNERS, name=MAP_KEYS)
    def read_entry(self, key: Any, name: Any) -> None:
        use(self.op, key)
        _, expected = self.model["map"].get(encode_key(key), {}).get(encode_key(name), (name, None))
        assert self.map.contains(name) == (expected is not None)
        assert_same(self.map.get(name), expected)

    @rule(key=OWNERS)
    def read_map(self, key: Any) -> None:
        use(self.op, key)
        expected = self.expected_map(key)
        assert_same(list(self.map.items()), expected)
        assert_same(list(self.map.keys()), [name for name, _ in expected])
        assert_same(list(self.map.values()), [value for _, value in expected])
        assert self.map.is_empty() == (not expected)

    @rule(key=OWNERS, data=st.data())
    def change_map_in_a_loop(self, key: Any, data: st.DataObject) -> None:
        use(self.op, key)
        model = self.model["map"].setdefault(encode_key(key), {})
        expected = self.expected_map(key)
        found = []
        entries = self.map.items()
        for name, value in entries:
            found.append((name, value))
            match data.draw(st.sampled_from(["remove", "put", "put another", "nothing"])):
                case "remove":
                    entries.remove()  # type: ignore[attr-defined]
                    del model[encode_key(name)]
                case "put":
                    self.map.put(name, "changed")
                    model[encode_key(name)] = (name, "changed")
                case "put another":
                    other = data.draw(MAP_KEYS)
                    self.map.put(other, "another")
                    model[encode_key(other)] = (other, "another")
        assert_same(found, expected)
        assert_same(list(self.map.items()), self.expected_map(key))

    def expected_map(self, key: Any) -> list[tuple[Any, Any]]:
        """In the order of the keys' bytes."""
        return [entry for _, entry in sorted(self.model["map"].get(encode_key(key), {}).items())]

    @rule(key=KEYS, instant=st.integers(-3, 30), namespace=st.sampled_from([None, b"", b"n"]))
    def register(self, key: Any, instant: int, namespace: bytes | None) -> None:
        use(self.op, key)
        self.op.event_timers.register(instant, namespace)
        self.model["timers"].add((instant, encode_key(key), namespace))

    @rule(key=KEYS, instant=st.integers(-3, 30))
    def delete(self, key: Any, instant: int) -> None:
        use(self.op, key)
        self.op.event_timers.delete(instant)
        self.model["timers"].discard((instant, encode_key(key), None))

    @rule(until=st.integers(-5, 20))
    def pop(self, until: int) -> None:
        due = sorted(
            (t for t in self.model["timers"] if t[0] <= until), key=lambda t: (t[0], t[1], t[2] or b"")
        )
        popped = []
        while (timer := self.op.event_timers.pop(until)) is not None:
            popped.append((timer[0], encode_key(timer[1]), timer[3]))
        self.model["timers"] -= set(due)
        assert [t[:2] for t in popped] == [t[:2] for t in due]
        assert set(popped) == set(due)
        left = self.model["timers"]
        assert self.op.event_timers.next_ms() == min((timer[0] for timer in left), default=None)

    @rule()
    def read_keys(self) -> None:
        found = self.op.get_keys("value")
        assert sorted(map(encode_key, found)) == sorted(self.model["value"])

    @rule(key=KEYS, value=ATOMS)
    def namespaced(self, key: Any, value: Any) -> None:
        use(self.op, key)
        self.op.key = with_namespace(self.op.key, b"window")
        self.value.update(value)
        assert_same(self.value.value(), value)
        self.value.clear()

    @rule()
    def line_is_bounded(self) -> None:
        assert len(self.driver.line.deltas) <= 300  # a sweep may take an epoch for each key group
        assert len(self.driver.line.segments) <= 300


def assert_same(found: Any, expected: Any) -> None:
    assert found == expected
    assert repr(found) == repr(expected)  # 1, 1.0 and True differ, tuples and lists too


TestState = StateMachine.TestCase
TestState.settings = settings(
    max_examples=examples(60),
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
