"""Random programs over random inputs, cuts and failures, against a plain Python model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from firesteel.common.typeinfo import Types
from firesteel.datastream import DataStream, KeyedProcessFunction, RuntimeContext
from firesteel.datastream.state import MapStateDescriptor
from firesteel.testing.local_platform import LocalEngine
from tests.budget import examples

from .engines import FaultyEngine
from .support import MAX, NO_TIMESTAMP, At, collect, environment, local_platform, punctuated

# A stream of the model: ("r", key, number, timestamp) and ("w", watermark), in order.
Event = tuple[Any, ...]
SPAN = 10


class SumPerSpan(KeyedProcessFunction):
    """The sum of a key's numbers in each span of 10 ms, when it is over; a late number comes out negated.
    The timer of a span sets another one in the next span, which tells how many spans are open."""

    def open(self, runtime_context: RuntimeContext) -> None:
        any_type = Types.PICKLED_BYTE_ARRAY()
        self.sums = runtime_context.get_map_state(MapStateDescriptor("sums", any_type, any_type))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        key, number = value
        timers = ctx.timer_service()
        if ctx.timestamp() <= timers.current_watermark():
            yield key, -number
            return
        end = ctx.timestamp() // SPAN * SPAN + SPAN - 1
        self.sums.put(end, (self.sums.get(end) or 0) + number)
        timers.register_event_time_timer(end)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Any]:
        if timestamp % SPAN == SPAN - 1:
            ctx.timer_service().register_event_time_timer(timestamp + 3)
            yield ctx.get_current_key(), self.sums.get(timestamp)
            self.sums.remove(timestamp)
        else:
            yield ctx.get_current_key(), 1000 + len(list(self.sums.keys()))


def model_spans(events: list[Event]) -> list[Event]:
    out: list[Event] = []
    sums: dict[str, dict[int, int]] = defaultdict(dict)  # 1, 1.0 and True are three keys
    timers: set[tuple[int, str]] = set()
    keys: dict[str, Any] = {}
    watermark = NO_TIMESTAMP
    for event in events:
        if event[0] == "r":
            _, key, number, ts = event
            name = repr(key)
            keys[name] = key
            if ts <= watermark:
                out.append(("r", key, -number, ts))
                continue
            end = ts // SPAN * SPAN + SPAN - 1
            sums[name][end] = sums[name].get(end, 0) + number
            timers.add((end, name))
            continue
        watermark = event[1]
        while due := [t for t in timers if t[0] <= watermark]:
            first = min(due)
            timers.discard(first)
            ts, name = first
            if ts % SPAN == SPAN - 1:
                timers.add((ts + 3, name))
                out.append(("r", keys[name], sums[name].pop(ts), ts))
            else:
                out.append(("r", keys[name], 1000 + len(sums[name]), ts))
        out.append(event)
    return out


def model(events: list[Event], step: tuple[str, int]) -> list[Event]:
    kind, n = step
    if kind == "spans":
        return model_spans(events)
    out: list[Event] = []
    state: dict[str, int] = {}
    for event in events:
        if event[0] == "w":
            out.append(event)
            continue
        _, key, number, ts = event
        match kind:
            case "map":
                out.append(("r", key, number * 3 + n, ts))
            case "filter":
                if number % (n + 2):
                    out.append(event)
            case "flat_map":
                out += [("r", key, number + i, ts) for i in range(abs(number) % (n + 1))]
            case "reduce":
                name = repr(key)  # 1, 1.0 and True are three keys
                state[name] = number if name not in state else (state[name] * 7 + number) % 1009
                out.append(("r", key, state[name], ts))
    return out


def apply(stream: DataStream, step: tuple[str, int], keyed_at: int) -> DataStream:
    kind, n = step
    match kind:
        case "map":
            return stream.map(lambda v: (v[0], v[1] * 3 + n))
        case "filter":
            return stream.filter(lambda v: v[1] % (n + 2))
        case "flat_map":
            return stream.flat_map(lambda v: [(v[0], v[1] + i) for i in range(abs(v[1]) % (n + 1))])
        case "reduce":
            return stream.key_by(lambda v: v[0]).reduce(lambda a, b: (a[0], (a[1] * 7 + b[1]) % 1009))
        case _:
            return stream.key_by(lambda v: v[0]).process(SumPerSpan())


STATELESS = st.tuples(st.sampled_from(["map", "filter", "flat_map"]), st.integers(0, 3))
REDUCE = st.just(("reduce", 0))
SPANS = st.just(("spans", 0))
KEYS = st.sampled_from(["a", "b", 1, 1.0, True, None, (1, "x")])


# Made once: Hypothesis looks at each new strategy anew. A list of its own would be short most of the time.
COUNT = st.integers(0, 30)
RECORD = st.tuples(
    st.integers(-12, 15),  # later than the one before
    st.one_of(st.none(), st.integers(-15, 5)),  # the watermark, from its time
    st.tuples(KEYS, st.integers(-20, 20)),
)


@st.composite
def inputs(draw: st.DrawFn) -> list[At]:
    records = []
    ts = 0
    for _ in range(draw(COUNT)):
        step, mark, value = draw(RECORD)
        ts += step
        records.append(At(ts, value, None if mark is None else ts + mark))
    return records


@st.composite
def programs(draw: st.DrawFn) -> tuple[int, int, list[tuple[str, int]]]:
    """(parallelism, how many steps come before the first keyed one, steps). With several subtasks the timers
    of a second stage depend on how channels interleave, there as in Flink, so only the first one has any."""
    parallelism = draw(st.sampled_from([1, 1, 2, 3]))
    before = draw(st.lists(STATELESS, max_size=2))
    first = draw(st.one_of(REDUCE, SPANS))
    after = draw(st.lists(st.one_of(STATELESS, REDUCE, *([SPANS] if parallelism == 1 else [])), max_size=3))
    return parallelism, len(before), [*before, first, *after]


@settings(max_examples=examples(100), deadline=None, derandomize=True)
@given(
    records=inputs(),
    program=programs(),
    cut=st.integers(1, 31),
    seed=st.integers(0, 1000),
    faults=st.booleans(),
)
@pytest.mark.row("S-TIME-06")
def test_random_programs(
    records: list[At],
    program: tuple[int, int, list[tuple[str, int]]],
    cut: int,
    seed: int,
    faults: bool,
) -> None:
    parallelism, before, steps = program
    with local_platform(lambda: FaultyEngine(seed) if faults else LocalEngine(seed)):
        env = environment(parallelism, epoch_records=cut)
        stream = (
            env.from_collection(records).assign_timestamps_and_watermarks(punctuated()).set_parallelism(1)
        )
        stream = stream.map(lambda r: r.value).set_parallelism(1)
        for number, step in enumerate(steps):
            stream = apply(stream, step, before)
            if number < before:
                stream.set_parallelism(1)
        out = collect(stream)
    events: list[Event] = []
    highest = NO_TIMESTAMP
    for r in records:
        events.append(("r", *r.value, r.ts))
        if r.watermark is not None and r.watermark > highest:
            highest = r.watermark
            events.append(("w", highest))
    events.append(("w", MAX))
    for step in steps:
        events = model(events, step)
    assert by_key(out) == by_key([e[1:3] for e in events if e[0] == "r"])


def by_key(records: list[Any]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for key, number in records:
        found[repr(key)].append(number)
    return dict(found)
