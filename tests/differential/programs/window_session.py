"""Sessions merge when they intersect or touch; a record may bridge two of them."""

from pyflink.common import Time
from pyflink.datastream.window import EventTimeSessionWindows
from timed import Merged, Stamped, by_first, environment, events

env = environment()
records = [("touch", "a", 0), ("touch", "b", 10), ("apart", "c", 10), ("apart", "d", 21)]
records += [
    ("bridge", "e", 11),
    ("bridge", "f", 26),
    ("bridge", "g", 19),
    ("inside", "h", 20),
    ("inside", "i", 21),
]
records += [("before", "j", 27), ("before", "k", 22), ("touch", "l", 30), ("end", "m", 80)]
windows = (
    events(env, records, bound=12)
    .key_by(by_first)
    .window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
)
windows.process(Merged()).process(Stamped()).print()
env.execute()
