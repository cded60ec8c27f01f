"""BATCH mode without keys: nothing is late, and each window fires once."""

from pyflink.common import Time
from pyflink.datastream import RuntimeExecutionMode
from pyflink.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from timed import AllContents, Stamped, environment, events

env = environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
records = [("b", 1, 31), ("a", 2, 4), ("b", 3, 3), ("a", 4, 9), ("b", 5, 12), ("a", 6, 17), ("b", 7, 1)]
stream = events(env, records)
five, ten = Time.milliseconds(5), Time.milliseconds(10)
tumbling = TumblingEventTimeWindows.of(ten)
stream.window_all(tumbling).process(AllContents()).process(Stamped()).print("tumbling")
stream.window_all(SlidingEventTimeWindows.of(ten, five)).process(AllContents()).print("sliding")
stream.window_all(EventTimeSessionWindows.with_gap(ten)).process(AllContents()).print("session")
stream.window_all(tumbling).trigger(CountTrigger.of(2)).process(AllContents()).process(Stamped()).print(
    "count"
)
env.execute()
