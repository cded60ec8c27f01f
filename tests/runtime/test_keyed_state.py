"""Keyed state in running programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from firesteel.common.errors import JobExecutionError, StateError, UnsupportedFeatureError
from firesteel.common.typeinfo import Types
from firesteel.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    MapFunction,
    ReduceFunction,
    RuntimeContext,
)
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from firesteel.testing.local_platform import LocalEngine

from .support import collect, environment, local_platform

ANY = Types.PICKLED_BYTE_ARRAY()
CUTS = pytest.mark.parametrize("epoch_records", [1, 2, None])


class Commands(KeyedProcessFunction):
    """Each record is (key, method, *arguments) of one state; yields (key, result)."""

    def __init__(self, make: Any) -> None:
        self.make = make

    def open(self, runtime_context: RuntimeContext) -> None:
        self.state = self.make(runtime_context)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        _, method, *arguments = value
        result = getattr(self.state, method)(*arguments)
        yield list(result) if hasattr(result, "__next__") or method in _ITERABLES else result


_ITERABLES = ("keys", "values", "items", "get_all")


def results(make: Any, commands: list[Any], epoch_records: int | None, fresh: bool = True) -> list[Any]:
    """What the commands returned, each epoch in a process that has seen nothing."""
    with local_platform(lambda: LocalEngine(fresh_process=lambda: fresh)):
        env = environment(1, epoch_records=epoch_records)
        return collect(env.from_collection(commands).key_by(lambda c: c[0]).process(Commands(make)))


@CUTS
@pytest.mark.row("S-STATE-05")
def test_value_state(epoch_records: int | None) -> None:
    """And 03: keys do not see each other."""
    got = results(
        lambda c: c.get_state(ValueStateDescriptor("v", ANY)),
        [
            ("a", "value"),
            ("a", "update", 1),
            ("a", "value"),
            ("b", "value"),
            ("b", "update", [2]),
            ("a", "value"),
            ("b", "value"),
            ("a", "clear"),
            ("a", "value"),
            ("b", "value"),
        ],
        epoch_records,
    )
    assert got == [None, None, 1, None, None, 1, [2], None, None, [2]]


@CUTS
@pytest.mark.row("S-STATE-06")
def test_list_state(epoch_records: int | None) -> None:
    got = results(
        lambda c: c.get_list_state(ListStateDescriptor("l", ANY)),
        [
            ("a", "get"),
            ("a", "add", 3),
            ("a", "add", 1),
            ("a", "add_all", [2, 2]),
            ("a", "get"),
            ("b", "get"),
            ("a", "update", [9, 8]),
            ("a", "get"),
            ("a", "clear"),
            ("a", "get"),
        ],
        epoch_records,
    )
    lists = [list(r) for r in got if r is not None]
    assert lists == [[], [3, 1, 2, 2], [], [9, 8], []]


@CUTS
@pytest.mark.row("S-STATE-07")
def test_map_state(epoch_records: int | None) -> None:
    got = results(
        lambda c: c.get_map_state(MapStateDescriptor("m", ANY, ANY)),
        [
            ("a", "is_empty"),
            ("a", "put", "x", 1),
            ("a", "put_all", {"y": 2, "z": 3}),
            ("a", "get", "x"),
            ("a", "contains", "y"),
            ("a", "remove", "y"),
            ("a", "contains", "y"),
            ("a", "keys"),
            ("a", "items"),
            ("a", "is_empty"),
            ("b", "is_empty"),
            ("b", "get", "x"),
            ("a", "clear"),
            ("a", "is_empty"),
        ],
        epoch_records,
    )
    got[7], got[8] = sorted(got[7]), sorted(got[8])
    assert got == [
        True, None, None, 1, True, None, False, ["x", "z"], [("x", 1), ("z", 3)], False, True, None, None,
        True,
    ]  # fmt: skip


class Plus(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return value1 + value2


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


@CUTS
@pytest.mark.row("S-STATE-08")
def test_reducing_state(epoch_records: int | None) -> None:
    """The first value is stored as it is."""
    got = results(
        lambda c: c.get_reducing_state(ReducingStateDescriptor("r", Plus(), ANY)),
        [
            ("a", "get"),
            ("a", "add", 1),
            ("a", "get"),
            ("a", "add", 2),
            ("a", "add", 3),
            ("a", "get"),
            ("b", "get"),
        ],
        epoch_records,
    )
    assert got == [None, None, 1, None, None, 6, None]


@CUTS
@pytest.mark.row("S-STATE-09")
def test_aggregating_state(epoch_records: int | None) -> None:
    got = results(
        lambda c: c.get_aggregating_state(AggregatingStateDescriptor("g", Average(), ANY)),
        [("a", "get"), ("a", "add", 1), ("a", "add", 2), ("a", "get"), ("a", "clear"), ("a", "get")],
        epoch_records,
    )
    assert got == [None, None, None, 1.5, None, None]


class Careless(KeyedProcessFunction):
    """Changes what it got from state, what it put into state, and what it emits, without an update."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("v", ANY))
        self.map = runtime_context.get_map_state(MapStateDescriptor("m", ANY, ANY))
        self.list = runtime_context.get_list_state(ListStateDescriptor("l", ANY))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[Any]:
        if value == 0:
            mine = [1]
            self.value.update(mine)
            self.map.put("k", mine)
            self.list.add(mine)
            mine.append(2)
        else:
            for got in (self.value.value(), self.map.get("k"), next(iter(self.list.get()))):
                got.append(3)
        yield self.value.value(), self.map.get("k"), list(self.list.get())


