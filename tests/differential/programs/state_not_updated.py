"""An object that was read from state and changed, but not put back, is not changed in state.

Without the cache, through which PyFlink shows the change for a while.
"""

from pyflink.common import Configuration, Types
from pyflink.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from pyflink.datastream.state import ListStateDescriptor, ValueStateDescriptor
from timed import by_first


class Changes(KeyedProcessFunction):
    def open(self, runtime_context):
        pickled = Types.PICKLED_BYTE_ARRAY()
        self.value = runtime_context.get_state(ValueStateDescriptor("value", pickled))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", pickled))

    def process_element(self, value, ctx):
        yield f"{value[0]}> {self.value.value()} {list(self.list.get())}"
        if self.value.value() is None:
            self.value.update(["first"])
            self.list.add(["entry"])
        else:
            self.value.value().append("lost")
            for entry in self.list.get():
                entry.append("lost")


configuration = Configuration()
configuration.set_integer("python.state.cache-size", 0)
env = StreamExecutionEnvironment.get_execution_environment(configuration)
env.set_parallelism(1)
records = [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("b", 5), ("a", 6), ("b", 7)]
env.from_collection(records).key_by(by_first).process(Changes()).print()
env.execute()
