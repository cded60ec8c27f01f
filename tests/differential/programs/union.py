"""union keeps duplicates, takes any number of streams, the same one several times too."""

# order: free

from pyflink.common import Types
from timed import environment

env = environment()
first = env.from_collection([1, 2, 2], Types.INT())
second = env.from_collection([3, 1], Types.INT())
doubled = first.map(lambda v: v * 10, Types.INT())
first.union(first).print("self")
first.union(second, doubled).print("three")
first.union(second).union(first, doubled).map(lambda v: v + 0.5, Types.DOUBLE()).print("nested")
env.execute()
