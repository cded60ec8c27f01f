"""When sessions merge, their aggregates merge: reduce by reducing, aggregate by merge()."""

from pyflink.common import Time
from pyflink.datastream import AggregateFunction
from pyflink.datastream.window import EventTimeSessionWindows
from timed import Stamped, by_first, environment, events


class Letters(AggregateFunction):
    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        return [*accumulator, value[1]]

    def get_result(self, accumulator):
        return "".join(sorted(accumulator))

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


env = environment()
records = [
    ("k", "a", 0),
    ("k", "b", 15),
    ("k", "c", 4),
    ("k", "d", 9),
    ("k", "e", 40),
    ("k", "f", 22),
    ("k", "g", 31),
]
records += [("k", "h", 90)]
windows = (
    events(env, records, bound=30)
    .key_by(by_first)
    .window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
)
windows.reduce(lambda a, b: (a[0], "".join(sorted(a[1] + b[1])), max(a[2], b[2]))).process(Stamped()).print(
    "reduce"
)
windows.aggregate(Letters()).process(Stamped()).print("aggregate")
env.execute()
