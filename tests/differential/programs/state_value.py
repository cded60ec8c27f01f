"""ValueState: None before the first update and after clear(); any value may be stored."""

from pyflink.common import Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import ValueStateDescriptor
from timed import by_first, environment


class Values(KeyedProcessFunction):
    def open(self, runtime_context):
        self.any = runtime_context.get_state(ValueStateDescriptor("any", Types.PICKLED_BYTE_ARRAY()))
        self.number = runtime_context.get_state(ValueStateDescriptor("number", Types.LONG()))

    def process_element(self, value, ctx):
        key, action, content = value
        before = self.any.value(), self.number.value()
        if action == "clear":
            self.any.clear()
            self.number.clear()
        else:
            self.any.update(content)
            self.number.update(len(repr(content)))
        yield f"{key}> {before} {action} {content!r} -> {self.any.value()!r} {self.number.value()}"


env = environment()
contents = [
    0,
    "",
    False,
    [],
    {},
    (1, "x"),
    {"a": [1, {2: None}]},
    b"\x00\xff",
    2**100,
    float("inf"),
    frozenset({1}),
]
records = [("a", "clear", None)] + [("a", "update", c) for c in contents]
records += [("b", "update", 1), ("a", "clear", None), ("b", "update", 2), ("a", "update", 3)]
env.from_collection(records).key_by(by_first).process(Values()).print()
env.execute()
