"""What the harness shows of state, and snapshots that another harness goes on from."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

from firesteel.common import Time, Types
from firesteel.common.errors import ProgramError, StateError
from firesteel.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    TimeDomain,
)
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.testing import OperatorHarness, Snapshot, Timer

from .functions import COUNT, Count, Numbering, SessionTimeout, identity


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


VALUE = ValueStateDescriptor("value", Types.LONG())
LIST = ListStateDescriptor("list", Types.LONG())
MAP = MapStateDescriptor("map", Types.LONG(), Types.STRING())
SUM = ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG())
MEAN = AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())


class Everything(KeyedProcessFunction):
    """Keeps each value in a state of each kind; a value of 0 clears them all."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.value = runtime_context.get_state(VALUE)
        self.list = runtime_context.get_list_state(LIST)
        self.map = runtime_context.get_map_state(MAP)
        self.sum = runtime_context.get_reducing_state(SUM)
        self.mean = runtime_context.get_aggregating_state(MEAN)

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> None:
        number = value[1]
        if number == 0:
            for state in (self.value, self.list, self.map, self.sum, self.mean):
                state.clear()
            return
        self.value.update(number)
        self.list.add(number)
        self.map.put(number, str(number))
        self.sum.add(number)
        self.mean.add(number)


def everything(**options: Any) -> OperatorHarness:
    harness = OperatorHarness(Everything(), key_by=lambda v: v[0], **options)
    for value in [("a", 3), ("a", 5), ("b", 8)]:
        harness.process_element(value)
    return harness


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("by_descriptor", [False, True])
def test_each_kind_of_keyed_state(parallelism: int, by_descriptor: bool) -> None:
    harness = everything(parallelism=parallelism)
    states = (VALUE, LIST, MAP, SUM, MEAN) if by_descriptor else ("value", "list", "map", "sum", "mean")
    mean: dict[str, Any] = {"a": 4.0, "b": 8.0} if by_descriptor else {"a": (8, 2), "b": (8, 1)}
    assert [harness.state(state, "a") for state in states] == [5, [3, 5], {3: "3", 5: "5"}, 8, mean["a"]]
    assert [harness.state(state, "b") for state in states] == [8, [8], {8: "8"}, 8, mean["b"]]
    assert [harness.state(state, "never seen") for state in states] == [None, [], {}, None, None]
    assert [sorted(harness.keys(state)) for state in states] == [["a", "b"]] * 5


def test_what_was_cleared_is_gone() -> None:
    harness = everything()
    assert harness.num_keyed_state_entries() == 10
    harness.process_element(("a", 0))
    assert harness.keys("map") == ["b"]
    assert harness.num_keyed_state_entries() == 5
    harness.process_element(("b", 0))
    assert harness.num_keyed_state_entries() == 0
    assert harness.keys("value") == []


def test_looking_changes_nothing() -> None:
    watched, other = everything(), everything()
    for harness in (watched, other):
        if harness is watched:
            harness.state("list", "a")
            harness.keys(MAP)
            harness.timers()
        harness.process_element(("a", 1))
    assert watched.state("list", "a") == other.state("list", "a") == [3, 5, 1]


def with_ttl() -> ValueStateDescriptor:
    descriptor = ValueStateDescriptor("count", Types.LONG())
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.milliseconds(100)).build())
    return descriptor


class Expiring(Count):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(with_ttl())


def test_state_with_a_time_to_live_is_read_by_its_descriptor() -> None:
    harness = OperatorHarness(Expiring(), key_by=identity)
    harness.process_element("a")
    harness.set_processing_time(60)
    harness.process_element("b")
    assert harness.keys(with_ttl()) == ["a", "b"]
    harness.set_processing_time(100)
    assert harness.state(with_ttl(), "a") is None
    assert harness.state(with_ttl(), "b") == 1
    assert harness.keys(with_ttl()) == ["b"]
    with pytest.raises(StateError, match="time to live") as refused:
        harness.state("count", "b")
    assert "descriptor" in str(refused.value)


