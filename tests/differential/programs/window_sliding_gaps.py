"""A slide larger than the size: a record between the windows is in none; it is late if it is behind the watermark."""

from pyflink.common import Time, Types
from pyflink.datastream import OutputTag
from pyflink.datastream.window import SlidingEventTimeWindows
from timed import Contents, by_first, environment, events

env = environment()
late = OutputTag("late", Types.PICKLED_BYTE_ARRAY())
records = [("k", str(ts), ts) for ts in (0, 1, 2, 3, 4, 5, 6, 7, 11, 3, 1, 8, 12, 13, 12)]
windows = (
    events(env, records)
    .key_by(by_first)
    .window(SlidingEventTimeWindows.of(Time.milliseconds(2), Time.milliseconds(5)))
    .side_output_late_data(late)
    .process(Contents())
)
windows.print("windows")
windows.get_side_output(late).print("late")
env.execute()
