"""What the next function gets when a map declares its type: numbers of that width, dates, rows, maps, lists."""

import datetime
import decimal

from pyflink.common import Row, Types
from timed import environment

CASES = {
    "float": (Types.FLOAT(), 0.1),
    "int of a bool": (Types.INT(), True),
    "double of an int": (Types.DOUBLE(), 3),
    "decimal": (Types.BIG_DEC(), decimal.Decimal("0.10")),
    "date": (Types.SQL_DATE(), datetime.date(1969, 12, 31)),
    "time": (Types.SQL_TIME(), datetime.time(12, 30, 15, 250000)),
    "timestamp": (Types.SQL_TIMESTAMP(), datetime.datetime(2024, 2, 29, 1, 2, 3, 456789)),
    "list": (Types.LIST(Types.FLOAT()), [0.1, 1]),
    "array": (Types.BASIC_ARRAY(Types.STRING()), ["a", "b"]),
    "numbers": (Types.PRIMITIVE_ARRAY(Types.INT()), [1, 2]),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x01\xff"),
    "map": (Types.MAP(Types.STRING(), Types.FLOAT()), {"a": 0.1, "b": 2}),
    "tuple": (Types.TUPLE([Types.INT(), Types.TUPLE([Types.FLOAT(), Types.STRING()])]), (1, (0.1, "x"))),
    "row": (Types.ROW([Types.INT(), Types.STRING()]), Row(1, "a")),
    "named row": (
        Types.ROW_NAMED(["n", "inner"], [Types.INT(), Types.ROW([Types.FLOAT()])]),
        Row(1, Row(0.1)),
    ),
    "row of nothing": (
        Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.LIST(Types.STRING())]),
        Row(None, None),
    ),
    "object": (Types.PICKLED_BYTE_ARRAY(), {1: (True, b"x"), "k": {2.5}}),
}

env = environment()
one = env.from_collection([0])
for name, (of, value) in CASES.items():
    typed = one.map(lambda _, value=value: value, of)
    typed.map(lambda v: f"{v!r} {type(v).__name__}").print(name)
env.execute()