def test_timers_of_all_subtasks() -> None:
    harness = OperatorHarness(SessionTimeout(10), key_by=identity, parallelism=4)
    for number in range(6):
        harness.process_element(number, 100 - number)
    assert harness.timers() == [Timer(110 - n, n, TimeDomain.EVENT_TIME) for n in reversed(range(6))]
    assert harness.timers(TimeDomain.PROCESSING_TIME) == []


def test_operator_state() -> None:
    harness = OperatorHarness(Numbering())
    for value in "abc":
        harness.process_element(value)
    assert harness.values == [(1, "a"), (2, "b"), (3, "c")]
    assert harness.operator_state("seen") == ["a", "b", "c"]
    assert harness.operator_state(ListStateDescriptor("seen", Types.STRING())) == ["a", "b", "c"]


# ---- which state is meant


def twice(values: DataStream) -> DataStream:
    return values.key_by(identity).process(Count()).name("one").key_by(identity).process(Count()).uid("two")


def test_a_state_of_one_of_several_operators() -> None:
    harness = OperatorHarness(twice)
    harness.process_element("a")
    with pytest.raises(ProgramError, match="2 operators have a state 'count'") as refused:
        harness.state("count", "a")
    assert "operator=" in str(refused.value)
    assert harness.state("count", "a", operator="one") == 1
    assert harness.state(COUNT, ("a", 1), operator="two") == 1
    assert harness.keys("count", operator="two") == [("a", 1)]


def test_a_state_that_is_not_there_names_those_that_are() -> None:
    harness = OperatorHarness(Count(), key_by=identity)
    with pytest.raises(StateError, match="no state 'count'") as refused:
        harness.state("count", "a")
    assert "no function has written any state yet" in str(refused.value)
    harness.process_element("a")
    with pytest.raises(StateError, match="no state 'cuont'") as refused:
        harness.state("cuont", "a")
    assert "'count'" in str(refused.value)
    with pytest.raises(StateError, match="of operator 'other'"):
        harness.state("count", "a", operator="other")


def test_a_state_of_another_kind() -> None:
    harness = everything()
    with pytest.raises(StateError, match="'value' is a value state") as refused:
        harness.state(ListStateDescriptor("value", Types.LONG()), "a")
    assert "ListStateDescriptor" in str(refused.value)
    with pytest.raises(ProgramError, match="keyed state"):
        harness.operator_state("value")
    numbered = OperatorHarness(Numbering())
    numbered.process_element("a")
    with pytest.raises(ProgramError, match="operator_state"):
        numbered.state("seen", "a")
    with pytest.raises(ProgramError, match="subtask"):
        numbered.operator_state("seen", subtask=1)


# ---- snapshots


def counted(snapshot: Snapshot | None = None, **options: Any) -> OperatorHarness:
    return OperatorHarness(Count(), key_by=identity, restore=snapshot, **options)


@pytest.mark.row("S-STATE-30")
def test_a_restored_harness_goes_on() -> None:
    harness = counted()
    for value in "aab":
        harness.process_element(value)
    snapshot = harness.snapshot()
    harness.process_element("a")
    restored = counted(snapshot)
    assert restored.output == []
    restored.process_element("a")
    assert restored.values == [("a", 3)]
    assert harness.state("count", "a") == 3, "the two have nothing in common"
    assert restored.state("count", "b") == 1


@pytest.mark.parametrize(("before", "after"), [(1, 4), (4, 1), (3, 2), (2, 5)])
def test_keyed_state_at_another_parallelism(before: int, after: int) -> None:
    harness = counted(parallelism=before)
    for value in [*range(30), *range(15)]:
        harness.process_element(value)
    restored = counted(harness.snapshot(), parallelism=after)
    assert sorted(restored.keys("count")) == list(range(30))
    for value in range(30):
        restored.process_element(value)
    assert sorted(restored.values) == [(n, 3 if n < 15 else 2) for n in range(30)]
    again = counted(restored.snapshot(), parallelism=before)
    assert [again.state("count", n) for n in (0, 29)] == [3, 2]


