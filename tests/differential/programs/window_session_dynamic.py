"""The gap of a session depends on each record."""

from pyflink.datastream.window import EventTimeSessionWindows, SessionWindowTimeGapExtractor
from timed import Contents, by_first, environment, events


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return element[2]


env = environment()
records = [("k", "a", 5, 0), ("k", "b", 100, 5), ("k", "c", 1, 20), ("k", "d", 3, 104), ("k", "e", 2, 110)]
records += [("j", "f", 30, 100), ("j", "g", 1, 129), ("j", "h", 1, 131), ("k", "i", 5, 300)]
windows = events(env, records).key_by(by_first).window(EventTimeSessionWindows.with_dynamic_gap(Gap()))
windows.process(Contents()).print()
env.execute()
