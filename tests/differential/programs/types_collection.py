"""How values of each type are printed: from a typed collection, as they are."""

import datetime
import decimal

from pyflink.common import Row, Types
from timed import environment

env = environment()
day, clock = datetime.date(2024, 2, 29), datetime.time(1, 2, 3)
moment = datetime.datetime(2024, 2, 29, 1, 2, 3, 456000)
values = {
    "string": (Types.STRING(), ["a", "", "ü\u4e2d", "a b,c"]),
    "boolean": (Types.BOOLEAN(), [True, False]),
    "byte": (Types.BYTE(), [-128, 127]),
    "short": (Types.SHORT(), [-32768, 32767]),
    "int": (Types.INT(), [-(2**31), 2**31 - 1]),
    "long": (Types.LONG(), [-(2**63), 2**63 - 1]),
    "float": (Types.FLOAT(), [0.1, 1.0, -0.0, 1e10, 1.5e-7, 16777217.0, 123456.789]),
    "double": (Types.DOUBLE(), [0.1, 1.0, 1e7, 12345678.9, 1e-3, 9.99e-4, 1e300, float("inf"), float("nan")]),
    "decimal": (Types.BIG_DEC(), [decimal.Decimal("1.50"), decimal.Decimal("-12345678901234567890")]),
    "date": (Types.SQL_DATE(), [day, datetime.date(1970, 1, 1), datetime.date(1582, 10, 15)]),
    "time": (Types.SQL_TIME(), [clock, datetime.time(0, 0), datetime.time(23, 59, 59, 999000)]),
    "timestamp": (
        Types.SQL_TIMESTAMP(),
        [moment, datetime.datetime(2000, 1, 1), moment.replace(microsecond=0)],
    ),
    "tuple": (Types.TUPLE([Types.STRING(), Types.INT(), Types.FLOAT()]), [("a", 1, 0.1), ("b", -1, 2.0)]),
    "nested tuple": (
        Types.TUPLE([Types.TUPLE([Types.INT(), Types.BOOLEAN()]), Types.LONG()]),
        [((1, True), 2)],
    ),
    "untyped": (None, [("a", 1, 0.1), {"k": [1, None]}, Row("r", 1), 1.5]),
}
for name, (of, contents) in values.items():
    env.from_collection(contents, of).print(name)
env.execute()
