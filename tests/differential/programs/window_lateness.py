"""Within the allowed lateness each late record fires its window again, with all contents; then it is gone."""

from pyflink.common import Time, Types
from pyflink.datastream import OutputTag
from pyflink.datastream.window import TumblingEventTimeWindows
from timed import Contents, Stamped, by_first, environment, events

env = environment()
late = OutputTag("late", Types.PICKLED_BYTE_ARRAY())
records = [("k", "a", 1), ("k", "clock", 5), ("k", "b", 2), ("k", "c", 3), ("k", "clock", 7), ("k", "d", 0)]
records += [
    ("k", "clock", 8),
    ("k", "late", 2),
    ("k", "e", 6),
    ("k", "clock", 13),
    ("k", "late", 9),
    ("k", "clock", 20),
]
windows = (
    events(env, records)
    .key_by(by_first)
    .window(TumblingEventTimeWindows.of(Time.milliseconds(5)))
    .allowed_lateness(3)
    .side_output_late_data(late)
    .process(Contents())
)
windows.process(Stamped()).print("windows")
windows.get_side_output(late).process(Stamped()).print("late")
env.execute()
