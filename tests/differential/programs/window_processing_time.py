"""Processing-time windows that no clock ends: in BATCH they fire when the input ends."""

from pyflink.common import Time
from pyflink.datastream import RuntimeExecutionMode
from pyflink.datastream.functions import ProcessAllWindowFunction
from pyflink.datastream.window import (
    ProcessingTimeSessionWindows,
    SlidingProcessingTimeWindows,
    TumblingProcessingTimeWindows,
)
from timed import environment, names


class Contents(ProcessAllWindowFunction):
    def process(self, context, elements):
        window = context.window()
        yield f"{(window.end - window.start) // 86_400_000} days: {names(elements)}"


env = environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
stream = env.from_collection([("a", 1), ("b", 2), ("c", 3)])
century, decade = Time.days(36_500), Time.days(3650)
stream.window_all(TumblingProcessingTimeWindows.of(century)).process(Contents()).print("tumbling")
stream.window_all(SlidingProcessingTimeWindows.of(century, Time.days(18_250))).process(Contents()).print(
    "sliding"
)
stream.window_all(TumblingProcessingTimeWindows.of(century, decade)).process(Contents()).print("offset")
stream.window_all(ProcessingTimeSessionWindows.with_gap(decade)).reduce(
    lambda x, y: (x[0] + y[0], x[1] + y[1])
).print("session")
env.execute()
