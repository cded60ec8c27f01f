"""Functions that cannot be pickled are refused with the name of what is at fault."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest

from firesteel.common.errors import UnpicklableFunctionError
from firesteel.datastream import MapFunction
from firesteel.program.checks import check_picklable
from firesteel.program.operators import Map

LOCK = threading.Lock()


def add(value: Any, lock: Any) -> Any:
    return value


def error_of(function: Any) -> UnpicklableFunctionError:
    with pytest.raises(UnpicklableFunctionError) as error:
        check_picklable(function, "Map")
    assert error.value.operator == "Map"
    assert error.value.hint
    assert error.value.__cause__ is not None
    return error.value


def in_main(function: Any) -> Any:
    """As if the script had defined it: such functions travel by value, with the globals they use."""
    function.__module__ = "__main__"
    return function


def test_what_can_be_pickled_passes() -> None:
    base = [1, 2]
    check_picklable(lambda v: v + base[0], "Map")
    check_picklable(Map(str), "Map")
    check_picklable([1, "a", {"b": 2}], "Map")


def test_a_captured_variable_is_named() -> None:
    client = threading.Lock()
    assert "variable 'client' (a lock)" in str(error_of(lambda v: client))


def test_a_global_is_named() -> None:
    assert "global 'LOCK' (a lock)" in str(error_of(in_main(lambda v: LOCK)))


def test_a_global_of_an_inner_function_is_named() -> None:
    assert "global 'LOCK'" in str(error_of(in_main(lambda v: [LOCK for _ in v])))


def test_an_attribute_of_a_function_object_is_named() -> None:
    class Asking(MapFunction):
        def __init__(self) -> None:
            self.name = "x"
            self.client = threading.Lock()

        def map(self, value: Any) -> Any:
            return value

    asking = Asking()
    assert "attribute 'client' (a lock)" in str(error_of(asking))
    assert "attribute 'client'" in str(error_of(Map(asking)))
    assert "the object of method 'map', attribute 'client'" in str(error_of(asking.map))


def test_what_lies_deeper_is_named_with_its_way() -> None:
    config = {"clients": [threading.Lock()]}
    assert "variable 'config', the entry 'clients', element 0 (a lock)" in str(error_of(lambda v: config))


def test_arguments_and_defaults_are_named() -> None:
    lock = threading.Lock()
    assert "argument 'lock' of the partial" in str(error_of(partial(add, lock=lock)))
    assert "default of parameter 'held'" in str(error_of(in_main(lambda v, *, held=lock: v)))


def test_an_object_that_refuses_by_itself_is_named() -> None:
    class Stubborn:
        def __reduce__(self) -> Any:
            raise RuntimeError("I stay here")

    stubborn = Stubborn()
    text = str(error_of(lambda v: stubborn))
    assert "variable 'stubborn' (a Stubborn) cannot be pickled: RuntimeError: I stay here" in text
