"""aggregate: accumulator and result may have other types than the records."""

from pyflink.common import Time, Types
from pyflink.datastream import AggregateFunction, ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows
from timed import Stamped, bounds, by_first, environment, events


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Shown(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, bounds(context.window()), *elements


env = environment()
records = [("k", 1, 1), ("k", 2, 4), ("j", 30, 2), ("k", 4, 3), ("k", 5, 11), ("j", 8, 14), ("k", 6, 19)]
ten = TumblingEventTimeWindows.of(Time.milliseconds(10))
windows = events(env, records, bound=5).key_by(by_first).window(ten)
windows.aggregate(Mean(), Shown()).process(Stamped()).print("plain")
pair = Types.TUPLE([Types.LONG(), Types.LONG()])
row = Types.TUPLE([Types.STRING(), Types.STRING(), Types.DOUBLE()])
windows.aggregate(Mean(), Shown(), pair, row).map(lambda v: f"{v[0]}> {v}").print("typed")
means = events(env, records, bound=5).window_all(ten)
means.aggregate(Mean()).print("mean")
means.aggregate(Mean(), accumulator_type=pair, output_type=Types.DOUBLE()).print("typed mean")
env.execute()
