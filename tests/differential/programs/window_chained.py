"""Results are at end - 1, so a second window of the same size takes them in, on the same watermark."""

from pyflink.common import Time
from pyflink.datastream.window import TumblingEventTimeWindows
from timed import Stamped, by_first, environment, events

env = environment()
records = [("a", 1, 1), ("b", 2, 4), ("a", 3, 3), ("b", 4, 9), ("a", 5, 12), ("c", 6, 17), ("a", 7, 31)]
ten = TumblingEventTimeWindows.of(Time.milliseconds(10))


def total(x, y):
    return x[0], x[1] + y[1], max(x[2], y[2])


def most(x, y):
    return max(x, y, key=lambda v: v[1])


sums = events(env, records).key_by(by_first).window(ten).reduce(total)
sums.process(Stamped()).print("sums")
sums.key_by(by_first).window(ten).reduce(total).process(Stamped()).print("again")
sums.window_all(ten).reduce(most).process(Stamped()).print("most")
env.execute()
