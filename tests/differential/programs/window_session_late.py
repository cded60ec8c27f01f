"""A record that alone would be late is taken when it merges into a session that is still open."""

from pyflink.common import Time, Types
from pyflink.datastream import OutputTag
from pyflink.datastream.window import EventTimeSessionWindows
from timed import Merged, by_first, environment, events

env = environment()
late = OutputTag("late", Types.PICKLED_BYTE_ARRAY())
records = [("k", "a", 0), ("k", "b", 8), ("x", "clock", 16), ("k", "rescued", 2), ("k", "c", 17)]
records += [("x", "clock", 40), ("k", "late", 3), ("k", "late", 30), ("k", "open", 31), ("x", "clock", 41)]
windows = (
    events(env, records)
    .key_by(by_first)
    .window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
    .side_output_late_data(late)
    .process(Merged())
)
windows.print("windows")
windows.get_side_output(late).print("late")
env.execute()