@CUTS
@pytest.mark.row("S-STATE-31")
def test_a_value_that_is_changed_without_an_update_does_not_change_in_the_state(
    epoch_records: int | None,
) -> None:
    class Spoil(MapFunction):
        def map(self, value: Any) -> Any:
            for part in value:
                part.append("spoilt")
            return "spoilt"

    env = environment(1, epoch_records=epoch_records)
    out = env.from_collection([0, 1, 2]).key_by(lambda v: "k").process(Careless())
    out.map(Spoil())
    assert collect(out) == [([1], [1], [[1]])] * 3


@CUTS
def test_the_result_of_a_reduce_may_be_changed_by_the_next_operator(epoch_records: int | None) -> None:
    def spoil(value: list[int]) -> int:
        value.append(1000)
        return sum(value) - 1000

    env = environment(1, epoch_records=epoch_records)
    sums = env.from_collection([[1], [2], [3]]).key_by(lambda v: 0).reduce(lambda a, b: [sum(a) + sum(b)])
    assert collect(sums.map(spoil)) == [1, 3, 6]


def failure(stream: Any) -> BaseException:
    with pytest.raises(JobExecutionError) as failed:
        collect(stream)
    assert failed.value.__cause__ is not None
    return failed.value.__cause__


@pytest.mark.row("S-STATE-03")
def test_state_without_a_current_key_is_refused() -> None:
    """No access in open()."""

    class Early(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_state(ValueStateDescriptor("v", ANY)).update(1)

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None: ...

    error = failure(environment(1).from_collection([1]).key_by(lambda v: v).process(Early()))
    assert isinstance(error, StateError)
    assert "key" in str(error)


@pytest.mark.row("S-STATE-04")
def test_keyed_state_needs_a_keyed_stream() -> None:
    class Plain(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.state = runtime_context.get_state(ValueStateDescriptor("v", ANY))

        def map(self, value: Any) -> Any:
            return value

    error = failure(environment(1).from_collection([1]).map(Plain()).name("lonely"))
    assert isinstance(error, UnsupportedFeatureError)
    assert "key_by" in str(error)
    assert "lonely" in str(error)


@pytest.mark.row("S-STATE-02")
def test_one_name_for_two_kinds_of_state_is_refused() -> None:
    class Twofold(KeyedProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_state(ValueStateDescriptor("same", ANY))
            runtime_context.get_list_state(ListStateDescriptor("same", ANY))

        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> None: ...

    error = failure(environment(1).from_collection([1]).key_by(lambda v: v).process(Twofold()))
    assert isinstance(error, StateError)
    assert "same" in str(error)


def test_a_rich_map_on_a_keyed_stream_has_keyed_state() -> None:
    class CountSoFar(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.state = runtime_context.get_state(ValueStateDescriptor("n", Types.LONG()))

        def map(self, value: Any) -> Any:
            self.state.update((self.state.value() or 0) + 1)
            return value, self.state.value()

    env = environment(2, epoch_records=2)
    out = collect(env.from_collection(list("abacab")).key_by(lambda v: v).map(CountSoFar()))
    assert sorted(out) == [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2), ("c", 1)]
