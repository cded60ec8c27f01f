"""An accumulator that add() changes in place; each window and key has its own."""

from pyflink.common import Time
from pyflink.datastream import AggregateFunction
from pyflink.datastream.window import SlidingEventTimeWindows
from timed import Stamped, by_first, environment, events


class Seen(AggregateFunction):
    def create_accumulator(self):
        return []

    def add(self, value, accumulator):
        accumulator.append(value[1])
        return accumulator

    def get_result(self, accumulator):
        return tuple(sorted(accumulator))

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


env = environment()
records = [("k", "kc", 6), ("k", "ka", 7), ("j", "jx", 8), ("k", "kb", 12), ("j", "jw", 14), ("k", "kd", 30)]
ten_five = SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))
events(env, records).key_by(by_first).window(ten_five).aggregate(Seen()).process(Stamped()).print()
env.execute()
