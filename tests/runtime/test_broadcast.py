"""Broadcast state. What real PyFlink gives stands in ``REFERENCE``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common.errors import JobExecutionError, ProgramError, StateError, UnsupportedFeatureError
from firesteel.common.time import Time
from firesteel.common.typeinfo import Types
from firesteel.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from firesteel.datastream import (
    AggregateFunction,
    BroadcastConnectedStream,
    BroadcastProcessFunction,
    BroadcastStream,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    RuntimeContext,
    RuntimeExecutionMode,
)
from firesteel.datastream.output_tag import OutputTag
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.datastream.time_domain import TimeDomain
from firesteel.runtime import chain, held_input, worker
from firesteel.state.backend import StateLimits
from firesteel.testing import OperatorHarness, StreamRecord
from firesteel.testing.local_platform import LocalEngine

from .engines import FaultyEngine, TurnsEngine
from .support import (
    MAX,
    NO_TIMESTAMP,
    At,
    LiveSource,
    SteppedClock,
    collect,
    environment,
    feed,
    local_platform,
    note,
    notes,
    punctuated,
)
from .test_batch_mode import spill_to

ANY = Types.PICKLED_BYTE_ARRAY()
RULES = MapStateDescriptor("rules", Types.STRING(), ANY)
COUNT = ValueStateDescriptor("count", Types.LONG())
SIDE = OutputTag("side")


def key_of(value: Any) -> Any:
    return value[0]


class Keyed(KeyedBroadcastProcessFunction):
    """Says everything that it can know. A rule is (name, text), None for the text removes it."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext
    ) -> Iterator[Any]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(value[1] + 10)
        rules = dict(ctx.get_broadcast_state(RULES).items())
        yield "element", value, ctx.get_current_key(), ctx.timestamp(), ctx.current_watermark(), count, rules
        yield SIDE, value

    def process_broadcast_element(
        self, value: Any, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterator[Any]:
        state = ctx.get_broadcast_state(RULES)
        if value[1] is None:
            state.remove(value[0])
        else:
            state.put(*value)
        yield "broadcast", value, ctx.timestamp(), ctx.current_watermark()

    def on_timer(self, timestamp: int, ctx: KeyedBroadcastProcessFunction.OnTimerContext) -> Iterator[Any]:
        rules = dict(ctx.get_broadcast_state(RULES).items())
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        yield "timer", timestamp, ctx.get_current_key(), ctx.timestamp(), ctx.current_watermark(), rules


class Plain(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterator[Any]:
        rules = dict(ctx.get_broadcast_state(RULES).items())
        yield "element", value, ctx.timestamp(), ctx.current_watermark(), rules
        yield SIDE, value

    def process_broadcast_element(self, value: Any, ctx: BroadcastProcessFunction.Context) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(*value)
        yield "broadcast", value, ctx.timestamp(), ctx.current_watermark()


def keyed(function: Any = None) -> Any:
    def build(data: DataStream, rules: DataStream) -> DataStream:
        return data.key_by(key_of).connect(rules.broadcast(RULES)).process(function or Keyed())

    return build


def plain(function: Any = None) -> Any:
    def build(data: DataStream, rules: DataStream) -> DataStream:
        return data.connect(rules.broadcast(RULES)).process(function or Plain())

    return build


# ---- as real PyFlink 2.3.0


DATA = [("a", 5), ("b", 3), ("a", 7)]
RULE_RECORDS = [("r1", 1), ("r2", 20)]
ALL = {"r1": 1, "r2": 20}
LOW = NO_TIMESTAMP
REFERENCE: dict[tuple[str, str, bool], list[Any]] = {
    # (kind, mode, with timestamps): what came out
    ("keyed", "BATCH", True): [
        ("broadcast", ("r1", 1), 1, LOW),
        ("broadcast", ("r2", 20), 20, LOW),
        ("element", ("a", 5), "a", 5, LOW, 1, ALL),
        ("element", ("a", 7), "a", 7, LOW, 2, ALL),
        ("element", ("b", 3), "b", 3, LOW, 1, ALL),
        ("timer", 15, "a", 15, MAX, ALL),
        ("timer", 17, "a", 17, MAX, ALL),
        ("timer", 13, "b", 13, MAX, ALL),
        ("side", ("a", 5)),
        ("side", ("a", 7)),
        ("side", ("b", 3)),
    ],
    ("keyed", "BATCH", False): [
        ("broadcast", ("r1", 1), LOW, LOW),
        ("broadcast", ("r2", 20), LOW, LOW),
        ("element", ("a", 5), "a", LOW, LOW, 1, ALL),
        ("element", ("a", 7), "a", LOW, LOW, 2, ALL),
        ("element", ("b", 3), "b", LOW, LOW, 1, ALL),
        ("timer", 15, "a", 15, MAX, ALL),
        ("timer", 17, "a", 17, MAX, ALL),
        ("timer", 13, "b", 13, MAX, ALL),
        ("side", ("a", 5)),
        ("side", ("a", 7)),
        ("side", ("b", 3)),
    ],
    ("plain", "BATCH", True): [
        ("broadcast", ("r1", 1), 1, LOW),
        ("broadcast", ("r2", 20), 20, LOW),
        ("element", ("a", 5), 5, LOW, ALL),
        ("element", ("b", 3), 3, LOW, ALL),
        ("element", ("a", 7), 7, LOW, ALL),
        ("side", ("a", 5)),
        ("side", ("b", 3)),
        ("side", ("a", 7)),
    ],
    ("keyed", "STREAMING", True): [
        ("broadcast", ("r1", 1), 1, LOW),
        ("broadcast", ("r2", 20), 20, LOW),
        ("element", ("a", 5), "a", 5, LOW, 1, ALL),
        ("element", ("b", 3), "b", 3, LOW, 1, ALL),
        ("element", ("a", 7), "a", 7, LOW, 2, ALL),
        ("timer", 13, "b", 13, MAX, ALL),
        ("timer", 15, "a", 15, MAX, ALL),
        ("timer", 17, "a", 17, MAX, ALL),
        ("side", ("a", 5)),
        ("side", ("b", 3)),
        ("side", ("a", 7)),
    ],
}


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


BY_SECOND_FIELD = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())


@pytest.mark.parametrize("case", REFERENCE, ids=lambda case: "-".join(map(str, case)))
def test_what_real_pyflink_gives(case: tuple[str, str, bool]) -> None:
    """One subtask. Only the order between the outputs of different keys and tags is left open."""
    kind, mode, stamped = case
    env = environment(1)
    env.set_runtime_mode(RuntimeExecutionMode[mode])
    streams = [env.from_collection(DATA), env.from_collection(RULE_RECORDS)]
    if stamped:
        streams = [s.assign_timestamps_and_watermarks(BY_SECOND_FIELD) for s in streams]
    out = (keyed() if kind == "keyed" else plain())(*streams)
    found = collect(out.union(out.get_side_output(SIDE).map(lambda v: ("side", v))))
    assert sorted(found, key=repr) == sorted(REFERENCE[case], key=repr)
    for what in ("broadcast", "element", "timer", "side"):
        order = [r for r in found if r[0] == what]
        assert order == [r for r in REFERENCE[case] if r[0] == what]
    assert [r[0] for r in found[:2]] == ["broadcast", "broadcast"]


@pytest.mark.parametrize("kind", ["keyed", "plain"])
def test_names_and_partitioning_in_the_plan(kind: str) -> None:
    env = environment(2)
    build = keyed() if kind == "keyed" else plain()
    build(env.from_collection(DATA), env.from_collection(RULE_RECORDS)).print()
    graph = env.get_stream_graph()
    node = next(n for n in graph.nodes if n.arity == 2)
    assert node.name == ("Keyed-Co-Process-Broadcast" if kind == "keyed" else "Co-Process-Broadcast")
    assert node.keyed == (kind == "keyed")
    ways = [edge.ship_strategy for edge in graph.in_edges(node.id)]
    assert ways == ["HASH" if kind == "keyed" else "REBALANCE", "BROADCAST"]


# ---- who sees what, and when


class Match(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        for name in ctx.get_broadcast_state(RULES):
            yield note("match", (value, name))

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(value[0], value[1])
        note("rule", (value[0], self.subtask))

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()


class MatchAll(BroadcastProcessFunction):
    process_element = Match.process_element
    process_broadcast_element = Match.process_broadcast_element
    open = Match.open


@pytest.mark.parametrize("kind", ["keyed", "plain"])
@pytest.mark.row("S-OPS-12", "S-PROC-03", "T15")
def test_an_element_before_the_rule_is_not_held_back_and_every_subtask_gets_the_rule(kind: str) -> None:
    """D1, r1, d2 at a parallelism of 2: a match of d2 alone."""
    clock = SteppedClock()
    env = environment(2, clock=clock)
    data = env.from_source(LiveSource("data"), punctuated(), "data").map(lambda r: r.value)
    rules = env.from_source(LiveSource("rules"), punctuated(), "rules").map(lambda r: r.value)
    build = keyed(Match()) if kind == "keyed" else plain(MatchAll())
    build(data, rules).print()
    client = env.execute_async()
    clock.settle()
    feed("data", (At(1, ("k", "d1")), 1))
    clock.tick()
    feed("rules", (At(1, ("r1", "x")), 1))
    clock.tick()
    assert sorted(notes["rule"]) == [("r1", 0), ("r1", 1)]
    feed("data", *((At(2, (k, "d2")), 2) for k in "abcdefgh"))
    clock.tick()
    assert sorted(notes["match"]) == [((k, "d2"), "r1") for k in "abcdefgh"]
    client.cancel().result()


@pytest.mark.row("T15")
def test_event_time_is_that_of_the_slower_side_unless_it_is_idle() -> None:
    """Data at W100 and a broadcast side without a watermark: timers wait. Declared idle: they fire."""
    h = OperatorHarness(keyed())
    data, rules = h.inputs
    data.process_element(("k", 40), 40)
    data.process_watermark(100)
    assert [r[0] for r in h.values] == ["element"]
    rules.process_element(("r1", "x"), 7)
    assert h.values[-1] == ("broadcast", ("r1", "x"), 7, NO_TIMESTAMP)
    rules.mark_idle()
    assert h.values[-1] == ("timer", 50, "k", 50, 100, {"r1": "x"})


def test_the_watermark_of_the_plain_variant() -> None:
    h = OperatorHarness(plain())
    data, rules = h.inputs
    data.process_watermark(100)
    rules.process_watermark(30)
    data.process_element(("k", 40), 40)
    assert h.values[-1] == ("element", ("k", 40), 40, 30, {})
    rules.mark_idle()
    data.process_element(("k", 41), 41)
    assert h.values[-1] == ("element", ("k", 41), 41, 100, {})


def test_side_outputs_of_both_sides_and_of_timers() -> None:
    class Sides(KeyedBroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            ctx.timer_service().register_event_time_timer(50)
            yield SIDE, "element"

        def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            yield SIDE, "broadcast"

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
            yield SIDE, "timer"

    h = OperatorHarness(keyed(Sides()), side_outputs=[SIDE])
    h.inputs[0].process_element(("k", 1), 10)
    h.inputs[1].process_element(("r", 1), 20)
    h.process_watermark(60)
    assert h.side_output(SIDE) == [
        StreamRecord("element", 10),
        StreamRecord("broadcast", 20),
        StreamRecord("timer", 50),
    ]
    assert h.values == []


def test_timers_of_processing_time_on_the_keyed_side() -> None:
    class Timers(KeyedBroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_processing_time_timer(ctx.current_processing_time() + 5)

        def process_broadcast_element(self, value: Any, ctx: Any) -> None: ...

        def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
            yield timestamp, ctx.time_domain(), ctx.get_current_key(), ctx.current_processing_time()

    h = OperatorHarness(keyed(Timers()), processing_time=100)
    h.inputs[0].process_element(("k", 1))
    h.set_processing_time(107)
    assert h.values == [(105, TimeDomain.PROCESSING_TIME, "k", 107)]


# ---- what a side may not do


READ_ONLY_MISUSES = {
    "put": lambda state: state.put("r", 1),
    "put_all": lambda state: state.put_all({"r": 1}),
    "remove": lambda state: state.remove("r"),
    "clear": lambda state: state.clear(),
    "setitem": lambda state: state.__setitem__("r", 1),
    "delitem": lambda state: state.__delitem__("r"),
}


@pytest.mark.parametrize("kind", ["keyed", "plain"])
@pytest.mark.parametrize("misuse", READ_ONLY_MISUSES)
@pytest.mark.row("S-STATE-13", "T15")
def test_the_side_that_is_not_broadcast_may_not_write(kind: str, misuse: str) -> None:
    write = READ_ONLY_MISUSES[misuse]

    class Writes(KeyedBroadcastProcessFunction if kind == "keyed" else BroadcastProcessFunction):  # type: ignore[misc]
        def process_element(self, value: Any, ctx: Any) -> None:
            write(ctx.get_broadcast_state(RULES))

        def process_broadcast_element(self, value: Any, ctx: Any) -> None: ...

    h = OperatorHarness((keyed if kind == "keyed" else plain)(Writes()))
    with pytest.raises(StateError, match=r"(?s)only be changed on the broadcast side.*that all of them see"):
        h.inputs[0].process_element(("k", 1))


def test_a_timer_may_not_write_either() -> None:
    class Writes(Keyed):
        def on_timer(self, timestamp: int, ctx: Any) -> None:  # type: ignore[override]
            ctx.get_broadcast_state(RULES).put("r", 1)

    h = OperatorHarness(keyed(Writes()))
    h.inputs[0].process_element(("k", 1), 1)
    with pytest.raises(StateError, match="only be changed on the broadcast side"):
        h.process_watermark(100)


def test_reading() -> None:
    class Reads(BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            rules = ctx.get_broadcast_state(RULES)
            yield rules.get("a"), rules["b"], rules.get("c"), rules.contains("a"), "c" in rules
            yield list(rules), list(rules.keys()), list(rules.values()), list(rules.items())
            yield rules.is_empty()

        def process_broadcast_element(self, value: Any, ctx: Any) -> None:
            ctx.get_broadcast_state(RULES).put_all(value)

    h = OperatorHarness(plain(Reads()))
    h.inputs[0].process_element(0)
    assert h.values[2] is True
    h.inputs[1].process_element({"b": [2], "a": 1})
    h.clear_output()
    h.inputs[0].process_element(0)
    assert h.values == [
        (1, [2], None, True, False),
        (["a", "b"], ["a", "b"], [1, [2]], [("a", 1), ("b", [2])]),
        False,
    ]


def test_changing_a_value_that_was_read_does_not_change_the_state() -> None:
    class Changes(BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            found = ctx.get_broadcast_state(RULES).get("r")
            found.append(value)
            yield found

        def process_broadcast_element(self, value: Any, ctx: Any) -> None:
            ctx.get_broadcast_state(RULES).put("r", value)
            value.append("changed after put")

    h = OperatorHarness(plain(Changes()))
    h.inputs[1].process_element([])
    for _ in range(2):
        h.inputs[0].process_element(1)
    assert h.values == [[1], [1]]


def test_the_broadcast_side_has_no_keyed_state_and_no_timers() -> None:
    class State(Keyed):
        def process_broadcast_element(self, value: Any, ctx: Any) -> None:  # type: ignore[override]
            self.count.update(1)

    class Timer(Keyed):
        def process_broadcast_element(self, value: Any, ctx: Any) -> None:  # type: ignore[override]
            ctx.timer_service().register_event_time_timer(1)

    for function, error, text in (
        (State(), StateError, "no current key"),
        (Timer(), UnsupportedFeatureError, "has no key that a timer could be set for"),
    ):
        h = OperatorHarness(keyed(function))
        h.inputs[0].process_element(("k", 1), 1)
        with pytest.raises(error, match=text):
            h.inputs[1].process_element(("r", 1))


def test_the_plain_variant_has_no_keyed_state_and_no_timers() -> None:
    class State(Plain):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_state(COUNT)

    with pytest.raises(UnsupportedFeatureError, match="only be used on a keyed stream"):
        OperatorHarness(plain(State()))

    class Timer(Plain):
        def process_element(self, value: Any, ctx: Any) -> None:  # type: ignore[override]
            assert ctx.timer_service().current_processing_time() >= 0
            ctx.timer_service().register_event_time_timer(1)

    h = OperatorHarness(plain(Timer()))
    with pytest.raises(UnsupportedFeatureError, match="only supported on a keyed stream"):
        h.inputs[0].process_element(("k", 1))


# ---- apply_to_keyed_state


LIST = ListStateDescriptor("list", ANY)
MAP = MapStateDescriptor("map", ANY, ANY)
REDUCED = ReducingStateDescriptor("reduced", max, ANY)


class ForAll(KeyedBroadcastProcessFunction):
    """A broadcast record is a function of all keys: ("list" | "add" | "clear", what)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)
        self.list = runtime_context.get_list_state(LIST)
        self.map = runtime_context.get_map_state(MAP)
        self.reduced = runtime_context.get_reducing_state(REDUCED)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        key, number = value
        if number is None:
            yield key, self.count.value(), list(self.list.get()), dict(self.map.items()), self.reduced.get()
            return
        self.count.update(number)
        self.list.add(number)
        self.map.put(number, number)
        self.reduced.add(number)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        what, state = value
        found: list[Any] = []
        descriptor = {"count": COUNT, "list": LIST, "map": MAP, "reduced": REDUCED}[state]
        if what == "read":
            read = {
                "count": lambda s: s.value(),
                "list": lambda s: list(s.get()),
                "map": lambda s: dict(s.items()),
                "reduced": lambda s: s.get(),
            }[state]
            ctx.apply_to_keyed_state(descriptor, lambda key, s: found.append((key, read(s))))
            yield from found
        else:
            ctx.apply_to_keyed_state(descriptor, lambda key, s: s.clear())


KEYS = ["a", "b", 1, 1.0, None, ("t", 2)]


@pytest.mark.parametrize(
    "limits",
    [StateLimits(), StateLimits(cache_entries=3, warm_entries=0)],
    ids=["everything cached", "next to nothing cached"],
)
@pytest.mark.parametrize("parallelism", [1, 2])
def test_a_function_of_the_state_of_all_keys(
    limits: StateLimits, parallelism: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "state_limits", lambda *_, **__: limits)
    h = OperatorHarness(keyed(ForAll()), parallelism=parallelism, processes=3)
    data, rules = h.inputs
    for round_ in range(2):
        for key in KEYS:
            data.process_element((key, 10 + round_))
    expected = {"count": 11, "list": [10, 11], "map": {10: 10, 11: 11}, "reduced": 11}
    for state, content in expected.items():
        h.clear_output()
        rules.process_element(("read", state))
        assert sorted(map(repr, h.values)) == sorted(repr((key, content)) for key in KEYS)
    rules.process_element(("clear", "count"))
    data.process_element(("a", 12))
    h.clear_output()
    rules.process_element(("read", "count"))
    assert h.values == [("a", 12)], "the others have none any more"
    rules.process_element(("clear", "map"))
    h.clear_output()
    data.process_element(("b", None))
    assert h.values == [("b", None, [10, 11], {}, 11)]


def test_the_order_of_the_keys_depends_on_them_alone() -> None:
    orders = []
    for keys in (KEYS, list(reversed(KEYS))):
        h = OperatorHarness(keyed(ForAll()))
        for key in keys:
            h.inputs[0].process_element((key, 1))
        h.inputs[1].process_element(("read", "count"))
        orders.append(list(map(repr, h.values)))
    assert orders[0] == orders[1]


def test_a_function_of_all_keys_may_set_an_aggregate() -> None:
    class Total(AggregateFunction):
        def create_accumulator(self) -> int:
            return 0

        def add(self, value: int, accumulator: int) -> int:
            return accumulator + value

        def get_result(self, accumulator: int) -> int:
            return accumulator

        def merge(self, a: int, b: int) -> int:
            return a + b

    descriptor = AggregatingStateDescriptor("total", Total(), ANY)

    class Function(KeyedBroadcastProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.total = runtime_context.get_aggregating_state(descriptor)

        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            self.total.add(value[1])
            yield value[0], self.total.get()

        def process_broadcast_element(self, value: Any, ctx: Any) -> None:
            ctx.apply_to_keyed_state(descriptor, lambda key, state: state.add(value))

    h = OperatorHarness(keyed(Function()))
    for key in "ab":
        h.inputs[0].process_element((key, 1))
    h.inputs[1].process_element(10)
    h.inputs[0].process_element(("a", 2))
    assert h.values == [("a", 1), ("b", 1), ("a", 13)]


def test_apply_to_keyed_state_wants_a_descriptor_and_leaves_no_key_behind() -> None:
    class Wrong(Keyed):
        def process_broadcast_element(self, value: Any, ctx: Any) -> None:  # type: ignore[override]
            ctx.apply_to_keyed_state("count", lambda key, state: None)

    h = OperatorHarness(keyed(Wrong()))
    with pytest.raises(ProgramError, match="takes the descriptor of a keyed state"):
        h.inputs[1].process_element(("r", 1))

    class Failing(Keyed):
        def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            ctx.apply_to_keyed_state(COUNT, lambda key, state: state.update(7))
            try:
                self.count.value()
            except StateError:
                yield "no key"

    h = OperatorHarness(keyed(Failing()))
    h.inputs[0].process_element(("k", 1), 1)
    h.inputs[1].process_element(("r", 1))
    assert h.values[-1] == "no key"
    assert h.state(COUNT, "k") == 7


# ---- across epochs, processes and subtasks


class Versions(KeyedBroadcastProcessFunction):
    """What an element finds: how many rules there are, and the sum of their values."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        rules = ctx.get_broadcast_state(RULES)
        yield value[0], self.count.value(), len(list(rules.keys())), sum(rules.values())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        rules = ctx.get_broadcast_state(RULES)
        if value[1] is None:
            rules.remove(value[0])
        else:
            rules.put(value[0], (rules.get(value[0]) or 0) + value[1])
        yield "rules", sorted(rules.items())


def run_versions(parallelism: int, epoch_records: int | None) -> list[Any]:
    env = environment(parallelism, epoch_records=epoch_records)
    data = env.from_collection([(k, 0) for k in "abcabcabca" * 4])
    rules = env.from_collection([(f"r{i % 5}", None if i % 7 == 6 else i) for i in range(30)])
    out = data.key_by(key_of).connect(rules.broadcast(RULES)).process(Versions())
    return collect(out)


def final_rules() -> list[Any]:
    rules: dict[str, int] = {}
    for i in range(30):
        if i % 7 == 6:
            rules.pop(f"r{i % 5}", None)
        else:
            rules[f"r{i % 5}"] = rules.get(f"r{i % 5}", 0) + i
    return sorted(rules.items())


@pytest.mark.parametrize("parallelism", [1, 2, 4])
@pytest.mark.parametrize("epoch_records", [1, 100, None])
def test_every_subtask_has_the_same_rules(parallelism: int, epoch_records: int | None) -> None:
    found = run_versions(parallelism, epoch_records)
    states = Counter(repr(r[1]) for r in found if r[0] == "rules")
    assert len([r for r in found if r[0] == "rules"]) == 30 * parallelism
    assert states[repr(final_rules())] % parallelism == 0
    assert all(n % parallelism == 0 for n in states.values()), "each state of the rules was in each subtask"
    counts = {key: max(r[1] for r in found if r[0] == key) for key in "abc"}
    assert counts == {"a": 16, "b": 12, "c": 12}


@pytest.mark.parametrize(
    "make_engine",
    [
        lambda: TurnsEngine(3),
        lambda: LocalEngine(fresh_process=lambda: True),
        *(lambda seed=seed: FaultyEngine(seed) for seed in range(4)),
    ],
    ids=["turns", "fresh", "faulty-0", "faulty-1", "faulty-2", "faulty-3"],
)
def test_the_rules_go_from_process_to_process(make_engine: Any) -> None:
    with local_platform() as platform:
        calm = run_versions(2, 3)
        assert platform.engines[-1].epochs > 5
    with local_platform(make_engine):
        found = run_versions(2, 3)
    for key in ("rules", *"abc"):
        assert [r for r in found if r[0] == key] == [r for r in calm if r[0] == key]
    assert found[-1][0] != "rules" or found[-1] == ("rules", final_rules())


def test_plain_rules_survive_epochs_and_processes() -> None:
    h = OperatorHarness(plain(), parallelism=2, processes=3)
    data, rules = h.inputs
    for i in range(5):
        rules.process_element((f"r{i}", i))
    for i in range(4):
        data.process_element(("d", i))
    elements = [r for r in h.values if r[0] == "element"]
    assert [r[-1] for r in elements] == [{f"r{i}": i for i in range(5)}] * 4
    for subtask in range(2):
        assert h.operator_state(RULES, subtask=subtask) == {f"r{i}": i for i in range(5)}


def test_several_states_with_one_stream() -> None:
    other = MapStateDescriptor("other", Types.STRING(), ANY)

    class Two(BroadcastProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            yield [dict(ctx.get_broadcast_state(d).items()) for d in (RULES, other)]

        def process_broadcast_element(self, value: Any, ctx: Any) -> None:
            ctx.get_broadcast_state(RULES).put("r", value)
            ctx.get_broadcast_state(other).put("o", -value)

    def build(data: DataStream, rules: DataStream) -> DataStream:
        return data.connect(rules.broadcast(RULES, other)).process(Two())

    h = OperatorHarness(build)
    h.inputs[1].process_element(5)
    h.inputs[0].process_element(0)
    assert h.values == [[{"r": 5}, {"o": -5}]]


def test_what_comes_out_is_a_stream_like_any_other() -> None:
    class Count(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.count = runtime_context.get_state(COUNT)

        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            self.count.update((self.count.value() or 0) + 1)
            yield value[0], self.count.value()

    env = environment(2)
    out = keyed(Match())(env.from_collection([("k", i) for i in range(3)]), env.from_collection([("r", 1)]))
    found = collect(out.map(lambda m: (m[1], m[0])).key_by(key_of).process(Count()))
    assert max(found) == ("r", 3)


# ---- BATCH mode


def batch(parallelism: int = 1) -> Any:
    env = environment(parallelism)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    return env


@pytest.mark.parametrize("kind", ["keyed", "plain"])
@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("limit", [7, 500_000])
def test_in_batch_mode_all_rules_come_before_the_first_element(
    kind: str, parallelism: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a limit of a few records the other side is spilled."""
    spills = spill_to(monkeypatch, limit)

    class Small(held_input.HeldInput):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments, records_in_memory=limit)

        def _spill(self) -> None:
            spills.append(self._count)
            super()._spill()

    monkeypatch.setattr(chain, "HeldInput", Small)
    env = batch(parallelism)
    data = env.from_collection([(f"k{i % 5}", i) for i in range(1200)])  # of both sides more than a block
    rules = env.from_collection([(f"r{i:04}", i) for i in range(2100)])
    out = collect((keyed(Seen()) if kind == "keyed" else plain(SeenAll()))(data, rules))
    assert sorted(v for v, _ in out) == sorted((f"k{i % 5}", i) for i in range(1200))
    assert {rules for _, rules in out} == {2100}
    assert (len(spills) > 1) == (limit == 7)
    if kind == "keyed":
        for key in {v[0] for v, _ in out}:
            positions = [at for at, (v, _) in enumerate(out) if v[0] == key]
            assert parallelism > 1 or positions == list(range(positions[0], positions[0] + 240))
    elif parallelism == 1:
        assert [v[1] for v, _ in out] == list(range(1200)), "in their order"


class Seen(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, len(list(ctx.get_broadcast_state(RULES).keys()))

    def process_broadcast_element(self, value: Any, ctx: Any) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


class SeenAll(BroadcastProcessFunction):
    process_element = Seen.process_element
    process_broadcast_element = Seen.process_broadcast_element


def test_in_batch_mode_no_key_has_state_yet_when_the_rules_come() -> None:
    env = batch()
    data, rules = env.from_collection([("a", 1), ("a", None)]), env.from_collection([("read", "count")])
    assert collect(keyed(ForAll())(data, rules)) == [("a", 1, [1], {1: 1}, 1)]


@pytest.mark.parametrize("kind", ["keyed", "plain"])
def test_in_batch_mode_either_side_may_be_empty(kind: str) -> None:
    build = keyed if kind == "keyed" else plain
    function = Seen if kind == "keyed" else SeenAll
    for empty, expected in ((1, [(("a", 1), 0)]), (0, [])):
        env = batch(2)
        sides = [env.from_collection([("a", 1)]), env.from_collection([("r", 1)])]
        sides[empty] = sides[empty].filter(lambda v: False)
        assert collect(build(function())(*sides)) == expected


# ---- what is refused when the program is built


def test_the_function_must_fit_the_stream() -> None:
    env = environment(1)
    data, rules = env.from_collection([("k", 1)]), env.from_collection([("r", 1)]).broadcast(RULES)
    with pytest.raises(TypeError, match=r"(?s)KeyedBroadcastProcessFunction.*not keyed"):
        data.key_by(key_of).connect(rules).process(Plain())
    with pytest.raises(TypeError, match=r"(?s)BroadcastProcessFunction.*call key_by"):
        data.connect(rules).process(Keyed())
    with pytest.raises(TypeError, match="pass an instance"):
        data.connect(rules).process(Plain)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="output_type is not a type"):
        data.connect(rules).process(Plain(), output_type="int")  # type: ignore[arg-type]


def test_broadcast_state_has_no_time_to_live() -> None:
    descriptor = MapStateDescriptor("rules", Types.STRING(), ANY)
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
    with pytest.raises(UnsupportedFeatureError, match="cannot have a time to live"):
        environment(1).from_collection([1]).broadcast(descriptor)


def test_a_descriptor_of_another_state_is_refused() -> None:
    with pytest.raises(TypeError, match="MapStateDescriptor"):
        environment(1).from_collection([1]).broadcast(COUNT)  # type: ignore[arg-type, call-overload]


def test_the_streams_must_belong_together() -> None:
    one, two = environment(1), environment(1)
    rules = two.from_collection([1]).broadcast(RULES)
    with pytest.raises(ProgramError, match="different environments"):
        one.from_collection([1]).connect(rules)


def test_a_stream_that_is_not_broadcast_is_refused() -> None:
    env = environment(1)
    stream = env.from_collection([("r", 1)])
    connected = BroadcastConnectedStream(
        env.from_collection([("k", 1)]), BroadcastStream(stream, [RULES]), [RULES]
    )
    with pytest.raises(ProgramError, match=r"(?s)is not broadcast.*FORWARD"):
        collect(connected.process(Plain()))


def test_an_error_of_either_side_names_the_operator() -> None:
    class Failing(Plain):
        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            raise ZeroDivisionError(value)

    env = environment(1)
    out = plain(Failing())(env.from_collection([("k", 1)]), env.from_collection([("r", 1)]))
    with pytest.raises(JobExecutionError, match="Co-Process-Broadcast"):
        collect(out)
