"""Keys of any class: what pickle writes of them says which are one key."""

# order: free

import collections
import dataclasses
import datetime
import decimal
import enum
import uuid
from typing import NamedTuple

from pyflink.common import Row, Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor
from timed import environment


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Number(enum.IntEnum):
    ONE = 1


@dataclasses.dataclass
class Mutable:
    a: int


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: int


class Pair(NamedTuple):
    a: int
    b: str


class Plain:
    def __init__(self, **attributes):
        vars(self).update(attributes)

    def __repr__(self):
        return f"{type(self).__name__}({vars(self)})"


class ById:
    def __init__(self, id, more):
        self.id = id
        self.more = more

    def __repr__(self):
        return f"ById({self.id}, {self.more})"

    def __eq__(self, other):
        return isinstance(other, ById) and self.id == other.id

    def __hash__(self):
        return hash(self.id)


class Word(str):
    pass


MAKERS = [
    lambda: [1, 2],
    lambda: [2, 1],
    lambda: {"a": 1, "b": 2},
    lambda: {"c": 1},
    lambda: {"b": 2, "a": 1},
    lambda: {1, 2},
    lambda: bytearray(b"a"),
    lambda: frozenset({1, 2}),
    lambda: b"a",
    lambda: decimal.Decimal("1.0"),
    lambda: Colour.RED,
    lambda: decimal.Decimal("1.00"),
    lambda: Colour.BLUE,
    lambda: Number.ONE,
    lambda: "one",
    lambda: 1,
    lambda: Mutable(1),
    lambda: Mutable(2),
    lambda: Frozen(1),
    lambda: Pair(1, "a"),
    lambda: None,
    lambda: (1, "a"),
    lambda: Row(1, "a"),
    lambda: 0.0,
    lambda: Row(a=1, b="a"),
    lambda: -0.0,
    lambda: Plain(a=1, b=2),
    lambda: float("nan"),
    lambda: Plain(b=2, a=1),
    lambda: ById(id=1, more=1),
    lambda: Word("a"),
    lambda: ById(id=1, more=2),
    lambda: "a",
    lambda: (1, [2, {"a": Plain(a=1)}]),
    lambda: 1j,
    lambda: range(3),
    lambda: uuid.UUID(int=5),
    lambda: datetime.datetime(2020, 1, 1, 12, 30),
    lambda: collections.OrderedDict(a=1),
    lambda: collections.deque([1]),
]


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        key = ctx.get_current_key()
        yield f"{value[1]} {type(key).__name__} {key!r} {self.count.value()}"


env = environment(parallelism=1)  # PyFlink pickles these keys by turns in two ways
stream = env.from_collection([(i, at) for i in range(3) for at in range(len(MAKERS))])
stream.key_by(lambda v: MAKERS[v[1]]()).process(Count()).print()
env.execute()