@pytest.mark.row("S-TIMER-06")
def test_timers_go_with_their_keys() -> None:
    harness = OperatorHarness(SessionTimeout(10), key_by=identity, parallelism=2, processing_time=77)
    for number in range(8):
        harness.process_element(number, number)
    harness.process_watermark(12)
    restored = OperatorHarness(SessionTimeout(10), key_by=identity, parallelism=3, restore=harness.snapshot())
    assert restored.processing_time == 77
    assert [timer.key for timer in restored.timers()] == [3, 4, 5, 6, 7]
    restored.process_watermark(15)
    assert sorted(restored.values) == [(3, "timeout"), (4, "timeout"), (5, "timeout")]


def numbering(**options: Any) -> OperatorHarness:
    return OperatorHarness(Numbering(), **options)


@pytest.mark.parametrize(("before", "after"), [(2, 2), (2, 3), (3, 1), (1, 4)])
def test_operator_state_is_dealt_out_anew(before: int, after: int) -> None:
    """Nothing is lost and nothing doubled, in contiguous parts."""
    harness = numbering(parallelism=before)
    for number in range(10):
        harness.process_element(f"r{number}")
    old = [harness.operator_state("seen", subtask=i) for i in range(before)]
    restored = numbering(parallelism=after, restore=harness.snapshot())
    new = [restored.operator_state("seen", subtask=i) for i in range(after)]
    assert list(chain.from_iterable(new)) == list(chain.from_iterable(old))
    assert new == old if before == after else max(map(len, new)) - min(map(len, new)) <= 1


def test_a_snapshot_can_be_kept_in_a_file() -> None:
    harness = counted(parallelism=2)
    harness.process_element("a")
    kept = pickle.dumps(harness.snapshot())
    del harness
    restored = counted(pickle.loads(kept))
    assert restored.state("count", "a") == 1


class Weighted(Count):
    """A later version of Count: it finds the state that Count has written, and has one more."""

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self.weight = runtime_context.get_state(ValueStateDescriptor("weight", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        self.weight.update((self.weight.value() or 10) + 1)
        yield from super().process_element(value, ctx)
        yield "weight", self.weight.value()


def test_a_later_version_of_the_function() -> None:
    harness = counted()
    harness.process_element("a")
    later = OperatorHarness(Weighted(), key_by=identity, restore=harness.snapshot())
    later.process_element("a")
    assert later.values == [("a", 2), ("weight", 11)]


@pytest.mark.row("S-OPS-20")
def test_state_finds_its_operator_by_uid() -> None:
    def before(values: DataStream) -> DataStream:
        return values.key_by(identity).process(Count()).uid("counter").name("first name")

    def after(values: DataStream) -> DataStream:
        words = values.map(identity)
        return words.key_by(identity).process(Count()).uid("counter").name("second name")

    harness = OperatorHarness(before)
    harness.process_element("a")
    restored = OperatorHarness(after, restore=harness.snapshot())
    restored.process_element("a")
    assert restored.values == [("a", 2)]


def test_state_that_finds_no_operator_is_refused() -> None:
    def other(values: DataStream) -> DataStream:
        return values.key_by(identity).process(Count()).uid("another")

    harness = counted()
    harness.process_element("a")
    with pytest.raises(StateError, match="no such operator") as refused:
        OperatorHarness(other, restore=harness.snapshot())
    assert "uid" in str(refused.value)


@pytest.mark.row("S-STATE-19")
def test_the_max_parallelism_cannot_change() -> None:
    harness = counted()
    harness.process_element("a")
    with pytest.raises(StateError, match="max parallelism") as refused:
        counted(harness.snapshot(), max_parallelism=64)
    assert "128" in str(refused.value)
