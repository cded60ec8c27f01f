"""Keys of any kind: equal ones meet, others do not; get_current_key gives the key back."""

# order: free

import datetime

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor
from timed import environment


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield f"{ctx.get_current_key()!r} {self.count.value()}"


env = environment(parallelism=2)
kinds = [
    "a",
    "",
    "ü",
    0,
    1,
    -1,
    2**40,
    1.5,
    -0.5,
    True,
    False,
    None,
    (1, "x"),
    ("a",),
    (),
    b"a",
    ((1, 2), None),
]
kinds += [datetime.date(2024, 2, 29), "1", 2**70, ("a", ("b", 1.5))]
stream = env.from_collection([(i, kind) for i in range(3) for kind in kinds])
stream.key_by(lambda v: v[1]).process(Count()).print()
env.execute()
