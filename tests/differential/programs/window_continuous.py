"""ContinuousEventTimeTrigger fires every interval of event time and at the end of the window.

No watermark passes two firings of a window, and what fires at the end of the input is left out: PyFlink loses those.
"""

from pyflink.common import Time
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
)
from timed import Contents, by_first, environment, events

env = environment()
records = [
    ("k", "a", 1),
    ("k", "b", 4),
    ("k", "c", 5),
    ("k", "d", 8),
    ("j", "e", 11),
    ("k", "f", 14),
    ("k", "g", 13),
]
records += [("k", "h", 17), ("j", "i", 20), ("k", "j", 23), ("j", "k", 26), ("j", "l", 29), ("j", "m", 32)]
records += [("j", "n", 35), ("j", "o", 38), ("k", "p", 41), ("k", "q", 44)]


def before_the_end(shown):
    return not shown.endswith("WMAX")


keyed = events(env, records, bound=1).key_by(by_first)
trigger = ContinuousEventTimeTrigger.of(Time.milliseconds(4))
tumbling = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(20))).trigger(trigger)
tumbling.process(Contents()).filter(before_the_end).print("tumbling")
session = keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(9))).trigger(trigger)
session.process(Contents()).filter(before_the_end).print("session")
env.execute()
