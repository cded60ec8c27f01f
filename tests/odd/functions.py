"""Functions of odd kinds, and functions that give or raise what they must not."""

from __future__ import annotations

import functools
import operator
import threading
from typing import Any

import numpy as np

from firesteel.common import Row
from firesteel.datastream import DataStream
from firesteel.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
)

from .core import Case, Here, area

CASES: list[Case] = []
case = area("functions", CASES)


class Plus:
    def __init__(self, n: int) -> None:
        self.n = n

    def __call__(self, value: int) -> int:
        return value + self.n

    def add(self, value: int) -> int:
        return value + self.n


class Nothing(MapFunction):
    """A function that forgets its method."""


class Doubled(FlatMapFunction):
    def flat_map(self, value: int) -> Any:
        return [value, value]


class NoSuper(MapFunction):
    def __init__(self) -> None:
        self.opened = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        self.opened += 1

    def map(self, value: int) -> int:
        return value + self.opened


class Raising(MapFunction):
    def __init__(self, where: str) -> None:
        self.where = where

    def open(self, runtime_context: RuntimeContext) -> None:
        if self.where == "open":
            raise OSError("no database")

    def close(self) -> None:
        if self.where == "close":
            raise OSError("no database")

    def map(self, value: int) -> int:
        return value


async def coroutine(value: int) -> int:
    return value


def generator(value: int) -> Any:
    yield value


LOCK = threading.Lock()
opened = open(__file__)  # noqa: SIM115
opened.close()

MAPS: list[tuple[str, Any]] = [
    ("a map that is a partial", functools.partial(operator.add, 1)),
    ("a map that is a bound method", Plus(1).add),
    ("a map that is an object with __call__", Plus(1)),
    ("a map that is a builtin", abs),
    ("a map that is a class", Plus),
    ("a map that is a method of a builtin class", int.bit_length),
    ("a map that is an operator.itemgetter", operator.methodcaller("__add__", 1)),
    ("a map that is a numpy ufunc", np.negative),
    ("a map that is cached with lru_cache", functools.lru_cache(Plus(1).add)),
    (
        "a map that is a lambda with a mutable default",
        lambda v, seen=[]: (seen.append(v), len(seen))[1] * 0 + v,
    ),
    ("a map that is None", None),
    ("a map that is a number", 5),
    ("a map that is a coroutine function", coroutine),
    ("a map that is a generator function", generator),
    ("a map that is a MapFunction class", Nothing),
    ("a FlatMapFunction as a map", Doubled()),
    ("a MapFunction with open and no super().__init__", NoSuper()),
    ("an open that raises", Raising("open")),
    ("a close that raises", Raising("close")),
    ("a map of no argument", lambda: 1),
    ("a map of two arguments", lambda a, b: 1),
    ("a map that recurses for ever", lambda v: recurse(v)),
    ("a map that is too deep for one record only", lambda v: recurse(v) if v == 3 else v),
    ("a map that gives None", lambda v: None),
    ("a map that prints", print),
    ("a map that closes over a lock", lambda v: LOCK and v),
    ("a map that closes over a closed file", lambda v: opened.name and v),
    ("a map that raises an exception that cannot be pickled", lambda v: fail(v)),
    ("a map that raises an exception whose text raises", lambda v: fail_badly(v)),
    ("a map that raises an ExceptionGroup", lambda v: fail_in_a_group(v)),
    ("a map that uses a name that is not defined", lambda v: not_defined),  # type: ignore[name-defined]  # noqa: F821
    ("a map that raises None", lambda v: (_ for _ in ()).throw(None)),  # type: ignore[arg-type]
]


def recurse(value: int) -> int:
    return recurse(value) + 1


class Unsendable(Exception):
    def __init__(self, a: int, lock: Any) -> None:
        super().__init__("held", lock)


