"""NumPy's numbers as keys."""

# order: free

import numpy
from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor
from timed import environment

KEYS = [
    numpy.int64(5),
    7,
    5,
    0.5,
    numpy.int32(5),
    "a",
    numpy.float64(0.5),
    numpy.str_("a"),
    True,
    numpy.bool_(1),
]


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        key = ctx.get_current_key()
        yield f"{type(key).__name__} {key!r} {self.count.value()}"


env = environment(parallelism=1)
stream = env.from_collection(list(range(len(KEYS))) * 2)
stream.key_by(lambda v: KEYS[v]).process(Count()).print()
env.execute()
