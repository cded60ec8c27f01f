"""Late firings of reduce and aggregate show the value that has grown."""

from pyflink.common import Time
from pyflink.datastream.window import TumblingEventTimeWindows
from timed import Stamped, by_first, environment, events

env = environment()
records = [
    ("k", 1, 1),
    ("k", 10, 5),
    ("k", 2, 2),
    ("k", 4, 3),
    ("k", 20, 7),
    ("k", 8, 0),
    ("k", 40, 8),
    ("k", 16, 2),
]
windows = events(env, records).key_by(by_first).window(TumblingEventTimeWindows.of(Time.milliseconds(5)))
windows.allowed_lateness(3).reduce(lambda a, b: (a[0], a[1] + b[1], b[2])).process(Stamped()).print()
env.execute()