class Silent(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


def fail(value: int) -> None:
    raise Unsendable(1, LOCK)


def fail_badly(value: int) -> None:
    raise Silent


def fail_in_a_group(value: int) -> None:
    raise ExceptionGroup("both", [ValueError("a"), OSError("b")])


for _words, _function in MAPS:
    case(_words)(lambda here, f=_function: here.of(1, -2, 3).map(f))


class NoTruth:
    def __bool__(self) -> bool:
        raise RuntimeError("neither")


FILTERS: list[tuple[str, Any]] = [
    ("a filter that gives None", lambda v: None),
    ("a filter that gives a text", lambda v: "no"),
    ("a filter that gives a numpy bool", lambda v: np.bool_(v > 1)),
    ("a filter that gives an empty array", lambda v: np.array([])),
    ("a filter that gives an array of two", lambda v: np.array([True, True])),
    ("a filter that gives an object without a truth", lambda v: NoTruth()),
    ("a filter that gives a coroutine", coroutine),
    ("a filter that is a generator function", generator),
]
for _words, _function in FILTERS:
    case(_words)(lambda here, f=_function: here.of(1, 2).filter(f))


def raising_midway(value: int) -> Any:
    yield value
    raise ValueError("midway")


FLAT: list[tuple[str, Any]] = [
    ("a flat_map that gives None", lambda v: None),
    ("a flat_map that gives a number", lambda v: 5),
    ("a flat_map that gives a text", lambda v: "ab"),
    ("a flat_map that gives a dict", lambda v: {"a": 1}),
    ("a flat_map that gives a Row", lambda v: Row(1, 2)),
    ("a flat_map that gives bytes", lambda v: b"ab"),
    ("a flat_map that gives None among others", lambda v: [None, v]),
    ("a flat_map that raises midway", raising_midway),
    ("a flat_map that gives a generator expression that raises", lambda v: (1 // x for x in [1, 0])),
    ("a flat_map that gives a class", lambda v: list),
    ("a flat_map that gives a generator function, not called", lambda v: generator),
]
for _words, _function in FLAT:
    case(_words)(lambda here, f=_function: here.of(1, 2).flat_map(f))


def processed(here: Here, answer: Any) -> DataStream:
    class Answering(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            return answer

    return here.of(1).process(Answering())


for _words, _answer in [
    ("a process_element that returns a number", 5),
    ("a process_element that returns a text", "ab"),
    ("a process_element that returns a list", [1, 2]),
    ("a process_element that returns a dict", {"a": 1}),
]:
    case(_words)(lambda here, answer=_answer: processed(here, answer))


@case("a reduce that gives None")
def _(here: Here) -> Any:
    return here.of(1, 2, 3).key_by(lambda v: 0).reduce(lambda a, b: None)


@case("a reduce that gives another type")
def _(here: Here) -> Any:
    return here.of(1, 2, 3).key_by(lambda v: 0).reduce(lambda a, b: f"{a}{b}")


@case("a reduce of a class that changes its first argument")
def _(here: Here) -> Any:
    class Appending(ReduceFunction):
        def reduce(self, value1: Any, value2: Any) -> Any:
            value1.extend(value2)
            return value1

    return here.of([1], [2], [3]).key_by(lambda v: 0).reduce(Appending())


@case("a sum of texts")
def _(here: Here) -> Any:
    return here.of(("k", "a"), ("k", "b")).key_by(lambda r: r[0]).sum(1)


@case("a sum of a field that is not there")
def _(here: Here) -> Any:
    return here.of(("k", 1), ("k", 2)).key_by(lambda r: r[0]).sum(7)


@case("a sum of a field below zero")
def _(here: Here) -> Any:
    return here.of(("k", 1), ("k", 2)).key_by(lambda r: r[0]).sum(-1)


@case("a sum of None and of NaN")
def _(here: Here) -> Any:
    return here.of(("k", 1), ("k", float("nan")), ("k", None)).key_by(lambda r: r[0]).sum(1)


@case("a max of values that cannot be compared")
def _(here: Here) -> Any:
    return here.of(("k", 1), ("k", "a")).key_by(lambda r: r[0]).max(1)


@case("an async process_element")
def _(here: Here) -> Any:
    class Waiting(ProcessFunction):
        async def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:  # type: ignore[override]
            return [value]

    return here.of(1).process(Waiting())


@case("an async generator as process_element")
def _(here: Here) -> Any:
    class Waiting(ProcessFunction):
        async def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:  # type: ignore[override]
            yield value

    return here.of(1).process(Waiting())


@case("an async method map of a MapFunction")
def _(here: Here) -> Any:
    class Waiting(MapFunction):
        async def map(self, value: Any) -> Any:
            return value

    return here.of(1).map(Waiting())


@case("a method filter that yields")
def _(here: Here) -> Any:
    class Yielding(FilterFunction):
        def filter(self, value: Any) -> Any:
            yield value

    return here.of(1).filter(Yielding())
