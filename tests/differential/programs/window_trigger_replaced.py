"""A trigger of the program's replaces the default: what it does not fire is dropped when the window ends."""

from pyflink.common import Time
from pyflink.datastream.window import CountTrigger, TumblingEventTimeWindows
from timed import Contents, by_first, environment, events

env = environment()
records = [
    ("k", "a", 1),
    ("k", "b", 2),
    ("k", "c", 11),
    ("k", "d", 12),
    ("k", "e", 13),
    ("k", "f", 14),
    ("k", "g", 25),
]
windows = events(env, records).key_by(by_first).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
windows.trigger(CountTrigger.of(3)).process(Contents()).print()
env.execute()
