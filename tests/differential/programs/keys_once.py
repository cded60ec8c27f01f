"""With several subtasks a key is still in one place, and its records stay in their order."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import ListStateDescriptor
from timed import by_first, environment


class All(KeyedProcessFunction):
    def open(self, runtime_context):
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", Types.INT()))

    def process_element(self, value, ctx):
        self.all.add(value[1])
        yield f"{value[0]}> {list(self.all.get())}"


env = environment(parallelism=3)
records = [(f"key{i * i % 7}", i) for i in range(40)]
env.from_collection(records).key_by(by_first).process(All()).print()
env.execute()
