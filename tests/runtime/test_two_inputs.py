"""connect: two inputs in one operator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common.errors import ProgramError
from firesteel.common.typeinfo import Types
from firesteel.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    RuntimeContext,
)
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.state import ValueStateDescriptor

from .support import (
    MAX,
    At,
    LiveSource,
    Probe,
    SteppedClock,
    collect,
    environment,
    feed,
    note,
    notes,
    punctuated,
)


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return "one", value

    def map2(self, value: Any) -> Any:
        return "two", value


@pytest.mark.row("S-OPS-08")
def test_co_map() -> None:
    env = environment(1)
    out = collect(env.from_collection([1, 2]).connect(env.from_collection(["a"])).map(Both()))
    assert sorted(out) == [("one", 1), ("one", 2), ("two", "a")]


def test_co_flat_map() -> None:
    class Flat(CoFlatMapFunction):
        def flat_map1(self, value: Any) -> Any:
            return [value] * value

        def flat_map2(self, value: Any) -> Any:
            return None

    env = environment(1)
    assert collect(env.from_collection([1, 2]).connect(env.from_collection(["a"])).flat_map(Flat())) == [
        1,
        2,
        2,
    ]


TAG = OutputTag("seconds")


def test_co_process_with_a_side_output_and_timestamps() -> None:
    class Process(CoProcessFunction):
        def process_element1(self, value: At, ctx: CoProcessFunction.Context) -> Iterator[Any]:
            yield value.ts

        def process_element2(self, value: At, ctx: CoProcessFunction.Context) -> Iterator[Any]:
            yield TAG, value.ts

    env = environment(1)
    one = env.from_collection([At(3)]).assign_timestamps_and_watermarks(punctuated())
    two = env.from_collection([At(7)]).assign_timestamps_and_watermarks(punctuated())
    out = one.connect(two).process(Process())
    side = out.get_side_output(TAG).process(Probe()).map(lambda p: ("side", p[0], p[1]))
    main = out.process(Probe()).map(lambda p: ("main", p[0], p[1]))
    assert sorted(collect(main.union(side))) == [("main", 3, 3), ("side", 7, 7)]


class Shared(KeyedCoProcessFunction):
    """Input 1 stores, input 2 reads; timers from both sides."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("v", Types.PICKLED_BYTE_ARRAY()))

    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> None:
        self.value.update(value[1])
        ctx.timer_service().register_event_time_timer(5)

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(5)
        ctx.timer_service().register_event_time_timer(6)
        yield note("read", (ctx.get_current_key(), self.value.value()))

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark()


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.row("S-OPS-08", "S-PROC-03", "T16")
def test_both_inputs_share_the_state_and_the_timers_of_a_key(parallelism: int) -> None:
    clock = SteppedClock()
    env = environment(parallelism, clock=clock)
    one = env.from_source(LiveSource("one"), punctuated(), "one").map(lambda r: r.value)
    two = env.from_source(LiveSource("two"), punctuated(), "two").map(lambda r: r.value)
    keyed = one.key_by(lambda v: v[0]).connect(two.key_by(lambda v: v[0])).process(Shared())
    keyed.map(lambda v: note("out", v))
    client = env.execute_async()
    clock.settle()
    feed("one", (At(0, ("k", 1)), 0))
    clock.tick()
    feed("two", (At(0, ("k", "?")), 0), (At(0, ("other", "?"), 100), 0))
    clock.tick()
    assert sorted(notes["read"], key=str) == [("k", 1), ("other", None)]
    assert [v for v in notes["out"] if len(v) == 3] == [], "input 1 has no watermark yet"
    feed("one", (At(0, ("k", 2), 5), 0))
    clock.tick()
    fired = [v for v in notes["out"] if len(v) == 3]
    assert sorted(fired) == [("k", 5, 5), ("other", 5, 5)], "a set: both sides set the timer of k at 5"
    client.cancel().result()


def test_at_the_end_of_both_inputs_the_timers_fire() -> None:
    env = environment(2, epoch_records=1)
    one, two = env.from_collection([("k", 1)]), env.from_collection([("k", 2), ("k", 3), ("k", 4)])
    keyed = one.connect(two).key_by(lambda v: v[0], lambda v: v[0]).process(Shared())
    out = [v for v in collect(keyed) if len(v) == 3]
    assert out == [("k", 5, MAX), ("k", 6, MAX)]


def test_keyed_co_map_has_keyed_state() -> None:
    class Count(CoMapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.n = runtime_context.get_state(ValueStateDescriptor("n", Types.LONG()))

        def map1(self, value: Any) -> Any:
            self.n.update((self.n.value() or 0) + 1)
            return value, self.n.value()

        map2 = map1

    env = environment(2, epoch_records=1)
    one, two = env.from_collection(["a", "b"]), env.from_collection(["a", "a"])
    out = collect(one.connect(two).key_by(lambda v: v, lambda v: v).map(Count()))
    assert sorted(out) == [("a", 1), ("a", 2), ("a", 3), ("b", 1)]


def test_connected_keys_must_be_of_one_type() -> None:
    env = environment(1)
    one = env.from_collection([1]).key_by(lambda v: v, key_type=Types.INT())
    two = env.from_collection([1]).key_by(lambda v: str(v), key_type=Types.STRING())
    with pytest.raises(ProgramError, match="one type"):
        one.connect(two).process(Shared())
