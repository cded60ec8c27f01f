"""A record is in size / slide windows, and where they do not divide in one more or less (size 10, slide 3)."""

from pyflink.common import Time
from pyflink.datastream.window import SlidingEventTimeWindows
from timed import Contents, Stamped, by_first, environment, events

env = environment()
records = [("k", "a", 9), ("k", "b", 10), ("k", "c", 7), ("k", "d", 13), ("k", "e", 12), ("k", "f", 31)]
keyed = events(env, records, bound=2).key_by(by_first)
for name, size, slide in (("10/5", 10, 5), ("10/3", 10, 3)):
    windows = keyed.window(SlidingEventTimeWindows.of(Time.milliseconds(size), Time.milliseconds(slide)))
    windows.process(Contents()).process(Stamped()).print(name)
env.execute()
