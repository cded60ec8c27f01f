"""window_all with aggregate, reduce + process and aggregate + process."""

from pyflink.common import Time
from pyflink.datastream import AggregateFunction
from pyflink.datastream.functions import ProcessAllWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows
from timed import bounds, environment, events


class Mean(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a, acc_b):
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Shown(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield f"{bounds(context.window())} {list(elements)}"


env = environment()
records = [("a", 1, 1), ("b", 2, 4), ("a", 3, 12), ("c", 4, 9), ("b", 6, 17), ("c", 7, 31)]
windows = events(env, records, bound=3).window_all(TumblingEventTimeWindows.of(Time.milliseconds(10)))
windows.aggregate(Mean()).print("mean")
windows.aggregate(Mean(), Shown()).print("mean+process")
windows.reduce(lambda a, b: (a[0] + b[0], a[1] + b[1], b[2]), Shown()).print("reduce+process")
env.execute()
