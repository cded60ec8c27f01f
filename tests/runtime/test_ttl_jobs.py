"""Time to live in whole jobs whose clock a test moves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.datastream import KeyedProcessFunction, RuntimeContext
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.testing import OperatorHarness
from firesteel.testing.local_platform import LocalEngine
from tests.budget import examples
from tests.waiting import patience

from .engines import TurnsEngine
from .support import LiveSource, SteppedClock, environment, feed, feeds, local_platform, note, notes

ANY = Types.PICKLED_BYTE_ARRAY()
Seen = tuple[Any, list[Any], dict[Any, Any]]


class ThreeStates(KeyedProcessFunction):
    """A record is ``(key, what, number)``. Gives what it sees when it is asked to read, and the time."""

    def __init__(self, ttl_ms: int, on_read: bool = False) -> None:
        self.ttl_ms = ttl_ms
        self.on_read = on_read

    def open(self, runtime_context: RuntimeContext) -> None:
        self.value = runtime_context.get_state(self.living(ValueStateDescriptor("v", ANY)))
        self.list = runtime_context.get_list_state(self.living(ListStateDescriptor("l", ANY)))
        self.map = runtime_context.get_map_state(self.living(MapStateDescriptor("m", ANY, ANY)))

    def living(self, descriptor: Any) -> Any:
        builder = StateTtlConfig.new_builder(Time.milliseconds(self.ttl_ms))
        if self.on_read:
            builder.update_ttl_on_read_and_write()
        descriptor.enable_time_to_live(builder.build())
        return descriptor

    def process_element(
        self, value: tuple[str, str, int], ctx: KeyedProcessFunction.Context
    ) -> Iterator[Any]:
        _, what, number = value
        seen: Seen | None = None
        match what:
            case "write":
                self.value.update(number)
                self.list.add(number)
                self.map.put(number % 3, number)
            case "clear":
                for state in (self.value, self.list, self.map):
                    state.clear()
            case "read":
                seen = self.value.value(), list(self.list.get()), dict(self.map.items())
        yield ctx.timer_service().current_processing_time(), value, seen


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.row("S-STATE-22", "X1")
def test_a_value_expires_when_its_time_to_live_is_over(processes: int) -> None:
    """ttl 10, write@0: read@9 gives it, read@10 does not; with OnReadAndWrite the read at 9 refreshes."""

    def reads(function: ThreeStates, *instants: int) -> list[Seen]:
        harness = OperatorHarness(function, key_by=lambda v: v[0], processes=processes)
        harness.process_element(("k", "write", 1))
        for instant in instants:
            harness.set_processing_time(instant)
            harness.process_element(("k", "read", 0))
        return [seen for _, _, seen in harness.values[1:]]

    there, gone = (1, [1], {1: 1}), (None, [], {})
    assert reads(ThreeStates(10), 9, 10) == [there, gone]
    assert reads(ThreeStates(10, on_read=True), 9, 10, 18, 28) == [there, there, there, gone]


# ---- against a model


class Model:
    """What a key has: each value, element and entry with the time that it lives from."""

    def __init__(self, ttl_ms: int, on_read: bool) -> None:
        self.ttl_ms = ttl_ms
        self.on_read = on_read
        self.value: dict[int, tuple[int, int]] = {}
        self.list: list[tuple[int, int]] = []
        self.map: dict[int, tuple[int, int]] = {}

    def run(self, now: int, what: str, number: int) -> Seen | None:
        match what:
            case "write":
                self.value[0] = self.map[number % 3] = (number, now)
                self.list.append((number, now))
            case "clear":
                self.value, self.list, self.map = {}, [], {}
            case "read":
                self.value, self.map = self._alive(self.value, now), self._alive(self.map, now)
                self.list = [*self._alive(dict(enumerate(self.list)), now).values()]
                entries = {key: number for key, (number, _) in self.map.items()}
                return self.value.get(0, (None,))[0], [number for number, _ in self.list], entries
        return None

    def _alive(self, entries: dict[int, tuple[int, int]], now: int) -> dict[int, tuple[int, int]]:
        alive = {key: e for key, e in entries.items() if e[1] + self.ttl_ms > now}
        return {key: (e[0], now) for key, e in alive.items()} if self.on_read else alive


ENGINES: list[Callable[[], LocalEngine]] = [
    LocalEngine,
    lambda: TurnsEngine(2),
    lambda: LocalEngine(fresh_process=lambda: True),
]
OPERATION = st.tuples(
    st.sampled_from("ab"), st.sampled_from(["write", "write", "read", "read", "clear"]), st.integers(0, 9)
)
STEP = st.tuples(st.integers(1, 5), st.lists(OPERATION, max_size=3))


@settings(max_examples=examples(30), deadline=None)
@given(st.lists(STEP, min_size=1, max_size=12), st.booleans(), st.sampled_from(ENGINES))
@pytest.mark.row("S-STATE-22")
def test_what_a_job_sees_is_what_the_model_sees(
    steps: list[tuple[int, list[tuple[str, str, int]]]], on_read: bool, engine: Any
) -> None:
    """Time moves in steps of 100 ms, so that instants and ends of life meet."""
    ttl_ms = 500
    with local_platform(engine):
        clock = SteppedClock(0)
        feeds.clear()
        env = environment(2, clock=clock)
        source = env.from_source(LiveSource("ttl"), WatermarkStrategy.no_watermarks(), "live")
        source.key_by(lambda v: v[0]).process(ThreeStates(ttl_ms, on_read)).map(lambda v: note("seen", v))
        client = env.execute_async()
        clock.settle()
        expected_times = []
        for hundreds, operations in steps:
            feed("ttl", *((operation, 0) for operation in operations))
            clock.tick(100 * hundreds)
            expected_times += [clock.now_ms()] * len(operations)
        client.cancel().result(patience(10))
        found = list(notes["seen"])
    assert sorted(time for time, _, _ in found) == expected_times
    models: dict[str, Model] = defaultdict(lambda: Model(ttl_ms, on_read))
    for time, (key, what, number), seen in found:
        assert seen == models[key].run(time, what, number)
