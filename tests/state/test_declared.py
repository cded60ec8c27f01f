"""Declared types of state: what does not fit is refused, what fits comes back as put in or as declared."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st

from firesteel.common.errors import TypeMismatchError
from firesteel.common.time import Time
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.common.types import Row
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.state._declared import ANY_KEY, ANY_VALUE, Declared
from firesteel.state._value_codec import ATOMS
from firesteel.state.backend import OperatorState, StateLimits

from .support import Driver, use

TENTH = 0.10000000149011612  # 0.1 in 32 bits
PAIR = Types.TUPLE([Types.STRING(), Types.FLOAT()])
NAMED = Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()])
BOTH = [False, True]
TYPED = StateLimits(typed_values=True)  # python.state.cache-size: 0
DECLARED = Declared("uid", applied=True)

FITTING: list[tuple[TypeInformation, Any, Any]] = [
    (Types.FLOAT(), 0.1, TENTH),
    (Types.FLOAT(), 1, 1.0),
    (Types.DOUBLE(), 3, 3.0),
    (Types.DOUBLE(), 0.1, 0.1),
    (Types.LONG(), True, 1),
    (Types.LONG(), -3.7, -3),
    (Types.INT(), 2**31 - 1, 2**31 - 1),
    (Types.BOOLEAN(), 2, True),
    (Types.STRING(), "a", "a"),
    (Types.BIG_DEC(), 5, Decimal(5)),
    (Types.SQL_DATE(), datetime.datetime(2024, 2, 29, 12), datetime.date(2024, 2, 29)),
    (PAIR, ("a", 0.1, "more"), ("a", TENTH)),
    (Types.TUPLE([PAIR, Types.LONG()]), (("a", 0.1), 5), (("a", TENTH), 5)),
    (NAMED, Row(1, None), Row(x=1, y=None)),
    (Types.LIST(Types.FLOAT()), [0.1], [TENTH]),
    (Types.MAP(Types.STRING(), Types.FLOAT()), {"a": 0.1, "b": None}, {"a": TENTH, "b": None}),
    (Types.PICKLED_BYTE_ARRAY(), {"any": (0.1, {5})}, {"any": (0.1, {5})}),
]
UNFITTING: list[tuple[TypeInformation, Any, str]] = [
    (Types.INT(), 2**31, "the number does not fit into 32 bits"),
    (Types.BYTE(), 200, "the number does not fit into 8 bits"),
    (Types.LONG(), "5", "expected int, got str"),
    (Types.STRING(), 5, "expected str, got int"),
    (Types.FLOAT(), "x", "expected float, got str"),
    (PAIR, ["a", 1.0], "expected tuple, got list"),
    (PAIR, ("a", "b"), "expected float, got str"),
    (NAMED, (1, "a"), "expected Row, got tuple"),
    (Types.LIST(Types.INT()), (1, 2), "expected list, got tuple"),
]

USES = ["value", "add", "add_all", "update", "put", "reducing", "broadcast"]


def uses(ttl: bool, type_info: TypeInformation) -> dict[str, tuple[Callable[..., Any], Callable[..., Any]]]:
    """How each kind of state is written and read."""

    def described(descriptor: Any) -> Any:
        if ttl:
            descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
        return descriptor

    value = described(ValueStateDescriptor("value", type_info))
    list_ = described(ListStateDescriptor("list", type_info))
    map_ = described(MapStateDescriptor("map", Types.STRING(), type_info))
    reducing = described(ReducingStateDescriptor("reducing", lambda old, new: new, type_info))
    return {
        "value": (lambda op, v: op.get_state(value).update(v), lambda op: op.get_state(value).value()),
        "add": (
            lambda op, v: op.get_list_state(list_).add(v),
            lambda op: list(op.get_list_state(list_).get())[-1],
        ),
        "add_all": (
            lambda op, v: op.get_list_state(list_).add_all([v]),
            lambda op: list(op.get_list_state(list_).get())[-1],
        ),
        "update": (
            lambda op, v: op.get_list_state(list_).update(iter([v])),
            lambda op: next(iter(op.get_list_state(list_).get())),
        ),
        "put": (lambda op, v: op.get_map_state(map_).put("k", v), lambda op: op.get_map_state(map_).get("k")),
        "reducing": (
            lambda op, v: op.get_reducing_state(reducing).add(v),
            lambda op: op.get_reducing_state(reducing).get(),
        ),
        "broadcast": (
            lambda op, v: op.broadcast_state(MapStateDescriptor("b", Types.STRING(), type_info)).put("k", v),
            lambda op: op.broadcast_state(MapStateDescriptor("b", Types.STRING(), type_info)).get("k"),
        ),
    }


@pytest.mark.parametrize("typed", BOTH)
@pytest.mark.parametrize("ttl", BOTH)
@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize(("type_info", "given_value", "declared"), FITTING)
def test_a_value_comes_back_as_it_was_put_in_or_as_it_was_declared(
    type_info: TypeInformation, given_value: Any, declared: Any, name: str, ttl: bool, typed: bool
) -> None:
    """At once and after the epoch, so that it does not depend on where an epoch is cut."""
    kept = declared if typed else given_value
    write, read = uses(ttl, type_info)[name]

    def work(op: OperatorState) -> Any:
        write(use(op, "key"), given_value)
        return read(op)

    driver = Driver(limits=StateLimits(typed_values=typed))
    assert repr(driver.run(driver.process(), work)) == repr(kept)
    assert repr(driver.run(driver.process(), lambda op: read(use(op, "key")))) == repr(kept)


@pytest.mark.parametrize("typed", BOTH)
@pytest.mark.parametrize("ttl", BOTH)
@pytest.mark.parametrize("name", USES)
@pytest.mark.parametrize(("type_info", "given_value", "reason"), UNFITTING)
def test_what_does_not_fit_is_refused_where_it_is_put_in(
    type_info: TypeInformation, given_value: Any, reason: str, name: str, ttl: bool, typed: bool
) -> None:
    write, _ = uses(ttl, type_info)[name]
    driver = Driver(limits=StateLimits(typed_values=typed))
    with pytest.raises(TypeMismatchError, match=reason):
        driver.run(driver.process(), lambda op: write(use(op, "key"), given_value))


def test_the_error_says_which_state_what_and_what_to_do() -> None:
    driver = Driver()
    with pytest.raises(TypeMismatchError) as refused:
        driver.run(
            driver.process(),
            lambda op: use(op, "key").get_list_state(ListStateDescriptor("seen", PAIR)).add(("a", "b")),
        )
    text = str(refused.value)
    assert "'b' cannot be an element of state 'seen', declared as" in text
    assert "expected float, got str" in text
    assert "it is [1] of ('a', 'b')" in text
    assert "Types.PICKLED_BYTE_ARRAY()" in text
    assert refused.value.uid is not None


def test_keys_of_a_map_are_those_of_its_type() -> None:
    descriptor = MapStateDescriptor("map", Types.FLOAT(), Types.STRING())

    def work(op: OperatorState) -> Any:
        entries = use(op, "key").get_map_state(descriptor)
        entries.put(0.1, "a")
        entries.put(TENTH, "b")
        entries.put(1, "c")
        entries.put_all({2: "d"})
        entries.remove(2.0)
        return entries.get(0.1), entries.contains(1.0), sorted(entries.items())

    expected = ("b", True, [(TENTH, "b"), (1.0, "c")])
    driver = Driver(limits=TYPED)
    assert driver.run(driver.process(), work) == expected


@pytest.mark.parametrize("key", [5, b"a", None])
@pytest.mark.parametrize("name", ["get", "contains", "remove"])
@pytest.mark.parametrize("state", ["get_map_state", "broadcast_state"])
def test_a_key_of_another_type_is_refused(state: str, name: str, key: Any) -> None:
    descriptor = MapStateDescriptor("map", Types.STRING(), Types.INT())

    def work(op: OperatorState) -> Any:
        entries = getattr(use(op, "key"), state)(descriptor)
        return getattr(entries, name)(key)

    driver = Driver()
    with pytest.raises(TypeMismatchError, match="cannot be a key of state 'map'"):
        driver.run(driver.process(), work)


def test_none_is_no_value() -> None:
    """PyFlink fails where a type is declared and None is updated; as in Java it clears."""
    descriptor = ValueStateDescriptor("value", Types.LONG())

    def work(op: OperatorState) -> Any:
        value = use(op, "key").get_state(descriptor)
        value.update(5)
        value.update(None)
        return value.value()

    driver = Driver()
    assert driver.run(driver.process(), work) is None


KINDS: list[tuple[TypeInformation, st.SearchStrategy[Any]]] = [
    (Types.LONG(), st.integers(-(2**63), 2**63 - 1)),
    (Types.STRING(), st.text()),
    (Types.DOUBLE(), st.floats()),
    (Types.BOOLEAN(), st.booleans()),
]


@given(st.sampled_from(KINDS), st.data())
def test_values_that_are_already_right_are_not_looked_at(kind: Any, data: st.DataObject) -> None:
    """A look-up of the class is all that a record costs."""
    type_info, values = kind
    value = data.draw(values)
    declared = DECLARED.value(type_info, "s")
    assert type(value) in declared.plain
    assert declared.to_cached(value) is value


def test_types_of_any_object_cost_nothing() -> None:
    anything = Types.PICKLED_BYTE_ARRAY()
    assert DECLARED.value(anything, "s") is ANY_VALUE
    assert DECLARED.list(Types.LIST(anything), "s") is ANY_VALUE
    assert DECLARED.map(Types.MAP(anything, anything), "s") == (ANY_KEY, ANY_VALUE)
    assert ANY_VALUE.plain == ATOMS
