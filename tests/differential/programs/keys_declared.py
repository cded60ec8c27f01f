"""Declared key types that hold several values: a declared map has no order."""

# order: free

from pyflink.common import Row, Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor
from timed import environment

TYPED = {
    "list": (Types.LIST(Types.INT()), [[1, 2], [1], [], [2, 1]]),
    "map": (Types.MAP(Types.STRING(), Types.INT()), [{"a": 1, "b": 2}, {}, {"b": 2, "a": 1}, {"a": 1}]),
    "row": (Types.ROW([Types.INT(), Types.LIST(Types.INT())]), [Row(1, [1]), Row(2, [1]), Row(1, [])]),
}


class Count(KeyedProcessFunction):
    def __init__(self, name):
        self.name = name

    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield f"{self.name} {ctx.get_current_key()!r} {self.count.value()}"


env = environment(parallelism=2)
for name, (key_type, keys) in TYPED.items():
    stream = env.from_collection(list(range(len(keys))) * 2)
    stream.key_by(lambda v, keys=keys: keys[v], key_type=key_type).process(Count(name)).print()
env.execute()
