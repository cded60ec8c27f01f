"""apply may emit nothing, one or many results for a window."""

from pyflink.common import Time, Types
from pyflink.datastream import WindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows
from timed import Stamped, by_first, environment, events


class Large(WindowFunction):
    def apply(self, key, window, inputs):
        return [(key, value[1] * 10) for value in inputs if value[1] > 2]


env = environment()
records = [("k", 1, 1), ("k", 3, 4), ("k", 5, 2), ("k", 2, 12), ("k", 9, 25), ("k", 1, 26)]
windows = events(env, records).key_by(by_first).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
windows.apply(Large(), Types.TUPLE([Types.STRING(), Types.INT()])).process(Stamped()).print()
env.execute()
