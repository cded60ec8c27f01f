"""reduce and aggregate over sessions whose records come in order: each record extends its session."""

from pyflink.common import Time
from pyflink.datastream import AggregateFunction
from pyflink.datastream.window import EventTimeSessionWindows
from timed import Stamped, by_first, environment, events


class Spread(AggregateFunction):
    def create_accumulator(self):
        return None, 0, 0

    def add(self, value, accumulator):
        key, low, high = accumulator
        return (
            (value[0], value[1], value[1]) if key is None else (key, min(low, value[1]), max(high, value[1]))
        )

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a[0], min(acc_a[1], acc_b[1]), max(acc_a[2], acc_b[2])


env = environment()
records = [
    ("a", 5, 0),
    ("b", 7, 3),
    ("a", 2, 9),
    ("a", 9, 19),
    ("b", 1, 22),
    ("b", 8, 24),
    ("a", 4, 40),
    ("c", 6, 45),
]
windows = (
    events(env, records).key_by(by_first).window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
)
windows.reduce(lambda x, y: (x[0], x[1] + y[1], y[2])).process(Stamped()).print("sum")
windows.aggregate(Spread()).process(Stamped()).print("spread")
env.execute()
