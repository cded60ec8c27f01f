"""Sessions with allowed lateness: a late record fires again, and may merge sessions that have fired."""

from pyflink.common import Time, Types
from pyflink.datastream import OutputTag
from pyflink.datastream.window import EventTimeSessionWindows
from timed import Merged, by_first, environment, events

env = environment()
late = OutputTag("late", Types.PICKLED_BYTE_ARRAY())
records = [
    ("k", "a", 0),
    ("k", "b", 15),
    ("x", "clock", 12),
    ("x", "clock", 27),
    ("k", "c", 8),
    ("k", "d", 26),
]
records += [("x", "clock", 50), ("k", "e", 18), ("x", "clock", 90), ("k", "f", 20)]
windows = (
    events(env, records)
    .key_by(by_first)
    .window(EventTimeSessionWindows.with_gap(Time.milliseconds(10)))
    .allowed_lateness(20)
    .side_output_late_data(late)
    .process(Merged())
)
windows.print("windows")
windows.get_side_output(late).print("late")
env.execute()
