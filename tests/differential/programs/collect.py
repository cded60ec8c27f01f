"""execute_and_collect gives Python values of the declared types; a limit takes the first ones."""

from pyflink.common import Row, Types
from timed import environment

env = environment()
stream = env.from_collection([3, 1, 2], Types.INT())
with stream.map(lambda v: v * 2).execute_and_collect() as results:
    print("untyped", list(results))
with stream.map(
    lambda v: (v, v / 4), Types.TUPLE([Types.LONG(), Types.FLOAT()])
).execute_and_collect() as results:
    print("tuples", list(results))
named = Types.ROW_NAMED(["n", "s"], [Types.INT(), Types.STRING()])
with stream.map(lambda v: Row(v, f"s{v}"), named).execute_and_collect("named job") as results:
    for row in results:
        print("row", row, row.n, row["s"])
print("limit", stream.execute_and_collect(limit=2))
with stream.filter(lambda v: v > 5).execute_and_collect() as results:
    print("nothing", list(results))
with stream.execute_and_collect() as results:
    print("next", results.next(), next(results))
