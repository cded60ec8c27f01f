"""Rolling aggregates over rows by name, over lists and over plain numbers."""

from pyflink.common import Row, Types
from timed import environment

env = environment()
row = Types.ROW_NAMED(["key", "n", "x"], [Types.STRING(), Types.INT(), Types.FLOAT()])
rows = env.from_collection([Row("a", 3, 0.1), Row("a", 1, 0.2), Row("a", 2, 0.7)], row).key_by(
    lambda r: r.key
)
rows.sum("n").print("row sum")
rows.sum("x").print("row sum of floats")
rows.min_by("n").print("row min_by")
rows.max(2).print("row max")
lists = env.from_collection([["a", 3, 9], ["a", 1, 8], ["a", 2, 7]]).key_by(lambda v: v[0])
lists.sum(1).print("list sum")
lists.min(1).print("list min")
lists.max_by(2).print("list max_by")
numbers = env.from_collection([3, 1, 4, 1, 5]).key_by(lambda v: "all")
numbers.sum().print("number sum")
numbers.min().print("number min")
numbers.max_by().print("number max_by")
env.execute()
