"""BATCH: without keys records keep their order; keyed functions see a key at a time, with all its records."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction, RuntimeExecutionMode
from pyflink.datastream.state import ListStateDescriptor
from timed import Stamped, by_first, environment, events


class Collected(KeyedProcessFunction):
    def open(self, runtime_context):
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.INT()))

    def process_element(self, value, ctx):
        self.all.add(value[1])
        yield f"{value[0]}> {list(self.all.get())}"


env = environment()
env.set_runtime_mode(RuntimeExecutionMode.BATCH)
records = [("b", 1, 9), ("a", 2, 7), ("b", 3, 3), ("a", 4, 5), ("c", 5, 1), ("b", 6, 3)]
stream = events(env, records)
stream.process(Stamped()).print("stamped")
stream.key_by(by_first).process(Collected()).process(Stamped()).print("keyed")
stream.filter(lambda v: v[1] % 2).key_by(lambda v: v[1] > 2).map(lambda v: f"{v[1] > 2}> {v[1]}").process(
    Stamped()
).print("odd")
twice = stream.union(stream).key_by(by_first)
twice.count_window(2).reduce(lambda x, y: (x[0], x[1] + y[1], y[2])).process(Stamped()).print("union")
env.execute()
