"""Windows over all records: tumbling, session and count, with process, apply and reduce."""

from pyflink.common import Time
from pyflink.datastream.window import (
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
)
from timed import AllContents, AppliedToAll, Stamped, environment, events

env = environment()
records = [("a", 1, 1), ("b", 2, 4), ("a", 3, 10), ("c", 4, 9), ("b", 5, 15), ("c", 6, 31)]
stream = events(env, records, bound=3)
ten = TumblingEventTimeWindows.of(Time.milliseconds(10))
session = EventTimeSessionWindows.with_gap(Time.milliseconds(6))
stream.window_all(ten).process(AllContents()).process(Stamped()).print("process")
stream.window_all(session).apply(AppliedToAll()).process(Stamped()).print("apply")


def total(a, b):
    return a[0] + b[0], a[1] + b[1], max(a[2], b[2])


stream.window_all(ten).reduce(total).process(Stamped()).print("reduce")
stream.window_all(CountTumblingWindowAssigner.of(4)).reduce(total).process(Stamped()).print("count")
env.execute()
