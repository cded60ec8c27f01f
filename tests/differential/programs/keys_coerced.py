"""Declared key types: values of another kind, keys that are None, timers, two streams, windows, reduce."""

# order: free

from pyflink.common import Row, Types
from pyflink.datastream import KeyedCoProcessFunction, KeyedProcessFunction
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.state import ValueStateDescriptor
from timed import environment


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(2**63 - 1)
        yield f"{ctx.get_current_key()!r}> {self.count.value()} {value!r}"

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()!r}> {self.count.value()} in all"


class Both(KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element1(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(2**63 - 1)

    process_element2 = process_element1

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()!r}> {self.count.value()} of both"


class Contents(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"{key!r}> {sorted(elements)}"


SELECTED = {
    "int": (Types.INT(), [3.7, 3, True, 1, -3.7]),
    "long": (Types.LONG(), [3.7, 3, True, 1]),
    "boolean": (Types.BOOLEAN(), [2, True, 0, False]),
    "double": (Types.DOUBLE(), [1, 1.0, True]),
    "string": (Types.STRING(), ["a", None, "a", None]),
    "none": (Types.INT(), [0, None, 1, None]),
    "untyped": (None, ["a", None, 1, None]),
    "tuple": (Types.TUPLE([Types.INT(), Types.FLOAT()]), [(1, 0.1), (1.5, 0.1, "more")]),
    "row": (
        Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()]),
        [Row(1, "a"), Row(y="a", x=1), Row(1, None)],
    ),
}

env = environment()
for name, (key_type, keys) in SELECTED.items():
    positions = env.from_collection(list(range(len(keys))), Types.INT())
    positions.key_by(lambda i, keys=keys: keys[i], key_type).process(Count()).print(name)
numbers = env.from_collection(list(range(6)), Types.INT())
third = numbers.key_by(lambda v: v // 2 / 10, Types.FLOAT())
third.connect(numbers.key_by(lambda v: v // 3 / 10, Types.FLOAT())).process(Both()).print("two")
third.count_window(2).process(Contents()).print("window")
third.reduce(lambda a, b: a + b).print("reduce")
env.execute()
