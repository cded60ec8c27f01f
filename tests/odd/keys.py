"""Keys of odd types and values, and key selectors that misbehave."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pandas as pd

from firesteel.common import Row, Types
from firesteel.datastream import DataStream, RuntimeContext
from firesteel.datastream.functions import KeyedCoProcessFunction, KeyedProcessFunction
from firesteel.datastream.state import ValueStateDescriptor

from .core import Case, Here, area

CASES: list[Case] = []
case = area("keys", CASES)


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


Point = namedtuple("Point", "x y")


@dataclass(frozen=True)
class Place:
    name: str


class Angry:
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        raise RuntimeError("hash")


class Unsendable:
    def __reduce__(self) -> Any:
        raise RuntimeError("I stay here")


class Count(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield count


def counted(here: Here, *keys: Any) -> str:
    """How many keys two subtasks see, which get the records from two others."""
    stream = here.env(2).from_collection([(key,) for key in keys]).rebalance().map(lambda r: r)
    return number_of_keys(stream, lambda r: r[0])


def number_of_keys(stream: DataStream, selector: Any, key_type: Any = None) -> str:
    counts = list(stream.key_by(selector, key_type).process(Count()).execute_and_collect())
    return f"{counts.count(1)} keys of {len(counts)} records"


ZONE = dt.timezone(dt.timedelta(hours=2))
SAME: list[tuple[str, list[Any]]] = [
    ("True, 1 and 1.0", [True, 1, 1.0]),
    ("0.0 and -0.0", [0.0, -0.0]),
    ("NaN, twice", [float("nan"), float("nan")]),
    ("None", [None, None]),
    ("an empty text and empty bytes", ["", b"", ""]),
    ("a text with a NUL, and its beginning", ["a\0b", "a", "a\0b"]),
    ("half of a surrogate pair", ["\ud800", "\ud800"]),
    ("one letter composed and decomposed", ["\u00e9", "e\u0301"]),
    ("2**100, twice", [2**100, 2**100]),
    ("a text of a million letters", ["k" * 1_000_000, "k" * 1_000_000]),
    ("Decimal 1.0, 1.00 and 1", [Decimal("1.0"), Decimal("1.00"), Decimal(1)]),
    ("Decimal NaN, twice", [Decimal("NaN"), Decimal("NaN")]),
    ("a Fraction and a complex number", [Fraction(1, 3), Fraction(2, 6), 1j, 1j]),
    (
        "the same instant in two zones",
        [dt.datetime(2020, 1, 1, 2, tzinfo=ZONE), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)],
    ),
    ("a date and a datetime at midnight", [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)]),
    (
        "two datetimes that differ by fold",
        [dt.datetime(2020, 10, 25, 2), dt.datetime(2020, 10, 25, 2, fold=1)],
    ),
    ("a member of an Enum", [Color.RED, Color.RED]),
    ("a member of an IntEnum, and its number", [Level.HIGH, 3]),
    ("a namedtuple and a tuple of its values", [Point(1, 2), (1, 2)]),
    ("a frozen dataclass", [Place("a"), Place("a")]),
    ("a Row and a tuple of its values", [Row(1, 2), Row(1, 2), (1, 2)]),
    ("a UUID and its number", [uuid.UUID(int=1), uuid.UUID(int=1), 1]),
    ("a path", [PurePosixPath("/a"), PurePosixPath("/a")]),
    ("a set of mixed types in two orders", [{1, "a", None}, {None, "a", 1}]),
    ("a frozenset inside a tuple", [(1, frozenset([1, 2])), (1, frozenset([2, 1]))]),
    ("dicts of two orders", [{"a": 1, "b": 2}, {"b": 2, "a": 1}]),
    ("bytes and a bytearray", [b"a", bytearray(b"a")]),
    ("a range, twice", [range(3), range(3)]),
    ("a numpy int and a Python int", [np.int64(1), 1]),
    ("a numpy NaN and a Python NaN", [np.float64("nan"), float("nan")]),
    ("a numpy datetime64", [np.datetime64("2020-01-01"), np.datetime64("2020-01-01")]),
    ("a numpy array", [np.array([1, 2]), np.array([1, 2])]),
    ("a pandas Timestamp and a datetime", [pd.Timestamp("2020-01-01"), dt.datetime(2020, 1, 1)]),
    ("NaT, twice", [pd.NaT, pd.NaT]),
    ("a class", [Place, Place]),
    ("a function of a module", [counted, counted]),
    ("an exception", [KeyError("k"), KeyError("k")]),
    ("objects without __eq__", [object(), object()]),
    ("Ellipsis", [..., ...]),
    ("objects whose __eq__ and __hash__ raise", [Angry(), Angry()]),
]
for _words, _keys in SAME:
    case(_words)(lambda here, keys=_keys: counted(here, *keys))

SELECTORS: list[tuple[str, Any, Any]] = [
    ("a selector that gives a generator", lambda v: (i for i in range(v)), None),
    ("a selector that gives a new lambda", lambda v: lambda: v, None),
    ("a selector that gives a lock", lambda v: __import__("threading").Lock(), None),
    ("a selector that gives an object that cannot be pickled", lambda v: Unsendable(), None),
    ("a selector that gives a list that holds itself", lambda v: endless(), None),
    ("a selector that gives a list 100,000 levels deep", lambda v: deep(), None),
    ("a selector that takes no argument", lambda: 1, None),
    ("a selector that takes two arguments", lambda a, b: 1, None),
    ("a selector that divides by zero", lambda v: v // 0, None),
    ("a text where an INT is declared", lambda v: "1", Types.INT()),
    ("None where a STRING is declared", lambda v: None, Types.STRING()),
    ("2**31 where an INT is declared", lambda v: 2**31, Types.INT()),
    ("NaN where a DOUBLE is declared", lambda v: float("nan"), Types.DOUBLE()),
    ("a tuple where a ROW is declared", lambda v: (1, 2), Types.ROW([Types.INT(), Types.INT()])),
    ("the number of a field as the selector", 0, None),
    ("the name of a field as the selector", "name", None),
    ("a class as the selector", int, None),
    ("a builtin as the selector", abs, None),
    ("a Python class as the key type", lambda v: v, int),
]
for _words, _selector, _type in SELECTORS:
    case(_words)(lambda here, s=_selector, t=_type: number_of_keys(here.env(2).from_collection([1, 2]), s, t))


def endless() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def deep() -> list[Any]:
    found: list[Any] = []
    for _ in range(100_000):
        found = [found]
    return found


@case("a key that the function changes after it has got it")
def _(here: Here) -> Any:
    class Changing(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            ctx.get_current_key().append("changed")
            yield value

    stream = here.env(2).from_collection([1, 1, 2]).key_by(lambda v: [v]).process(Changing())
    return number_of_keys(stream, lambda v: [v])


@case("a record that is its own key and is changed by the function")
def _(here: Here) -> Any:
    class Changing(Count):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            value.append("changed")
            yield from super().process_element(value, ctx)

    return here.env(2).from_collection([[1], [1]]).key_by(lambda v: v).process(Changing())


@case("keys of two types that cannot be compared, in a reduce")
def _(here: Here) -> Any:
    stream = here.env(2).from_collection([(1, 1), ("a", 1), (None, 1), (b"a", 1), ((), 1)])
    return stream.key_by(lambda r: r[0]).reduce(lambda a, b: (a[0], a[1] + b[1]))


@case("key_by of a keyed stream, and the first key is gone")
def _(here: Here) -> Any:
    return number_of_keys(here.of(1, 2, 3).key_by(lambda v: v), lambda v: 0)


@case("a selector that counts its calls")
def _(here: Here) -> Any:
    calls = iter(range(100))
    return number_of_keys(here.of(1, 2, 3), lambda v: next(calls))


@case("a current key that the function wants to set")
def _(here: Here) -> Any:
    class Setting(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            ctx.set_current_key("other")  # type: ignore[attr-defined]
            yield value

    return here.of(1).key_by(lambda v: v).process(Setting())


@case("connected streams with keys of different types")
def _(here: Here) -> Any:
    env = here.env(2)
    left = env.from_collection([1, 2]).key_by(lambda v: v)
    right = env.from_collection(["1", "2"]).key_by(lambda v: v)

    class Both(KeyedCoProcessFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.STRING()))

        def process_element1(self, value: Any, ctx: Any) -> Any:
            self.seen.update("left")
            yield value, self.seen.value()

        def process_element2(self, value: Any, ctx: Any) -> Any:
            yield value, self.seen.value()

    return left.connect(right).process(Both())


PARTITIONS: list[tuple[str, Any]] = [
    ("-1", lambda key, n: -1),
    ("the number of partitions", lambda key, n: n),
    ("None", lambda key, n: None),
    ("'0'", lambda key, n: "0"),
    ("True", lambda key, n: True),
    ("1.0", lambda key, n: 1.0),
    ("a numpy int", lambda key, n: np.int64(1)),
]
for _words, _partition in PARTITIONS:

    def _partitioned(here: Here, partition: Any = _partition) -> Any:
        return here.of(1, 2).partition_custom(partition, lambda v: v).map(lambda v: v).set_parallelism(2)

    case(f"a partitioner that gives {_words}")(_partitioned)
