"""ListState: order of insertion, update replaces, nothing in it reads as an empty list."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import ListStateDescriptor
from timed import by_first, environment


class Lists(KeyedProcessFunction):
    def open(self, runtime_context):
        self.any = runtime_context.get_list_state(ListStateDescriptor("any", Types.PICKLED_BYTE_ARRAY()))
        self.numbers = runtime_context.get_list_state(ListStateDescriptor("numbers", Types.INT()))

    def process_element(self, value, ctx):
        key, action, *contents = value
        if action == "add":
            for content in contents:
                self.any.add(content)
        elif action == "add_all":
            self.any.add_all(contents)
        elif action == "update":
            self.any.update(contents)
        elif action == "clear":
            self.any.clear()
        self.numbers.add(len(list(self.any.get())))
        yield f"{key}> {action} {list(self.any.get())} {list(self.numbers.get())}"


env = environment()
records = [
    ("a", "get"),
    ("a", "add", 1),
    ("b", "add", "x", "y"),
    ("a", "add", None, [], (2, 3)),
    ("a", "get"),
]
records += [("a", "update", 7, 7), ("b", "add_all", 1.5, "z"), ("a", "add", 8), ("a", "clear"), ("a", "get")]
records += [
    ("a", "add_all", 1, 2),
    ("b", "update"),
    ("b", "get"),
    ("b", "add", 0),
    ("a", "update", 5),
    ("a", "get"),
]
env.from_collection(records).key_by(by_first).process(Lists()).print()
env.execute()
