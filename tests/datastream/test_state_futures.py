"""The asynchronous methods give what their synchronous sisters do."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common.typeinfo import Types
from firesteel.datastream import AggregateFunction
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateFuture,
    ValueStateDescriptor,
)
from firesteel.state.backend import OperatorState
from tests.state.support import Driver, use

ANY = Types.PICKLED_BYTE_ARRAY()


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def result(future: StateFuture[Any]) -> Any:
    found: list[Any] = []
    assert result_of(future.then_accept(found.append)) is None
    return found[0]


def result_of(future: StateFuture[Any]) -> Any:
    return future.then_combine(StateFuture(None), lambda mine, _: mine)._result


def operator() -> OperatorState:
    state = Driver().process()
    return use(state.operator("op"), "key")


@pytest.mark.row("S-STATE-29")
def test_each_kind_of_state() -> None:
    op = operator()
    value = op.get_state(ValueStateDescriptor("v", ANY))
    assert result(value.async_value()) is None
    assert result(value.async_update(1)) is None
    assert result(value.async_value()) == value.value() == 1
    value.async_clear()
    assert value.value() is None

    items = op.get_list_state(ListStateDescriptor("l", ANY))
    items.async_add(1)
    items.async_add_all([2, 3])
    assert result(items.async_get().then_apply(list)) == [1, 2, 3]
    items.async_update([4])
    assert list(items) == [4]

    table = op.get_map_state(MapStateDescriptor("m", ANY, ANY))
    assert result(table.async_is_empty()) is True
    table.async_put("a", 1)
    table.async_put_all({"b": 2, "c": 3})
    table.async_remove("c")
    assert result(table.async_get("a")) == 1
    assert result(table.async_contains("c")) is False
    assert [list(result(f())) for f in (table.async_items, table.async_keys, table.async_values)] == [
        [("a", 1), ("b", 2)], ["a", "b"], [1, 2],
    ]  # fmt: skip

    reducing = op.get_reducing_state(ReducingStateDescriptor("r", max, ANY))
    aggregating = op.get_aggregating_state(AggregatingStateDescriptor("g", Sum(), ANY))
    for state in (reducing, aggregating):
        state.async_add(2)
        state.async_add(3)
    assert (result(reducing.async_get()), result(aggregating.async_get())) == (3, 5)


def test_accesses_are_chained() -> None:
    value = operator().get_state(ValueStateDescriptor("v", ANY))
    count = value.async_value().then_compose(
        lambda held: value.async_update((held or 0) + 1).then_compose(lambda _: value.async_value())
    )
    assert result(count) == 1
    assert result(count.then_combine(value.async_value(), lambda a, b: (a, b))) == (1, 1)
    one = StateFuture(1)
    assert result(one.then_conditionally_apply(bool, lambda v: v + 1)) == (True, 2)
    assert result(one.then_conditionally_apply(lambda v: v > 1, lambda v: v + 1)) == (False, None)
    seen: list[Any] = []
    assert (
        result(one.then_conditionally_accept(lambda v: v > 1, seen.append, lambda v: seen.append(-v)))
        is False
    )
    assert seen == [-1]
    assert result(one.then_conditionally_compose(bool, lambda v: value.async_value())) == (True, 1)
    assert result(one.then_conditionally_compose(lambda v: False, lambda v: value.async_value())) == (
        False,
        None,
    )
