"""Keyed co-map and co-flat-map: key_by on the connected streams; keys may be computed in different ways."""

# order: free

from pyflink.common import Types
from pyflink.datastream import CoMapFunction
from pyflink.datastream.functions import CoFlatMapFunction
from pyflink.datastream.state import ReducingStateDescriptor
from timed import environment


class Counts(CoMapFunction):
    def open(self, runtime_context):
        total = ReducingStateDescriptor("total", lambda a, b: a + b, Types.LONG())
        self.total = runtime_context.get_reducing_state(total)

    def map1(self, value):
        self.total.add(1)
        return value[0], self.total.get()

    def map2(self, value):
        self.total.add(1)
        return value[1], self.total.get()


class Named(CoFlatMapFunction):
    def flat_map1(self, value):
        yield value[0]

    def flat_map2(self, value):
        yield from value


env = environment()
left = env.from_collection([("a", 1), ("b", 2), ("a", 3)])
right = env.from_collection([(10, "a"), (20, "c"), (30, "b"), (40, "a")])
both = left.connect(right).key_by(lambda v: v[0], lambda v: v[1])
both.map(Counts()).print("map")
both.flat_map(Named()).map(lambda v: f"{v!r}").print("flat_map")
env.execute()
