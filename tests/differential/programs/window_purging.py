"""A purging event-time trigger: late firings hold only what came since."""

from pyflink.common import Time
from pyflink.datastream.window import EventTimeTrigger, PurgingTrigger, TumblingEventTimeWindows
from timed import Contents, by_first, environment, events

env = environment()
records = [
    ("k", "a", 1),
    ("k", "b", 4),
    ("k", "c", 5),
    ("k", "d", 2),
    ("k", "e", 3),
    ("k", "f", 7),
    ("k", "g", 0),
]
records += [("k", "h", 8), ("k", "i", 1), ("k", "j", 30)]
windows = events(env, records).key_by(by_first).window(TumblingEventTimeWindows.of(Time.milliseconds(5)))
windows.allowed_lateness(3).trigger(PurgingTrigger.of(EventTimeTrigger.create())).process(Contents()).print()
env.execute()
