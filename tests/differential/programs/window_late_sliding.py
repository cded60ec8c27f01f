"""A record goes to the late output only when no window took it."""

from pyflink.common import Time, Types
from pyflink.datastream import OutputTag
from pyflink.datastream.window import SlidingEventTimeWindows
from timed import Contents, by_first, environment, events

env = environment()
late = OutputTag("late", Types.PICKLED_BYTE_ARRAY())
records = [
    ("k", "a", 3),
    ("k", "clock", 13),
    ("k", "half", 7),
    ("k", "late", 4),
    ("k", "b", 9),
    ("k", "clock", 21),
]
records += [("k", "late", 9), ("k", "half", 12), ("k", "clock", 40)]
windows = (
    events(env, records)
    .key_by(by_first)
    .window(SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5)))
    .side_output_late_data(late)
    .process(Contents())
)
windows.print("windows")
windows.get_side_output(late).print("late")
env.execute()
