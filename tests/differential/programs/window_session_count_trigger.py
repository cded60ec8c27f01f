"""The state of a trigger merges with its windows: counts add up, and fire with the next record."""

from pyflink.common import Time
from pyflink.datastream.window import CountTrigger, EventTimeSessionWindows, PurgingTrigger
from timed import Merged, by_first, environment, events

env = environment()
records = [
    ("k", "a", 0),
    ("k", "b", 15),
    ("k", "c", 8),
    ("k", "d", 9),
    ("k", "e", 33),
    ("k", "f", 34),
    ("k", "g", 35),
]
records += [("k", "h", 36), ("k", "i", 37), ("k", "j", 38), ("k", "k", 39)]
keyed = events(env, records, bound=30).key_by(by_first)
for name, trigger in (("keep", CountTrigger.of(3)), ("purge", PurgingTrigger.of(CountTrigger.of(3)))):
    windows = keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
    windows.trigger(trigger).process(Merged()).print(name)
env.execute()
