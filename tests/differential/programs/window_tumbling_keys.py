"""Windows of several keys fire on one watermark; each key has its own contents."""

from pyflink.common import Time
from pyflink.datastream.window import TumblingEventTimeWindows
from timed import Contents, by_first, environment, events

env = environment()
records = [(key, f"{key}{i}", i * 3 + len(key)) for i in range(8) for key in ("x", "yy", "zzz")]
windows = (
    events(env, records, bound=4).key_by(by_first).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
)
windows.process(Contents()).print()
env.execute()
