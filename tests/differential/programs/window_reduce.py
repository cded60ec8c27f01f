"""reduce keeps one value; with a window function that gets exactly one; one record is not reduced at all."""

from pyflink.common import Time
from pyflink.datastream import ProcessWindowFunction, ReduceFunction, WindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows
from timed import Stamped, bounds, by_first, environment, events


class Joined(ReduceFunction):
    def reduce(self, value1, value2):
        return value1[0], f"({value1[1]}{value2[1]})", value2[2]


class Process(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"{key}> {bounds(context.window())} {list(elements)}"


class Apply(WindowFunction):
    def apply(self, key, window, inputs):
        for value in inputs:
            yield f"{key}> {bounds(window)} {value[1]}"


env = environment()
records = [
    ("k", "a", 1),
    ("k", "b", 4),
    ("j", "c", 2),
    ("k", "d", 3),
    ("k", "e", 11),
    ("j", "f", 14),
    ("k", "g", 19),
]
windows = (
    events(env, records, bound=5).key_by(by_first).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
)
windows.reduce(Joined()).process(Stamped()).print("plain")
windows.reduce(Joined(), Process()).print("process")
windows.reduce(lambda a, b: (a[0], a[1] + b[1], b[2]), Apply()).print("apply")
env.execute()
