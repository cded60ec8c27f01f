"""State belongs to its operator: two operators and two kinds may use one name; one name read twice is one state."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor
from timed import by_first, environment


class Count(KeyedProcessFunction):
    def __init__(self, step):
        self.step = step

    def open(self, runtime_context):
        self.one = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))
        self.same = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value, ctx):
        self.one.update((self.same.value() or 0) + self.step)
        yield value[0], self.same.value()


env = environment()
stream = env.from_collection([("a", 0), ("b", 0), ("a", 0), ("a", 0), ("b", 0)])
counted = stream.key_by(by_first).process(Count(1))
counted.map(lambda v: f"{v[0]}> {v[1]}").print("first")
counted.key_by(by_first).process(Count(10)).map(lambda v: f"{v[0]}> {v[1]}").print("second")
env.execute()
