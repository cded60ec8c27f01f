"""Declared types of keys, and of state as functions use it; values: ``tests/state/test_declared.py``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from firesteel.common.errors import JobExecutionError
from firesteel.common.typeinfo import Types
from firesteel.common.types import Row
from firesteel.datastream import (
    DataStream,
    KeyedProcessFunction,
    ProcessFunction,
    RuntimeContext,
    RuntimeExecutionMode,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.runtime import routers

from .skew_support import add_up, make_env
from .support import collect, environment, local_platform

TENTH = 0.10000000149011612  # 0.1 in 32 bits


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


class KeepText(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.STRING()))

    def process_element(self, value: Any, ctx: Any) -> None:
        self.last.update(value)


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("batch", [False, True])
def test_keys_that_become_equal_meet(parallelism: int, batch: bool) -> None:
    keys = [0.1, TENTH, 0.2, 1, 1.0, None, None]
    with local_platform():
        env = environment(parallelism, epoch_records=3)
        if batch:
            env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        stream = env.from_collection(list(range(len(keys)))).key_by(keys.__getitem__, Types.FLOAT())
        found = collect(stream.process(Count()))
    expected = [(TENTH, 1), (TENTH, 2), (0.20000000298023224, 1), (1.0, 1), (1.0, 2), (None, 1), (None, 2)]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize("combined", [False, True])
@pytest.mark.parametrize("salted", [False, True])
def test_keys_that_become_equal_meet_where_they_are_aggregated_before(combined: bool, salted: bool) -> None:
    records = [((0.1, TENTH)[i % 2], 1) for i in range(100)]
    with local_platform():
        env = make_env(combined)
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        keys: Any = env.from_collection(records).key_by(lambda v: v[0], Types.FLOAT())
        (result,) = collect((keys.salted(3) if salted else keys).reduce(add_up))
    assert result[1] == 100


def failure(build: Callable[[DataStream], DataStream]) -> str:
    with local_platform(), pytest.raises(JobExecutionError) as failed:
        collect(build(environment(1).from_collection([1, 2]).map(lambda v: v).name("numbers")))
    return str(failed.value)


def test_a_key_that_does_not_fit_is_refused() -> None:
    said = failure(
        lambda s: s.key_by(lambda v: ("a", v), Types.TUPLE([Types.STRING(), Types.STRING()])).process(Count())
    )
    assert "1 does not fit the declared key type" in said
    assert "it is [1] of the key ('a', 1)" in said
    assert "let the key selector return what key_type declares" in said
    assert "numbers" in said


def test_a_value_that_does_not_fit_its_state_is_refused_with_operator_and_state() -> None:
    said = failure(lambda s: s.key_by(lambda v: v).process(KeepText()).name("keeper"))
    assert "1 cannot be a value of state 'last', declared as" in said
    assert "expected str, got int" in said
    assert "keeper" in said
    assert "declare another type" in said


@pytest.mark.parametrize(
    "key_type", [Types.STRING(), Types.DOUBLE(), Types.LONG(), Types.PICKLED_BYTE_ARRAY()]
)
def test_keys_that_are_already_right_are_handed_on_as_they_are(key_type: Any) -> None:
    """Their classes are compared in C, for a whole batch."""
    coerce = routers.compile_key_coercion(key_type)
    keys: list[Any] = {Types.STRING(): ["a", "b"], Types.DOUBLE(): [0.1]}.get(key_type, [1, 2])
    assert coerce is None or coerce(keys) is keys
    assert (coerce is None) == (key_type == Types.PICKLED_BYTE_ARRAY())


def test_rows_as_keys_get_the_declared_names() -> None:
    with local_platform():
        stream = environment(2).from_collection([1, 2, 3])
        named = Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()])
        found = collect(stream.key_by(lambda v: Row(v % 2, None), named).process(Count()))
    assert sorted(map(repr, found)) == [
        "(Row(x=0, y=None), 1)",
        "(Row(x=1, y=None), 1)",
        "(Row(x=1, y=None), 2)",
    ]


class Same(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield value


@pytest.mark.parametrize("chained", [True, False])
@pytest.mark.parametrize(
    "behind",
    [
        lambda stream: stream.map(lambda value: value),
        lambda stream: stream.flat_map(lambda value: [value]),
        lambda stream: stream.filter(lambda value: value == 0.1),
        lambda stream: stream.process(Same()),
    ],
    ids=["map", "flat_map", "filter", "process"],
)
def test_a_type_is_not_applied_between_two_functions_of_a_chain(
    behind: Callable[[DataStream], DataStream], chained: bool
) -> None:
    with local_platform():
        env = environment(1)
        env.configuration.set_string("python.operator-chaining.enabled", str(chained).lower())
        found = collect(behind(env.from_collection([0.1]).map(lambda value: value, Types.FLOAT())))
    if chained:
        assert found == [0.1]
    else:
        assert found in ([TENTH], []), "a filter finds another number"
