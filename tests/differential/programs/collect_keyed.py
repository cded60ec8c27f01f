"""A keyed stream that is collected gives rows of its keys and records."""

from pyflink.common import Row, Types
from timed import environment

env = environment()
pair = Types.TUPLE([Types.STRING(), Types.INT()])
stream = env.from_collection([("a", 1), ("b", 2), ("a", 3)], pair)
keyed = stream.key_by(lambda v: v[0], Types.STRING())
with keyed.execute_and_collect() as results:
    for row in results:
        print("row", row, row.f0, row["f1"], row == Row(f0=row[0], f1=row[1]))
print("limit", keyed.execute_and_collect(limit=2))
numbers = env.from_collection([0.1, 2.5], Types.FLOAT())
with numbers.key_by(lambda v: v, Types.FLOAT()).execute_and_collect("floats") as results:
    print("floats", list(results))
