"""A declared key type: the key is coerced, so that what becomes equal meets."""

# order: free

from pyflink.common import Row, Types
from pyflink.datastream import KeyedProcessFunction, KeySelector
from pyflink.datastream.state import ValueStateDescriptor
from timed import environment


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        self.count.update((self.count.value() or 0) + 1)
        yield f"{ctx.get_current_key()!r} {self.count.value()}"


class Both(KeySelector):
    def get_key(self, value):
        return value % 3, f"k{value % 2}"


env = environment(parallelism=2)
numbers = env.from_collection(list(range(12)), Types.INT())
numbers.key_by(lambda v: v % 4, Types.INT()).process(Count()).print("int")
numbers.key_by(lambda v: v / 10 // 0.5 / 10, Types.FLOAT()).process(Count()).print("float")
numbers.key_by(lambda v: v > 3, Types.BOOLEAN()).process(Count()).print("boolean")
numbers.key_by(Both(), Types.TUPLE([Types.INT(), Types.STRING()])).process(Count()).print("tuple")
numbers.key_by(lambda v: Row(v % 2, "x"), Types.ROW([Types.INT(), Types.STRING()])).process(Count()).print(
    "row"
)
numbers.key_by(lambda v: "same", Types.STRING()).process(Count()).print("string")
env.execute()
