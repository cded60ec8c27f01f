"""connect keeps two types apart: co-map and co-flat-map, without keys."""

# order: free

from pyflink.common import Types
from pyflink.datastream import CoMapFunction
from pyflink.datastream.functions import CoFlatMapFunction
from timed import environment


class Either(CoMapFunction):
    def open(self, runtime_context):
        self.prefix = "from"

    def map1(self, value):
        return f"{self.prefix} first: {value + 1}"

    def map2(self, value):
        return f"{self.prefix} second: {value.upper()}"


class Many(CoFlatMapFunction):
    def flat_map1(self, value):
        for i in range(value):
            yield i, "number"

    def flat_map2(self, value):
        if value != "b":
            yield ord(value), value


env = environment()
numbers = env.from_collection([1, 2, 3], Types.INT())
letters = env.from_collection(["a", "b", "c"], Types.STRING())
numbers.connect(letters).map(Either(), Types.STRING()).print("map")
numbers.connect(letters).flat_map(Many(), Types.TUPLE([Types.INT(), Types.STRING()])).print("flat_map")
env.execute()
