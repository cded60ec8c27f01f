"""Values that do not fit the types declared for them, and values of odd types."""

from __future__ import annotations

import datetime as dt
import enum
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

from firesteel.common import Row, RowKind, Types
from firesteel.datastream import DataStream

from .core import Case, Here, area

CASES: list[Case] = []
case = area("types", CASES)


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


Point = namedtuple("Point", "x y")


@dataclass(slots=True)
class Slotted:
    a: int


class Text(str):
    pass


class Explosive:
    """Every special method that may be called by chance raises."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __hash__(self) -> int:
        raise RuntimeError("hash")

    def __repr__(self) -> str:
        raise RuntimeError("repr")

    def __bool__(self) -> bool:
        raise RuntimeError("bool")

    def __len__(self) -> int:
        raise RuntimeError("len")


class Unsendable:
    def __reduce__(self) -> Any:
        raise RuntimeError("I stay here")


class Unreadable:
    def __reduce__(self) -> Any:
        return _unreadable, ()


def _unreadable() -> Any:
    raise RuntimeError("nobody reads me")


def declared(here: Here, value: Any, type: Any) -> DataStream:
    """A map that says it gives `type` and gives `value`."""
    return here.of(0).map(lambda _: value, type)


def sent(here: Here, make: Any) -> DataStream:
    """What is made for each record goes through an exchange."""
    return here.of(0).map(make).rebalance().map(lambda v: v).set_parallelism(2)


VALUES: list[tuple[str, Any, Any]] = [
    ("True in an INT", True, Types.INT()),
    ("2**31 in an INT", 2**31, Types.INT()),
    ("2**63 in a LONG", 2**63, Types.LONG()),
    ("300 in a BYTE", 300, Types.BYTE()),
    ("1.0 in an INT", 1.0, Types.INT()),
    ("'1' in an INT", "1", Types.INT()),
    ("NaN in a LONG", float("nan"), Types.LONG()),
    ("1e300 in a FLOAT", 1e300, Types.FLOAT()),
    ("-0.0 in a FLOAT", -0.0, Types.FLOAT()),
    ("10**400 in a DOUBLE", 10**400, Types.DOUBLE()),
    ("an int in a BOOLEAN", 1, Types.BOOLEAN()),
    ("Decimal NaN in a BIG_DEC", Decimal("NaN"), Types.BIG_DEC()),
    ("Decimal Infinity in a BIG_DEC", Decimal("Infinity"), Types.BIG_DEC()),
    ("a float in a BIG_DEC", 0.1, Types.BIG_DEC()),
    ("an int in a STRING", 5, Types.STRING()),
    ("bytes in a STRING", b"a", Types.STRING()),
    ("half of a surrogate pair in a STRING", "\ud800", Types.STRING()),
    ("a NUL in a STRING", "a\0b", Types.STRING()),
    ("two letters in a CHAR", "ab", Types.CHAR()),
    ("no letter in a CHAR", "", Types.CHAR()),
    ("an emoji in a CHAR", "\U0001f600", Types.CHAR()),
    ("a subclass of str in a STRING", Text("t"), Types.STRING()),
    ("a member of an IntEnum in an INT", Level.HIGH, Types.INT()),
    ("a numpy int64 in a LONG", np.int64(7), Types.LONG()),
    ("a numpy bool in a BOOLEAN", np.bool_(True), Types.BOOLEAN()),
    ("a numpy float32 in a DOUBLE", np.float32(0.1), Types.DOUBLE()),
    ("a numpy array in an array of INT", np.array([1, 2]), Types.PRIMITIVE_ARRAY(Types.INT())),
    ("None in an array of INT", [1, None], Types.PRIMITIVE_ARRAY(Types.INT())),
    ("a text in a LIST of STRING", "abc", Types.LIST(Types.STRING())),
    ("a set in a LIST", {1}, Types.LIST(Types.INT())),
    ("pairs in a MAP", [(1, 2)], Types.MAP(Types.INT(), Types.INT())),
    ("None as the key of a MAP", {None: 1}, Types.MAP(Types.STRING(), Types.INT())),
    ("NaN twice as key of a MAP", {float("nan"): 1, float("nan"): 2}, Types.MAP(Types.DOUBLE(), Types.INT())),
    ("a tuple that is too long", (1, 2, 3), Types.TUPLE([Types.INT(), Types.INT()])),
    ("a list in a TUPLE", [1, 2], Types.TUPLE([Types.INT(), Types.INT()])),
    ("an empty TUPLE", (), Types.TUPLE([])),
    ("an empty ROW", Row(), Types.ROW([])),
    ("a Row that is too short", Row(1), Types.ROW([Types.INT(), Types.INT()])),
    ("a dict in a named ROW", {"a": 1}, Types.ROW_NAMED(["a"], [Types.INT()])),
    ("a namedtuple in a named ROW", Point(1, 2), Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.INT()])),
    (
        "a Row with the names in another order",
        Row(y=2, x=1),
        Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.INT()]),
    ),
    ("a Row with another name", Row(z=1), Types.ROW_NAMED(["x"], [Types.INT()])),
    ("None in an INT of a ROW", Row(None), Types.ROW([Types.INT()])),
    ("None for a ROW", None, Types.ROW([Types.INT()])),
    ("None for an INT", None, Types.INT()),
    ("a datetime in a SQL_DATE", dt.datetime(2020, 1, 1, 5), Types.SQL_DATE()),
    ("a date in a SQL_TIMESTAMP", dt.date(2020, 1, 1), Types.SQL_TIMESTAMP()),
    (
        "a datetime with a zone in a SQL_TIMESTAMP",
        dt.datetime(2020, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=2))),
        Types.SQL_TIMESTAMP(),
    ),
    (
        "a datetime in its second hour of a fold",
        dt.datetime(2020, 10, 25, 2, 30, fold=1),
        Types.SQL_TIMESTAMP(),
    ),
    ("the year 1", dt.datetime.min, Types.SQL_TIMESTAMP()),
    ("the last microsecond of 9999", dt.datetime.max, Types.SQL_TIMESTAMP()),
    ("a time with a zone", dt.time(1, 2, tzinfo=dt.UTC), Types.SQL_TIME()),
    (
        "a pandas Timestamp with nanoseconds",
        pd.Timestamp("2020-01-01T00:00:00.000000001"),
        Types.SQL_TIMESTAMP(),
    ),
    ("NaT in a SQL_TIMESTAMP", pd.NaT, Types.SQL_TIMESTAMP()),
    ("NaT in a SQL_DATE", pd.NaT, Types.SQL_DATE()),
    ("NaT in a SQL_TIME", pd.NaT, Types.SQL_TIME()),
    ("an int in a SQL_TIMESTAMP", 0, Types.SQL_TIMESTAMP()),
    ("an int in an INSTANT", 0, Types.INSTANT()),
]
for _words, _value, _type in VALUES:
    case(_words)(lambda here, v=_value, t=_type: declared(here, v, t))

SENT: list[tuple[str, Any]] = [
    ("a member of an Enum through an exchange", lambda _: Color.RED),
    ("an object with slots through an exchange", lambda _: Slotted(1)),
    ("an exception as a record through an exchange", lambda _: KeyError("k")),
    ("a class as a record through an exchange", lambda _: Slotted),
    ("a lambda as a record through an exchange", lambda _: lambda: 1),
    ("a module as a record through an exchange", lambda _: enum),
    ("a generator as a record through an exchange", lambda _: (i for i in range(2))),
    ("a lock as a record through an exchange", lambda _: __import__("threading").Lock()),
    ("an object that cannot be pickled through an exchange", lambda _: Unsendable()),
    ("an object that cannot be unpickled through an exchange", lambda _: Unreadable()),
    ("a memoryview through an exchange", lambda _: memoryview(b"ab")),
    ("a DataFrame as a record through an exchange", lambda _: pd.DataFrame({"a": [1]})),
    ("a masked numpy array through an exchange", lambda _: np.ma.array([1, 2], mask=[0, 1])),
    ("Ellipsis and NotImplemented through an exchange", lambda _: (..., NotImplemented)),
    ("NaN and -0.0 through an exchange", lambda _: (float("nan"), -0.0)),
]
for _words, _make in SENT:
    case(_words)(lambda here, make=_make: sent(here, make))


@case("a generator in a LIST")
def _(here: Here) -> Any:
    return here.of(0).map(lambda _: (i for i in range(3)), Types.LIST(Types.INT()))


@case("a list that holds itself through an exchange")
def _(here: Here) -> Any:
    def endless(_: int) -> list[Any]:
        found: list[Any] = []
        found.append(found)
        return found

    return sent(here, endless).map(lambda v: v[0] is v)


@case("an int of 5,001 digits, declared as BIG_INT, through an exchange")
def _(here: Here) -> Any:
    stream = here.of(0).map(lambda _: 10**5000, Types.BIG_INT()).rebalance()
    return stream.map(lambda v: v.bit_length()).set_parallelism(2)


@case("an object whose special methods raise through an exchange")
def _(here: Here) -> Any:
    return sent(here, lambda _: Explosive()).map(lambda v: type(v).__name__)


@case("a list 100,000 levels deep through an exchange")
def _(here: Here) -> Any:
    def deep(_: int) -> list[Any]:
        found: list[Any] = []
        for _level in range(100_000):
            found = [found]
        return found

    return sent(here, deep).map(lambda v: 1)


@case("the kind of a Row through an exchange")
def _(here: Here) -> Any:
    return sent(here, lambda _: Row.of_kind(RowKind.DELETE, 1)).map(lambda row: (row.get_row_kind(), row))


@case("a record changed after it was given out twice")
def _(here: Here) -> Any:
    def twice(_: int) -> Any:
        record = [0]
        yield record
        record[0] = 1
        yield record

    return here.of(0).flat_map(twice).rebalance().map(lambda v: v)


@case("two branches that change the same record")
def _(here: Here) -> Any:
    stream = here.of([0])
    grown = stream.map(lambda v: v.append(1) or v)
    return grown.union(stream.map(lambda v: v.append(2) or v))


@case("the same names twice in a named ROW")
def _(here: Here) -> Any:
    return Types.ROW_NAMED(["a", "a"], [Types.INT(), Types.INT()])


@case("more names than types in a named ROW")
def _(here: Here) -> Any:
    return Types.ROW_NAMED(["a", "b"], [Types.INT()])


@case("a Python class as the declared type")
def _(here: Here) -> Any:
    return here.of(0).map(lambda v: v, int)  # type: ignore[arg-type]


@case("the method of a type, not called, as the declared type")
def _(here: Here) -> Any:
    return here.of(0).map(lambda v: v, Types.INT)  # type: ignore[arg-type]


@case("the method of a type, not called, inside a declared ROW")
def _(here: Here) -> Any:
    return here.of(0).map(lambda v: Row(v), Types.ROW([Types.INT]))  # type: ignore[list-item]


@case("a collection that is a text")
def _(here: Here) -> Any:
    return here.env().from_collection("ab")


@case("a collection that is an endless iterator of its own class")
def _(here: Here) -> Any:
    class Raising:
        def __iter__(self) -> Any:
            yield 1
            raise OSError("the cursor is closed")

    return here.env().from_collection(Raising())


@case("a collection with one element of another type")
def _(here: Here) -> Any:
    return here.of(1, "2", type=Types.INT())


@case("print of an int of 5,001 digits")
def _(here: Here) -> Any:
    env = here.env()
    env.from_collection([10**5000]).print()
    return env


@case("print of an object whose repr raises")
def _(here: Here) -> Any:
    env = here.env()
    env.from_collection([0]).map(lambda _: Explosive()).print()
    return env
