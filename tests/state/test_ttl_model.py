"""State with a time to live against plain dictionaries, over random epochs in random processes: what a
function sees depends on the times alone, never on what has been cleaned up where."""

from __future__ import annotations

import copy
import shutil
import tempfile
from typing import Any

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.state import _cells, _ttl
from firesteel.state.backend import StateLimits, SubtaskState
from tests.budget import examples

from .support import Driver, use

ANY = Types.PICKLED_BYTE_ARRAY()
TTL = 10
KEYS = st.sampled_from(["a", "b", 1])
NAMES = st.sampled_from(["k", "l", 0, 1, 2])
VALUES = st.one_of(st.integers(0, 9), st.lists(st.integers(0, 9), max_size=2))
LIMITS = [
    StateLimits(cache_entries=4, warm_entries=0, inline_bytes=400, compaction_entries=500),
    StateLimits(cache_entries=6, warm_entries=8, inline_bytes=400, compaction_entries=2),
    StateLimits(),
    StateLimits(warm_entries=0, compaction_entries=2),
]

Stamped = tuple[Any, int]


class TtlMachine(RuleBasedStateMachine):
    @initialize(
        limits=st.sampled_from(LIMITS),
        local=st.booleans(),
        whole=st.sampled_from([0, _cells.WHOLE_PARTS]),
        on_read=st.booleans(),
        show=st.booleans(),
        clean=st.booleans(),
    )
    def start(
        self, limits: StateLimits, local: bool, whole: int, on_read: bool, show: bool, clean: bool
    ) -> None:
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(_cells, "WHOLE_PARTS", whole)
        self.patch.setattr(_ttl, "LEAST_LOOKS", 2)
        self.on_read, self.show = on_read, show
        builder = StateTtlConfig.new_builder(Time.milliseconds(TTL))
        if on_read:
            builder.update_ttl_on_read_and_write()
        if show:
            builder.return_expired_if_not_cleaned_up()
        if not clean:
            builder.disable_cleanup_in_background()
        self.descriptors: list[Any] = [
            ValueStateDescriptor("value", ANY),
            ListStateDescriptor("list", ANY),
            MapStateDescriptor("map", ANY, ANY),
        ]
        for descriptor in self.descriptors:
            descriptor.enable_time_to_live(builder.build())
        self.local = tempfile.mkdtemp() if local else None
        self.driver = Driver(limits=limits, local_dir=self.local)
        self.processes = [self.driver.process() for _ in range(2)]
        self.committed: dict[str, Any] = {"value": {}, "list": {}, "map": {}}
        self.now = 0
        self.begin(0)

    def teardown(self) -> None:
        self.patch.undo()
        if getattr(self, "local", None):
            for process in self.processes:
                process.close()
            shutil.rmtree(self.local or "", ignore_errors=True)

    def begin(self, number: int) -> None:
        self.state: SubtaskState = self.processes[number]
        self.state.begin(self.driver.line, self.now)
        self.model = copy.deepcopy(self.committed)
        self.op = self.state.operator("op")
        self.value: Any = self.op.get_state(self.descriptors[0])
        self.list: Any = self.op.get_list_state(self.descriptors[1])
        self.map: Any = self.op.get_map_state(self.descriptors[2])

    def commit(self, number: int, later: int) -> None:
        self.driver.commit(self.state.finish())
        self.committed = self.model
        self.now += later
        self.begin(number)

    def expired(self, entry: Stamped) -> bool:
        return entry[1] + TTL <= self.now

    def touched(self, entry: Stamped) -> Stamped:
        return (entry[0], self.now) if self.on_read else entry

    # ---- epochs

    @rule(number=st.integers(0, 1), later=st.integers(0, 7))
    def next_epoch(self, number: int, later: int) -> None:
        self.commit(number, later)

    @rule(number=st.integers(0, 1), later=st.integers(0, 7))
    def lose_epoch(self, number: int, later: int) -> None:
        self.state.abandon()
        self.now += later
        self.begin(number)

    @rule(number=st.integers(0, 1))
    def replace_process(self, number: int) -> None:
        self.driver.commit(self.state.finish())
        self.committed = self.model
        self.processes[number].close()
        self.processes[number] = self.driver.process()
        self.begin(number)

    @rule(count=st.integers(1, 20), number=st.integers(0, 1))
    def busy_epochs(self, count: int, number: int) -> None:
        for n in range(count):
            use(self.op, "busy").get_state(ValueStateDescriptor("other", ANY)).update(n)
            self.commit(number, n % 2)

    # ---- state

    @rule(key=KEYS, value=VALUES)
    def update(self, key: Any, value: Any) -> None:
        use(self.op, key)
        self.value.update(value)
        self.model["value"][key] = (value, self.now)

    @rule(key=KEYS)
    def read_value(self, key: Any) -> None:
        use(self.op, key)
        model = self.model["value"]
        expected = None
        if key in model:
            entry = model.pop(key)
            if self.show or not self.expired(entry):
                expected = entry[0]
            if not self.expired(entry):
                model[key] = self.touched(entry)
        assert self.value.value() == expected

    @rule(key=KEYS, values=st.lists(VALUES, max_size=3))
    def add(self, key: Any, values: list[Any]) -> None:
        use(self.op, key)
        self.list.add_all(values)
        self.model["list"].setdefault(key, []).extend((value, self.now) for value in values)

    @rule(key=KEYS)
    def read_list(self, key: Any) -> None:
        use(self.op, key)
        entries = self.model["list"].get(key, [])
        assert list(self.list.get()) == [e[0] for e in entries if self.show or not self.expired(e)]
        self.model["list"][key] = [self.touched(e) for e in entries if not self.expired(e)]

    @rule(key=KEYS)
    def replace_list(self, key: Any) -> None:
        use(self.op, key)
        entries = self.model["list"].get(key, [])
        self.list.update(self.list.get())
        self.model["list"][key] = [(e[0], self.now) for e in entries if self.show or not self.expired(e)]

    @rule(key=KEYS, name=NAMES, value=st.none() | VALUES)
    def put(self, key: Any, name: Any, value: Any) -> None:
        use(self.op, key)
        self.map.put(name, value)
        self.model["map"].setdefault(key, {})[name] = (value, self.now)

    @rule(key=KEYS, name=NAMES)
    def remove(self, key: Any, name: Any) -> None:
        use(self.op, key)
        self.map.remove(name)
        self.model["map"].get(key, {}).pop(name, None)

    @rule(key=KEYS)
    def clear(self, key: Any) -> None:
        use(self.op, key)
        for name, state in (("value", self.value), ("list", self.list), ("map", self.map)):
            state.clear()
            self.model[name].pop(key, None)

    @rule(key=KEYS, name=NAMES, ask=st.booleans())
    def read_entry(self, key: Any, name: Any, ask: bool) -> None:
        use(self.op, key)
        entries = self.model["map"].get(key, {})
        expected = None
        if name in entries:
            entry = entries.pop(name)
            if self.show or not self.expired(entry):
                expected = entry[0]
            if not self.expired(entry):
                entries[name] = self.touched(entry)
        if ask:
            assert self.map.contains(name) == (expected is not None)
        else:
            assert self.map.get(name) == expected

    @rule(key=KEYS, how=st.sampled_from(["items", "keys", "values"]))
    def read_map(self, key: Any, how: str) -> None:
        use(self.op, key)
        entries = self.model["map"].get(key, {})
        expected = {n: e[0] for n, e in entries.items() if self.show or not self.expired(e)}
        assert self.map.is_empty() == (not expected)
        found = list(getattr(self.map, how)())
        if how == "items":
            assert dict(found) == expected
        elif how == "keys":
            assert set(found) == set(expected)
        assert len(found) == len(expected)
        self.model["map"][key] = {n: self.touched(e) for n, e in entries.items() if not self.expired(e)}


TestTtl = pytest.mark.row("S-STATE-22")(TtlMachine.TestCase)
TestTtl.settings = settings(
    max_examples=examples(60),
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
