"""Windows are aligned to the epoch and the offset; negative timestamps round down."""

from pyflink.common import Time
from pyflink.datastream.window import TumblingEventTimeWindows
from timed import Contents, by_first, environment, events

env = environment()
records = [("k", str(ts), ts) for ts in (-13, -8, -6, -5, -4, -3, -1, 0, 1, 2, 3, 4, 5, 6, 7, 11, 12)]
keyed = events(env, records).key_by(by_first)
for name, offset in (("zero", 0), ("two", 2), ("minus two", -2)):
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(5), Time.milliseconds(offset)))
    windows.process(Contents()).print(name)
env.execute()
