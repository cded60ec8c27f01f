"""Typed states give back what was put in as it was, as long as it fits: out of PyFlink's cache."""

from pyflink.common import Row, Types
from pyflink.datastream import KeyedProcessFunction
from pyflink.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from timed import by_first, environment

VALUES = {
    "float": (Types.FLOAT(), 0.1),
    "int": (Types.INT(), 3.7),
    "long": (Types.LONG(), True),
    "double": (Types.DOUBLE(), 1),
    "boolean": (Types.BOOLEAN(), 2),
    "tuple": (Types.TUPLE([Types.STRING(), Types.FLOAT()]), ("a", 0.1)),
    "row": (Types.ROW_NAMED(["x", "y"], [Types.FLOAT(), Types.STRING()]), Row(0.1, None)),
    "list": (Types.LIST(Types.FLOAT()), [0.1, 1]),
}


class Kept(KeyedProcessFunction):
    def open(self, context):
        self.value, self.list, self.map = {}, {}, {}
        for name, (of, _) in VALUES.items():
            self.value[name] = context.get_state(ValueStateDescriptor(f"value {name}", of))
            self.list[name] = context.get_list_state(ListStateDescriptor(f"list {name}", of))
            self.map[name] = context.get_map_state(MapStateDescriptor(f"map {name}", Types.FLOAT(), of))
        self.total = context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: a + b, Types.FLOAT())
        )

    def process_element(self, value, ctx):
        key = value[0]
        for name, (_, content) in VALUES.items():
            entry = self.map[name].get(0.1), list(self.map[name].items())
            yield f"{key}> {name} {self.value[name].value()!r} {list(self.list[name].get())!r} {entry!r}"
            self.value[name].update(content)
            self.list[name].add(content)
            self.map[name].put(0.1, content)
        self.total.add(0.1)
        yield f"{key}> {self.total.get()!r}"


env = environment()
env.from_collection([(key, n) for n in range(3) for key in "ab"]).key_by(by_first).process(Kept()).print()
env.execute()
