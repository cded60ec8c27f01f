"""Windows in BATCH mode: one firing for each window, when the key's records have been read; nothing is late."""

from pyflink.common import Time
from pyflink.datastream import RuntimeExecutionMode
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from timed import Contents, Stamped, by_first, environment, events

env = environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
records = [
    ("b", "a", 31),
    ("a", "b", 4),
    ("b", "c", 3),
    ("a", "d", 9),
    ("b", "e", 12),
    ("a", "f", 17),
    ("b", "g", 1),
]
keyed = events(env, records).key_by(by_first)
five, ten = Time.milliseconds(5), Time.milliseconds(10)
keyed.window(TumblingEventTimeWindows.of(ten)).process(Contents()).process(Stamped()).print("tumbling")
keyed.window(SlidingEventTimeWindows.of(ten, five)).process(Contents()).print("sliding")
keyed.window(EventTimeSessionWindows.with_gap(ten)).process(Contents()).print("session")
keyed.count_window(2).reduce(lambda a, b: (a[0], a[1] + b[1], b[2])).process(Stamped()).print("count")
env.execute()
