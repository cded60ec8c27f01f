"""reduce emits for each record, the first unchanged; a typed stream coerces what it returns; key_by again after it."""

from pyflink.common import Types
from pyflink.datastream import ReduceFunction
from timed import by_first, environment


class Joined(ReduceFunction):
    def open(self, runtime_context):
        self.separator = "-"

    def reduce(self, value1, value2):
        return value1[0], value1[1] + self.separator + value2[1]


env = environment()
texts = env.from_collection([("a", "1"), ("b", "2"), ("a", "3"), ("a", "4"), ("b", "5")])
texts.key_by(by_first).reduce(Joined()).map(lambda v: f"{v[0]}> {v[1]}").print("text")
pair = Types.TUPLE([Types.STRING(), Types.FLOAT()])
floats = env.from_collection([("a", 0.1), ("a", 0.2), ("b", 0.3), ("a", 0.4)], pair)
sums = floats.key_by(by_first, Types.STRING()).reduce(lambda x, y: (x[0], x[1] + y[1]))
sums.map(lambda v: f"{v[0]}> {v[1]}").print("float")
sums.key_by(lambda v: v[1] > 0.25).reduce(lambda x, y: (x[0] + y[0], x[1])).map(lambda v: v[0]).print("again")
env.execute()
