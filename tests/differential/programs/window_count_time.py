"""The timestamp of the result of a count window, and of one that a custom trigger fires early."""

from pyflink.common import Time
from pyflink.datastream.window import CountTrigger, TumblingEventTimeWindows
from timed import Stamped, by_first, environment, events

env = environment()
records = [("k", n, n * 3) for n in range(1, 8)]
keyed = events(env, records).key_by(by_first)


def total(a, b):
    return a[0], a[1] + b[1], b[2]


keyed.count_window(2).reduce(total).process(Stamped()).print("count")
ten = TumblingEventTimeWindows.of(Time.milliseconds(10))
keyed.window(ten).trigger(CountTrigger.of(2)).reduce(total).process(Stamped()).print("early")
env.execute()
