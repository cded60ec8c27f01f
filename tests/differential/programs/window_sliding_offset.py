"""Sliding windows with an offset, below zero too."""

from pyflink.common import Time
from pyflink.datastream.window import SlidingEventTimeWindows
from timed import Contents, by_first, environment, events

env = environment()
records = [("k", str(ts), ts) for ts in (-11, -7, -5, -3, -1, 0, 2, 6, 7, 11)]
keyed = events(env, records).key_by(by_first)
for name, offset in (("two", 2), ("minus three", -3)):
    ten, five, shift = Time.milliseconds(10), Time.milliseconds(5), Time.milliseconds(offset)
    keyed.window(SlidingEventTimeWindows.of(ten, five, shift)).process(Contents()).print(name)
env.execute()
