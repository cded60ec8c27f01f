"""The end of a window is exclusive, it fires at W >= end - 1, its results are at end - 1; late records are dropped."""

from pyflink.common import Time
from pyflink.datastream.window import TumblingEventTimeWindows
from timed import Contents, Stamped, by_first, environment, events

env = environment()
records = [("k", "a", 1), ("k", "b", 4), ("k", "c", 5), ("k", "late", 4), ("k", "d", 9), ("k", "e", 7)]
records += [("k", "f", 10), ("k", "late", 9), ("k", "g", 25), ("k", "late", 19), ("k", "h", 21)]
windows = events(env, records).key_by(by_first).window(TumblingEventTimeWindows.of(Time.milliseconds(5)))
windows.process(Contents()).process(Stamped()).print()
env.execute()
