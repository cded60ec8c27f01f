"""Keys of any kind, with every operator that has keys: what pickle writes of them says which are one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from firesteel.common.errors import UnstableKeyError
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.common.types import Row
from firesteel.datastream import (
    CoProcessFunction,
    DataStream,
    KeyedProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    RuntimeExecutionMode,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.datastream.window import CountTumblingWindowAssigner

from .support import collect, environment

CUTS = pytest.mark.parametrize("epoch_records", [1, 2, None])


class Plain:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Plain({self.value!r})"


@dataclass
class Mutable:
    value: int


KINDS: dict[str, Callable[[int], Any]] = {
    "list": lambda i: [i, [i]],
    "dict": lambda i: {"i": i},
    "set": lambda i: {i, -i, "x"},
    "bytearray": lambda i: bytearray([i]),
    "object": Plain,
    "mutable dataclass": Mutable,
    "row": lambda i: Row(i, [i]),
    "array": lambda i: np.array([i, i]),
    "nested": lambda i: (i, {"a": [Plain(i)]}),
    "NumPy number": np.int64,
}

_DATA = [0, 1, 0, 2, 1, 0]
_COUNTS = {0: 3, 1: 2, 2: 1}


def text_of(key: Any) -> str:
    """The same of equal keys: the order in which a set gives its values depends on how it was built."""
    return repr(sorted(key, key=repr)) if isinstance(key, set) else repr(key)


class CountKey(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        key = ctx.get_current_key()
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(10)
        if isinstance(key, list):
            key.append("changed")  # by a function: it is the function's own copy

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield text_of(ctx.get_current_key()), self.count.value()


class OfBoth(CountKey, CoProcessFunction):  # type: ignore[misc]
    def process_element1(self, value: Any, ctx: Any) -> Any:
        return self.process_element(value, ctx)

    process_element2 = process_element1


class CountElements(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield text_of(key), len(list(elements))


def _processed(stream: DataStream, select: Callable[[int], Any]) -> DataStream:
    return stream.key_by(select).process(CountKey())


def _connected(stream: DataStream, select: Callable[[int], Any]) -> DataStream:
    other = stream.filter(lambda _: False)
    return stream.key_by(select).connect(other.key_by(select)).process(OfBoth())


def _counted(stream: DataStream, select: Callable[[int], Any]) -> DataStream:
    ends = stream.union(stream.map(lambda i: i)).key_by(select)
    return ends.window(CountTumblingWindowAssigner.of(2)).process(CountElements())


OPERATORS = {"process": _processed, "connect": _connected}


def shown(kind: str, i: int) -> str:
    return repr(i) if kind == "NumPy number" else text_of(KINDS[kind](i))


@CUTS
@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("kind", KINDS)
def test_equal_keys_meet(kind: str, operator: str, epoch_records: int | None) -> None:
    make = KINDS[kind]
    env = environment(2, epoch_records=epoch_records)
    out = collect(OPERATORS[operator](env.from_collection(_DATA), lambda i: make(i)))
    assert sorted(out) == sorted((shown(kind, i), n) for i, n in _COUNTS.items())


@pytest.mark.parametrize("kind", KINDS)
def test_equal_keys_meet_in_batch_mode(kind: str) -> None:
    make = KINDS[kind]
    env = environment(2)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    out = collect(_processed(env.from_collection(_DATA), lambda i: make(i)))
    assert sorted(out) == sorted((shown(kind, i), n) for i, n in _COUNTS.items())


@CUTS
@pytest.mark.parametrize("kind", KINDS)
def test_equal_keys_meet_when_they_are_reduced(kind: str, epoch_records: int | None) -> None:
    make = KINDS[kind]
    env = environment(2, epoch_records=epoch_records)
    pairs = env.from_collection(_DATA).map(lambda i: (i, 1))
    sums = pairs.key_by(lambda v: make(v[0])).reduce(lambda a, b: (a[0], a[1] + b[1]))
    expected = [(i, n + 1) for i, count in _COUNTS.items() for n in range(count)]
    assert sorted(collect(sums)) == sorted(expected)


@CUTS
@pytest.mark.parametrize("kind", KINDS)
def test_equal_keys_meet_in_windows(kind: str, epoch_records: int | None) -> None:
    make = KINDS[kind]
    env = environment(2, epoch_records=epoch_records)
    out = collect(_counted(env.from_collection(_DATA), lambda i: make(i)))
    assert sorted(out) == sorted((shown(kind, i), 2) for i in _DATA)


@pytest.mark.parametrize("key_type", [Types.LIST(Types.INT()), Types.MAP(Types.STRING(), Types.INT())])
def test_lists_and_maps_may_be_declared(key_type: TypeInformation) -> None:
    """A declared map has no order, as in Flink."""
    env = environment(2)
    lists = [[1, 2], [1], [1, 2]]
    maps = [{"a": 1, "b": 2}, {}, {"b": 2, "a": 1}]
    keys = lists if key_type == Types.LIST(Types.INT()) else maps
    stream = env.from_collection([0, 1, 2]).key_by(lambda i: keys[i], key_type=key_type).process(CountKey())
    assert sorted(collect(stream)) == sorted([(repr(keys[0]), 2), (repr(keys[1]), 1)])


@pytest.mark.parametrize(
    "array",
    [Types.PRIMITIVE_ARRAY(Types.INT()), Types.BASIC_ARRAY(Types.INT()), Types.OBJECT_ARRAY(Types.STRING())],
)
def test_declared_arrays_are_refused_when_the_program_is_built(array: TypeInformation) -> None:
    stream = environment().from_collection([1])
    for key_type in (array, Types.ROW([Types.INT(), array]), Types.TUPLE([array])):
        with pytest.raises(UnstableKeyError, match="cannot be a key") as refused:
            stream.key_by(lambda v: [v], key_type=key_type)
        assert refused.value.operator == "key_by"
